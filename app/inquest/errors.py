"""Every exception that Inquest raises, as one tree.

    InquestError
    |-- ConfigurationError      the operator must change a file, a variable or a flag
    |-- UnreadableFile          a file that an operator names is none, or too large; says which
    |-- Unauthorized            the caller's credentials do not open this door
    |-- BadBody                 bytes that cannot be read at all (broken compression or length)
    |   |-- BodyTooLarge        over the byte cap of the door
    |   `-- UnknownEncoding     a Content-Encoding that we do not inflate
    |-- BadBundle               a file is no exported investigation, or not as it was written
    |-- StoreUnavailable        the database does not answer; trying later can help
    |-- Refused                 the store's rules said no; nothing was changed
    |   |-- FenceLost           another owner holds the right to act: stop quietly
    |   |-- VersionConflict     the aggregate moved on: reload and decide again
    |   |-- FingerprintMismatch the key holds another request
    |   |-- IdentityMismatch    the investigation has another identity
    |   |-- PlanMismatch        the investigation goes by other facts or by another plan
    |   |-- BudgetExhausted     a ceiling of the plan or the ledger
    |   |-- Halted              an operator halted the workspace: nothing new is reserved
    |   |-- WrongStatus         the investigation stands where this cannot be done to it
    |   |-- RoleMissing         the database lacks the role that may delete journals
    |   `-- NotFound            no such row in this workspace
    |       `-- Gone            there was one, and it was deleted
    |-- WaitsForAnswer          a human is asked; the lease is released, and nothing more is done until an answer
    |-- ReplayMismatch          a journal does not rebuild what it recorded
    |-- ModelError              the model's provider failed; carries a kind, never the provider's text
    `-- InvariantBroken         a bug of ours; goes to Sentry and fails the stage

A vendor's failure while reading evidence is not here: it is a value, `domain.failure.Failure`.
"""

from __future__ import annotations


class InquestError(Exception):
    """Anything Inquest raises on purpose."""


class ConfigurationError(InquestError):
    """Say what to change: the message names the file, the field and the way out."""


class UnreadableFile(InquestError):
    """Say in a few words why a file cannot be read; whoever reads it adds its field and the way out."""


class Unauthorized(InquestError):
    """Say which credential was missing or wrong, never its value."""


class BadBody(InquestError):
    """The bytes of a request cannot be read."""


class BodyTooLarge(BadBody):
    """A body is over the cap of its door."""

    def __init__(self, cap_bytes: int) -> None:
        super().__init__(f"the body is larger than {cap_bytes} bytes")
        self.cap_bytes = cap_bytes


class UnknownEncoding(BadBody):
    """A Content-Encoding that this door does not inflate."""


class BadBundle(InquestError):
    """A file is no bundle as it is written; the message names the first thing that is not, in one line."""


class StoreUnavailable(InquestError):
    """The database cannot be reached or is restarting."""


class Refused(InquestError):
    """A rule of the store refused a write; nothing was changed."""


class FenceLost(Refused):
    """Another worker took over; whoever sees this writes nothing more and stops."""


class VersionConflict(Refused):
    """The aggregate has moved on since it was read."""


class FingerprintMismatch(Refused):
    """An effect key already holds another request."""


class IdentityMismatch(Refused):
    """An investigation's identity never changes; this is not the one it was opened with."""


class PlanMismatch(Refused):
    """An investigation keeps the facts and the plan that it began with; these are others."""


class BudgetExhausted(Refused):
    """A reservation would cross a ceiling."""

    def __init__(self, ceiling: str, *, used: float, allowed: float) -> None:
        super().__init__(f"{ceiling}: {used:g} of {allowed:g} used")
        self.ceiling = ceiling
        self.used = used
        self.allowed = allowed


class Halted(Refused):
    """The workspace, or everything, is halted: commit what came back, release the lease and stop."""


class WrongStatus(Refused):
    """What was asked cannot be done to an investigation in this status; the message says which, and the way out."""


class RoleMissing(Refused):
    """The database has no retention role, or we may not take it; the message says what its owner has to run."""


class NotFound(Refused):
    """No such row in this workspace."""


class Gone(NotFound):
    """The investigation was deleted: a tombstone is all there is."""


class WaitsForAnswer(InquestError):
    """A question is recorded and the lease is released: whoever acted stops quietly. It names the interrupt."""


class ReplayMismatch(InquestError):
    """A journal does not rebuild its recorded projection; the message names the first difference."""


class ModelError(InquestError):
    """A model's provider failed.

    `kind` is one of `ports.ModelFailure`; the message is ours, from a table, and holds no provider text.
    """

    def __init__(self, kind: str, message: str, *, retry_after_ms: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after_ms = retry_after_ms


class InvariantBroken(InquestError):
    """Something that the code promises did not hold."""
