"""Check that no file of the repository names a package registry's host or a folder of one machine."""

import re
from pathlib import Path

from tools.tree import ROOT, house_files

# Spelled in pieces, so that this file passes its own check.
HOSTS = (
    "pypi" + ".org",
    "python" + "hosted.org",
    "registry.npm" + "js",
    "deb.debian" + ".org",
    "proxy.golang" + ".org",
)
# A folder of somebody's machine, at the start of a path. /home/nonroot and the like would be a container's.
FOLDERS = re.compile(r"(?<![\w./~-])/(?:root|work|Users/\w+|home/\w+)/")
# Test data is taken byte for byte from real servers; a path in a captured log line is the capture's.
CAPTURED = Path("tests/data")


def problems(root: Path = ROOT) -> list[str]:
    found: list[str] = []
    for path in house_files(root):
        content = (root / path).read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), start=1):
            found.extend(f"{path}:{number} names the registry host {host}" for host in HOSTS if host in line)
            if CAPTURED not in path.parents and (FOLDERS.search(line) or str(root) in line):
                found.append(f"{path}:{number} names a folder of one machine")
    return found
