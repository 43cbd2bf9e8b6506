"""What every section of the configuration file is made of: closed values, names, addresses and durations."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from inquest import address

NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"
CHANNEL_OR_NONE = r"^([CG][A-Z0-9]{2,20})?$"
PROJECT_OR_NONE = r"^([A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+)?$"
PATTERNS = {
    NAME: "a name is of lower-case letters, digits, - and _, 63 at most",
    CHANNEL_OR_NONE: "write the channel's id, as in C0123456789: Slack shows it at the end of the channel's details",
    PROJECT_OR_NONE: "write the project's full path, as in shop/operations",
}
"""What a value that does not fit is told."""
_DURATION = re.compile(r"^([0-9]{1,12})(ms|s|m|h|d)\Z")
MAX_DURATION = timedelta(days=365)
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def parse_duration(value: object) -> timedelta:
    """Read "15m", "2h", "90s", "7d" or "500ms". Raises ValueError saying what is allowed."""
    if isinstance(value, timedelta):
        return value
    found = _DURATION.match(str(value).strip())
    if not found:
        msg = f"{value!r} is no duration: write a whole number and ms, s, m, h or d, as in 15m"
        raise ValueError(msg)
    try:
        return timedelta(seconds=int(found[1]) * _UNITS[found[2]])
    except OverflowError:
        msg = f"{value!r} is longer than anything lives"
        raise ValueError(msg) from None


def written_duration(value: timedelta) -> str:
    """Write a duration as `parse_duration` reads it, in whole ms where it is not in whole seconds."""
    seconds, rest = divmod(value, timedelta(seconds=1))
    return f"{value // timedelta(milliseconds=1)}ms" if rest else f"{seconds}s"


Duration = Annotated[
    timedelta, BeforeValidator(parse_duration), PlainSerializer(written_duration, return_type=str, when_used="json")
]
Address = Annotated[str, Field(min_length=1), AfterValidator(address.checked)]
AddressOrNone = Annotated[str, AfterValidator(address.checked)]


class Section(BaseModel):
    """A closed section of the file: an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
