"""A git checkout for the checks to look at."""

import subprocess
from pathlib import Path


class Checkout:
    """A fresh repository in which files can be written; nothing needs to be committed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        subprocess.run(["git", "init", "--quiet", root], check=True)

    def write(self, name: str, content: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
