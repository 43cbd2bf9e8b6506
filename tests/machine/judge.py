"""What must be true of a store, said without it: after each call, from what was asked, answered and can be read.

The judge keeps its own books: who holds the right to act, up to which event a journal goes, what is committed. It
knows nothing of how a store decides. A rule that does not hold raises `Broken`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inquest.domain.event import GenerationAdvanced, InterruptAnswered, InterruptExpired
from inquest.domain.fence import Fence
from inquest.domain.investigation import TERMINAL, Status
from inquest.errors import (
    BudgetExhausted,
    FenceLost,
    Halted,
    InquestError,
    NotFound,
    VersionConflict,
    WrongStatus,
)
from inquest.ports import Again, Fresh, Moved
from inquest.store.lease import Claimed
from tests.machine import calls, history
from tests.machine.calls import Look
from tests.machine.history import Broken, check


@dataclass
class File:
    """The judge's own books of one investigation."""

    seen: Look
    holder: Fence | None = None
    leased: bool = False
    generation: int = 0
    attempt: int = 1
    claimed_version: int = 0
    owes: bool | None = False
    """Whether the next claim charges an attempt; None: the judge does not keep these books."""

    def lets_go(self, *, owes: bool | None) -> None:
        self.holder, self.leased, self.owes = None, False, owes


