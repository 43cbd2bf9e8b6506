"""The journal in memory and the one in Postgres give the same answers to the same commands (design 14)."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typing_extensions import override

from inquest.domain.canonical import digest_of
from inquest.domain.effect import Receipt, Reservation
from inquest.domain.event import GENESIS, Event, EventBody, InterruptAnswered, InterruptRaised
from inquest.domain.fence import Fence
from inquest.domain.value import Value
from inquest.errors import BudgetExhausted, InquestError
from inquest.ports import Write
from inquest.store.actions import PostgresActions
from inquest.store.lease import Claimed, ClaimLimits, Opening
from inquest.store.memory import MemoryJournal
from tests.store.builders import (
    StillClock,
    Store,
    contents,
    failed,
    far,
    identity,
    interrupt_raised,
    model,
    nudge,
    plan_committed,
    query,
    run_started,
    succeeded,
    turn_committed,
)

LONG = timedelta(hours=1)
NAMES = ("one", "two")
KEYS = ("seed/1", "seed/1", "turn/1", "turn/1", "turn/2", "diagnose/1")
numbers = itertools.count()


@dataclass
class Pair:
    """Both stores, with one workspace that only this example uses, and what its commands have learnt."""

    store: Store
    workspace: str
    memory: MemoryJournal = field(init=False)
    postgres: Store = field(init=False)
    actions: PostgresActions = field(init=False)
    fences: list[Fence] = field(default_factory=list)
    questions: list[tuple[str, str]] = field(default_factory=list)
    """The investigation and the name of each question that was to be asked."""

    def __post_init__(self) -> None:
        self.memory = MemoryJournal(self.workspace, StillClock())
        self.postgres = Store(self.store.database.url, self.store.conninfo, self.workspace)
        self.actions = PostgresActions(self.postgres.database, self.workspace)
        self.store.add_episode(f"episode-of-{self.workspace}", self.workspace)

    def id(self, name: str) -> str:
        return f"{self.workspace}-{name}"

    def fence(self, back: int) -> Fence:
        nobody = Fence(investigation_id=self.id("one"), owner_id="nobody", generation=1, attempt=1)
        return self.fences[-1 - back % len(self.fences)] if self.fences else nobody

    async def version(self, investigation_id: str) -> int:
        try:
            return (await self.memory.load(investigation_id)).version
        except InquestError:
            return 0


async def answer(act: Awaitable[object]) -> object:
    """Give what `act` comes to in a form that both stores share: no moments, and errors by kind and ceiling."""
    try:
        found = await act
    except BudgetExhausted as error:
        return (error.ceiling,) if error.ceiling == "deadline_at" else (error.ceiling, error.used, error.allowed)
    except InquestError as error:
        return type(error)
    match found:
        case Claimed(fence=fence, version=version, exhausted=exhausted):
            return fence, version, exhausted
        case datetime():
            return "a moment"
        case _:
            return found


class Command(Value):
    """What is done to both stores; `back` picks a fence, 0 the newest."""

    async def do(self, pair: Pair) -> tuple[object, object]:
        raise NotImplementedError


class Open(Command):
    name: str
    rank: int

    @override
    async def do(self, pair: Pair) -> tuple[object, object]:
        episode = f"episode-of-{pair.workspace}"
        asked = Opening(
            investigation_id=pair.id(self.name), episode_id=episode, session_id="post-1", severity_rank=self.rank
        )
        await pair.memory.open(asked)
        await pair.postgres.investigations.open(asked)
        return None, None


class Claim(Command):
    owner: str
    room: int
    take_expired: bool

    @override
    async def do(self, pair: Pair) -> tuple[object, object]:
        limits = ClaimLimits(max_running=self.room, max_attempts=2)
        here = await pair.memory.claim(self.owner, lease=LONG, limits=limits, take_expired=self.take_expired)
        there = await pair.postgres.claims.claim(
            self.owner, lease=LONG, limits=limits, take_expired=self.take_expired, workspace=pair.workspace
        )
        if here is not None:
            pair.fences.append(here.fence)
        return await answer(_given(here)), await answer(_given(there))


async def _given(value: object) -> object:
    return value


class Lease(Command):
    act: str
    back: int
    name: str

    @override
    async def do(self, pair: Pair) -> tuple[object, object]:
        fence, here, there = pair.fence(self.back), pair.memory, pair.postgres.claims
        match self.act:
            case "renew":
                return await answer(here.renew(fence, lease=LONG)), await answer(there.renew(fence, lease=LONG))
            case "release":
                return await answer(here.release(fence)), await answer(there.release(fence))
            case "unanswered" | "fail":
                end = "fail_attempt" if self.act == "fail" else "release_unanswered"
                ended_here = await answer(getattr(here, end)(fence, max_attempts=2))
                return ended_here, await answer(getattr(there, end)(fence, max_attempts=2))
            case "expire":
                expired_here = await _expired(pair, self.name)
                return expired_here, await answer(there.expire(pair.id(self.name)))
            case "halt":
                return await answer(here.halt()), await answer(there.halt(pair.workspace))
            case _:
                return await answer(here.resume()), await answer(there.resume(pair.workspace))


async def _expired(pair: Pair, name: str) -> object:
    known = pair.id(name) in pair.memory._aggregates
    return await pair.memory.expire(pair.id(name)) if known else False


class Cancel(Command):
    name: str

    @override
    async def do(self, pair: Pair) -> tuple[object, object]:
        here = await answer(pair.memory.cancel(pair.id(self.name)))
        return here, await answer(pair.actions.cancel(pair.id(self.name)))


class TakeOver(Command):
    """The newest owner dies, whatever wait that costs is over, and another one claims."""

    owner: str

    @override
    async def do(self, pair: Pair) -> tuple[object, object]:
        for part in (Lease(act="expire", back=0, name="one"), Lease(act="expire", back=0, name="two")):
            await part.do(pair)
        claim = Claim(owner=self.owner, room=2, take_expired=True)
        first = await claim.do(pair)
        for name in NAMES:
            await ComeDue(name=name).do(pair)
        second = await claim.do(pair)
        return (first[0], second[0]), (first[1], second[1])


class ComeDue(Command):
    name: str

    @override
    async def do(self, pair: Pair) -> tuple[object, object]:
        aggregate = pair.memory._aggregates.get(pair.id(self.name))
        if aggregate is not None and aggregate.not_before is not None:
            aggregate.not_before = pair.memory._clock.now()
            await pair.postgres.come_due(pair.id(self.name))
        return None, None


def _request(key: str, asked: bytes) -> Reservation:
    return query(key, asked) if key.startswith("seed") or "call" in key else model(key, asked)


class Reserve(Command):
    back: int
    key: str
    asked: bytes
    behind: int

    @override
    async def do(self, pair: Pair) -> tuple[object, object]:
        fence, asked = pair.fence(self.back), _request(self.key, self.asked)
        version = await pair.version(fence.investigation_id) - self.behind
        here = await answer(pair.memory.reserve(fence, version, asked))
        return here, await answer(pair.postgres.journal.reserve(fence, version, asked))


def _receipt(key: str, asked: bytes, outcome: bytes) -> Receipt:
    base = key.split("/try/", maxsplit=1)[0]
    return Receipt(key=key, fingerprint=_request(base, asked).fingerprint, outcome_digest=digest_of(outcome))


class Receive(Command):
    back: int
    key: str
    asked: bytes
    outcome: bytes
    with_bytes: bool

    @override
    async def do(self, pair: Pair) -> tuple[object, object]:
        fence, receipt = pair.fence(self.back), _receipt(self.key, self.asked, self.outcome)
        stored = contents(self.outcome) if self.with_bytes else {}
        here = await answer(pair.memory.receive(fence, receipt, stored))
        return here, await answer(pair.postgres.journal.receive(fence, receipt, stored))


class Commit(Command):
    back: int
    behind: int
    events: tuple[str, ...]
    receipts: tuple[str, ...]
    reservations: tuple[str, ...]
    asked: bytes
    turns: int
    effects: int

    @override
    async def do(self, pair: Pair) -> tuple[object, object]:
        fence = pair.fence(self.back)
        write = Write(
            fence=fence,
            expected_version=await pair.version(fence.investigation_id) - self.behind,
            events=tuple(self._event(event, pair, fence) for event in self.events),
            receipts=tuple(_receipt(key, self.asked, b"outcome") for key in self.receipts),
            reservations=tuple(_request(key, self.asked) for key in self.reservations),
            contents=contents(b"outcome") if self.receipts or self.behind == 0 else {},
        )
        return await answer(pair.memory.commit(write)), await answer(pair.postgres.journal.commit(write))

    def _event(self, name: str, pair: Pair, fence: Fence) -> EventBody:
        who = identity(fence.investigation_id, pair.workspace).but(task_id=f"episode-of-{pair.workspace}")
        passed = datetime.now(UTC) - timedelta(seconds=1)
        made: dict[str, EventBody] = {
            "started": run_started(who),
            "plan": plan_committed(self.turns, self.effects),
            "late plan": plan_committed(self.turns, self.effects, passed),
            "nudge": nudge(),
            "turn": turn_committed(1, b"outcome"),
            "question": interrupt_raised(f"int-{next(numbers)}"),
            "succeeded": succeeded(),
            "failed": failed(),
        }
        event = made[name]
        if isinstance(event, InterruptRaised):
            pair.questions.append((fence.investigation_id, event.interrupt_id))
        return event


class Answer(Command):
    """A human answers a question, an old one again, one whose write was refused, or another investigation's."""

    back: int
    mixed_up: bool

    @override
    async def do(self, pair: Pair) -> tuple[object, object]:
        questions = pair.questions or [(pair.id("one"), "int-of-nobody")]
        found, name = questions[-1 - self.back % len(questions)]
        found = pair.id("two") if self.mixed_up else found
        here = await answer(pair.memory.answer(found, name, "alice did"))
        return here, await answer(pair.actions.answer(found, name, "alice did"))


