"""What the fatal release of checkout changed, and the harmless one of payments."""

from __future__ import annotations

OLD_POOL_SIZE, NEW_POOL_SIZE = 40, 20
OLD_WORKERS, NEW_WORKERS = 16, 64
VERSIONS = {"checkout": ("2.30.4", "2.31.0"), "payments": ("5.8.1", "5.9.0")}
"""The version before and after, of the services that are deployed within the recording."""
