"""Foreign text in Slack: no mention, link, date or emoji comes alive, and it stays in its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inquest.destinations.shared.page import Code, Foreign, Line, Link, Plain, Ref, Strong
from inquest.destinations.shared.slack_text import BACKTICK, MAX_LINE_CHARS, slack_code, slack_line, slack_prose
from inquest.wire.sanitise import clean
from tests.destinations.hostile import HOSTILE
from tests.fakes.slack_blocks import emphasised, live

HOSTS = frozenset({"grafana.example"})
HOSTILE_HERE = [
    *HOSTILE,
    "<!channel> <@U012ABCDEF> <http://collect.attacker.test|click>",
    "<!subteam^S1> <#C1> <!date^1^{date}^https://evil.test|x> <!everyone> <!here>",
    "*bold* _it_ ~no~ `code` ```fence``` >quote :tada: :rotating_light: 8)",
    "&lt;!channel&gt; &amp; & < > https://evil.test www.evil.test mailto:a@evil.test a@evil.test @channel #general",
    "` <!channel> ` and ``<@U1>``",
    "\u202egnp.exe <!channel\u200b>",
]
signs = st.text(alphabet=st.sampled_from("<>!@#&|`*_~:;\n\t ab1./h"), max_size=80)
anything = st.one_of(st.text(max_size=200), signs, st.sampled_from(HOSTILE_HERE))


def alive(text: str) -> list[str]:
    block = {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}
    return live({"blocks": [block], "text": text, "parse": "none", "unfurl_links": False, "unfurl_media": False})


@pytest.mark.parametrize("text", HOSTILE_HERE)
def test_hostile_text_is_inert(text: str) -> None:
    for line in ((Foreign(text),), (Code(text),), (Plain("Said: "), Foreign(text), Plain(" and "), Code(text))):
        written = slack_line(line, HOSTS)
        assert alive(written) == []
        assert emphasised(written) == []
        assert "\n" not in written


@given(anything, anything)
def test_any_text_is_inert_beside_any_other(one: str, other: str) -> None:
    written = slack_line((Foreign(one), Plain(" "), Code(other), Plain(": "), Foreign(other)), HOSTS)
    assert alive(written) == []
    assert emphasised(written) == []
    assert "\n" not in written
    assert written.count("`") % 2 == 0


def read(written: str) -> list[str]:
    """Give the words that a reader of code sees."""
    shown = written[1:-1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return shown.replace("⏎", " ").replace(BACKTICK, "`").split()


@given(anything)
def test_code_shows_every_word_that_was_visible(text: str) -> None:
    visible = clean(text).text.replace("⏎", " ").replace(BACKTICK, "`").split()
    written = slack_code(text)
    assert (written == "(empty)" and visible == []) or read(written) == visible


@pytest.mark.parametrize("text", ["plain words, and 12% more.", "out-of-memory (again)"])
def test_prose_stands_as_it_is(text: str) -> None:
    assert slack_prose(text) == text


@given(st.lists(anything, max_size=12))
def test_a_line_fits_whatever_is_in_it(texts: list[str]) -> None:
    line: Line = tuple(piece for text in texts for piece in (Foreign(text * 3), Code(text * 3)))
    assert len(slack_line(line, HOSTS)) <= MAX_LINE_CHARS


def test_a_line_that_is_too_long_is_cut_and_says_so() -> None:
    written = slack_line(tuple(Code("&" * 600) for _ in range(4)), HOSTS)
    assert len(written) <= MAX_LINE_CHARS
    assert written.count("(cut)") == 4


def test_a_link_leads_to_an_allowed_host_only_and_stays_whole() -> None:
    url = "https://grafana.example/explore?left=%7B%7D&right=a|b"
    assert (
        slack_line((Link("open", url),), HOSTS) == "<https://grafana.example/explore?left=%7B%7D&amp;right=a%7Cb|open>"
    )
    assert slack_line((Link("open", "https://evil.test/x"),), HOSTS) == "open `https://evil.test/x`"
    assert slack_line((Link("a|b>c", "https://grafana.example/x"),), HOSTS) == "<https://grafana.example/x|a/b&gt;c>"


def test_our_own_words_are_stressed_and_escaped() -> None:
    assert (
        slack_line((Strong("Cause & effect"), Plain(" <b> "), Ref("E1")), HOSTS)
        == "*Cause &amp; effect* &lt;b&gt; [E1]"
    )
