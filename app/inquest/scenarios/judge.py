"""Whether a diagnosis is right about a recorded incident: the one comparison with the truth."""

from __future__ import annotations

import re

from inquest.domain.claim import ChangeEvent
from inquest.domain.diagnosis import Diagnosis, Verdict
from inquest.scenarios.pack.format import Truth


def wrong_with(diagnosis: Diagnosis, truth: Truth) -> tuple[str, ...]:
    """Say what `diagnosis` gets wrong, a sentence each; empty when it is right.

    Right is: the verdict, an accepted category, the culprit by name, the change that did it named (and none
    blamed where none did), and every missing kind of signal said to be missing.
    """
    found = []
    if diagnosis.verdict is not truth.verdict:
        found.append(f"the verdict is {diagnosis.verdict}, it should be {truth.verdict}")
    if not truth.accepts(diagnosis.root_cause_category):
        found.append(f"the cause is {diagnosis.root_cause_category}, it should be {truth.category}")
    if _name(truth.affected_object) != _name(diagnosis.affected_object):
        found.append(
            f"the culprit is {diagnosis.affected_object or 'nobody'}, it should be {truth.affected_object or 'nobody'}"
        )
    found += _wrong_about_changes(diagnosis, truth)
    said = " ".join(diagnosis.missing_evidence)
    found += [
        f"it does not say that {signal} are missing"
        for signal in truth.missing
        if not re.search(rf"\b{signal.removesuffix('s')}s?\b", said, re.IGNORECASE)
    ]
    return tuple(found)


def _wrong_about_changes(diagnosis: Diagnosis, truth: Truth) -> list[str]:
    """Compare the changes that are blamed: of a cause that was found, those that it claims to have happened."""
    claimed = {one.change_id for one in diagnosis.validated_claims if isinstance(one, ChangeEvent)}
    if truth.culprit_change:
        return [] if truth.culprit_change in claimed else [f"it does not name {truth.culprit_change}, which did it"]
    if diagnosis.root_cause_category.startswith("change.") or (claimed and diagnosis.verdict is Verdict.CAUSE_FOUND):
        return [f"it blames {', '.join(sorted(claimed)) or 'a change'}, and no change did it"]
    return []


def _name(affected_object: str) -> str:
    return affected_object.rsplit("/", 1)[-1]
