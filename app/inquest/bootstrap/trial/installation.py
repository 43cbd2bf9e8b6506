"""The configuration that `try` runs with, as an operator would write it: one workspace, made for this one run."""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path

from inquest.bootstrap.trial.access import Reached
from inquest.configuration.destination import DestinationSection
from inquest.configuration.sections import (
    Configuration,
    IntakeSection,
    IntegrationSection,
    ModelSection,
    PriceSection,
    WorkspaceSection,
)
from inquest.errors import ConfigurationError
from inquest.settings import Settings

INTAKE = "try"
REPORTS = "reports"
FOLDER_PREFIX = "inquest-try-"
"""Of the temporary folder of a run that keeps nothing but its report."""
_MODEL_KEY = re.compile(r"\b(?:workspaces\.[a-z0-9-]+\.)?model\.([a-z_]+)")
FINEST = timedelta(seconds=1)


def configuration_of(
    workspace: str, sources: tuple[Reached, ...], *, reports: Path, model: ModelSection, interval_s: float
) -> Configuration:
    """Give the configuration. `interval_s` is how often the alert's rule is evaluated, 0 where that is not known.

    A rule is evaluated about as often as what it reads is scraped: one that is looked at every second is no use with
    points 15 s apart, and one a minute apart loses nothing by them.
    """
    usual = IntegrationSection.model_fields["scrape_interval"].default
    said = timedelta(seconds=min(interval_s, usual.total_seconds()))
    interval = max(said, FINEST) if interval_s > 0 else usual
    integrations: dict[str, IntegrationSection] = {
        one.access.kind: one.section.model_copy(update={"scrape_interval": interval})
        if one.access.kind == "prometheus"
        else one.section
        for one in sources
    }
    section = WorkspaceSection(
        intakes={INTAKE: IntakeSection(type="alertmanager", insecure_without_auth=True)},
        integrations=integrations,
        destinations={REPORTS: DestinationSection(type="folder", path=os.fspath(reports))},
        model=model,
    )
    return Configuration(workspaces={workspace: section})


def by_variable(words: str) -> str:
    """Give what is said of the model's section in terms of the variables that it was made from."""
    return _MODEL_KEY.sub(
        lambda found: "INQUEST_MODEL" if found[1] == "names" else f"INQUEST_MODEL_{found[1].upper()}", words
    )


def model_of(settings: Settings) -> ModelSection:
    """Give the model that the environment names; without one, the analyst investigates."""
    if settings.model is None:
        return ModelSection()
    if settings.model_api_key is not None and settings.model_api_key_file is not None:
        msg = "INQUEST_MODEL_API_KEY and INQUEST_MODEL_API_KEY_FILE: give one"
        raise ConfigurationError(msg)
    asked, _, answered = (settings.model_price or "").partition("/")
    return ModelSection(
        names=tuple(settings.model.split(",")),
        base_url=settings.model_base_url,
        api_key_env=None if settings.model_api_key is None else "INQUEST_MODEL_API_KEY",
        api_key_file=None if settings.model_api_key_file is None else os.fspath(settings.model_api_key_file.absolute()),
        context_window_tokens=settings.model_context_window_tokens,
        price=PriceSection(input_usd=float(asked), output_usd=float(answered)) if settings.model_price else None,
    )
