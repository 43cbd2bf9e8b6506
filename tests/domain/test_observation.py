"""What an answer of a source may look like, and that its digest is the same wherever it is computed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from pydantic import TypeAdapter, ValidationError

from inquest.domain.canonical import canonical_json, digest_of
from inquest.domain.observation import Observation, Outcome
from inquest.domain.value import Json
from tests.builders import logs, observation

OUTCOME: TypeAdapter[Outcome] = TypeAdapter(Outcome)
TREE: Json = {"b": [1, 2.5, "naïve"], "Å": None, "a": {"z": True, "é": "ß"}, "€": -0.0}
DIGESTED = f"""
from inquest.domain.canonical import canonical_json, digest_of
print(digest_of(canonical_json({TREE!r})))
"""


@pytest.mark.parametrize(
    "shape",
    [
        {"status": "fine", "observations": []},
        {"observations": []},
        {"status": "ok", "observations": [], "error": {}},
        {"status": "ok"},
        {"status": "error"},
        {"status": "partial", "observations": []},
        [],
        None,
    ],
)
def test_an_outcome_of_another_shape_is_none(shape: object) -> None:
    with pytest.raises(ValidationError):
        OUTCOME.validate_python(shape)


@pytest.mark.parametrize(
    "changes",
    [{"trust": "trusted"}, {"trust": None}, {"schema_version": 2}, {"schema_version": None}, {"tenant": None}],
)
def test_an_envelope_of_another_trust_or_version_is_refused_and_not_guessed(changes: dict[str, object]) -> None:
    whole = observation(logs()).model_dump(mode="json")

    with pytest.raises(ValidationError):
        Observation.model_validate_json(canonical_json({**whole, **changes}))  # type: ignore[dict-item]  # on purpose


@pytest.mark.parametrize(("seed", "locale"), [("0", "C"), ("1", "tr_TR.UTF-8"), ("4711", "POSIX")])
def test_a_digest_is_the_same_for_any_hash_seed_and_locale(seed: str, locale: str) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale}

    found = subprocess.run(
        [sys.executable, "-c", DIGESTED], env=environment, capture_output=True, text=True, check=True, encoding="ascii"
    )

    assert found.stdout.strip() == digest_of(canonical_json(TREE))
