"""Archives are unpacked whole or refused with the reason; nothing ever leaves the folder."""

import gzip
import io
import os
import stat
import struct
import sys
import tarfile

import pytest

from app.common.problem import ProblemError
from app.engine import archive as archive_module
from app.engine.archive import unpack
from app.words import say_problem
from tests.tools.releases import fake_server, tar_gz, zipped


@pytest.fixture
def opened(tmp_path):
    """Unpack bytes into a fresh folder; what is written outside of it would be seen beside it."""

    def run(data, cancelled=lambda: False, told=None):
        path = tmp_path / "a.archive"
        path.write_bytes(data)
        to = tmp_path / "in" / "to"
        to.mkdir(parents=True)
        unpack(path, to, (told if told is not None else []).append, cancelled)
        return to

    yield run
    assert sorted(p.name for p in tmp_path.iterdir()) in (["a.archive", "in"], ["a.archive"], [])
    if (tmp_path / "in").exists():
        assert [p.name for p in (tmp_path / "in").iterdir()] == ["to"]


def refusal(opened, data, **more):
    with pytest.raises(ProblemError) as caught:
        opened(data, **more)
    assert say_problem(caught.value.problem)
    return caught.value.problem


def member(name, kind=tarfile.REGTYPE, size=0, link="", data=b""):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size or len(data), link
    return info, data


def tar_of(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def test_that_a_tar_loses_its_top_folder_and_keeps_its_links(opened):
    files = {"llama-server": fake_server(), "libllama.so.0.6": b"lib", "libllama.so.0": "libllama.so.0.6",
             "libllama.so": "libllama.so.0", "sub/x": b"x"}  # fmt: skip
    told = []
    to = opened(tar_gz(files), told=told)
    assert sorted(os.listdir(to)) == ["libllama.so", "libllama.so.0", "libllama.so.0.6", "llama-server", "sub"]
    assert (to / "libllama.so").read_bytes() == b"lib"
    assert sys.platform == "win32" or (to / "llama-server").stat().st_mode & stat.S_IXUSR
    assert told[-1] == sum(len(data) for data in files.values() if isinstance(data, bytes))


def test_that_a_flat_zip_stays_as_it_is(opened):
    to = opened(zipped({"llama-server.exe": b"MZ", "ggml.dll": b"x", "libx.so": "ggml.dll", "中文 name.txt": b"y"}))
    assert sorted(os.listdir(to)) == ["ggml.dll", "libx.so", "llama-server.exe", "中文 name.txt"]
    assert (to / "libx.so").read_bytes() == b"x"


BAD_NAMES = (
    "../x", "a/../../x", "/etc/x", "a/./../../x", "C:/x", "C:x", "\\\\server\\x", "a\\..\\x", "con", "a/nul.txt",
    "COM1.dll", "x.", "x ", "a\x01b", "a" * 500, "a//../../x", "x:stream", "..", "a/..",
)  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("make", [zipped, lambda files: tar_gz(files, top="")])
def test_that_a_hostile_name_is_refused(opened, make, name):
    assert refusal(opened, make({"llama-server": b"x", name: b"evil"})).code == "archive_unsafe"


@pytest.mark.parametrize("target", ["/etc/passwd", "../../x", "..", "a/../../../x", "C:/x", "", "."])
@pytest.mark.parametrize("make", [zipped, lambda files: tar_gz(files, top="")])
def test_that_a_link_out_of_the_folder_is_refused(opened, make, target):
    assert refusal(opened, make({"llama-server": b"x", "link": target})).code == "archive_unsafe"


def test_that_nothing_is_written_through_a_link_or_below_a_file(opened):
    through = tar_of(member("dir", tarfile.SYMTYPE, link="sub"), member("sub/x", data=b"x"), member("dir/y", data=b"y"))
    assert refusal(opened, through).code == "archive_unsafe"


@pytest.mark.parametrize(
    "kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE], ids=["chr", "blk", "fifo", "hard"]
)
def test_that_devices_pipes_and_hard_links_are_refused(opened, kind):
    assert refusal(opened, tar_of(member("a", data=b"x"), member("b", kind, link="a"))).code == "archive_unsafe"


def test_that_names_that_differ_only_in_case_are_refused(opened):
    assert refusal(opened, zipped({"a/Llama.dll": b"1", "A/llama.DLL": b"2"})).code == "archive_unsafe"


def test_that_links_in_a_ring_make_nothing(opened):
    to = opened(tar_gz({"x": b"x", "a": "b", "b": "a", "gone": "nothing"}))
    assert os.listdir(to) == ["x"]


@pytest.mark.parametrize("make", [zipped, tar_gz])
def test_that_a_bomb_is_refused(opened, make, monkeypatch):
    monkeypatch.setattr(archive_module, "_RATIO_FREE_BYTES", 1 << 20)
    monkeypatch.setattr(archive_module, "_MOST_RATIO", 10)
    assert refusal(opened, make({"x": bytes(8 << 20)})).code == "archive_too_big"


def test_that_a_size_that_lies_does_not_help_a_bomb(opened, monkeypatch):
    monkeypatch.setattr(archive_module, "_RATIO_FREE_BYTES", 1 << 10)
    monkeypatch.setattr(archive_module, "_MOST_RATIO", 2)
    data = bytearray(zipped({"x": bytes(1 << 20)}))
    end = data.rindex(b"PK\x01\x02")
    struct.pack_into("<I", data, end + 24, 10)  # the uncompressed size in the directory
    assert refusal(opened, bytes(data)).code in ("archive_too_big", "archive_damaged")


def test_that_a_tar_that_claims_terabytes_is_refused_without_reading_them(opened):
    info = tarfile.TarInfo("x")
    info.size = 1 << 43
    out = gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    assert refusal(opened, out).code == "archive_too_big"


def test_that_too_many_entries_are_refused(opened, monkeypatch):
    monkeypatch.setattr(archive_module, "MOST_ENTRIES", 10)
    assert refusal(opened, tar_gz({str(i): b"" for i in range(12)})).code == "archive_too_big"


@pytest.mark.parametrize("make", [zipped, tar_gz])
def test_that_a_cut_archive_is_damaged(opened, make):
    data = make({"llama-server": os.urandom(5000), "b": os.urandom(5000)})
    assert refusal(opened, data[: len(data) // 2]).code in ("archive_damaged", "archive_kind")


def test_that_a_flipped_byte_is_noticed(opened):
    data = bytearray(zipped({"llama-server": os.urandom(5000)}))
    data[3000] ^= 1
    assert refusal(opened, bytes(data)).code == "archive_damaged"


@pytest.mark.parametrize("data", [b"", b"<html>", b"7z\xbc\xaf\x27\x1c", b"PK", b"\x1f\x8b"])
def test_that_other_files_are_no_archives(opened, data):
    assert refusal(opened, data).code in ("archive_kind", "archive_damaged")


def test_that_an_encrypted_zip_is_told(opened):
    data = bytearray(zipped({"x": b"abc"}))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    assert refusal(opened, bytes(data)).code == "archive_damaged"


def test_that_unpacking_can_be_cancelled(opened):
    assert refusal(opened, tar_gz({"x": b"1"}), cancelled=lambda: True).code == "download_cancelled"
