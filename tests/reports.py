"""Whole reports for tests of forms and destinations, and a key that signs them."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from inquest.domain.budget import Spend
from inquest.domain.delivery import RevisionKind
from inquest.domain.report import EarlierEpisode, EvidenceLink, Report, Signature
from inquest.stages.report import EpisodeNow, ReportInputs, build_report
from inquest.stages.verdict import conclude
from tests.builders import Shelf, at, episode, facts, investigation
from tests.incident import ERRORS, basis, incident_shelf, ledger, proposal

TERMINAL = "sha256:" + "7" * 64
HOSTS = frozenset({"grafana.example"})


@dataclass(frozen=True)
class TestKey:
    """A signer with a fixed seed."""

    __test__ = False
    seed: bytes = field(default=b"k" * 32, repr=False)

    @property
    def public_key(self) -> str:
        key = Ed25519PrivateKey.from_private_bytes(self.seed).public_key()
        return key.public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    def sign(self, message: bytes) -> Signature:
        key = Ed25519PrivateKey.from_private_bytes(self.seed)
        return Signature(public_key=self.public_key, signature=key.sign(message).hex())


KEY = TestKey()


def report_inputs(shelf: Shelf, **changed: object) -> ReportInputs:
    """Give what is recorded of the incident, at its end."""
    diagnosis = conclude(proposal(shelf), basis(shelf))
    ended = investigation(facts=facts(expression=f"{ERRORS} > 0.05"), diagnosis=diagnosis)
    inputs = ReportInputs(
        investigation_id="inv-1",
        workspace="main",
        investigation=ended,
        ledger=ledger(),
        evidence=shelf.evidence,
        asked=tuple(shelf.asked),
        links=(EvidenceLink(evidence="E1", url="https://grafana.example/explore?left=%7B%22a%22%3A1%7D"),),
        spend=Spend(model_turns=3, connector_effects=5, input_tokens=9_000, output_tokens=700, usd_micros=12_345),
        ended_at=at(4),
        terminal_digest=TERMINAL,
        signature=KEY.sign(TERMINAL.encode()),
    )
    return inputs.but(**changed)


def episode_now() -> EpisodeNow:
    """Give the episode while it fires, with one earlier one."""
    earlier = EarlierEpisode(
        investigation_id="inv-0", opened_at=at(-9_000), verdict="cause_found", root_cause="A full disk."
    )
    return EpisodeNow(episode=episode(), earlier=(earlier,))


def whole_report(shelf: Shelf | None = None, **changed: object) -> Report:
    """Give the report of the incident."""
    inputs = report_inputs(shelf or incident_shelf())
    report = build_report(inputs, episode_now(), revision=2, kind=RevisionKind.REPORT)
    return report.but(**changed)
