"""How often something is measured: enough on a quiet machine, and not for ever on a busy one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator


def rounds(most: int, seconds: float, now: Callable[[], float] = time.monotonic) -> Iterator[int]:
    """Count from 1 to `most`, and begin no further round once `seconds` have gone. The first always is."""
    ends_at = now() + seconds
    for number in range(1, most + 1):
        if number > 1 and now() >= ends_at:
            return
        yield number
