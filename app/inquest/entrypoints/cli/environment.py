"""The settings of a command, read from its environment. Quick to import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from inquest.errors import ConfigurationError

if TYPE_CHECKING:
    from inquest.settings import Settings


def read_settings() -> Settings:
    """Read the environment. Raises ConfigurationError naming every variable that is wrong, never a value."""
    from pydantic import ValidationError

    from inquest.settings import Settings

    try:
        return Settings()
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False)
        lines = [f"INQUEST_{'_'.join(str(part) for part in one['loc']).upper()}: {one['msg']}" for one in problems]
        raise ConfigurationError("\n".join(lines)) from None
