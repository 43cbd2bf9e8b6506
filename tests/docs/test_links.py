"""Every relative link of a page leads to a file, and to a heading where it names one."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, links, name_of


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_resolves(page: Path) -> None:
    assert [dead for number, target in links(page) if (dead := _dead(page, number, target))] == []


def _dead(page: Path, number: int, target: str) -> str:
    parts = urlsplit(target)
    if parts.scheme in {"http", "https", "mailto"}:
        return ""
    aimed = page if not parts.path else (page.parent / parts.path).resolve()
    if not aimed.is_relative_to(ROOT) or not aimed.exists():
        return f"line {number}: {target} leads nowhere"
    if parts.fragment and parts.fragment not in anchors(aimed):
        return f"line {number}: {target} names no heading of {name_of(aimed)}"
    return ""


def test_every_page_is_reached_from_the_readme() -> None:
    """A page that nobody links to is a page that nobody reads. The template is for copying."""
    reached, waiting = set[Path](), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        paths = [urlsplit(target).path for _, target in links(page) if not urlsplit(target).scheme]
        waiting += [(page.parent / path).resolve() for path in paths if path]
    assert sorted(name_of(page) for page in {*PAGES} - reached) == []
