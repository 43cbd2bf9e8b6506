"""A text says no more than what it cites: numbers, times, units and names, in and out."""

from __future__ import annotations

from decimal import Decimal

import pytest

from inquest.domain.claim import Citation, ValueAt
from inquest.stages.claim_ground import ground_of, known_objects
from inquest.stages.claim_text import Ground, numbers_in, unsupported
from inquest.stages.claims import check_claim
from inquest.stages.exhibits import Exhibits
from tests.builders import Shelf, at, logs, matrix, series, window

LINE = "10:02:15 connect to db-primary:5432 took 250ms, status 503"


@pytest.fixture
def ground() -> Ground:
    """E1: a point of a latency series; E2: a log line. Both are cited; E3 is only known."""
    shelf = Shelf()
    shelf.add(
        matrix(series([0.2, 1.843], metric="latency_seconds", service="checkout", quantile="0.99")),
        expression='latency_seconds{service="checkout",code=~"5.."}[5m]',
    )
    shelf.add(logs((at(2), LINE), service="checkout", pod="checkout-7d9f"), source="loki", expression='{a="b"}')
    shelf.add(logs((at(2), "hello"), service="payments"), source="loki", service="payments")
    exhibits = Exhibits(shelf.evidence, shelf.contents)
    places = (("E1", "/series/0/points/1"), ("E2", "/lines/0/line"))
    cited = [exhibits.check(exhibits.cite(name, pointer)) for name, pointer in places]
    return ground_of(cited, known_objects(exhibits))


@pytest.mark.parametrize(
    "text",
    [
        "The latency of checkout was 1.84 seconds at 10:01.",
        "The latency of checkout rose to 1.843 s (E1).",
        "At 2026-03-01T10:01:00Z p99 latency was about 2 seconds.",
        "On 2026-03-01 at 10:02 UTC the first line came.",
        "At 2026-03-01T11:01:00+01:00 it was 1.8.",
        "Connecting to db-primary:5432 took 250ms (E2).",
        "Connecting took 250 ms and the answer was 503.",
        "The pod checkout-7d9f says `connect to db-primary:5432 took 250ms`.",
        "Responses with 5xx began, and the CPU was fine.",
        "It got slower after the roll-out, over time and end-to-end.",
        'latency_seconds{service="checkout"} went up.',
    ],
)
def test_a_text_may_say_what_is_cited(text: str, ground: Ground) -> None:
    assert unsupported(text, ground) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The latency of checkout was 1.9 seconds.", "the number 1.9"),
        ("The latency of checkout was 1.84 ms.", "does not carry the unit 'ms'"),
        ("The latency of checkout was 1.84ms.", "does not carry the unit 'ms'"),
        ("The latency was 184% of normal.", "the number 184%"),
        ("Latency rose by 3x.", "the number 3x"),
        ("Latency doubled.", "the number 'doubled' is not written in digits"),
        ("At 10:07 the latency rose.", "the time 10:07"),
        ("At 2026-03-02 the latency rose.", "the time 2026-03-02"),
        ("At 2026-03-01T10:01:00+01:00 the latency rose.", "the time 2026-03-01T10:01:00+01:00"),
        ("It is in E3.", "it names E3"),
        ("The pod checkout-8aaa is slow.", "the name 'checkout-8aaa'"),
        ("The pod checkout-7d is slow.", "the name 'checkout-7d'"),
        ("The connection to db-secondary:5432 failed.", "the name 'db-secondary:5432'"),
        ("The connection to db failed on redis.", "the name 'redis'"),
        ("It was the payments service.", "the name 'payments'"),
        ("Someone at Acme changed it.", "the name 'Acme'"),
        ("The line says `disk full`.", "the quoted 'disk full'"),
        ('The line says "Disk full".', "the quoted 'Disk full'"),
        ("Deployment v2.4.1 did it.", "the name 'v2.4.1'"),
        ("Responses with 4xx began.", "the number 4xx"),
        ("The p95 latency rose.", "the name 'p95'"),
        ("See https://collect.attacker.test/p?t=TOKEN now.", "the name 'https://collect.attacker.test/p?t'"),
        ("The latency was \u0661\u0668\u0664 seconds.", "not written in digits"),
        ("The latency was half or \u2153 of it.", "the unit"),
        ("The latency was \uff11\uff18\uff14 seconds.", "the number 184"),
        ("x" * 5_000, "longer than 4000"),
    ],
)
def test_a_text_may_not_say_what_is_not_cited(text: str, reason: str, ground: Ground) -> None:
    found = unsupported(text, ground)
    assert found is not None
    assert reason in found


@pytest.mark.parametrize("cited", ["checkout-db", "checkout_db", "db-checkout", "checkouts", "precheckout"])
def test_a_name_is_not_said_by_a_longer_name(cited: str) -> None:
    known = Ground(words=f"the pod of {cited} is down", known=frozenset({"checkout"}))
    assert unsupported("checkout is down", known) == "the name 'checkout' is not in its citations"


@pytest.mark.parametrize("cited", ["checkout", "prod/checkout", "checkout.prod.svc", "service=checkout,", '"checkout"'])
def test_a_name_is_said_where_it_stands_alone(cited: str) -> None:
    known = Ground(words=f"the pod of {cited} is down", known=frozenset({"checkout"}))
    assert unsupported("checkout is down", known) is None


def test_a_number_inside_another_number_is_not_said(ground: Ground) -> None:
    assert unsupported("It took 50 tries.", ground) is not None  # 250ms holds no 50


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("250ms and 1,234.5", {"250", "1234.5"}),
        ("v1.2.3 checkout-7d9f 0.5", {"0.5"}),
        ("-3 degrees, 1e3 times", {"-3", "1e3"}),
        ("a1 b2", set()),
    ],
)
def test_numbers_are_read_out_of_text_but_not_out_of_names(text: str, numbers: set[str]) -> None:
    assert numbers_in(text) >= {Decimal(number) for number in numbers}
    if not numbers:
        assert numbers_in(text) == frozenset()


def claim(text: str, shelf: Shelf) -> ValueAt:
    exhibits = Exhibits(shelf.evidence, shelf.contents)
    cited: Citation = exhibits.cite("E1", "/series/0/points/1")
    return ValueAt(text=text, citations=(cited,), subject="latency_seconds", at=at(1), value=1.843)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("The latency was 1.843 at 10:01.", True),
        ("The latency was 1.843 at 10:01, because of redis.", False),
        ("The latency was 9 at 10:01.", False),
        ("", False),
    ],
)
def test_a_true_type_with_a_text_that_says_more_is_not_validated(text: str, holds: bool) -> None:
    shelf = Shelf()
    shelf.add(matrix(series([0.2, 1.843], metric="latency_seconds", service="checkout")), expression="latency_seconds")
    checked = check_claim(claim(text, shelf), Exhibits(shelf.evidence, shelf.contents, window()))
    assert checked.is_valid is holds
