"""The header cache: the same answer as reading, and never an old or damaged one."""

import os

import pytest

import app.model.cache as cache_module
from app.common.problem import ProblemError
from app.model.cache import read_model_cached
from app.model.reader import read_model
from tests.tools import gguf_bytes as raw


@pytest.fixture
def model_path(tmp_path):
    path = tmp_path / "模型.gguf"
    path.write_bytes(raw.small_moe())
    return path


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def reads(monkeypatch):
    """The paths that were really read."""
    paths = []

    def counting(path):
        paths.append(path)
        return read_model(path)

    monkeypatch.setattr(cache_module, "read_model", counting)
    return paths


def test_that_the_second_time_nothing_is_read(model_path, folder, reads):
    first = read_model_cached(model_path, folder)
    second = read_model_cached(str(model_path), folder)
    assert first == second == read_model(model_path)
    assert reads == [str(model_path)]


def test_that_values_come_back_with_their_types(model_path, folder):
    read_model_cached(model_path, folder)
    model = read_model_cached(model_path, folder)
    assert model.metadata["qwen3moe.attention.sliding_window_pattern"] == (True, False)
    assert model.metadata["general.flag"] is True
    assert all(isinstance(t.shape, tuple) for t in model.tensors)
    assert repr(model) == repr(read_model(model_path))


def test_that_a_changed_file_is_read_again(model_path, folder, reads):
    read_model_cached(model_path, folder)
    model_path.write_bytes(model_path.read_bytes().replace(b"fuzz", b"late"))
    os.utime(model_path, ns=(1, 1))
    assert read_model_cached(model_path, folder).name == "late"
    assert len(reads) == 2


def test_that_a_file_that_is_gone_is_told(model_path, folder):
    read_model_cached(model_path, folder)
    model_path.unlink()
    with pytest.raises(ProblemError) as caught:
        read_model_cached(model_path, folder)
    assert caught.value.problem.code == "file_missing"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b'{"format":1,"stamps":[],"parts":[]}', b"\xff\xfe"])
def test_that_a_damaged_entry_is_replaced(model_path, folder, reads, content):
    read_model_cached(model_path, folder)
    (entry,) = folder.iterdir()
    good = entry.read_bytes()
    entry.write_bytes(content)
    assert read_model_cached(model_path, folder) == read_model(model_path)
    assert entry.read_bytes() == good
    assert len(reads) == 2


def test_that_an_entry_of_another_format_is_not_used(model_path, folder, reads, monkeypatch):
    read_model_cached(model_path, folder)
    monkeypatch.setattr(cache_module, "_FORMAT", 99)
    read_model_cached(model_path, folder)
    assert len(reads) == 2


def test_that_a_model_is_read_even_if_nothing_can_be_remembered(model_path, tmp_path):
    blocked = tmp_path / "a file"
    blocked.write_text("no folder")
    assert read_model_cached(model_path, blocked / "cache").block_count == 2


def test_that_bad_files_are_not_remembered(tmp_path, folder):
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"GGUF")
    for _ in range(2):
        with pytest.raises(ProblemError):
            read_model_cached(path, folder)
    assert not folder.exists()


def test_that_the_oldest_entries_are_forgotten(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(cache_module, "_MAX_ENTRIES", 2)
    for number in range(4):
        path = tmp_path / f"{number}.gguf"
        path.write_bytes(raw.small_moe())
        read_model_cached(path, folder)
    assert len(list(folder.iterdir())) == 2
