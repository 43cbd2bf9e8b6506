"""The page of causes is the code's own lists: families, what Inquest names itself, and what decides alone."""

import re

from inquest.analysis.decisive import DECISIVE_STATES, STATE_FIELDS, STATE_METRICS
from inquest.domain.diagnosis import CAUSE_FAMILIES
from tests.docs.pages import ROOT, code, table

PAGE = "docs/reference/causes.md"
_NAMED = re.compile(rf'"((?:{"|".join(CAUSE_FAMILIES)}|other)\.[a-z_]+)"')


def test_every_family_is_listed_and_no_other() -> None:
    assert [code(row[0])[0] for row in table(PAGE, "Families")] == [*CAUSE_FAMILIES, "other"]


def test_every_cause_that_the_code_names_is_listed() -> None:
    listed = {f"{code(row[0])[0]}.{cause}" for row in table(PAGE, "Families") for cause in code(row[2])}
    named = {
        found
        for folder in ("analysis", "domain", "investigators", "stages")
        for file in (ROOT / "app/inquest" / folder).rglob("*.py")
        for found in _NAMED.findall(file.read_text("utf-8"))
    }
    assert len(named) > 10
    assert named <= listed


def test_every_decisive_observation_is_listed_with_what_it_settles() -> None:
    rows = table(PAGE, "Decisive observations")
    assert {code(row[0])[0]: code(row[1])[0] for row in rows} == DECISIVE_STATES


def test_every_place_where_a_state_counts_is_listed() -> None:
    places = {row[0]: set(code(row[1])) for row in table(PAGE, "Where a state counts")}
    assert places == {"field": set(STATE_FIELDS), "series": set(STATE_METRICS)}
