"""Check that no file of the environment runs code at every start of Python, save the known ones.

litellm 1.82.8 stole credentials through a `.pth` file (ADR 0002). A known file is known by its
name and by its content: a known name with another content is as unknown as any.
"""

import site
from pathlib import Path

from tools.tree import ROOT

# setuptools comes with the venv of Python 3.11. It chooses which distutils is imported.
SETUPTOOLS = (
    "import os; var = 'SETUPTOOLS_USE_DISTUTILS'; enabled = os.environ.get(var, 'local') == 'local'; "
    "enabled and __import__('_distutils_hack').add_shim(); "
)


def known_files(root: Path) -> dict[str, str]:
    """Give the exact content, but for white space at its ends, of each file that may be there."""
    return {
        "_inquest.pth": str(root / "app"),  # the editable install: one folder, no code
        "distutils-precedence.pth": SETUPTOOLS.strip(),
    }


def startup_files(folder: Path) -> list[Path]:
    """List what Python reads or imports by itself when it starts from this site-packages folder."""
    customs = [path for name in ("sitecustomize", "usercustomize") for path in (folder / f"{name}.py", folder / name)]
    return sorted([*folder.glob("*.pth"), *(path for path in customs if path.exists())])


def problems(root: Path = ROOT, folders: tuple[Path, ...] | None = None) -> list[str]:
    if folders is None:
        folders = tuple(Path(folder) for folder in site.getsitepackages())
    known = known_files(root)
    found: list[str] = []
    for path in (path for folder in folders for path in startup_files(folder)):
        content = path.read_text(encoding="utf-8", errors="replace").strip() if path.is_file() else None
        if path.name not in known:
            found.append(f"{path} runs at every start of Python and is not known")
        elif content != known[path.name]:
            found.append(f"{path} has a known name and an unknown content")
    return found
