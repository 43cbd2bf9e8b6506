"""The GitLab form of a report: one note, in Markdown in which nothing foreign acts. Pure.

A note may be long, but GitLab reads quick actions for so long in a note of 157 kB that the request times out
(gitlab-org/gitlab 254672): ours end at 50 kB.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from typing_extensions import override

from inquest.destinations.shared.escape import is_plain_word, markdown_code, prose
from inquest.destinations.shared.fitting import fitted, shortened
from inquest.destinations.shared.markdown import MarkdownWriter
from inquest.destinations.shared.outline import page_of
from inquest.destinations.shared.page import Page

if TYPE_CHECKING:
    from collections.abc import Mapping

    from inquest.domain.report import Report

MAX_NOTE_BYTES = 50_000
"""Of a note without its marker."""
_TRACKER_KEY = re.compile(r"(?:^|[^A-Za-z0-9])[A-Z][A-Z0-9]*-\d")
"""GitLab makes a cross-reference of GL-123, and one to an external tracker of SHOP-123."""


class NoteWriter(MarkdownWriter):
    """Markdown as GitLab reads it."""

    @override
    def prose(self, text: str, *, in_table: bool) -> str:
        return prose(text, partial(markdown_code, in_table=in_table), _is_plain_word)


def note_body(report: Report, contents: Mapping[str, bytes], hosts: frozenset[str]) -> str:
    """Write the note; what does not fit is counted, and the footer says where it is."""

    def fits(page: Page) -> bool:
        return len(_written(page, hosts).encode()) <= MAX_NOTE_BYTES

    return _written(fitted(page_of(report, contents), fits, shortened(report.investigation_id)), hosts)


def _written(page: Page, hosts: frozenset[str]) -> str:
    return "\n".join(NoteWriter(hosts).page(page)) + "\n"


def _is_plain_word(token: str) -> bool:
    return is_plain_word(token) and _TRACKER_KEY.search(token) is None
