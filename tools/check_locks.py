"""Check the lock files: only hashed pins, no address, no excluded release, and in step with pyproject.toml.

ADR 0002 says why. It needs no network: it cannot tell whether a newer release exists.
"""

import re
import tomllib
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from tools.tree import ROOT

RUNTIME = Path("requirements.lock")
DEV = Path("requirements/dev.lock")
BOOTSTRAP = Path("requirements/bootstrap.lock")

# Releases that no lock may hold, whatever pyproject.toml says (ADR 0002).
EXCLUDED = {"litellm": ("==1.82.7", "==1.82.8", "==1.107.*")}
# An address or an option of an installer would bind the lock to one network or one machine.
FORBIDDEN = re.compile(r"https?:|file:|git\+|--(?!hash=)[a-z]|(?<![\w.])/\w")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")

Pins = dict[str, set[str]]


def read_lock(text: str) -> tuple[Pins, list[str]]:
    """Give the pinned versions of each name (a universal lock may pin two, by marker), and what is wrong."""
    pins: Pins = {}
    wrong: list[str] = []
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if FORBIDDEN.search(line):
            wrong.append(f"line {number} holds an address, a path or an installer option: {line.strip()}")
    code = "\n".join(line.split("#", 1)[0].rstrip() for line in lines)
    for entry in filter(str.strip, code.replace("\\\n", " ").splitlines()):
        try:
            asked = Requirement(HASH.sub("", entry).strip())
        except InvalidRequirement:
            wrong.append(f"not a requirement: {entry.strip()}")
            continue
        versions = [part.version for part in asked.specifier if part.operator == "=="]
        if len(versions) != 1 or len(asked.specifier) != 1:
            wrong.append(f"{asked.name} is not pinned to one version")
            continue
        name, version = canonicalize_name(asked.name), versions[0]
        pins.setdefault(name, set()).add(version)
        if not HASH.search(entry):
            wrong.append(f"{name} {version} has no hash")
        if any(version in SpecifierSet(excluded) for excluded in EXCLUDED.get(name, ())):
            wrong.append(f"{name} {version} is an excluded release")
    return pins, wrong


def unmet(asked: list[str], pins: Pins) -> list[str]:
    """Name each requirement of `asked` that the pins do not meet."""
    wrong = []
    for requirement in map(Requirement, asked):
        pinned = pins.get(canonicalize_name(requirement.name), set())
        if not pinned or not all(requirement.specifier.contains(version) for version in pinned):
            wrong.append(f"{requirement} is not met (pinned: {', '.join(sorted(pinned)) or 'nothing'}); run make lock")
    return wrong


def behind(small: Pins, large: Pins) -> list[str]:
    """Name each pin of `small` that `large` does not repeat: the dev lock also installs for the demo."""
    return [
        f"{name} differs from {RUNTIME}; run make lock" for name, pinned in small.items() if large.get(name) != pinned
    ]


def problems(root: Path = ROOT) -> list[str]:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    build = [
        line for line in (root / "requirements/build.in").read_text(encoding="utf-8").splitlines() if line[:1] != "#"
    ]
    needs: dict[Path, list[str]] = {
        RUNTIME: [*project["dependencies"], *build],
        DEV: [*project["dependencies"], *build, *project["optional-dependencies"]["dev"]],
        BOOTSTRAP: ["uv"],
    }
    found: list[str] = []
    read: dict[Path, Pins] = {}
    for path, asked in needs.items():
        read[path], wrong = read_lock((root / path).read_text(encoding="utf-8"))
        found.extend(f"{path}: {problem}" for problem in [*wrong, *unmet(asked, read[path])])
    found.extend(f"{DEV}: {problem}" for problem in behind(read[RUNTIME], read[DEV]))
    return found
