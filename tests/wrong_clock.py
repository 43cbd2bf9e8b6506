"""A wall clock that is wrong in a process of its own, from before its first import: datetime's and time's."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_OFFSET = "WRONG_CLOCK_OFFSET_S"
_SITECUSTOMIZE = f"""
import datetime, os, time

offset, right, seconds, nanoseconds = float(os.environ[{_OFFSET!r}]), datetime.datetime, time.time, time.time_ns

class AnyDatetime(type):
    def __instancecheck__(cls, value):
        return isinstance(value, right)

class Wrong(right, metaclass=AnyDatetime):
    @classmethod
    def now(cls, tz=None):
        return right.now(tz) + datetime.timedelta(seconds=offset)

Wrong.__name__, Wrong.__qualname__, Wrong.__module__ = "datetime", "datetime", "datetime"
datetime.datetime = Wrong
time.time = lambda: seconds() + offset
time.time_ns = lambda: nanoseconds() + int(offset) * 10**9
"""


def wrong_by(offset_s: float, folder: Path) -> Mapping[str, str]:
    """Give the variables with which a Python process has a clock that is wrong by `offset_s`; writes into `folder`."""
    (folder / "sitecustomize.py").write_text(_SITECUSTOMIZE, encoding="utf-8")
    paths = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": paths, _OFFSET: str(offset_s)}
