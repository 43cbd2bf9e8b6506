"""Whether a change ran where the trouble is: a deployment to staging does nothing to production."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inquest.domain.value import Labels

ENVIRONMENT_LABELS = ("environment", "env", "stage")
"""Labels of an alert that conventionally name its environment, best first."""
HINTS = ("cluster", "namespace")
"""Labels that may tell it where none of those does."""
PRODUCTION = "production"
_KINDS: dict[str, frozenset[str]] = {
    PRODUCTION: frozenset({"production", "prod", "prd", "live"}),
    "staging": frozenset({"staging", "stage", "stg", "pre", "preprod", "preproduction", "non", "nonprod", "uat"}),
    "development": frozenset({"development", "dev", "local", "sandbox"}),
    "testing": frozenset({"testing", "test", "tests", "qa", "ci"}),
    "review": frozenset({"review", "preview"}),
}
_WORD = re.compile(r"[a-z]+")


def may_be_there(environment: str, alert_labels: Labels) -> bool:
    """Say whether a change of `environment` may act where an alert with `alert_labels` fires.

    Only what two names clearly say is told apart. An alert that names no environment may be one of production.
    """
    named = next((alert_labels[name] for name in ENVIRONMENT_LABELS if alert_labels.get(name)), "")
    there, here = _kind_of(environment), _kind_of(named)
    if there is None or environment.lower() == named.lower():
        return True
    if here is not None:
        return there == here
    return there in {PRODUCTION, *(_kind_of(alert_labels.get(name, "")) for name in HINTS)}


def _kind_of(name: str) -> str | None:
    """Give the kind of an environment by the first word that tells: "review/7-fix-prod" is one of review."""
    words = _WORD.findall(name.lower())
    return next((kind for word in words for kind, known in _KINDS.items() if word in known), None)
