"""What each story promises: the signals that tell it from the others."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from inquest.domain.diagnosis import Verdict
from inquest.domain.value import Json
from inquest.scenarios.generate.shop import Part
from inquest.scenarios.generate.stories import Logs, Story, logs_of
from tests.scenarios.generate.variations import (
    MINUTE,
    SEEDS,
    drawn,
    lines,
    onset,
    recording,
    seeds_of,
    usual_quantile,
    values,
    where,
)

OWN, THEIRS, SURGE, SLOW, UNSEEN = (seeds_of(story)[0] for story in Story)
FILLING = [OWN, THEIRS, SURGE, SLOW]
UNSEEN_SEEDS = seeds_of(Story.UNSEEN, 12)
TIMEOUTS = '|= "timeout acquiring connection from pool"'


def between(seed: int, expression: str, start: timedelta, end: timedelta) -> list[float]:
    """Values in a stretch around the onset."""
    return [value for _, value in values(seed, expression, onset(seed) + start, onset(seed) + end)]


def deployed(seed: int, part: Part) -> list[dict[str, Json]]:
    """Deployments of the project of `part` within five hours before the onset."""
    path = drawn(seed).shop.project(part)
    (project,) = [one for one in recording(seed).changes.projects if one.project["path_with_namespace"] == path]
    began = onset(seed)
    return [
        one
        for one in project.deployments
        if timedelta(0) < began - datetime.fromisoformat(str(one["updated_at"])) < timedelta(hours=5)
    ]


def before_onset(seed: int, deployment: dict[str, Json]) -> timedelta:
    return onset(seed) - datetime.fromisoformat(str(deployment["updated_at"]))


# ---- checkout ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", FILLING)
def test_the_pool_is_full_after_the_onset_and_never_before(seed: int) -> None:
    pool = drawn(seed).shop.pool
    used = f"{pool.in_use} / {pool.largest}"
    now = recording(seed).ends_at - onset(seed)

    assert max(between(seed, used, -235 * MINUTE, -1.5 * MINUTE)) < 0.95
    assert min(between(seed, used, 2.5 * MINUTE, now)) > 0.95


@pytest.mark.parametrize("seed", FILLING)
def test_the_timeout_lines_are_new_with_the_onset(seed: int) -> None:
    began, now = onset(seed), recording(seed).ends_at
    query = f"{where(seed, Part.CHECKOUT)} {TIMEOUTS}"

    assert lines(seed, query, began - 235 * MINUTE, began) == 0
    assert lines(seed, query, began, now) > 30
    # An error line alone tells nothing: some are there every day.
    assert lines(seed, f'{where(seed, Part.CHECKOUT)} |= "level=error"', began - 235 * MINUTE, began) > 5


@pytest.mark.parametrize("seed", [OWN])
def test_only_a_release_of_its_own_makes_the_pool_smaller(seed: int) -> None:
    largest = f"min({drawn(seed).shop.pool.largest})"
    much = drawn(seed).much.pool_size

    assert between(seed, largest, -60 * MINUTE, -60 * MINUTE) == [much.before]
    assert between(seed, largest, MINUTE, MINUTE) == [much.after]
    assert much.after < 0.7 * much.before


@pytest.mark.parametrize("seed", [THEIRS, SURGE, SLOW, UNSEEN])
def test_in_the_other_stories_the_pool_is_no_smaller_than_before(seed: int) -> None:
    largest = f"min({drawn(seed).shop.pool.largest})"

    assert between(seed, largest, MINUTE, MINUTE) >= between(seed, largest, -60 * MINUTE, -60 * MINUTE)


# ---- what tells the stories apart ----------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "is_slow"), [(OWN, False), (THEIRS, True), (SURGE, False), (SLOW, False)])
def test_payments_answers_late_only_by_its_own_release(seed: int, is_slow: bool) -> None:
    late = usual_quantile(seed, drawn(seed).shop.http.duration, Part.PAYMENTS)
    usual, now = between(seed, late, -60 * MINUTE, -15 * MINUTE), between(seed, late, 2 * MINUTE, 3 * MINUTE)

    assert (min(now) > 2 * max(usual)) is is_slow
    if is_slow:
        assert min(between(seed, late, -30 * timedelta(seconds=1), timedelta(0))) > 1.3 * max(usual)


@pytest.mark.parametrize(("seed", "is_slow"), [(OWN, False), (THEIRS, False), (SURGE, False), (SLOW, True)])
def test_the_database_is_slow_only_where_nothing_else_is_wrong(seed: int, is_slow: bool) -> None:
    late = usual_quantile(seed, drawn(seed).shop.query_duration, Part.DATABASE)
    usual, now = between(seed, late, -60 * MINUTE, -15 * MINUTE), between(seed, late, 2 * MINUTE, 3 * MINUTE)

    assert (min(now) > 2 * max(usual)) is is_slow


@pytest.mark.parametrize(("seed", "is_surge"), [(OWN, False), (THEIRS, False), (SURGE, True), (SLOW, False)])
def test_more_customers_come_only_in_a_surge_and_before_the_onset(seed: int, is_surge: bool) -> None:
    requests = f"sum(rate({drawn(seed).shop.http.requests}{where(seed, Part.CHECKOUT)}[2m]))"
    usual, now = between(seed, requests, -60 * MINUTE, -15 * MINUTE), between(seed, requests, timedelta(0), MINUTE)

    assert (min(now) > 1.3 * max(usual)) is is_surge


@pytest.mark.parametrize("seed", UNSEEN_SEEDS[:3])
def test_where_only_the_log_would_tell_no_metric_does(seed: int) -> None:
    shop, began = drawn(seed).shop, onset(seed)
    pool = f"{shop.pool.in_use} / {shop.pool.largest}"
    requests = f"sum(rate({shop.http.requests}{where(seed, Part.CHECKOUT)}[2m]))"

    assert max(between(seed, pool, -60 * MINUTE, 5 * MINUTE)) < 0.8
    assert max(between(seed, requests, timedelta(0), 5 * MINUTE)) < 1.2 * max(
        between(seed, requests, -60 * MINUTE, timedelta(0))
    )
    for part, metric in ((Part.PAYMENTS, shop.http.duration), (Part.DATABASE, shop.query_duration)):
        late = usual_quantile(seed, metric, part)
        assert max(between(seed, late, timedelta(0), 5 * MINUTE)) < 1.5 * max(
            between(seed, late, -60 * MINUTE, timedelta(0))
        )
    assert lines(seed, where(seed, Part.CHECKOUT), began, recording(seed).ends_at) == 0 or recording(
        seed
    ).header.unreachable == ("loki",)


# ---- changes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seed", "fatal", "harmless"), [(OWN, Part.CHECKOUT, Part.PAYMENTS), (THEIRS, Part.PAYMENTS, Part.CHECKOUT)]
)
def test_the_fatal_release_is_minutes_before_the_onset_and_the_harmless_one_long_before(
    seed: int, fatal: Part, harmless: Part
) -> None:
    (culprit,), (herring,) = deployed(seed, fatal), deployed(seed, harmless)
    truth = recording(seed).header.truth

    assert timedelta(minutes=1) < before_onset(seed, culprit) < timedelta(minutes=5)
    assert timedelta(minutes=20) < before_onset(seed, herring) < timedelta(minutes=55)
    assert datetime.fromisoformat(str(herring["updated_at"])) in {one.at for one in truth.red_herrings}
    assert truth.affected_object == drawn(seed).shop.workload(fatal)


@pytest.mark.parametrize("seed", [OWN, THEIRS])
def test_the_culprit_is_what_the_fatal_deployment_brought(seed: int) -> None:
    path, _, number = recording(seed).header.truth.culprit_change.partition("!")
    (project,) = [one for one in recording(seed).changes.projects if one.project["path_with_namespace"] == path]
    (merged,) = [one for one in project.merge_requests if one.merge_request["iid"] == int(number)]

    assert project.deployments[-1]["sha"] == merged.merge_request["merge_commit_sha"]


@pytest.mark.parametrize("seed", [SURGE, SLOW])
def test_without_a_deployment_none_can_be_blamed(seed: int) -> None:
    assert [deployed(seed, part) for part in Part if part is not Part.DATABASE] == [[], [], [], []]
    assert recording(seed).header.truth.culprit_change == ""


@pytest.mark.parametrize("seed", [SURGE, SLOW, UNSEEN])
def test_something_was_merged_and_never_deployed(seed: int) -> None:
    merged = f"merge request of {drawn(seed).shop.names[Part.CHECKOUT]}"

    (herring,) = [one for one in recording(seed).header.truth.red_herrings if one.what == merged]
    assert timedelta(0) < onset(seed) - herring.at < timedelta(minutes=10)


# ---- logs ----------------------------------------------------------------------------------------------


def test_logs_are_missing_in_three_ways_and_only_where_they_alone_would_tell() -> None:
    assert {logs_of(seed) for seed in UNSEEN_SEEDS} == {Logs.UNREACHABLE, Logs.NONE, Logs.STOPPED}
    assert {logs_of(seed) for seed in SEEDS if seed != UNSEEN} == {Logs.SERVED}


@pytest.mark.parametrize("seed", UNSEEN_SEEDS[:6])
def test_what_cannot_be_found_out_is_not_asked_for(seed: int) -> None:
    truth = recording(seed).header.truth

    assert (truth.verdict, truth.affected_object, truth.missing) == (Verdict.INCONCLUSIVE, "", ("logs",))
    assert (recording(seed).header.unreachable == ("loki",)) is (logs_of(seed) is Logs.UNREACHABLE)
