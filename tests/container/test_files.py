"""Dockerfile, compose file and their page agree with each other, with the settings, and with what is in the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from inquest.configuration.file import parse
from inquest.settings import Settings
from tests.docs.pages import ROOT, blocks
from tests.docs.test_http_reference import APP

PAGE = ROOT / "docs/how-to/run-in-containers.md"
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", "")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
SERVICE = COMPOSE["services"]["inquest"]
HOME = "/var/lib/inquest"


def shown(language: str) -> list[str]:
    return [block.text for block in blocks(PAGE) if block.language == language]


def test_every_file_that_the_image_takes_is_there_and_not_ignored() -> None:
    taken = [
        word for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE) for word in line.split()[:-1]
    ]
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    paths = [word for word in taken if not word.startswith("--")]
    assert [path for path in paths if not (ROOT / path).exists() or path.split("/")[0] in ignored] == []


def test_what_the_page_has_made_is_all_that_the_compose_file_wants() -> None:
    made = {found for text in shown("sh") for found in re.findall(r"> (\S+)$", text, re.MULTILINE)}
    wanted = {Path(one["file"]).name for one in COMPOSE["secrets"].values()}
    mounted = {Path(one.split(":")[0]).name for one in SERVICE["volumes"] if one.startswith("./")}
    assert (wanted, mounted) == (made, {"inquest.yaml"})


def test_no_secret_and_no_report_gets_into_the_image() -> None:
    ignored = set((ROOT / ".dockerignore").read_text("utf-8").splitlines())
    assert {Path(one["file"]).name for one in COMPOSE["secrets"].values()} | {"inquest.yaml", "reports"} <= ignored


def test_every_variable_of_the_service_is_a_setting_or_the_start_scripts() -> None:
    known = {f"INQUEST_{name.upper()}" for name in Settings.model_fields}
    script = (ROOT / "container/start.sh").read_text("utf-8")
    assert [name for name in SERVICE["environment"] if name not in known and f"${{{name}:-" not in script] == []


def test_what_the_service_is_told_of_is_mounted() -> None:
    secrets = {f"/run/secrets/{name}" for name in SERVICE["secrets"]}
    files = {name: value for name, value in SERVICE["environment"].items() if name.endswith(("_FILE", "_CONFIG"))}
    mounted = {one.split(":")[1] for one in SERVICE["volumes"]}
    assert [name for name, path in files.items() if path not in secrets | mounted and not path.startswith(HOME)] == []
    assert HOME in mounted


def test_what_the_configuration_of_the_page_names_is_in_the_container() -> None:
    (text,) = shown("yaml")
    parse(text, "inquest.yaml")
    named = re.findall(r"_file: ([^\s}]+)|path: (\S+)", text)
    secrets = {f"/run/secrets/{name}" for name in SERVICE["secrets"]}
    assert [path for pair in named for path in pair if path and path not in secrets and not path.startswith(HOME)] == []


def test_the_health_check_asks_a_route_at_the_port_that_is_published() -> None:
    port = Settings.model_fields["port"].default
    asked = re.search(r"http://127\.0\.0\.1:(\d+)(/\w+)", SERVICE["healthcheck"]["test"][-1])
    assert asked is not None
    assert (int(asked[1]), asked[2] in APP.openapi()["paths"]) == (port, True)
    assert SERVICE["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f"EXPOSE {port}" in DOCKERFILE


@pytest.mark.parametrize("line", ["USER inquest", f"WORKDIR {HOME}", f"VOLUME {HOME}", 'ENTRYPOINT ["inquest-start"]'])
def test_the_image_starts_as_its_own_user_in_its_home_through_the_script(line: str) -> None:
    assert line in DOCKERFILE.splitlines()
    assert "container/start.sh /usr/local/bin/inquest-start" in DOCKERFILE