class Consult(Command):
    """The newest owner asks, and a human answers a number of times."""

    times: int

    @override
    async def do(self, pair: Pair) -> tuple[object, object]:
        ask = Commit(
            back=0, behind=0, events=("question",), receipts=(), reservations=(), asked=b"up", turns=20, effects=60
        )
        ended = [await ask.do(pair)]
        ended += [await Answer(back=0, mixed_up=False).do(pair) for _ in range(self.times)]
        return tuple(here for here, _ in ended), tuple(there for _, there in ended)


back = st.sampled_from((0, 0, 0, 0, 0, 1, 2))
behind = st.sampled_from((0, 0, 0, 0, 0, 0, 1))
asked = st.sampled_from((b"up", b"up", b"up", b"up", b"down"))
keys = st.sampled_from(KEYS)
takings = st.sampled_from((*KEYS, "seed/1/try/2"))
names = st.sampled_from(NAMES)
owners = st.sampled_from("abc")
ORDINARY = ("nudge", "nudge", "nudge", "turn")
RARE = ("started", "plan", "late plan", "question", "succeeded", "failed")


def some(inner: st.SearchStrategy[str], most: int) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(inner, max_size=most).map(tuple)


claims = st.builds(Claim, owner=owners, room=st.sampled_from((1, 2)), take_expired=st.booleans())
leases = st.builds(
    Lease,
    act=st.sampled_from(("renew", "release", "release", "unanswered", "fail", "expire", "halt")),
    back=back,
    name=names,
)
takes = st.builds(TakeOver, owner=owners)
cancels = st.builds(Cancel, name=names)
answers = st.builds(Answer, back=back, mixed_up=st.sampled_from((False, False, False, True)))
reserves = st.builds(Reserve, back=back, key=keys, asked=asked, behind=behind)
receives = st.builds(
    Receive, back=back, key=takings, asked=asked, outcome=st.sampled_from((b"outcome", b"outcome", b"other")),
    with_bytes=st.sampled_from((True, True, True, False)),
)  # fmt: skip
commits = st.builds(
    Commit, back=back, behind=behind, events=some(st.sampled_from(ORDINARY), 2), receipts=st.sampled_from(((), (), ("turn/1",), ("seed/1",))),
    reservations=st.sampled_from(((), (), ("seed/1",), ("seed/1", "turn/1"), ("seed/1", "seed/1"), ("turn/2",))), asked=asked, turns=st.just(20), effects=st.just(60),
)  # fmt: skip
rare_commits = st.builds(
    Commit, back=back, behind=st.just(0), events=some(st.sampled_from((*RARE, "nudge")), 2), receipts=st.just(()),
    reservations=some(keys, 1), asked=asked, turns=st.sampled_from((1, 20)), effects=st.sampled_from((1, 60)),
)  # fmt: skip
consults = st.builds(Consult, times=st.sampled_from((0, 1, 2)))
resumes = st.just(Lease(act="resume", back=0, name="one"))
commands = st.one_of(
    claims,
    leases,
    takes,
    takes,
    reserves,
    reserves,
    reserves,
    receives,
    receives,
    commits,
    commits,
    st.one_of(rare_commits, cancels),
    st.one_of(answers, consults),
    resumes,
)


