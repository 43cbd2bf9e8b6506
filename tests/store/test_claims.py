"""Who may run next, and what an attempt costs (design 6 "The claim decides", design 10 "Claim")."""

from collections import Counter
from datetime import timedelta
from itertools import pairwise

import pytest

from inquest.domain.investigation import Status
from inquest.store.investigations import PostgresInvestigations
from inquest.store.lease import BACKOFF_S, FREE_STALLS, ClaimLimits, backoff
from tests.store.builders import Either, Store, interrupt_raised, nudge, opening, run_started, succeeded, write

ONE = ClaimLimits(max_running=1)


async def names(either: Either, count: int, limits: ClaimLimits | None = None) -> list[str | None]:
    claims = [await either.claims.claim(f"owner-{number}", limits=limits) for number in range(count)]
    return [None if claim is None else claim.fence.investigation_id for claim in claims]


async def test_the_most_severe_then_the_oldest_is_taken(either: Either) -> None:
    for name, rank in (("old-info", 1), ("old-critical", 4), ("new-critical", 4), ("warning", 2)):
        await either.opened(name, severity_rank=rank)

    found = await names(either, 5, ClaimLimits(max_running=10))

    assert found == ["old-critical", "new-critical", "warning", "old-info", None]


async def test_a_full_workspace_takes_nothing_more(either: Either) -> None:
    for number in (1, 2, 3):
        await either.opened(f"inv-{number}")

    assert await names(either, 3, ClaimLimits(max_running=2)) == ["inv-1", "inv-2", None]


async def test_a_workspace_can_have_a_limit_of_its_own(either: Either) -> None:
    await either.opened("inv-1")
    await either.opened("inv-2")

    assert await names(either, 2, ClaimLimits(max_running=9, by_workspace={"acme": 1})) == ["inv-1", None]


async def test_a_waiting_one_makes_room(either: Either) -> None:
    fence = await either.started("inv-1")
    await either.opened("inv-2")
    assert await names(either, 1, ONE) == [None]

    await either.journal.commit(write(fence, 2, interrupt_raised()))

    assert await names(either, 1, ONE) == ["inv-2"]


async def test_a_take_over_needs_no_room(either: Either) -> None:
    await either.started("inv-1")
    await either.opened("inv-2", severity_rank=4)
    await either.claims.expire("inv-1")

    assert await names(either, 1, ONE) == ["inv-1"]


async def test_a_deferred_one_is_left_to_the_sweep(either: Either) -> None:
    await either.opened("inv-1")
    claim = await either.claimed()
    await either.opened("inv-2", not_before=claim.now + timedelta(hours=1), defer_reason="max_new_per_hour")

    assert await either.status("inv-2") is Status.DEFERRED
    assert await names(either, 1) == [None]


@pytest.mark.parametrize("versions", [{"workflow_versions": ["investigate/9"]}, {"event_versions": [9]}])
async def test_what_this_release_cannot_continue_is_left_uncharged(
    either: Either, versions: dict[str, list[str]]
) -> None:
    await either.started()
    await either.claims.expire("inv-1")

    assert await either.claims.claim("owner-2", **versions) is None  # type: ignore[arg-type]

    assert (await either.claimed("owner-3")).fence.attempt == 1


async def test_a_halted_workspace_gives_nothing(either: Either) -> None:
    await either.opened()
    await either.claims.halt()
    assert await either.claims.claim("owner-1") is None

    await either.claims.resume()

    assert await either.claims.claim("owner-1") is not None


async def test_an_owner_that_got_somewhere_and_died_costs_no_attempt(either: Either) -> None:
    fence = await either.started()
    for owner in ("owner-2", "owner-3"):
        fence = await either.taken_over(owner)
        await either.journal.commit(write(fence, (await either.journal.load("inv-1")).version, nudge()))

    assert (fence.generation, fence.attempt) == (3, 1)


async def test_an_owner_that_died_where_it_claimed_costs_an_attempt_after_a_wait(either: Either) -> None:
    await either.started()
    await either.taken_over("owner-2")
    await either.claims.expire("inv-1")

    assert await either.claims.claim("owner-3") is None
    assert await either.status() is Status.QUEUED
    await either.come_due()
    claim = await either.claimed("owner-3")

    assert (claim.fence.generation, claim.fence.attempt) == (3, 2)


async def test_an_owner_that_died_before_run_started_costs_an_attempt(either: Either) -> None:
    await either.opened()
    await either.claimed()

    fence = await either.taken_over("owner-2")

    assert (fence.generation, fence.attempt) == (2, 2)


