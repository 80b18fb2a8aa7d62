"""The command by which the server copies its log into a backup: any folder, nothing replaced."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.doctor.damage import following
from app.postgres.followed import SECONDS, Following, command, folder_in
from app.postgres.programs import EmbeddedPostgresError

PRINTABLE = st.text(st.characters(codec="utf-8").filter(str.isprintable), min_size=1)
NAMES = ("plain", 'it\'s 50% of "$HOME" & `more`; exit 1', "磁盘 %p %f /%f.gz; x", "-rf", "a\\b")


def run(said: str, segment: Path) -> bool:
    """As the server does: in its own folder, with the places filled in."""
    filled = said.replace("%%", "\0").replace("%p", segment.name).replace("%f", segment.name).replace("\0", "%")
    return subprocess.run(filled, shell=True, cwd=segment.parent, check=False).returncode == 0


@given(PRINTABLE)
def test_the_folder_can_be_read_off_the_command(name: str) -> None:
    folder = Path("/backups") / name / "wal"
    assert folder_in(command(folder)) == folder


def test_other_commands_have_no_folder() -> None:
    assert [folder_in(said) for said in ("", "exit 0", "cp %p /mnt/%f", "to=/a/%f")] == [None] * 4


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_copied_once_and_never_replaced(tmp_path: Path, name: str) -> None:
    folder, segment = tmp_path / Path(name), tmp_path / "000000010000000000000001"
    folder.mkdir(parents=True)
    segment.write_bytes(b"one")
    assert run(command(folder), segment)
    assert run(command(folder), segment), "the same once more, as after a crash"
    copied = {path.name: path.read_bytes() for path in folder.iterdir()}
    segment.write_bytes(b"two")
    assert not run(command(folder), segment)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == copied
    assert list(copied) == [f"{segment.name}.gz"]


def test_a_missing_folder_fails_and_makes_nothing(tmp_path: Path) -> None:
    segment = tmp_path / "000000010000000000000001"
    segment.write_bytes(b"one")
    assert not run(command(tmp_path / "missing"), segment)
    assert list(tmp_path.iterdir()) == [segment]


def test_a_folder_that_no_setting_can_hold_is_refused() -> None:
    with pytest.raises(EmbeddedPostgresError, match="cannot be printed"):
        command(Path("/a\nb"))


def test_the_doctor_warns_of_a_log_that_does_not_reach_its_backup() -> None:
    log = Path("/backups/monday/wal")
    assert following(None) == []
    for found in (Following(log, 0, 0), Following(log, 1, SECONDS)):
        assert [check.state for check in following(found)] == ["ok"]
    [check] = following(Following(log, 3, 60 * SECONDS))
    assert (check.state, str(log) in check.detail, "unfollow" in check.fix) == ("warn", True, True)
