"""The recordings that ship with Inquest, and scenario folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from inquest.errors import ConfigurationError
from inquest.scenarios.generate import checkout_pool
from inquest.scenarios.pack.format import SCENARIO_FILE, Scenario
from inquest.scenarios.pack.read import read_folder

BUILT_IN: dict[str, Callable[[int], Scenario]] = {
    checkout_pool.NAME_OF_PACK: checkout_pool.generate,
}


def open_scenario(name: str, *, seed: int = 0) -> Scenario:
    """Give the built-in recording `name` in its variation `seed`, or read the folder of that name.

    A folder is one variation: `seed` does not change it. Raises ConfigurationError.
    """
    generate = BUILT_IN.get(name)
    if generate is not None:
        return generate(seed)
    folder = Path(name)
    if not (folder / SCENARIO_FILE).is_file():
        known = ", ".join(sorted(BUILT_IN))
        raise ConfigurationError(
            f"{name} is neither a built-in recording ({known}) nor a folder with a {SCENARIO_FILE}",
        )
    return read_folder(folder)