async def test_a_drain_costs_no_attempt_and_no_wait(either: Either) -> None:
    await either.opened()
    for generation in range(1, 8):
        claim = await either.claimed(f"owner-{generation}")
        assert (claim.fence.generation, claim.fence.attempt) == (generation, 1)
        await either.claims.release(claim.fence)


async def test_what_the_database_never_answers_is_tried_again_at_once_then_later_then_charged(either: Either) -> None:
    await either.opened()
    found = []
    for number in range(FREE_STALLS + 3):
        claim = await either.claims.claim(f"owner-{number}")
        waited = claim is None
        if claim is None:
            await either.come_due()
            claim = await either.claimed(f"owner-{number}")
        found.append((waited, claim.fence.attempt))
        await either.claims.release_unanswered(claim.fence)

    assert found == [(False, 1), (False, 1), (True, 1), (True, 1), (True, 2), (True, 3)]


async def test_progress_between_two_silences_of_the_database_costs_nothing(either: Either) -> None:
    fence = await either.started()
    for number in range(2 * FREE_STALLS):
        version = (await either.journal.load("inv-1")).version
        await either.journal.commit(write(fence, version, nudge()))
        await either.claims.release_unanswered(fence)
        fence = (await either.claimed(f"owner-{number}")).fence

    assert fence.attempt == 1


async def test_a_drain_between_two_silences_of_the_database_is_no_progress(either: Either) -> None:
    await either.opened()
    for number in range(FREE_STALLS + 1):
        await either.claims.release((await either.claimed(f"drained-{number}")).fence)
        await either.claims.release_unanswered((await either.claimed(f"owner-{number}")).fence)
        await either.come_due()

    assert (await either.claimed()).fence.attempt == 2


async def test_a_stage_error_costs_an_attempt_even_after_progress(either: Either) -> None:
    fence = await either.started()
    await either.claims.fail_attempt(fence)
    assert await either.claims.claim("owner-2") is None

    await either.come_due()
    claim = await either.claimed("owner-2")

    assert (claim.fence.attempt, claim.exhausted) == (2, False)
    assert "stage_error" in str((await either.journal.load("inv-1")).events[-1].body)


async def test_a_charge_is_made_once(either: Either) -> None:
    fence = await either.started()
    await either.claims.fail_attempt(fence)
    await either.come_due()
    fence = (await either.claimed("owner-2")).fence
    await either.claims.release(fence)

    assert (await either.claimed("owner-3")).fence.attempt == 2


async def test_when_the_attempts_are_used_up_the_owner_is_told_to_end_it(either: Either) -> None:
    await either.opened()
    for attempt in range(1, 6):
        claim = await either.claimed(f"owner-{attempt}")
        assert (claim.fence.attempt, claim.exhausted) == (attempt, False)
        await either.claims.fail_attempt(claim.fence)
        await either.come_due()

    claim = await either.claimed("owner-6")

    assert (claim.fence.attempt, claim.exhausted) == (6, True)


