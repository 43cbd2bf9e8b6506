import subprocess
from pathlib import Path

from tools.tree import ROOT

SERVERS = ("prometheus", "prometheus-alertmanager")
RECORD = '#!/bin/sh\necho "${0##*/} $*" >> "$LOG"\n'


def install(folder: Path, **commands: str) -> tuple[int, list[str], str]:
    """Run the script on a machine that has `commands` and no others; give status, what was run, what was said."""
    for name, script in commands.items():
        path = folder / name.replace("_", "-")
        path.write_text(script)
        path.chmod(0o755)
    log = folder / "log"
    log.touch()
    command = ["/bin/sh", str(ROOT / "tools/install_e2e_servers.sh")]
    env = {"PATH": str(folder), "LOG": str(log)}
    done = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
    return done.returncode, log.read_text().splitlines(), done.stderr


def user(uid: int) -> str:
    return f"#!/bin/sh\necho {uid}\n"


def test_nothing_is_installed_where_both_servers_are(tmp_path: Path) -> None:
    both = {name.replace("-", "_"): RECORD for name in SERVERS}
    assert install(tmp_path, **both, apt_get=RECORD, id=user(0), env=RECORD) == (0, [], "")


def test_only_what_is_missing_is_installed_with_services_kept_down(tmp_path: Path) -> None:
    status, ran, _ = install(tmp_path, prometheus=RECORD, apt_get=RECORD, id=user(0), env=RECORD, systemctl=RECORD)
    assert status == 0
    quietly = "env RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive"
    assert ran == [
        "apt-get update -qq",
        f"{quietly} apt-get install -y -qq --no-install-recommends prometheus-alertmanager",
        "systemctl --quiet is-active prometheus-alertmanager",
        "systemctl disable --now prometheus-alertmanager",
    ]


def test_a_user_other_than_root_installs_through_sudo_or_is_told_so(tmp_path: Path) -> None:
    status, ran, said = install(tmp_path, apt_get=RECORD, id=user(1000), env=RECORD)
    assert (status, ran, said) == (1, [], "Installing prometheus prometheus-alertmanager needs root or sudo.\n")
    status, ran, _ = install(tmp_path, sudo=RECORD)
    assert status == 0
    assert ran[0] == "sudo apt-get update -qq"


def test_a_machine_without_apt_is_told_what_to_install(tmp_path: Path) -> None:
    status, _, said = install(tmp_path, id=user(0))
    assert status == 1
    assert "need on the PATH: prometheus prometheus-alertmanager" in said
