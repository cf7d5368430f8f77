"""A file is replaced whole, or stays as it was, and nothing is left beside it."""

import os

import pytest

from app.common.whole_file import OWN, SHARED, write_whole


def test_that_the_old_file_stays_when_the_disk_is_full(tmp_path, monkeypatch):
    def no_space(descriptor):
        raise OSError(28, "No space left on device")

    path = tmp_path / "设置.json"
    write_whole(path, b"old\r\n")
    monkeypatch.setattr("app.common.whole_file.os.fsync", no_space)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new", is_lasting=True)
    assert path.read_bytes() == b"old\r\n"
    assert os.listdir(tmp_path) == [path.name]


def test_that_a_rename_that_is_refused_leaves_nothing_behind(tmp_path, monkeypatch):
    def refuse(source, target):
        raise PermissionError(13, "in use", str(target))

    monkeypatch.setattr("app.common.whole_file.replace_file", refuse)
    with pytest.raises(PermissionError, match="in use"):
        write_whole(tmp_path / "a", b"x")
    assert os.listdir(tmp_path) == []


def test_that_the_longest_name_a_disk_allows_can_be_written(tmp_path):
    path = tmp_path / ("专" * 83 + ".json")
    write_whole(path, b"x")
    assert os.listdir(tmp_path) == [path.name]


def test_that_a_folder_that_is_gone_and_a_name_that_cannot_be_are_told(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "gone" / "a", b"x")
    with pytest.raises(ValueError, match="null"):
        write_whole(tmp_path / "a\0b", b"x")


@pytest.mark.skipif(os.name != "posix", reason="Windows has no permission bits")
@pytest.mark.parametrize(("mode", "wanted"), [(OWN, 0o600), (SHARED, 0o644)])
def test_that_only_what_is_shared_can_be_read_by_others(tmp_path, mode, wanted):
    before = os.umask(0o022)
    try:
        write_whole(tmp_path / "a", b"x", mode=mode)
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == wanted
