import pytest

from tests.tools.checkout import Checkout
from tools.check_tracked import HOSTS, problems


@pytest.mark.parametrize("host", HOSTS)
def test_a_registry_host_is_reported_in_any_text_file(checkout: Checkout, host: str) -> None:
    checkout.write("docs/a.md", f"fine\nsee {host}/x\n")
    assert problems(checkout.root) == [f"docs/a.md:2 names the registry host {host}"]


@pytest.mark.parametrize("folder", ["/ro" + "ot/.cache", "/ho" + "me/ann/x", "/Us" + "ers/ann/x", "/wo" + "rk/main"])
def test_a_folder_of_one_machine_is_reported_save_in_captured_test_data(checkout: Checkout, folder: str) -> None:
    checkout.write("a.py", f'x = "{folder}"\n')
    checkout.write("tests/data/log.txt", f"open {folder}\n")
    assert problems(checkout.root) == ["a.py:1 names a folder of one machine"]


def test_the_folder_of_the_checkout_itself_is_reported(checkout: Checkout) -> None:
    checkout.write("a.md", f"cd {checkout.root}\n")
    assert problems(checkout.root) == ["a.md:1 names a folder of one machine"]


def test_other_paths_and_binary_files_pass(checkout: Checkout) -> None:
    checkout.write("a.md", "GET /v1/alerts, ./wo" + "rk/x, https://h/ro" + "ot/x, /var/lib/inquest, ~/ro" + "ot/x\n")
    checkout.write("a.bin", b"\0 " + HOSTS[0].encode())
    assert problems(checkout.root) == []


def test_an_ignored_file_is_nobodys_business(checkout: Checkout) -> None:
    checkout.write(".gitignore", "x.md\n")
    checkout.write("x.md", HOSTS[0])
    assert problems(checkout.root) == []
