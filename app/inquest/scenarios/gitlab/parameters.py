"""Parameters of GitLab's endpoints, refused in GitLab's words."""

from __future__ import annotations

import re

from inquest.scenarios.gitlab.refusals import BadParameter
from inquest.scenarios.http import Request
from inquest.scenarios.moments import rfc3339_ns

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_INTEGER = re.compile(r"[-+]?\d{1,18}")


def integer(request: Request, name: str, default: int) -> int:
    """Give a whole number, or `default` when it is not there. Raises BadParameter."""
    text = request.first(name)
    if not text:
        return default
    if not _INTEGER.fullmatch(text):
        raise BadParameter(f"{name} is invalid")
    return int(text)


def choice(request: Request, name: str, allowed: tuple[str, ...], default: str) -> str:
    """Give one of `allowed`, or `default` when it is not there. Raises BadParameter."""
    text = request.first(name) or default
    if text not in allowed:
        raise BadParameter(f"{name} does not have a valid value")
    return text


def moment_ns(request: Request, name: str) -> int | None:
    """Give a time in epoch nanoseconds, or None when it is not there. A bare day is its midnight in UTC.

    Raises BadParameter.
    """
    text = request.first(name)
    if not text:
        return None
    moment = rfc3339_ns(f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text)
    if moment is None:
        raise BadParameter(f"{name} is invalid")
    return moment


def refuse_unrecorded(request: Request, names: tuple[str, ...]) -> None:
    """Refuse filters that GitLab has and the recording cannot apply: to ignore one would be a wrong answer."""
    for name in names:
        if request.first(name):
            raise BadParameter(f"{name} is not available in the recorded backend")
