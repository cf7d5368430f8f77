"""The header cache: the same answer as reading, and never an old or damaged one."""

import hashlib
import json
import os

import pytest

import app.model.cache as cache_module
from app.common.problem import ProblemError
from app.model.cache import read_model_cached
from app.model.reader import read_model
from tests.tools import gguf_bytes as raw
from tests.tools.sparse_split import BLOCKS, TENSORS, make_split_235b, qwen3_235b


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


def entry_with(entry, change):
    """The entry with a change inside, its digest made to fit: what a hand or a hostile program could leave there."""
    stored = json.loads(entry.read_bytes()[64:])
    change(stored)
    packed = json.dumps(stored).encode()
    entry.write_bytes(hashlib.sha256(packed).hexdigest().encode() + packed)


@pytest.mark.parametrize(
    "change",
    [
        lambda stored: stored["tensors"][0].__setitem__(4, "many"),
        lambda stored: stored["tensors"][0].__setitem__(1, [1, "2"]),
        lambda stored: stored["tensors"][0].__setitem__(6, "king"),
        lambda stored: stored["tensors"][0].pop(),
        lambda stored: stored.__setitem__("tensors", 7),
        lambda stored: stored["layers"][0].__setitem__(0, None),
        lambda stored: stored["metadata"].__setitem__("general.name", {"a": 1}),
        lambda stored: stored["plain"].__setitem__(5, "2"),
        lambda stored: stored["plain"].__setitem__(2, None),
        lambda stored: stored.__setitem__("used", ["x"]),
        lambda stored: stored.__setitem__("parts", "abc"),
        lambda stored: stored.__setitem__("parts", ["/another/model.gguf"]),
    ],
)
def test_that_an_entry_of_wrong_types_is_never_used(model_path, folder, reads, change):
    read_model_cached(model_path, folder)
    (entry,) = folder.iterdir()
    entry_with(entry, change)
    assert read_model_cached(model_path, folder) == read_model(model_path)
    assert len(reads) == 2


def test_that_a_flipped_digit_is_noticed(model_path, folder, reads):
    read_model_cached(model_path, folder)
    (entry,) = folder.iterdir()
    entry.write_bytes(entry.read_bytes().replace(b'"file_bytes"', b'"file_bytes"').replace(b"32", b"33", 1))
    assert read_model_cached(model_path, folder) == read_model(model_path)
    assert len(reads) == 2


def test_that_a_relative_path_stays_relative(model_path, folder, monkeypatch):
    monkeypatch.chdir(model_path.parent)
    for _ in range(2):
        model = read_model_cached(model_path.name, folder)
        assert (model.path, model.parts) == (model_path.name, (model_path.name,))
    assert read_model_cached(model_path, folder).path == str(model_path)


def test_that_a_changed_later_part_is_noticed(tmp_path, folder, reads):
    paths = qwen3_235b(has_vocabulary=False).write_parts(tmp_path, "m", 3)
    assert read_model_cached(paths[0], folder).parts == paths
    os.utime(paths[2], ns=(1, 1))
    read_model_cached(paths[0], folder)
    assert reads == [paths[0]] * 2


def test_that_every_verb_and_the_window_open_models_through_the_cache(model_path, lanewise_home, reads):
    from app.work.models import open_model

    assert open_model(model_path) == open_model(model_path)
    assert len(reads) == 1
    assert len(list((lanewise_home / "cache" / "headers").iterdir())) == 1


def test_that_a_model_in_parts_comes_back_whole(tmp_path, folder, reads):
    path = make_split_235b(tmp_path, has_vocabulary=False)
    first, second = read_model_cached(path, folder), read_model_cached(path, folder)
    assert first == second
    assert (len(second.tensors), second.block_count, len(second.parts)) == (TENSORS, BLOCKS, 6)
    assert len(reads) == 1