async def test_the_waits_are_1_5_25_60_seconds(store: Store) -> None:
    await store.opened()
    waits = []
    for attempt in range(1, 7):
        fence = (await store.claimed(f"owner-{attempt}")).fence
        not_before = await store.claims.fail_attempt(fence)
        [row] = store.look("select clock_timestamp() as now")
        waits.append(-(-(not_before - row["now"]) // timedelta(seconds=1)))
        await store.come_due()

    assert waits == [*BACKOFF_S, 0, 60]
    assert [backoff(attempt, 5).total_seconds() for attempt in range(1, 7)] == waits


async def test_the_first_claim_starts_the_wall_clock(either: Either) -> None:
    await either.opened()
    first = await either.claimed("owner-1")
    await either.claims.release(first.fence)

    assert (await either.claimed("owner-2")).started_at == first.started_at <= first.now < first.lease_expires_at


async def test_a_terminal_one_is_never_claimed_again(either: Either) -> None:
    fence = await either.started()
    await either.journal.commit(write(fence, 2, succeeded()))
    assert not await either.claims.expire("inv-1")

    assert await either.claims.claim("owner-2") is None


async def test_the_workspace_with_the_fewest_running_goes_first(store: Store) -> None:
    store.add_episode("episode-2", "rival")
    rival = Store(store.database.url, store.conninfo, "rival")
    for number in range(3):
        await store.opened(f"acme-{number}", severity_rank=4)
    for number in range(3):
        await rival.opened(f"rival-{number}", severity_rank=1, episode_id="episode-2")

    found = await names(store, 7)

    await rival.database.aclose()
    assert [str(name).split("-")[0] for name in found[:6]] == ["acme", "rival"] * 3
    assert found[6] is None


async def test_of_twenty_workspaces_in_a_storm_each_gets_its_turn(store: Store) -> None:
    names = [f"ws-{number:02}" for number in range(20)]
    for workspace in names:
        store.add_episode(f"episode-{workspace}", workspace)
        opened = 30 if workspace == "ws-00" else 2
        for number in range(opened):
            await PostgresInvestigations(store.database, workspace).open(
                opening(f"{workspace}-{number}", episode_id=f"episode-{workspace}")
            )

    found = [await store.claims.claim(f"owner-{number}", limits=ClaimLimits(max_running=4)) for number in range(42)]

    got = Counter(claim.identity.workspace_id for claim in found[:20] if claim is not None)
    assert got == dict.fromkeys(names, 1), "none waits for the backlog of another"
    got = Counter(claim.identity.workspace_id for claim in found if claim is not None)
    assert got == {**dict.fromkeys(names, 2), "ws-00": 4}


async def test_a_claim_can_be_restricted_to_one_workspace(store: Store) -> None:
    await store.opened()

    assert await store.claims.claim("owner-1", workspace="rival") is None
    assert await store.claims.claim("owner-1", workspace="acme") is not None


async def test_a_worker_takes_only_the_workspaces_that_it_serves(either: Either) -> None:
    await either.opened("inv-1")

    assert await names(either, 1, ClaimLimits(only=("rival",))) == [None]
    assert await names(either, 1, ClaimLimits(only=("rival", "acme"))) == ["inv-1"]


async def test_what_died_in_a_workspace_that_nobody_here_serves_is_left_uncharged(either: Either) -> None:
    await either.opened("inv-1")
    await names(either, 1)
    await either.claims.expire("inv-1")

    assert await names(either, 3, ClaimLimits(only=("rival",))) == [None] * 3

    assert await either.status() is Status.RUNNING


async def test_a_workspace_that_only_looks_promising_hides_no_other(store: Store) -> None:
    # The first choice is made without a lock: "aaa" has a queued one, of a workflow that nobody here can run.
    store.add_episode("episode-2", "aaa")
    first = Store(store.database.url, store.conninfo, "aaa")
    await first.opened("unreadable", severity_rank=4, episode_id="episode-2", workflow="investigate/9")
    await store.opened("inv-1", severity_rank=1)

    claim = await store.claimed()

    await first.database.aclose()
    assert claim.fence.investigation_id == "inv-1"


async def test_a_halt_of_everything_halts_each_workspace(store: Store) -> None:
    await store.opened()
    for name in ("acme", ""):
        await store.claims.halt(name, actor="alice")
        assert await store.claims.claim("owner-1") is None
        await store.claims.resume(name)
    await store.claims.halt("rival")

    assert await store.claims.claim("owner-1") is not None


async def test_a_drain_rings_for_the_same_one_and_a_stage_error_for_the_next(store: Store) -> None:
    await store.opened("inv-1")
    await store.opened("inv-2")
    first, second = await store.claimed("owner-1"), await store.claimed("owner-2")
    store.look("delete from procrastinate.procrastinate_jobs")

    await store.claims.release(first.fence)
    await store.claims.fail_attempt(second.fence)

    jobs = store.look("select args, queue_name, task_name, lock, queueing_lock from procrastinate.procrastinate_jobs")
    bell = {"args": {"id": "inv-1"}, "queue_name": "investigations", "task_name": "investigate"}
    assert jobs == [{**bell, "lock": None, "queueing_lock": None}] * 2


async def test_every_claim_advances_the_generation(either: Either) -> None:
    await either.opened()
    claims = []
    for number in range(5):
        claims.append(await either.claimed(f"owner-{number}"))
        await either.claims.release(claims[-1].fence)

    assert all(earlier.fence.generation + 1 == later.fence.generation for earlier, later in pairwise(claims))


async def test_the_identity_of_a_claim_is_the_one_that_run_started_needs(either: Either) -> None:
    await either.opened(workflow="investigate/1")
    claim = await either.claimed()

    assert await either.journal.commit(write(claim.fence, 0, run_started(claim.identity))) == 1
