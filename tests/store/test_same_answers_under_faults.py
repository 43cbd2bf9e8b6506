"""Owners that die, come back late, lose answers and send twice: both stores answer every call of it alike (design 14).

A schedule is drawn from its number. What it does is what owners do: reserve a turn, commit it with its batch, record
outcomes, join, end; each as the owner last knew the version. Then an answer gets lost and the call is sent again,
another owner takes over, and the old one goes on with what it was about to do.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from inquest.domain.budget import Spend
from inquest.domain.effect import Receipt, Reservation
from inquest.domain.fence import Fence
from inquest.errors import InquestError
from inquest.ports import Write
from inquest.store.actions import PostgresActions
from inquest.store.investigations import PostgresInvestigations
from inquest.store.journal import PostgresJournal
from inquest.store.lease import Claimed, ClaimLimits, Opening
from inquest.store.memory import MemoryJournal
from tests.store.builders import (
    StillClock,
    Store,
    contents,
    failed,
    identity,
    interrupt_raised,
    model,
    nudge,
    plan_committed,
    query,
    receipt,
    run_started,
    succeeded,
    turn_committed,
)
from tests.store.test_same_answers import answer, journal_of

SCHEDULES = 224
PARTS = 4
STEPS = (14, 32)
LOST = 0.15
"""The share of calls that are done, and whose owner never hears of it."""
LONG = timedelta(hours=1)
LIMITS = ClaimLimits(max_attempts=2)
OUTCOMES = (b"outcome", b"outcome", b"outcome", b"another outcome")

Ask = Callable[[MemoryJournal | PostgresJournal], Awaitable[object]]
"""One call, with everything that was sent in it: sending it again is calling it again."""

ACTS = {
    "go on": 24, "reserve again": 3, "receive again": 4, "retake": 5, "resend": 6, "load": 4, "take over": 3,
    "die at the batch": 5, "let go": 1, "charge": 1, "question": 0.2, "end": 0.3, "cancel": 0.3,
}  # fmt: skip


@dataclass
class Owner:
    """Who holds, or held, the right to act; `version` is what it believes the journal to be at."""

    fence: Fence
    version: int


@dataclass
class Life:
    """One investigation in both stores, its owners in order, and every call that was ever sent."""

    store: Store
    workspace: str
    chance: random.Random
    owners: list[Owner] = field(default_factory=list)
    sent: list[Ask] = field(default_factory=list)
    turn: int = 1
    did: int = 0
    """How far the present turn has got: of reserve, commit turn, two receives, join."""
    answers: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.name = f"{self.workspace}-inv"
        self.memory = MemoryJournal(self.workspace, StillClock())
        self.postgres = PostgresJournal(self.store.database, self.workspace)
        self.actions = PostgresActions(self.store.database, self.workspace)
        self.investigations = PostgresInvestigations(self.store.database, self.workspace)

    # ---- both at once

    async def ask(self, call: Ask) -> object:
        """Send `call` to both, check that they answer alike, and give the answer."""
        self.sent.append(call)
        here, there = await answer(call(self.memory)), await answer(call(self.postgres))
        assert here == there
        self.answers[_word(here)] += 1
        return here

    async def claim(self, owner_id: str) -> Claimed | None:
        here = await self.memory.claim(owner_id, lease=LONG, limits=LIMITS)
        there = await self.store.claims.claim(owner_id, lease=LONG, limits=LIMITS, workspace=self.workspace)
        assert (here is None) == (there is None)
        if here is None or there is None:
            return None
        assert (here.fence, here.version, here.exhausted) == (there.fence, there.version, there.exhausted)
        self.owners.append(Owner(here.fence, here.version))
        return here

    async def begin(self) -> None:
        episode = f"episode-of-{self.workspace}"
        self.store.add_episode(episode, self.workspace)
        opening = Opening(investigation_id=self.name, episode_id=episode, session_id="post-1", severity_rank=4)
        await self.memory.open(opening)
        await self.investigations.open(opening)
        await self.claim("owner-0")
        who = identity(self.name, self.workspace).but(task_id=episode)
        ceilings = plan_committed(self.chance.choice((2, 20)), self.chance.choice((3, 60)))
        await self._commit(self.owners[-1], run_started(who), ceilings)

    async def ends_alike(self) -> None:
        """Compare everything that is left, but the moments."""
        assert await journal_of(self.memory, self.name) == await journal_of(self.postgres, self.name)
        row = await self.investigations.get(self.name)
        assert (row.status, row.spend) == (self.memory.status(self.name), self.memory.spend(self.name))
        rows = (await self.memory.load(self.name)).effects
        digests = [one.outcome_digest for one in rows if one.outcome_digest is not None]
        assert await self.memory.content(digests) == await self.postgres.content(digests)

    # ---- steps

    async def step(self, act: str) -> None:
        """Do `act` as one of the owners: mostly the newest, sometimes one that was superseded."""
        owner = self.owners[-1 - min(self.chance.choice((0, 0, 0, 0, 0, 0, 1, 2)), len(self.owners) - 1)]
        ordinal = self.chance.randint(1, 2)
        match act:
            case "go on":
                await self._go_on(owner)
            case "reserve again" | "receive again":
                await self._again(act, owner, ordinal)
            case "retake":
                await self._retake(owner, ordinal)
            case "die at the batch":
                await self._change_hands(act, owner.fence)
                for each in (1, 2):
                    await self._retake(self.owners[-1], each)
            case "resend":
                await self.ask(self.chance.choice(self.sent[-6:]))
            case "load":
                owner.version = (await self.memory.load(self.name)).version
            case "question" | "end" | "cancel":
                await self._end(act, owner)
            case _:
                await self._change_hands(act, owner.fence)

    async def _end(self, act: str, owner: Owner) -> None:
        match act:
            case "question":
                await self._commit(owner, interrupt_raised(f"{self.name}-{len(self.sent)}"))
            case "end":
                await self._commit(owner, self.chance.choice((succeeded(), failed())))
            case _:
                assert await answer(self.memory.cancel(self.name)) == await answer(self.actions.cancel(self.name))

    async def _go_on(self, owner: Owner) -> None:
        """Do what comes next in the turn, as an owner that knows no better."""
        turn = self.turn
        match self.did:
            case 0:
                asked = model(f"turn/{turn}")
                await self._reserve(owner, asked)
            case 1:
                await self._commit_turn(owner, turn)
            case 2 | 3:
                await self._receive(owner, f"turn/{turn}/call/{self.did - 1}")
            case _:
                await self._commit(owner, nudge(turn), spend=Spend(model_turns=turn, usd_micros=turn * 1_000))
        self.turn, self.did = (turn + 1, 0) if self.did > 3 else (turn, self.did + 1)

    async def _reserve(self, owner: Owner, asked: Reservation) -> None:
        fence, version = owner.fence, owner.version
        await self._ask_as(lambda at: at.reserve(fence, version, asked))

    async def _again(self, act: str, owner: Owner, ordinal: int) -> None:
        """Do what may have been done already, or by another owner, or is not due yet."""
        if act == "receive again":
            await self._receive(owner, f"turn/{self.turn}/call/{ordinal}")
            return
        asked = model(f"turn/{self.turn}", self.chance.choice((b"prompt", b"another prompt")))
        await self._reserve(owner, asked)

    async def _retake(self, owner: Owner, ordinal: int) -> None:
        """Take over a call of the open batch: as it was asked, or as a new release asks it."""
        asked = query(f"turn/{self.turn}/call/{ordinal}", self.chance.choice((b"up", b"up", b"up", b"down")))
        await self._reserve(owner, asked)

    async def _commit_turn(self, owner: Owner, turn: int) -> None:
        asked, outcome = model(f"turn/{turn}"), self.chance.choice(OUTCOMES)
        await self._commit(
            owner,
            turn_committed(turn, outcome),
            receipts=(receipt(asked, outcome),),
            reservations=(query(f"turn/{turn}/call/1"), query(f"turn/{turn}/call/2")),
            contents=contents(outcome),
            spend=Spend(model_turns=turn),
        )

    async def _receive(self, owner: Owner, key: str) -> None:
        outcome = self.chance.choice(OUTCOMES)
        found: Receipt = receipt(query(key), outcome)
        if self.chance.random() < 0.15:  # a schedule, not a secret
            found = found.but(key=f"{key}/try/2")
        await self._ask_as(lambda at: at.receive(owner.fence, found, contents(outcome)))

    async def _commit(self, owner: Owner, *events: object, **parts: object) -> None:
        write = Write.model_validate(
            {"fence": owner.fence, "expected_version": owner.version, "events": events, **parts}
        )
        found = await self._ask_as(lambda at: at.commit(write))
        if isinstance(found, int):
            owner.version = found

    async def _ask_as(self, call: Ask) -> object:
        """Send `call`; its answer may get lost (None), and then it may be sent as it was once more, or twice."""
        found = await self.ask(call)
        if self.chance.random() >= LOST:
            return found
        for _ in range(self.chance.choice((0, 1, 2))):
            await self.ask(call)
        return None

    async def _change_hands(self, act: str, fence: Fence) -> None:
        here, there = self.memory, self.store.claims
        match act:
            case "let go":
                assert await answer(here.release(fence)) == await answer(there.release(fence))
            case "charge":
                charged = await answer(here.fail_attempt(fence, max_attempts=2))
                assert charged == await answer(there.fail_attempt(fence, max_attempts=2))
            case _:
                assert await answer(here.expire(self.name)) == await answer(there.expire(self.name))
        owner_id = f"owner-{len(self.owners)}"
        if await self.claim(owner_id) is None:
            await self._come_due()
            await self.claim(owner_id)

    async def _come_due(self) -> None:
        aggregate = self.memory._find(self.name)
        if aggregate.not_before is not None:
            aggregate.not_before = self.memory._clock.now()
            await self.store.come_due(self.name)


def _word(found: object) -> str:
    if isinstance(found, type):
        return found.__name__
    if isinstance(found, tuple):
        return f"ceiling {found[0]}"
    return str(getattr(found, "answer", "done"))


@pytest.mark.parametrize("part", range(PARTS))
async def test_both_stores_answer_alike_whatever_befalls_the_owners(store: Store, part: int) -> None:
    answers: Counter[str] = Counter()
    for number in range(part, SCHEDULES, PARTS):
        chance = random.Random(number)  # noqa: S311  # a schedule, not a secret
        life = Life(store, f"s{number}", chance)
        await life.begin()
        acts = chance.choices(list(ACTS), weights=list(ACTS.values()), k=chance.randint(*STEPS))
        for at, act in enumerate(acts):
            try:
                await life.step(act)
            except (AssertionError, InquestError) as differs:
                differs.add_note(f"schedule {number}, step {at} of {acts}")
                raise
        await life.ends_alike()
        answers += life.answers
    # What is not met is not compared: every part meets every answer that there is.
    assert set(answers) >= {
        "done", "fresh", "again", "moved", "known",
        "FenceLost", "VersionConflict", "FingerprintMismatch", "InvariantBroken",
        "ceiling max_model_turns", "ceiling max_connector_effects",
    }  # fmt: skip
