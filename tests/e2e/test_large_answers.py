"""Large answers of a source: bounded in memory, and worked on beside the event loop. How late it was is printed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.e2e.served import served
from tests.e2e.servers import COMMAND_S, ROOT
from tests.fakes.loopback import Act, Seen, Stream

pytestmark = pytest.mark.e2e

PIECE = b"y" * 65_536
POINTS, SERIES = 10_000, 45
MOST_GROWN_BYTES = 100_000_000


def matrix(points: int, series: int) -> bytes:
    values = [[1_772_366_000 + at, f"{at / 7:.9f}"] for at in range(points)]
    result = [
        {"metric": {"service": "web", "tenant": "shop", "pod": f"web-{n}"}, "values": values} for n in range(series)
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def text_of(size: int) -> Iterator[bytes]:
    yield b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"service":"web","tenant":"shop","x":"'
    yield from (PIECE for _ in range(size // len(PIECE)))
    yield b'"},"values":[[1772366000,"1"]]}]}}'


ANSWERS: dict[str, Callable[[], Iterator[bytes]]] = {
    "fifty": lambda: text_of(50_000_000),
    "gigabyte": lambda: text_of(1_000_000_000),
    "line": lambda: text_of(15_000_000),
    "matrix": lambda: iter([matrix(POINTS, SERIES)]),
}


def answer(seen: Seen) -> Act:
    asked = next((name for name in ANSWERS if name in seen.param("query")), None)
    return Stream((matrix(10, 1),)) if asked is None else Stream(ANSWERS[asked]())


def read(url: str, name: str) -> dict[str, Any]:
    program = [sys.executable, "-m", "tests.e2e.reads_large_answers", url, f'{name}{{service="web"}}']
    ran = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_S, check=True)
    told = json.loads(ran.stdout)
    assert isinstance(told, dict)
    return told


@pytest.mark.parametrize(
    ("name", "said"),
    [("fifty", "budget_exhausted"), ("gigabyte", "budget_exhausted"), ("line", "ok"), ("matrix", "ok")],
)
def test_an_answer_of_any_size_is_read_in_bounded_memory(name: str, said: str, say: Callable[[str], None]) -> None:
    with served(answer) as url:
        told = read(url, name)
    say(
        f"{name}: {told['said']}, {told['grown_bytes'] / 1e6:.0f} MB more; the loop was late by at most "
        f"{told['busy']['max_ms']:.0f} ms (p99 {told['busy']['p99_ms']:.0f}), "
        f"with nothing to do {told['quiet']['max_ms']:.0f} ms"
    )
    assert (told["said"], told["truncated"]) == (said, said == "ok")
    assert said == "ok" or told["grown_bytes"] < MOST_GROWN_BYTES
