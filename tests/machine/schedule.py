"""Schedules: who does what in which order, drawn from a seed; played on a store, judged, and made short when it fails.

A step is a word and two numbers, by which it picks among what there is when it comes: so a schedule stays one when
steps are taken out of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from inquest.domain.canonical import digest_of
from inquest.domain.effect import Receipt, Reservation
from inquest.domain.fence import Fence
from inquest.domain.investigation import TERMINAL, Status
from inquest.ports import Write
from tests.machine import calls, events, history
from tests.machine.calls import Call, Place
from tests.machine.events import Plan
from tests.machine.history import Broken
from tests.machine.judge import Judge
from tests.machine.owners import Owner
from tests.store.builders import nudge

WEIGHTS = {
    "go": 48, "take over": 3, "send": 7, "arrive": 6, "lose": 5, "again": 3, "expire": 4, "die": 2, "renew": 1, "drain": 1, "fail": 1,
    "let go": 1, "come due": 3, "cancel": 0.5, "answer": 4, "nobody answers": 0.5, "stray": 4, "halt": 0.5, "resume": 1,
}  # fmt: skip
OF_THE_LEASE: dict[str, Callable[[Fence], Call]] = {
    "renew": calls.Renew, "drain": calls.Drain, "fail": calls.Fail, "let go": calls.LetGoUnanswered,
}  # fmt: skip
FROM_OUTSIDE: dict[str, Callable[[str], Call]] = {
    "expire": calls.Expire, "come due": calls.ComeDue, "cancel": calls.Cancel,
    "nobody answers": lambda _: calls.ExpireQuestions(), "halt": lambda _: calls.Halt(), "resume": lambda _: calls.Resume(),
}  # fmt: skip
STEPS = (20, 36)
SETTLING_CALLS = 400
"""After the last step faults stop. Far more calls than what is left can need."""


class Step(NamedTuple):
    act: str
    a: int
    b: int


@dataclass(frozen=True)
class Schedule:
    """What one seed means: the plan of every investigation, how many of them and of owners, and the steps."""

    seed: int
    plan: Plan
    investigations: int
    owners: int
    steps: tuple[Step, ...]


def drawn(seed: int) -> Schedule:
    """Draw the schedule of `seed`: always the same one."""
    chance = random.Random(seed)  # noqa: S311  # a schedule, not a secret
    acts = chance.choices(list(WEIGHTS), weights=list(WEIGHTS.values()), k=chance.randint(*STEPS))
    return Schedule(
        seed=seed,
        plan=Plan(
            turns=chance.choice((1, 2, 20)),
            effects=chance.choice((2, 5, 60)),
            wanted=chance.choice((0, 1, 2, 3)),
            asks=chance.choice((True, False, False)),
        ),
        investigations=chance.choice((1, 1, 2)),
        owners=chance.choice((2, 2, 3)),
        steps=tuple(Step(act, chance.randrange(720_720), chance.randrange(720_720)) for act in acts),
    )


@dataclass
class Play:
    """One schedule being played: the owners, what is under way, and the judge."""

    place: Place
    schedule: Schedule
    names: tuple[str, ...]
    judge: Judge
    owners: list[Owner] = field(init=False)
    under_way: list[tuple[Owner, int, Call]] = field(default_factory=list)
    """Calls that were sent, by the owner and life that sent them, and have not arrived."""
    last: list[tuple[Owner, int, Call]] = field(default_factory=list)
    told: list[tuple[Call, object]] = field(default_factory=list)
    """Every call that the store did, with its answer."""

    def __post_init__(self) -> None:
        self.owners = [Owner(number, self.schedule.plan) for number in range(self.schedule.owners)]

    @classmethod
    async def begin(cls, place: Place, schedule: Schedule, names: tuple[str, ...]) -> Play:
        """Begin with `names` opened in `place` and nothing else done."""
        return cls(place, schedule, names, Judge({name: await place.look(name) for name in names}))

    async def ask(self, call: Call) -> object:
        """Have the store do `call`, and have it judged."""
        try:
            answer = await self.place.do(call)
        except (ValueError, LookupError) as crash:
            raise Broken("a store answers or refuses", (call, repr(crash))) from crash
        self.told.append((call, answer))
        self.judge.saw(call, answer, {name: await self.place.look(name) for name in self.names})
        return answer

    async def ask_for(self, owner: Owner, call: Call, *, heard: bool = True) -> None:
        """Do `call` for `owner`, which learns of it unless the answer is lost."""
        self.last = [*self.last[-5:], (owner, owner.life, call)]
        answer = await self.ask(call)
        if heard:
            owner.hears(call, answer)

    async def step(self, step: Step) -> None:
        """Do one step; one for which there is nothing to do is none."""
        owner, name = self._actor(step), self.names[step.b % len(self.names)]
        match step.act:
            case "go" | "lose" | "send" if owner.fence is None and self.judge.everything_ended():
                pass  # nothing is left to claim
            case "go" | "lose":
                await self.ask_for(owner, owner.next_call(step.b), heard=step.act == "go")
            case "send":
                self.under_way.append((owner, owner.life, owner.next_call(step.b)))
            case "arrive" if self.under_way:
                await self._arrive(*self.under_way.pop(step.b % len(self.under_way)))
            case "again" if self.last:
                await self._arrive(*self.last[step.b % len(self.last)])
            case _:
                await self._happens(step, owner, name)

    async def _happens(self, step: Step, owner: Owner, name: str) -> None:
        """Let something befall an owner, its lease, or everybody."""
        match step.act:
            case "take over":
                for _ in range(1 + step.b % 3):
                    await self._take_over(owner, step)
            case "die":
                owner.die(release=step.b % 2)
            case "stray" if owner.fence is not None:
                await self.ask_for(owner, await self._stray(owner.fence, step.b), heard=False)
            case act if act in OF_THE_LEASE and owner.fence is not None:
                await self.ask_for(owner, OF_THE_LEASE[act](owner.fence))
            case "answer":
                asked = name if step.a % 5 else self.names[0]  # mostly the right one's question
                await self.ask(calls.Answer(name, events.question_of(asked), f"answer {step.a}"))
            case act if act in FROM_OUTSIDE:
                await self.ask(FROM_OUTSIDE[act](name))
            case _:
                pass

    async def _take_over(self, owner: Owner, step: Step) -> None:
        """Let a process die, its lease run out and the wait that this may cost pass, and the next one begin."""
        name = owner.fence.investigation_id if owner.fence else self.names[0]
        owner.die(release=int(step.b % 7 == 0))
        await self.ask(calls.Expire(name))
        await self.ask_for(owner, owner.next_call(step.b))
        if owner.fence is None:
            await self.ask(calls.ComeDue(name))
            await self.ask_for(owner, owner.next_call(step.b))
        if owner.fence is not None:
            await self.ask_for(owner, owner.next_call(step.b))
            await self.ask_for(owner, owner.next_call(step.b))

    def _actor(self, step: Step) -> Owner:
        """Pick an owner: mostly one that believes itself to be one, since the others only claim."""
        holders = [owner for owner in self.owners if owner.fence is not None]
        among = holders if holders and step.b % 5 else self.owners
        return among[step.a % len(among)]

    async def _arrive(self, owner: Owner, life: int, call: Call) -> None:
        """Let a call arrive late, or once more: only the process that sent it would hear of it."""
        answer = await self.ask(call)
        if life == owner.life and owner.next_call(0) == call:
            owner.hears(call, answer)

    async def _stray(self, fence: Fence, which: int) -> Call:
        """Give a call that contradicts what is recorded: as a bug, or a mixed-up answer, would send it."""
        look = await self.place.look(fence.investigation_id)
        version, rows = look.chronicle.version, look.chronicle.effects
        row = rows[which % len(rows)] if rows else None
        match which % 4:
            case 0 if row:
                base = row.key.partition("/try/")[0]
                other = Reservation(key=base, kind=row.kind, fingerprint=events.fingerprint(base, 7))
                return calls.Reserve(fence, version, other)
            case 1 if row:
                content = b"another answer"
                receipt = Receipt(key=row.key, fingerprint=row.fingerprint, outcome_digest=digest_of(content))
                return calls.Receive(fence, receipt, content)
            case 2 if version > 0:
                start = (look.chronicle.events[0].body,)
                return calls.Commit(fence, Write(fence=fence, expected_version=version, events=start))
            case _:
                return calls.Commit(fence, Write(fence=fence, expected_version=version - 1, events=(nudge(),)))

    async def settle(self) -> None:
        """Stop all faults and let one honest owner do the rest: everything ends, and replays to what its end says."""
        await self.ask(calls.Resume())
        heir = Owner(len(self.owners), self.schedule.plan)
        for at in range(SETTLING_CALLS):
            looks = {name: await self.place.look(name) for name in self.names}
            if all(look.status in TERMINAL for look in looks.values()):
                break
            if heir.fence is None:
                for name, look in looks.items():
                    await self._free(name, look.status)
            await self.ask_for(heir, heir.next_call(at))
        for name in self.names:
            look = await self.place.look(name)
            history.check_over(look)
            history.check_replayed(look)

    async def _free(self, name: str, status: Status) -> None:
        """Let whatever holds up the next claim of `name` pass."""
        match status:
            case Status.RUNNING:
                await self.ask(calls.Expire(name))
            case Status.QUEUED:
                await self.ask(calls.ComeDue(name))
            case Status.WAITING:
                await self.ask(calls.Answer(name, events.question_of(name), "at last"))
            case _:
                pass


async def play(place: Place, schedule: Schedule, names: tuple[str, ...]) -> Play:
    """Play `schedule` to its end in `place`, where `names` are open. Raises Broken."""
    played = await Play.begin(place, schedule, names)
    try:
        for step in schedule.steps:
            await played.step(step)
        await played.settle()
    except AssertionError as broken:
        for call, answer in played.told[-12:]:
            broken.add_note(f"{call} -> {answer!r}")
        raise
    return played
