"""The folder destination: whole or not there, repeatable, and never outside its root."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from inquest.destinations.folder import FolderConfig, FolderDestination, create_folder_destination
from inquest.destinations.shared.bundle import folder_files, is_file_name, pack, unpack
from inquest.destinations.verification import verify
from inquest.domain.delivery import Address, DeliveryFailed, Sent
from inquest.errors import ConfigurationError, InvariantBroken
from inquest.ports import Destination
from tests.incident import incident_shelf
from tests.reports import HOSTS, KEY, whole_report

SHELF = incident_shelf()
REPORT = whole_report(SHELF)


def made(root: Path) -> FolderDestination:
    return create_folder_destination("files", FolderConfig(path=str(root)), signer=KEY, link_hosts=HOSTS)


async def send(
    destination: FolderDestination, revision: int = 2, *, marker: str | None = None, title: str = "A"
) -> Sent | DeliveryFailed:
    rendered = destination.render(REPORT.but(revision=revision, title=title), SHELF.contents, guest=False)
    assert rendered is not None
    name = marker if marker is not None else f"inv-1/r{revision}"
    return await destination.send(rendered, Address(marker=name), timeout_s=10)


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def below(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_it_is_a_destination(tmp_path: Path) -> None:
    destination: Destination = made(tmp_path)
    assert (destination.name, destination.type) == ("files", "folder")


async def test_a_revision_is_a_folder_that_verifies(tmp_path: Path) -> None:
    assert await send(made(tmp_path)) == Sent(reference="inv-1/r2")

    there = files(tmp_path)
    expected = {f"inv-1/r2/{name}" for name in folder_files(REPORT, SHELF.contents, HOSTS, KEY)}
    assert set(there) == expected | {"inv-1/latest"}
    assert there["inv-1/latest"] == b"r2\n"
    assert verify(tmp_path / "inv-1", key=KEY.public_key).problems == ()


async def test_the_same_revision_again_changes_nothing(tmp_path: Path) -> None:
    destination = made(tmp_path)
    await send(destination)
    before = files(tmp_path)
    assert await send(destination) == Sent(reference="inv-1/r2")
    assert files(tmp_path) == before


async def test_another_report_under_a_sent_revision_is_refused(tmp_path: Path) -> None:
    destination = made(tmp_path)
    await send(destination)
    before = files(tmp_path)
    refused = await send(destination, title="B")

    assert isinstance(refused, DeliveryFailed)
    assert not refused.retry
    assert files(tmp_path) == before


async def test_a_look_lets_latest_name_what_a_dead_sender_had_only_renamed(tmp_path: Path) -> None:
    destination = made(tmp_path)
    await send(destination)
    (tmp_path / "inv-1/latest").unlink()

    assert await destination.find(Address(marker="inv-1/r2"), timeout_s=10) == Sent(reference="inv-1/r2")
    assert (tmp_path / "inv-1/latest").read_text() == "r2\n"


async def test_latest_names_the_newest_even_when_an_older_one_comes_late(tmp_path: Path) -> None:
    destination = made(tmp_path)
    await send(destination, 3)
    await send(destination, 2)
    assert (tmp_path / "inv-1/latest").read_text() == "r3\n"
    assert (tmp_path / "inv-1/latest").is_file()


async def test_a_revision_is_found_by_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    destination = made(tmp_path)
    assert await destination.find(Address(marker="inv-1/r2"), timeout_s=1) is None
    (tmp_path / "inv-1" / ".r2-0123").mkdir(parents=True)
    assert await destination.find(Address(marker="inv-1/r2"), timeout_s=1) is None
    await send(destination)
    assert await destination.find(Address(marker="inv-1/r2"), timeout_s=1) == Sent(reference="inv-1/r2")
    assert await destination.find(Address(marker="inv-1/r3"), timeout_s=1) is None


async def test_a_send_that_died_half_way_leaves_no_revision_and_is_cleared_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = made(tmp_path)
    real = os.rename

    def die(*_: object, **__: object) -> None:
        raise OSError(5, "the process dies here")

    monkeypatch.setattr(os, "rename", die)
    failed = await send(destination)
    assert failed == DeliveryFailed(reason="the folder cannot be written (EIO)", retry=True)
    assert await destination.find(Address(marker="inv-1/r2"), timeout_s=1) is None
    (left,) = (tmp_path / "inv-1").iterdir()
    assert left.name.startswith(".r2-")

    monkeypatch.setattr(os, "rename", real)
    assert await send(destination) == Sent(reference="inv-1/r2")
    assert not [path for path in (tmp_path / "inv-1").iterdir() if path.name.startswith(".")]


async def test_everything_is_synced_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C22: a name that is there after a power cut has its content."""
    steps: list[str] = []
    real_sync, real_rename = os.fsync, os.rename

    def sync(descriptor: int) -> None:
        steps.append("sync")
        real_sync(descriptor)

    def rename(source: str, target: str, **more: int) -> None:
        steps.append(f"rename {target}")
        real_rename(source, target, **more)

    destination = made(tmp_path)
    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "rename", rename)
    await send(destination)

    names = len(folder_files(REPORT, SHELF.contents, HOSTS, KEY))
    renamed = steps.index("rename r2")
    assert steps[:renamed].count("sync") >= names + 2  # every file, the evidence folder, the folder
    assert steps[renamed + 1] == "sync"
    assert steps[-2:] == ["rename latest", "sync"]


