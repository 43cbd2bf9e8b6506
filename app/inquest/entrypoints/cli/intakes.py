"""Which intake an alert is to come in by."""

from __future__ import annotations

from collections.abc import Iterable

from inquest.domain.intake import IntakeConfig
from inquest.errors import ConfigurationError


def chosen_intake(name: str | None, intakes: Iterable[IntakeConfig]) -> IntakeConfig:
    """Give the intake called `name`, or the only one there is. Raises ConfigurationError naming --intake."""
    known = {one.name: one for one in intakes}
    if name is not None and name in known:
        return known[name]
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    msg = f"--intake: name one of {', '.join(sorted(known)) or '(the configuration has none)'}"
    raise ConfigurationError(msg)
