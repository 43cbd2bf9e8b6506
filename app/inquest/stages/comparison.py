"""Two reports, side by side: what they agree on, and what each has that the other has not. Pure.

Nothing is weighed: whether two conclusions are the same is decided by verdict, category and affected object,
which are closed words or names, and never by the prose of a cause.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from inquest.domain.evidence import EvidenceItem
from inquest.domain.report import Report
from inquest.domain.value import Digest, Json, Value, rfc3339
from inquest.domain.window import Window
from inquest.stages.comparison_claims import ClaimDifference, compare_claims

COMPARISON_VERSION: Literal[1] = 1

Part = Literal["identity", "window", "conclusion", "run", "spend"]


class Field(Value):
    """One thing that both reports say; `a` and `b` are None where a report does not say it."""

    part: Part
    name: str
    a: Json
    b: Json
    same: bool


class Answer(Value):
    """What one of two investigations was answered to a query."""

    evidence: str
    time_range: Window
    digest: Digest
    truncated: bool


class EvidenceDifference(Value):
    """A query, and what came back in each; None: it is no evidence there.

    `what` is other_answer (the same range, another content), other_range, only_in_a or only_in_b.
    """

    source: str
    tool: str
    expression: str
    what: Literal["other_answer", "other_range", "only_in_a", "only_in_b"]
    a: Answer | None
    b: Answer | None


class Texts(Value):
    """Texts that only one of two reports has, and how many are in both."""

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    in_both: int


class Comparison(Value):
    """Two reports compared. `same_conclusion`: verdict, category and affected object are the same.

    `claims` and `evidence` list the differences; `claims_alike` and `evidence_alike` count what is the same.
    """

    schema_version: Literal[1] = COMPARISON_VERSION
    same_conclusion: bool
    fields: tuple[Field, ...]
    claims: tuple[ClaimDifference, ...]
    claims_alike: int
    evidence: tuple[EvidenceDifference, ...]
    evidence_alike: int
    ruled_out: Texts
    limits_hit: Texts

    @property
    def is_same(self) -> bool:
        """Say whether nothing differs but who and when."""
        told = any(not field.same for field in self.fields if field.part in {"conclusion", "run"})
        texts = (self.ruled_out, self.limits_hit)
        return not (told or self.claims or self.evidence or any(text.only_a or text.only_b for text in texts))


def compare(a: Report, b: Report) -> Comparison:
    """Compare two reports, of one incident or of two."""
    claims, claims_alike = compare_claims(a.diagnosis, b.diagnosis)
    evidence, evidence_alike = _evidence(a.evidence, b.evidence)
    return Comparison(
        same_conclusion=_conclusion(a) == _conclusion(b),
        fields=tuple(_fields(a, b)),
        claims=claims,
        claims_alike=claims_alike,
        evidence=evidence,
        evidence_alike=evidence_alike,
        ruled_out=_texts(_ruled_out(a), _ruled_out(b)),
        limits_hit=_texts(a.limits_hit, b.limits_hit),
    )


def _conclusion(report: Report) -> tuple[str, ...]:
    found = report.diagnosis
    if found is None:
        return (report.kind,)
    return (found.verdict.value, found.root_cause_category, found.affected_object)


# ---- what both say -----------------------------------------------------------------------------------------


def _fields(a: Report, b: Report) -> Iterable[Field]:
    said_a, said_b = _said(a), _said(b)
    for part, name in said_a:
        one, other = said_a[part, name], said_b[part, name]
        yield Field(part=part, name=name, a=one, b=other, same=one == other)


def _said(report: Report) -> Mapping[tuple[Part, str], Json]:
    """Give what a report says by name: the same names, in the same order, for any report."""
    found, window = report.diagnosis, report.window
    onset = None if found is None else found.onset
    return {
        ("identity", "investigation"): report.investigation_id,
        ("identity", "workspace"): report.workspace,
        ("identity", "alert"): report.title,
        ("identity", "service"): report.service,
        ("identity", "severity"): report.severity,
        ("identity", "episode"): report.episode.episode_id,
        ("window", "anchor"): None if window is None else rfc3339(window.anchor),
        ("window", "incident"): None if window is None else _span(window.incident),
        ("window", "baseline"): None if window is None else _span(window.baseline),
        ("conclusion", "kind"): report.kind,
        ("conclusion", "verdict"): None if found is None else found.verdict.value,
        ("conclusion", "category"): None if found is None else found.root_cause_category,
        ("conclusion", "affected_object"): None if found is None else found.affected_object,
        ("conclusion", "root_cause"): None if found is None else found.root_cause,
        ("conclusion", "onset"): None if onset is None else rfc3339(onset.at),
        ("conclusion", "validity_score"): None if found is None else found.validity_score,
        ("run", "model"): report.model,
        ("run", "concluded_by"): None if found is None else found.author,
        ("run", "degraded"): None if found is None else found.degraded,
        ("run", "stop_reason"): report.stop_reason,
        ("run", "workflow"): report.workflow,
        **{("spend", name): count for name, count in report.spend.model_dump(mode="json").items()},
    }


def _span(window: Window) -> str:
    return f"{rfc3339(window.start)} to {rfc3339(window.end)}"


# ---- evidence ----------------------------------------------------------------------------------------------


def _evidence(a: Sequence[EvidenceItem], b: Sequence[EvidenceItem]) -> tuple[tuple[EvidenceDifference, ...], int]:
    """Compare evidence query by query: first those over the same range, then what is left in order of admission."""
    asked_a, asked_b = _by_query(a), _by_query(b)
    differ: list[EvidenceDifference] = []
    alike = 0
    for query in dict.fromkeys([*asked_a, *asked_b]):
        for one, other in _paired(asked_a.get(query, []), asked_b.get(query, [])):
            if one is not None and other is not None and one.observation.digest == other.observation.digest:
                alike += 1
            else:
                differ.append(_difference(query, one, other))
    return tuple(differ), alike


_Query = tuple[str, str, str]
_Pair = tuple[EvidenceItem | None, EvidenceItem | None]


def _by_query(items: Sequence[EvidenceItem]) -> dict[_Query, list[EvidenceItem]]:
    found: defaultdict[_Query, list[EvidenceItem]] = defaultdict(list)
    for item in items:
        seen = item.observation
        found[seen.source, seen.tool, seen.expression].append(item)
    return found


def _paired(a: list[EvidenceItem], b: list[EvidenceItem]) -> list[_Pair]:
    left_a, left_b = list(a), list(b)
    pairs: list[_Pair] = []
    for alike in (_same_answer, _same_range, _any):
        for one in list(left_a):
            other = next((other for other in left_b if alike(one, other)), None)
            if other is not None:
                pairs.append((one, other))
                left_a.remove(one)
                left_b.remove(other)
    return [*pairs, *((one, None) for one in left_a), *((None, other) for other in left_b)]


def _same_answer(one: EvidenceItem, other: EvidenceItem) -> bool:
    return one.observation.digest == other.observation.digest and _same_range(one, other)


def _same_range(one: EvidenceItem, other: EvidenceItem) -> bool:
    return one.observation.time_range == other.observation.time_range


def _any(_one: EvidenceItem, _other: EvidenceItem) -> bool:
    return True


def _difference(query: _Query, a: EvidenceItem | None, b: EvidenceItem | None) -> EvidenceDifference:
    what: Literal["other_answer", "other_range", "only_in_a", "only_in_b"]
    if a is None or b is None:
        what = "only_in_b" if a is None else "only_in_a"
    else:
        what = "other_answer" if _same_range(a, b) else "other_range"
    source, tool, expression = query
    return EvidenceDifference(source=source, tool=tool, expression=expression, what=what, a=_answer(a), b=_answer(b))


def _answer(item: EvidenceItem | None) -> Answer | None:
    if item is None:
        return None
    seen = item.observation
    return Answer(evidence=item.name, time_range=seen.time_range, digest=seen.digest, truncated=seen.truncated)


# ---- texts -------------------------------------------------------------------------------------------------


def _ruled_out(report: Report) -> tuple[str, ...]:
    """Give what was ruled out: by the diagnosis, and by judging."""
    found = () if report.diagnosis is None else report.diagnosis.ruled_out
    judged = [entry.hypothesis.text for entry in report.ledger.entries if entry.judgement == "refuted"]
    return tuple(dict.fromkeys([one.hypothesis.rstrip(". ") for one in found] + [text.rstrip(". ") for text in judged]))


def _texts(a: Sequence[str], b: Sequence[str]) -> Texts:
    return Texts(
        only_a=tuple(text for text in dict.fromkeys(a) if text not in b),
        only_b=tuple(text for text in dict.fromkeys(b) if text not in a),
        in_both=len(set(a) & set(b)),
    )
