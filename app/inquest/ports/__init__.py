"""The seams: what stages and the runtime need from the outside, as Protocols.

Each has a real adapter (store, connectors, models, destinations) and an in-memory or scripted one that
keeps the same promises. Failures: a vendor's is a value in the outcome; a lost fence, a moved version, an
exhausted budget are exceptions of `errors`.
"""

from inquest.ports.admission import Engine, Intake
from inquest.ports.asking import Exchange, Investigator, LoopView, Model, ModelFailure
from inquest.ports.claiming import Claimed, Claims, LeaseLine, Renewal
from inquest.ports.delivering import Deliveries, Destination
from inquest.ports.evidence import Connector, InvalidQuery, Reading, Tool
from inquest.ports.recording import (
    Acts,
    Again,
    Answered,
    Chronicle,
    Effects,
    Fresh,
    Journal,
    Known,
    Moved,
    RecordedReading,
    ReserveAnswer,
    Revision,
    Signer,
    Spent,
    Write,
)
from inquest.ports.time import Clock, Ids
from inquest.ports.upkeep import Removed, Retention, Standing, Sweep

__all__ = [
    "Acts",
    "Again",
    "Answered",
    "Chronicle",
    "Claimed",
    "Claims",
    "Clock",
    "Connector",
    "Deliveries",
    "Destination",
    "Effects",
    "Engine",
    "Exchange",
    "Fresh",
    "Ids",
    "Intake",
    "InvalidQuery",
    "Investigator",
    "Journal",
    "Known",
    "LeaseLine",
    "LoopView",
    "Model",
    "ModelFailure",
    "Moved",
    "Reading",
    "RecordedReading",
    "Removed",
    "Renewal",
    "ReserveAnswer",
    "Retention",
    "Revision",
    "Signer",
    "Spent",
    "Standing",
    "Sweep",
    "Tool",
    "Write",
]
