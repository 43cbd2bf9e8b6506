"""Each contract of pyproject.toml, broken on purpose in a copy of the package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.tree import ROOT

BREACHES = [
    ("layers", "domain/value.py", "import inquest.ports"),
    ("layers", "store/breach.py", "import inquest.wire\nimport inquest.runtime"),
    ("layers", "stages/breach.py", "import inquest.entrypoints"),
    ("layers", "newcomer.py", ""),
    ("acyclic", "stages/breach.py", "import inquest.stages.other"),
    ("pure", "domain/breach.py", "import random"),
    ("pure", "ports/time.py", "import httpx2"),
    ("pure", "analysis/breach.py", "def read() -> None:\n    import os"),
    ("litellm", "models/breach.py", "def ask() -> None:\n    import litellm"),
    ("vendor-sources", "sources/breach.py", "import inquest.sources.other"),
    ("vendor-connectors", "connectors/breach.py", "import inquest.connectors.other"),
    ("vendor-destinations", "destinations/breach.py", "import inquest.destinations.other"),
]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "app/inquest", tmp_path / "app/inquest", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "app/inquest"


def keeps(package: Path, contract: str) -> bool:
    root = package.parent.parent
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--contract", contract]
    env = {**os.environ, "PYTHONPATH": str(root / "app")}
    done = subprocess.run(command, cwd=root, env=env, check=False, capture_output=True, text=True)
    assert f"{1 - done.returncode} kept, {done.returncode} broken" in done.stdout, done.stdout + done.stderr
    return done.returncode == 0


@pytest.mark.parametrize(("contract", "module", "breach"), BREACHES)
def test_a_contract_goes_red_when_broken(package: Path, contract: str, module: str, breach: str) -> None:
    assert keeps(package, contract)
    path = package / module
    if contract == "acyclic" or contract.startswith("vendor"):
        (path.parent / "other.py").write_text(f"import inquest.{path.parent.name}.breach\n")
    path.write_text(f"{path.read_text() if path.exists() else ''}\n{breach}\n")
    assert not keeps(package, contract)


def test_what_vendors_share_may_be_imported_by_each(package: Path) -> None:
    (package / "sources/shared").mkdir(exist_ok=True)
    (package / "sources/shared/__init__.py").write_text("")
    (package / "sources/shared/times.py").write_text("")
    (package / "sources/breach.py").write_text("import inquest.sources.shared.times\n")
    assert keeps(package, "vendor-sources")


def test_the_one_adapter_may_import_litellm(package: Path) -> None:
    adapter = package / "models/litellm_model.py"
    adapter.write_text(f"{adapter.read_text() if adapter.exists() else ''}\ndef more() -> None:\n    import litellm\n")
    assert keeps(package, "litellm")
