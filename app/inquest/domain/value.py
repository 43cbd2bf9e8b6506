"""The base of every value, and the scalar types that values share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Self, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler, JsonValue
from pydantic_core.core_schema import CoreSchema, simple_ser_schema

from inquest.domain.canonical import canonical_json, digest_of


class Value(BaseModel):
    """A frozen, strict, closed record.

    None means "not looked"; the empty tuple means "looked, found none". Values are
    read back with `parse` (strict JSON mode), never from loose dicts.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    def canonical(self) -> bytes:
        """Give the RFC 8785 bytes of this value: what is stored and what is digested."""
        return canonical_json(self.model_dump(mode="json"))

    def canonical_digest(self) -> str:
        """Give "sha256:" + 64 hex over `canonical()`."""
        return digest_of(self.canonical())

    @classmethod
    def parse(cls, raw: bytes | str) -> Self:
        """Read back what `canonical` wrote. Raises pydantic.ValidationError."""
        return cls.model_validate_json(raw)

    def but(self, **changes: object) -> Self:
        """Give a copy with `changes`, validated."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**fields, **changes})


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        msg = "a moment needs a time zone"
        raise ValueError(msg)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:  # the first or last day of all, in another zone
        msg = "a moment has a year between 1 and 9999 in UTC"
        raise ValueError(msg) from error


Instant = Annotated[datetime, AfterValidator(_utc)]
"""A moment in UTC, timezone-aware."""

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
"""The digest of stored bytes."""


class _WrittenAsItIs:
    """Lets a JSON value be dumped without a look at the type of each of its nodes.

    It was validated, so there is nothing to find; the look is a call of Python a node, and was a tenth of an
    investigation's time.
    """

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Keep how it is validated."""
        return cast("CoreSchema", {**handler(source), "serialization": simple_ser_schema("any")})


Json = Annotated[JsonValue, _WrittenAsItIs]
Labels = dict[str, str]


def epoch_ms(moment: datetime) -> int:
    """Give whole milliseconds since 1970 UTC, exact (no float in between)."""
    delta = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000


def from_epoch_ms(ms: int) -> datetime:
    """Give the moment `ms` milliseconds after 1970 UTC. Raises OverflowError outside years 1 to 9999."""
    seconds, rest = divmod(ms, 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)


def rfc3339(moment: datetime) -> str:
    """Write a moment as RFC 3339 in UTC with milliseconds, as in `2026-03-01T10:00:00.123Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
