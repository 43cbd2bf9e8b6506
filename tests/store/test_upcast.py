"""Bodies of earlier schema versions are lifted; unknown ones are refused, not guessed (checklist 31, 94)."""

import json

import pytest

from inquest.domain.event import EVENT_SCHEMA_VERSION
from inquest.domain.value import Json
from inquest.errors import ReplayMismatch
from inquest.store.upcast import UPCASTERS, read_body
from tests.store.builders import failed, nudge


def _second(fields: dict[str, Json]) -> dict[str, Json]:
    rest = {name: field for name, field in fields.items() if name != "why"}
    return {**rest, "reason": f"{fields['why']}, second"}


def _third(fields: dict[str, Json]) -> dict[str, Json]:
    return {**fields, "reason": f"{fields['reason']}, third"}


LIFTS = {("run_failed", 1): _second, ("run_failed", 2): _third}


def test_this_release_has_nothing_to_lift() -> None:
    assert (EVENT_SCHEMA_VERSION, dict(UPCASTERS)) == (2, {})


def test_a_body_of_this_version_is_read_as_it_is() -> None:
    assert read_body("run_failed", 1, failed().canonical()) == failed()


def test_an_old_body_is_lifted_version_by_version() -> None:
    fields = json.loads(failed().canonical())
    old = json.dumps({**{name: field for name, field in fields.items() if name != "reason"}, "why": "first"}).encode()

    lifted = read_body("run_failed", 1, old, upcasters=LIFTS, newest=3)

    assert lifted == failed().but(reason="first, second, third")


def test_a_body_of_the_version_between_is_lifted_once() -> None:
    lifted = read_body("run_failed", 2, failed().canonical(), upcasters=LIFTS, newest=3)

    assert lifted == failed().but(reason="attempts, third")


def test_a_kind_that_did_not_change_needs_no_lift() -> None:
    assert read_body("loop_steered", 1, nudge().canonical(), upcasters=LIFTS, newest=3) == nudge()


@pytest.mark.parametrize("version", [0, 3])
def test_a_version_that_this_release_does_not_know_is_refused(version: int) -> None:
    with pytest.raises(ReplayMismatch, match=f"schema version {version} is unknown"):
        read_body("run_failed", version, failed().canonical())


@pytest.mark.parametrize("raw", [b"", b"{", b"{}", b"\xff", b'{"kind":"run_failed"}', b'{"kind":"no_such"}'])
def test_a_body_without_its_shape_is_refused(raw: bytes) -> None:
    with pytest.raises(ReplayMismatch):
        read_body("run_failed", 1, raw)


def test_an_old_body_that_is_no_object_is_refused() -> None:
    with pytest.raises(ReplayMismatch):
        read_body("run_failed", 1, b"[]", upcasters=LIFTS, newest=2)


def test_a_body_of_another_kind_is_refused() -> None:
    with pytest.raises(ReplayMismatch, match="the body is loop_steered"):
        read_body("run_failed", 1, nudge().canonical())