def prelude(turns: int, effects: int) -> tuple[Command, ...]:
    start = Commit(
        back=0, behind=0, events=("started", "plan"), receipts=(), reservations=(), asked=b"up", turns=turns,
        effects=effects,
    )  # fmt: skip
    claim = Claim(owner="a", room=2, take_expired=True)
    return Open(name="one", rank=4), claim, start, Open(name="two", rank=2), claim, start


preludes = st.builds(prelude, turns=st.sampled_from((1, 20)), effects=st.sampled_from((2, 60)))
kept = st.sampled_from((6, 6, 6, 6, 6, 6, 3, 1))


@settings(
    max_examples=20,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(begin=preludes, kept=kept, drawn=st.lists(commands, min_size=30, max_size=60))
async def test_both_stores_give_the_same_answers(
    store: Store, begin: tuple[Command, ...], kept: int, drawn: list[Command]
) -> None:
    pair = Pair(store, f"w{next(numbers)}")
    try:
        for command in (*begin[:kept], *drawn):
            here, there = await command.do(pair)
            assert here == there, command
        for name in NAMES:
            assert await journal_of(pair.memory, pair.id(name)) == await journal_of(
                pair.postgres.journal, pair.id(name)
            )
            assert await answer(_status_here(pair, name)) == await answer(pair.postgres.status(pair.id(name)))
    finally:
        await pair.postgres.database.aclose()


async def _status_here(pair: Pair, name: str) -> object:
    return pair.memory.status(pair.id(name))


async def journal_of(journal: Any, investigation_id: str) -> object:  # noqa: ANN401  # either store's
    try:
        chronicle = await journal.load(investigation_id)
    except InquestError as error:
        return type(error)
    return chronicle.but(events=tuple(timeless(chronicle.events)))


def timeless(events: Iterable[Event]) -> Iterator[Event]:
    """Leave out the moments, which two clocks tell otherwise: an answer holds one, so from there on the chain goes too."""
    answered = False
    for event in events:
        told = event.but(committed_at=far())
        if isinstance(event.body, InterruptAnswered):
            answered, told = True, told.but(body=event.body.but(extended_until=far()))
        yield told.but(body_digest=GENESIS, prev_digest=GENESIS) if answered else told
