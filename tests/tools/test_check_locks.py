from pathlib import Path
from shutil import copy

import pytest

from tools.check_locks import behind, problems, read_lock, unmet
from tools.tree import ROOT

DIGEST = "--hash=sha256:" + "0" * 64
LOCKS = (
    "pyproject.toml",
    "requirements.lock",
    "requirements/dev.lock",
    "requirements/bootstrap.lock",
    "requirements/build.in",
)


def pin(requirement: str) -> str:
    return f"{requirement} \\\n    {DIGEST}\n    # via inquest (pyproject.toml)\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "requirements").mkdir()
    for name in LOCKS:
        copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_a_universal_lock_may_pin_two_versions_by_marker() -> None:
    lock = pin("a==1 ; python_full_version < '3.12'") + pin("a==2 ; python_full_version >= '3.12'") + pin("b[x]==3")
    assert read_lock(lock) == ({"a": {"1", "2"}, "b": {"3"}}, [])


@pytest.mark.parametrize(
    ("lock", "said"),
    [
        ("a==1\n", "a 1 has no hash"),
        (pin("a>=1"), "a is not pinned to one version"),
        (pin("a==1,!=2"), "a is not pinned to one version"),
        (pin("litellm==1.82.7"), "litellm 1.82.7 is an excluded release"),
        (pin("LiteLLM==1.82.8"), "litellm 1.82.8 is an excluded release"),
        (pin("litellm==1.107.3"), "litellm 1.107.3 is an excluded release"),
    ],
)
def test_a_pin_that_must_not_be_installed_is_reported(lock: str, said: str) -> None:
    assert read_lock(lock)[1] == [said]


@pytest.mark.parametrize(
    "option", ["--index-url=mirror", "--extra-index-url mirror", "--find-links wheels", "--trusted-host x"]
)
def test_an_installer_option_is_reported(checkout: Path, option: str) -> None:
    lock = checkout / "requirements.lock"
    lock.write_text(f"{option}\n{lock.read_text()}")
    assert problems(checkout)[0].endswith(f"line 1 holds an address, a path or an installer option: {option}")


@pytest.mark.parametrize(
    "line", [f"a @ https://x/a.whl {DIGEST}", "# from https://mirror/simple", f"a==1 {DIGEST} # via -r /x/y.in"]
)
def test_an_address_or_a_path_is_reported_even_in_a_comment(line: str) -> None:
    assert "holds an address, a path or an installer option" in read_lock(line)[1][0]


def test_a_requirement_without_a_fitting_pin_is_reported() -> None:
    pins = {"a": {"1.4", "2.1"}}
    assert unmet(["a>=1"], pins) == []
    assert unmet(["A>=2", "b"], pins) == [
        "A>=2 is not met (pinned: 1.4, 2.1); run make lock",
        "b is not met (pinned: nothing); run make lock",
    ]


def test_the_dev_lock_repeats_every_pin_of_the_runtime_lock() -> None:
    assert behind({"a": {"1"}, "b": {"1"}}, {"a": {"1"}, "b": {"2"}, "c": {"1"}}) == [
        "b differs from requirements.lock; run make lock"
    ]


def test_the_committed_locks_are_in_order(checkout: Path) -> None:
    assert problems(checkout) == []


def test_a_new_dependency_without_make_lock_is_reported(checkout: Path) -> None:
    project = checkout / "pyproject.toml"
    project.write_text(project.read_text().replace('"structlog>=26.1,<27"', '"structlog>=99"'))
    assert [problem.split(":")[0] for problem in problems(checkout)] == ["requirements.lock", "requirements/dev.lock"]
