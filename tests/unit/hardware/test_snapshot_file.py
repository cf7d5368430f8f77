"""Snapshots are saved whole and read back, and a bad file is named for what it is."""

import dataclasses
import json
import os

import pytest

from app.common.problem import Problem, ProblemError, Severity
from app.hardware.probe import probe
from app.hardware.snapshot_file import load_snapshot, save_snapshot
from app.hardware.types import CoreKind
from app.words import say_problem
from tests.tools.hardware_data import DATA

SNAPSHOTS = sorted(DATA.glob("*.json"))


def _code(path):
    with pytest.raises(ProblemError) as caught:
        load_snapshot(path)
    assert str(path) in say_problem(caught.value.problem)
    return caught.value.problem.code


def _changed(tmp_path, **changes):
    data = json.loads((DATA / "laptop-rtx4080-i7-13700h.json").read_text(encoding="utf-8"))
    for dotted, value in changes.items():
        *parents, last = dotted.split("__")
        target = data
        for name in parents:
            target = target[int(name)] if name.isdigit() else target[name]
        target[last] = value
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_that_a_snapshot_of_this_computer_comes_back_equal(tmp_path):
    snapshot = probe()
    path = tmp_path / "本机 snapshot.json"
    save_snapshot(path, snapshot)
    assert load_snapshot(path) == snapshot
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_that_there_are_snapshots_of_different_machines():
    assert len(SNAPSHOTS) >= 4


@pytest.mark.parametrize("path", SNAPSHOTS, ids=lambda p: p.stem)
def test_that_every_example_reads_and_says_where_it_comes_from(path):
    snapshot = load_snapshot(path)
    assert snapshot.cpu.recommended_threads >= 1
    about = json.loads(path.read_text(encoding="utf-8"))["about"]
    assert about.startswith(("Built from public facts", "Recorded on"))


def test_that_the_articles_laptop_is_as_the_article_says():
    snapshot = load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")
    assert (snapshot.cpu.count(CoreKind.P), snapshot.cpu.count(CoreKind.E), snapshot.cpu.logical_count) == (6, 8, 20)
    assert snapshot.memory.theoretical_gbs == 76.8
    assert [(g.engine_name, g.kind) for g in snapshot.gpus] == [("CUDA0", "gpu"), (None, "igpu")]


def test_that_problems_survive(tmp_path):
    problem = Problem("cpu_probe_failed", Severity.WARNING, {"n": 1, "text": "x", "none": None}, ("evidence",))
    snapshot = dataclasses.replace(probe(), problems=(problem,))
    save_snapshot(tmp_path / "s.json", snapshot)
    assert load_snapshot(tmp_path / "s.json").problems == (problem,)


def test_that_a_file_that_is_missing_or_no_snapshot_is_named(tmp_path):
    assert _code(tmp_path / "none.json") == "snapshot_missing"
    assert _code(tmp_path) == "snapshot_unreadable"
    for name, content in (
        ("empty", b""),
        ("text", b"hello"),
        ("list", b"[]"),
        ("binary", b"\xff\xfe\x00GGUF"),
        ("other", b'{"version": 1, "name": "x"}'),
        ("deep", b"[" * 100_000),
        ("version", b'{"version": "1"}'),
    ):
        path = tmp_path / f"{name}.json"
        path.write_bytes(content)
        assert _code(path) == "snapshot_unreadable", name


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_that_a_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    assert _code(tmp_path / "pipe.json") == "snapshot_unreadable"
    assert _code(tmp_path / "nul\0.json") == "snapshot_missing"


def test_that_a_huge_file_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(1 << 33)
    assert _code(path) == "snapshot_unreadable"


@pytest.mark.parametrize(
    "changes",
    [
        {"cpu__recommended_threads": 0},
        {"cpu__recommended_cpus": [-1]},
        {"cpu__is_hybrid": "yes"},
        {"memory__total_bytes": -5},
        {"memory__theoretical_gbs": 0},
        {"gpus__0__total_bytes": 1.5},
        {"gpus__0__name": None},
        {"memory__measured_gbs": float("nan")},
        {"cpu__cores": [{"logical": [0], "kind": "Q"}]},
        {"cpu__recommended_threads": 10**9},
        {"cpu__recommended_cpus": [10**12]},
        {"cpu__reason": "because"},
        {"memory__total_bytes": 10**400},
        {"memory__measured_gbs": 10**400},
        {"gpus__0__kind": "toaster"},
        {"gpus__0__engine_name": "RAM"},
        {"gpus__0__engine_name": ""},
        {"gpus__0__engine_name": "CUDA0,CUDA1"},
        {"gpus__0__engine_name": "CUDA0\n"},
    ],
)
def test_that_values_nobody_could_calculate_with_are_refused(tmp_path, changes):
    assert _code(_changed(tmp_path, **changes)) == "snapshot_unreadable"


def test_that_a_newer_versions_extra_fields_are_ignored_and_its_changes_are_called_newer(tmp_path):
    path = _changed(tmp_path, version=7, disks=[{"kind": "nvme"}], cpu__cache=3)
    assert load_snapshot(path) == load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")
    assert _code(_changed(tmp_path, version=7, gpus="see disks")) == "snapshot_newer"
    for changes in ({"cpu__cores": 3}, {"cpu__cores": [[1]]}, {"cpu": 5}, {"gpus": [7]}):
        assert _code(_changed(tmp_path, version=7, **changes)) == "snapshot_newer"


def test_that_a_newer_versions_unknown_kinds_cost_only_themselves(tmp_path):
    known = load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")
    data = json.loads((DATA / "laptop-rtx4080-i7-13700h.json").read_text(encoding="utf-8"))
    data["version"] = 9
    data["cpu"]["reason"] = "by_measurement"
    data["cpu"]["cores"][-1]["kind"] = "vector"
    data["gpus"].insert(0, {"name": "NPU", "kind": "npu", "engine_name": "NPU0", "tops": 48})
    path = tmp_path / "newer.json"
    path.write_text(json.dumps(data), encoding="utf-8")
    loaded = load_snapshot(path)
    assert loaded.gpus == known.gpus
    assert loaded.cpu.reason == "p_cores"
    assert loaded.cpu.cores[:-1] == known.cpu.cores[:-1]
    assert loaded.cpu.cores[-1].kind is CoreKind.UNKNOWN
    assert [key for key in loaded.sources if key.startswith("gpus.")] == []
    data["version"] = 1
    path.write_text(json.dumps(data), encoding="utf-8")
    assert _code(path) == "snapshot_unreadable"


def test_that_an_unwritable_place_is_named(tmp_path):
    with pytest.raises(ProblemError) as caught:
        save_snapshot(tmp_path / "no folder" / "s.json", probe())
    assert caught.value.problem.code == "snapshot_not_saved"


def test_that_a_name_that_is_no_unicode_is_saved_and_read_back(tmp_path):
    here = probe()
    strange = dataclasses.replace(here, cpu=dataclasses.replace(here.cpu, name="CPU \ud800"))
    save_snapshot(tmp_path / "s.json", strange)
    assert load_snapshot(tmp_path / "s.json") == strange
    with pytest.raises(ProblemError, match="snapshot_not_saved"):
        save_snapshot(tmp_path / "nul\0.json", here)
