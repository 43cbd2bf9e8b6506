"""The files of the checkout, as git sees them."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def house_files(root: Path = ROOT) -> tuple[Path, ...]:
    """List the files that are tracked or about to be (not ignored), relative to `root`, in order."""
    asked = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    listed = subprocess.run(asked, cwd=root, check=True, capture_output=True).stdout.decode()
    names = sorted({name for name in listed.split("\0") if name})
    return tuple(Path(name) for name in names if (root / name).is_file())
