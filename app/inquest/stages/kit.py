"""What a stage is: a function of the state, bound beforehand to all it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from inquest.domain.investigation import Investigation, Update

Stage = Callable[[Investigation], Awaitable[Update]]
"""Reads the state, acts only through what it was bound to, and gives the section it adds."""
