"""Tools of several integrations of one type have names of their own."""

from __future__ import annotations

import re
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from inquest.bootstrap.naming import MAX_PREFIX_CHARS, tool_prefixes
from inquest.configuration.shape import NAME

TYPES = ("prometheus", "loki", "gitlab")
names = st.from_regex(NAME.replace("$", r"\Z"), fullmatch=True)


def test_the_first_of_a_type_has_the_names_that_the_seed_calls_know() -> None:
    assert tool_prefixes({"main": "prometheus", "logs": "loki"}) == {"main": "prometheus", "logs": "loki"}


def test_each_further_one_has_its_own_name() -> None:
    given = {"main": "prometheus", "eu-1": "prometheus", "us": "prometheus"}

    assert tool_prefixes(given) == {"main": "prometheus", "eu-1": "eu_1", "us": "us"}


def test_a_name_that_is_taken_or_is_none_has_the_type_before_it() -> None:
    given = {"main": "prometheus", "prometheus": "prometheus", "2nd": "prometheus", "a-b": "loki", "a_b": "loki"}

    assert tool_prefixes(given) == {
        "main": "prometheus",
        "prometheus": "prometheus_prometheus",
        "2nd": "prometheus_2nd",
        "a-b": "loki",
        "a_b": "a_b",
    }


def test_names_that_differ_only_in_their_dashes_are_told_apart() -> None:
    prefixes = tool_prefixes({"one": "loki", "a-b": "loki", "a_b": "loki"})

    assert prefixes == {"one": "loki", "a-b": "a_b", "a_b": "loki_a_b"}


@given(st.dictionaries(names, st.sampled_from(TYPES), max_size=12))
def test_no_two_share_a_prefix_and_each_is_one_that_connectors_take(types: dict[str, str]) -> None:
    prefixes = tool_prefixes(types)

    assert list(prefixes) == list(types)
    assert all(one != other for one, other in combinations(prefixes.values(), 2))
    assert all(re.fullmatch(r"[a-z][a-z0-9_]{0,39}", one) for one in prefixes.values())
    assert max(map(len, prefixes.values()), default=0) <= MAX_PREFIX_CHARS


def test_long_names_with_the_same_beginning_are_numbered() -> None:
    long = "9" + "x" * 60
    prefixes = tool_prefixes({"first": "loki", long: "loki", long + "y": "loki", long + "z": "loki"})

    assert len(set(prefixes.values())) == 4
