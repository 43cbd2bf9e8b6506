import pytest

from tests.tools.checkout import Checkout
from tools.check_words import problems, words


@pytest.mark.parametrize(
    ("name", "split"),
    [("store_utils", ("store", "utils")), ("RCAReport", ("rca", "report")), ("FindingList", ("finding", "list"))],
)
def test_a_name_is_split_into_its_words(name: str, split: tuple[str, ...]) -> None:
    assert words(name) == split


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("class QueueManager: ...", "`QueueManager`: say what it does"),
        ("def add_finding() -> None: ...", "`add_finding`: say claim"),
        ("async def send_rca() -> None: ...", "`send_rca`: say diagnosis"),
    ],
)
def test_a_word_that_the_glossary_replaces_is_reported_where_it_is_defined(
    checkout: Checkout, text: str, said: str
) -> None:
    checkout.write("app/inquest/a.py", text)
    checkout.write("tests/a.py", text)
    assert problems(checkout.root) == [f"app/inquest/a.py:1 {said}"]


def test_the_name_of_a_module_counts(checkout: Checkout) -> None:
    checkout.write("app/inquest/http_utils.py", "")
    assert problems(checkout.root) == ["app/inquest/http_utils.py:1 `http_utils`: say what is in it"]


def test_foreign_names_and_longer_words_pass(checkout: Checkout) -> None:
    checkout.write(
        "app/inquest/a.py", "x = foreign.PluginManager()\nclass Management: ...\ndef utilise() -> None: ...\n"
    )
    assert problems(checkout.root) == []