class Judge:
    """Judges one schedule over one workspace."""

    def __init__(self, looks: Mapping[str, Look]) -> None:
        self.files = {name: File(look) for name, look in looks.items()}
        self.halted = False

    def saw(self, call: calls.Call, answer: object, looks: Mapping[str, Look]) -> None:
        """Judge one call. `looks` is what can be read after it. Raises Broken."""
        changed = [name for name, look in looks.items() if look != self.files[name].seen]
        for name in changed:
            history.check_kept(self.files[name].seen, looks[name])
        check(not (changed and isinstance(answer, InquestError)), "a refusal changes nothing", changed)
        match call:
            case calls.Owned():
                name = call.fence.investigation_id
                self._of_an_owner(call, answer, self.files[name], looks[name])
            case calls.Claim():
                self._of_a_claim(call, answer, looks)
            case calls.Cancel(name=name):
                self._of_a_cancel(answer, self.files[name], looks[name])
            case calls.Answer(name=name):
                self._of_an_answer(call, answer, self.files[name], looks[name])
            case calls.ExpireQuestions():
                self._of_an_expiry_of_questions(answer, looks)
            case calls.Expire(name=name):
                self._of_an_expiry(answer, self.files[name], looks[name])
            case calls.Halt() | calls.Resume():
                self.halted = isinstance(call, calls.Halt)
            case _:
                check(not isinstance(answer, InquestError), "what is there can be read", answer)
        for name in changed:
            self._take_in(self.files[name], looks[name])

    def everything_ended(self) -> bool:
        return all(file.seen.status in TERMINAL for file in self.files.values())

    # ---- owners

    def _of_an_owner(self, call: calls.Owned, answer: object, file: File, after: Look) -> None:
        holds = call.fence == file.holder
        if isinstance(answer, FenceLost):
            check(not holds, "a right that holds is not refused", call)
            return
        check(holds, "only who holds the right is heard", call, file.holder)
        match answer:
            case VersionConflict():
                check(_version_of(call) != file.seen.chronicle.version, "the right version is not refused", call)
            case Halted():
                check(self.halted, "nothing is refused as halted that is not", call)
            case BudgetExhausted(used=used, allowed=allowed):
                check(used <= allowed, "no ceiling was crossed before", answer)
            case InquestError():
                history.check_stray(call, answer, file.seen)
            case _:
                self._accepted(call, answer, file, after)

    def _accepted(self, call: calls.Owned, answer: object, file: File, after: Look) -> None:
        before = file.seen
        match call:
            case calls.Commit(write=write):
                history.check_write(write, answer, before, after)
                check(not (self.halted and write.reservations), "nothing is reserved while halted", call)
                if after.status is not Status.RUNNING:
                    file.lets_go(owes=False)
            case calls.Reserve():
                history.check_reserved(call, answer, before, after)
                acts = isinstance(answer, Fresh | Again | Moved)
                check(not (self.halted and acts), "nothing may be done while halted", call)
            case calls.Receive(receipt=receipt):
                history.check_received(receipt, before, after)
            case calls.Renew():
                check(after == before, "a renewal changes nothing", call)
                file.leased = True
            case calls.Drain() | calls.Fail() | calls.LetGoUnanswered():
                check(after.status is Status.QUEUED, "what was let go waits for the next", after.status)
                check(after.chronicle.events == before.chronicle.events, "letting go writes nothing", call)
                stage_error, drained = isinstance(call, calls.Fail), isinstance(call, calls.Drain)
                file.lets_go(owes=True if stage_error else False if drained else None)
            case _:
                raise Broken("every call is judged", (call,))

    # ---- claims

    def _of_a_claim(self, call: calls.Claim, answer: object, looks: Mapping[str, Look]) -> None:
        if isinstance(answer, Claimed):
            name = answer.fence.investigation_id
            self._claimed(call, answer, self.files[name], looks[name])
        for name, look in looks.items():
            file = self.files[name]
            if file.seen.status is Status.RUNNING and look.status is Status.QUEUED:
                check(not file.leased, "a live owner is not put back", name)
                stood = file.seen.chronicle.version == file.claimed_version
                check(stood, "only who got nowhere is put back", name)
                file.lets_go(owes=True)

    def _claimed(self, call: calls.Claim, answer: Claimed, file: File, after: Look) -> None:
        before, fence = file.seen, answer.fence
        check(not self.halted, "nothing is claimed while halted", call)
        free = before.status is Status.QUEUED or (before.status is Status.RUNNING and not file.leased)
        check(free, "a live lease is busy", before.status, file.holder)
        check(after.status is Status.RUNNING, "what is claimed runs", after.status)
        check(fence.owner_id == call.owner_id, "who claims is the owner", fence)
        check(fence.generation == file.generation + 1, "a claim is the next generation", fence)
        if before.status is Status.RUNNING:
            file.owes = before.chronicle.version == file.claimed_version
        charged = fence.attempt - file.attempt
        check(charged in (0, 1), "one attempt at a time is charged", fence)
        check(file.owes is None or charged == file.owes, "an attempt is charged when it is owed", fence)
        check(answer.exhausted == (fence.attempt > calls.LIMITS.max_attempts), "attempts have an end", fence)
        new = after.chronicle.events[before.chronicle.version :]
        advanced = [event.body for event in new if isinstance(event.body, GenerationAdvanced)]
        check(len(new) == len(advanced) == min(1, before.chronicle.version), "a take-over is one event", new)
        check(answer.version == after.chronicle.version, "a claim says where the journal stands", answer)
        file.holder, file.leased, file.owes = fence, True, False
        file.generation, file.attempt, file.claimed_version = fence.generation, fence.attempt, answer.version

    # ---- from outside

    def _of_a_cancel(self, answer: object, file: File, after: Look) -> None:
        before = file.seen
        if isinstance(answer, WrongStatus):
            ended = before.status in TERMINAL - {Status.CANCELLED}
            check(ended, "what has not ended can be cancelled", before.status)
        elif answer is False:
            check(before.status is Status.CANCELLED and after == before, "a second cancel changes nothing")
        else:
            check(answer is True, "a cancel is taken or refused", answer)
            check(before.status not in TERMINAL, "what has ended is not cancelled", before.status)
            new = after.chronicle.events[before.chronicle.version :]
            check([event.body.kind for event in new] == ["run_cancelled"], "a cancel is one end", new)
            history.check_closed(before, after)
            file.generation += 1
            taken = new[0].generation == file.generation
            check(taken, "a cancel takes the right from its owner", new[0].generation)
            file.lets_go(owes=False)

    def _of_an_answer(self, call: calls.Answer, answer: object, file: File, after: Look) -> None:
        asked = history.asked(file.seen.chronicle)
        match answer:
            case NotFound():
                check(call.interrupt_id not in asked, "a question that was asked is found", call)
            case WrongStatus():
                check(call.interrupt_id in asked, "a question that was not asked is not found", call)
                check(file.seen.status is not Status.WAITING, "a question that is open takes an answer", call)
            case _:
                check(answer is None and file.seen.status is Status.WAITING, "an answer is taken while it waits", call)
                self._goes_on(file, after, InterruptAnswered, call.interrupt_id)

    def _of_an_expiry_of_questions(self, answer: object, looks: Mapping[str, Look]) -> None:
        waiting = [name for name, file in self.files.items() if file.seen.status is Status.WAITING]
        check(answer == len(waiting), "every question expires", answer, waiting)
        for name in waiting:
            self._goes_on(self.files[name], looks[name], InterruptExpired, history.asked(looks[name].chronicle)[-1])

    def _goes_on(
        self, file: File, after: Look, kind: type[InterruptAnswered | InterruptExpired], question: str
    ) -> None:
        new = after.chronicle.events[file.seen.chronicle.version :]
        bodies = [event.body for event in new]
        taken = len(bodies) == 1 and isinstance(bodies[0], kind) and bodies[0].interrupt_id == question
        check(taken, "what comes of a question is one event", bodies)
        file.generation += 1
        check(new[0].generation == file.generation, "what comes of a question is the next generation", new[0])
        check(after.status is Status.QUEUED, "with its question closed it waits for an owner", after.status)
        file.lets_go(owes=False)

    def _of_an_expiry(self, answer: object, file: File, after: Look) -> None:
        check(after == file.seen, "a lease that runs out changes nothing that can be read")
        check(answer is (file.seen.status is Status.RUNNING), "only what runs has a lease", answer)
        file.leased = False

    def _take_in(self, file: File, look: Look) -> None:
        questions = history.open_questions(look.chronicle)
        waits = look.status is Status.WAITING
        check(waits == (questions == 1 and look.status not in TERMINAL), "it waits while a question is open")
        check(questions <= 1, "one question at a time", questions)
        file.seen = look


def _version_of(call: calls.Owned) -> int | None:
    match call:
        case calls.Commit(write=write):
            return write.expected_version
        case calls.Reserve(version=version):
            return version
        case _:
            return None