# ---- where it may write ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "marker",
    ["../evil/r1", "/etc/r1", "inv-1/../r1", "inv-1", "inv-1/r0", "inv-1/r1/x", "inv-1/r1\n", "a\x00b/r1", ".hidden/r1",
     "a" * 65 + "/r1", "", "inv-1/r-1", "inv-1/rone"],
)  # fmt: skip
async def test_a_marker_that_is_no_name_of_a_revision_writes_nothing(tmp_path: Path, marker: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    destination = made(root)
    assert isinstance(await send(destination, marker=marker), DeliveryFailed)
    assert isinstance(await destination.find(Address(marker=marker), timeout_s=1), DeliveryFailed)
    assert below(tmp_path) == ["root"]


@pytest.mark.parametrize("title", ["../../etc/cron.d/x", "a/b", "CON", "x" * 300, "a\x00b"])
async def test_an_alert_names_no_path(tmp_path: Path, title: str) -> None:
    assert isinstance(await send(made(tmp_path), title=title), Sent)
    assert {name.split("/")[0] for name in below(tmp_path)} == {"inv-1"}


async def test_a_link_in_the_place_of_an_investigation_is_not_followed(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    root.mkdir()
    elsewhere.mkdir()
    (root / "inv-1").symlink_to(elsewhere)
    failed = await send(made(root))

    assert isinstance(failed, DeliveryFailed)
    assert list(elsewhere.iterdir()) == []


async def test_a_link_in_the_place_of_latest_is_replaced_not_written_through(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    root = tmp_path / "root"
    (root / "inv-1").mkdir(parents=True)
    (root / "inv-1" / "latest").symlink_to(victim)
    await send(made(root))

    assert victim.read_text() == "untouched"
    assert (root / "inv-1" / "latest").read_text() == "r2\n"
    assert not (root / "inv-1" / "latest").is_symlink()


async def test_a_link_in_the_place_of_a_revision_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inv-1").mkdir()
    (tmp_path / "inv-1" / "r2").symlink_to(tmp_path)
    assert isinstance(await send(made(tmp_path)), DeliveryFailed)


def test_a_relative_path_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="give an absolute path"):
        create_folder_destination("files", FolderConfig(path="reports"), signer=None)


async def test_a_root_that_is_a_file_is_said_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "root").write_text("x")
    failed = await send(made(tmp_path / "root"))
    assert isinstance(failed, DeliveryFailed)
    assert str(tmp_path) not in failed.reason


@pytest.mark.parametrize("name", ["root", "root/inv-1", "root/inv-1/r2"])
async def test_what_stands_in_the_place_of_a_folder_is_waited_for_until_it_is_taken_away(
    tmp_path: Path, name: str
) -> None:
    destination, there = made(tmp_path / "root"), tmp_path / name
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_text("somebody's notes")

    failed = await send(destination)
    there.unlink()

    assert isinstance(failed, DeliveryFailed)
    assert failed.retry
    assert await send(destination) == Sent(reference="inv-1/r2")


@pytest.mark.parametrize("code", ["EACCES", "EPERM", "EROFS", "ENOSPC"])
async def test_a_folder_that_cannot_be_written_yet_gets_its_report_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(getattr(errno, code), "not yet")

    with monkeypatch.context() as while_refused:
        while_refused.setattr(os, "mkdir", refuse)
        failed = await send(made(tmp_path))

    assert failed == DeliveryFailed(reason=f"the folder cannot be written ({code})", retry=True)
    assert await send(made(tmp_path)) == Sent(reference="inv-1/r2")


async def test_a_send_that_has_no_time_left_is_tried_again(tmp_path: Path) -> None:
    destination = made(tmp_path)
    rendered = destination.render(REPORT, SHELF.contents, guest=False)
    assert rendered is not None
    failed = await destination.send(rendered, Address(marker="inv-1/r2"), timeout_s=-1)
    assert failed == DeliveryFailed(reason="the folder could not be written in its time", retry=True)
    assert await destination.find(Address(marker="inv-1/r2"), timeout_s=1) is None


def test_that_it_is_in_progress_is_no_folder_of_its_own(tmp_path: Path) -> None:
    assert made(tmp_path).render(REPORT.but(kind="progress"), SHELF.contents, guest=False) is None


# ---- the archive -----------------------------------------------------------------------------------------


def test_rendering_is_deterministic(tmp_path: Path) -> None:
    destination = made(tmp_path)
    assert destination.render(REPORT, SHELF.contents, guest=False) == destination.render(
        REPORT, SHELF.contents, guest=True
    )


def test_an_archive_gives_back_its_files() -> None:
    packed = folder_files(REPORT, SHELF.contents, HOSTS, KEY)
    assert unpack(pack(packed)) == packed


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "evidence/../../x", "report.md\n", "evidence/abc.json", "x"])
def test_an_archive_with_another_name_is_refused(name: str) -> None:
    assert not is_file_name(name)
    with pytest.raises(InvariantBroken):
        unpack(pack({name: b"x"}))


def test_bytes_that_are_no_archive_are_refused() -> None:
    with pytest.raises(InvariantBroken):
        unpack(b"no archive")
