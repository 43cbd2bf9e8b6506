"""The contract of every connector: one suite, run against each vendor's harness (see `harness.py`)."""

from tests.connectors.contract_reading import ReadingContract
from tests.connectors.contract_safety import SafetyContract


class ConnectorContract(ReadingContract, SafetyContract):
    """Subclass it as Test... and set `harness`."""
