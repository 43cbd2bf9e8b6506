import os
from pathlib import Path

import pytest

from inquest.errors import UnreadableFile
from inquest.files import read_file


def test_a_file_is_read_whole_up_to_its_bound(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1234")
    (tmp_path / "link").symlink_to(tmp_path / "f")

    assert read_file(tmp_path / "f", most=4) == b"1234"
    assert read_file(tmp_path / "link", most=4) == b"1234"
    with pytest.raises(UnreadableFile, match="larger than 3 bytes"):
        read_file(tmp_path / "f", most=3)


def test_a_pipe_that_nobody_writes_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableFile, match="a pipe or a device, not a file"):
        read_file(tmp_path / "pipe", most=10)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/dev/zero", "a pipe or a device, not a file"),
        ("/dev", "Is a directory"),
        ("/nowhere/at all", "No such file or directory"),
        ("/srv/a\0b", "a path holds no NUL"),
    ],
)
def test_what_is_no_file_is_told_in_a_few_words(path: str, told: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        read_file(Path(path), most=10)
    assert str(refused.value) == told
