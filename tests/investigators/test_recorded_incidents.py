"""The analyst over recorded incidents, one of each story: it finds what an engineer would, and blames nobody else."""

from __future__ import annotations

from datetime import timedelta

import pytest

from inquest.domain.claim import ChangeEvent
from inquest.domain.diagnosis import Diagnosis, Verdict
from inquest.scenarios.catalogue import open_scenario
from inquest.scenarios.generate.checkout_pool import NAME_OF_PACK
from inquest.scenarios.generate.shop import Part
from inquest.scenarios.generate.stories import Logs, Story, logs_of, story_of
from inquest.scenarios.judge import wrong_with
from inquest.scenarios.server import RECORDED_GITLAB_TOKEN
from tests.investigators.recorded_runs import investigated
from tests.scenarios.generate.variations import drawn, seeds_of

UNSEEN = {logs_of(seed): seed for seed in reversed(seeds_of(Story.UNSEEN, 12))}
"""The first seed for each way in which logs are missing."""


TWO_SCRAPES, SEEN_WITHIN = timedelta(seconds=60), timedelta(seconds=120)
"""The alert's signal is a rate over some minutes: it shows the onset a little later than it was."""


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set what the demo's configuration reads."""
    monkeypatch.setenv("INQUEST_DEMO_TOKEN", "a-token-of-the-intake")
    monkeypatch.setenv("INQUEST_DEMO_GITLAB_TOKEN", RECORDED_GITLAB_TOKEN)


async def diagnosed(seed: int) -> Diagnosis:
    """Investigate a variation, and check what holds for all."""
    found, truth = await investigated(open_scenario(NAME_OF_PACK, seed=seed))

    assert wrong_with(found, truth) == ()
    assert (found.non_validated_claims, found.downgraded) == ((), "")
    assert found.onset is not None
    assert truth.onset is not None
    assert -TWO_SCRAPES <= found.onset.at - truth.onset <= SEEN_WITHIN
    return found


@pytest.mark.parametrize("seed", [*seeds_of(Story.OWN_RELEASE, 2), *seeds_of(Story.THEIR_RELEASE, 2)])
async def test_the_release_that_did_it_is_named_and_the_other_one_ruled_out(seed: int) -> None:
    found, names = await diagnosed(seed), drawn(seed).shop.names

    fatal, harmless = names[Part.CHECKOUT], names[Part.PAYMENTS]
    if story_of(seed) is Story.THEIR_RELEASE:
        fatal, harmless = harmless, fatal
    assert found.causal_chain[0].text == f"deployment of {fatal} began."
    assert [one.hypothesis for one in found.ruled_out] == [f"the deployment of {harmless} is the cause"]


@pytest.mark.parametrize("seed", [*seeds_of(Story.SURGE), *seeds_of(Story.SLOW_DATABASE)])
async def test_without_a_deployment_no_change_is_blamed(seed: int) -> None:
    found = await diagnosed(seed)

    assert found.verdict is Verdict.CAUSE_FOUND
    assert [claim for claim in found.validated_claims if isinstance(claim, ChangeEvent)] == []
    assert found.ruled_out == ()


@pytest.mark.parametrize("way", [Logs.UNREACHABLE, Logs.NONE, Logs.STOPPED])
async def test_where_the_logs_are_missing_it_says_so_and_blames_nobody(way: Logs) -> None:
    found = await diagnosed(UNSEEN[way])

    assert any("log" in one for one in found.missing_evidence)
    assert [claim for claim in found.validated_claims if isinstance(claim, ChangeEvent)] == []
