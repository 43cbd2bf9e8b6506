"""Payload bytes to alerts: one pure file a vendor."""

from inquest.sources import alertmanager, datadog
from inquest.sources.shared.source import Source

SOURCES: dict[str, Source] = {
    "alertmanager": alertmanager,
    "datadog": datadog,
}
"""Every source by its type in configuration."""
