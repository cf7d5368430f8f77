"""Kept runs: bounded whatever a run's length, peaks survive, gaps stay gaps, and nothing that was asked is kept."""

import dataclasses
import json
from pathlib import Path

import pytest

from app.hardware.snapshot_file import load_snapshot
from app.planner.devices import DeviceWishes
from app.planner.plan import make_plan
from app.planner.types import RAM, Wishes
from app.work.engines import capabilities_of
from app.work.learned import LearnedStore
from app.work.models import open_model
from app.work.planning import plan_inputs
from app.work.run_history import MOST_POINTS, MOST_REQUESTS, RunRecorder, keep_run, kept_runs
from tests.tools.engine_fixture import TINY_MODEL

GIB = 1 << 30
LAPTOP = Path(__file__).parents[2] / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json"
LINES = """\
slot launch_slot_: id  0 | task {task} | processing task
slot print_timing: id  0 | task {task} | prompt eval time =     500.00 ms /   100 tokens (    5.00 ms per token,   {p} tokens per second)
slot print_timing: id  0 | task {task} |        eval time =    1000.00 ms /    30 tokens (   33.33 ms per token,    {d} tokens per second)
slot      release: id  0 | task {task} | stop processing: n_tokens = {n}, truncated = 0"""  # noqa: E501  the engine's own lines


@pytest.fixture(scope="module")
def plan():
    inputs = plan_inputs(
        open_model(str(TINY_MODEL)),
        load_snapshot(LAPTOP),
        Wishes(),
        DeviceWishes(),
        capabilities_of(None),
        api_key="geheim",
    )
    return make_plan(inputs)


@pytest.fixture
def recorder(plan):
    made = RunRecorder(plan, "Qwen", "b11434", 100.0)
    made.was_ready = True
    return made


def _ask(recorder, task, at, prompt=200.0, decode=30.0, n=130):
    for line in LINES.format(task=task, p=prompt, d=decode, n=n).splitlines():
        recorder.on_line(line, at)


@pytest.mark.slow
def test_that_a_day_of_samples_stays_small_and_keeps_its_peak(recorder, tmp_path):
    for i in range(20_000):
        peak = 12.0 * GIB if i == 12_345 else 8.0 * GIB
        values = {"gpu.CUDA0.used": peak, "server.rss": 1.0 * GIB, "tok.decode": float(i % 2), "cpu.0": 5.0}
        recorder.on_sample(100.0 + i / 2, values)
    record = recorder.record(100.0 + 10_000)
    assert MOST_POINTS / 2 <= len(record.times) <= MOST_POINTS
    assert record.times[0] == 0.0
    assert record.times[-1] > 9_000
    assert record.peak("gpu.CUDA0.used") == 12.0 * GIB
    assert 0.2 < sum(record.columns["tok.decode"]) / len(record.times) < 0.8
    assert "cpu.0" not in record.columns
    store = LearnedStore(tmp_path / "runs.sqlite")
    keep_run(store, record)
    (read,) = kept_runs(store)
    assert read.times == record.times
    assert read.peak("gpu.CUDA0.used") == 12.0 * GIB
    assert (tmp_path / "runs.sqlite").stat().st_size < 200_000


def test_that_requests_tell_speed_and_depth_and_the_median_stands_for_the_run(recorder):
    for task, (decode, n) in enumerate([(30.0, 130), (20.0, 4000), (10.0, 8000)]):
        _ask(recorder, task, 110.0 + task, decode=decode, n=n)
    record = recorder.record(120.0)
    assert [(r.decode_tps, r.depth) for r in record.requests] == [(30.0, 130), (20.0, 4000), (10.0, 8000)]
    assert (record.prompt_tps, record.decode_tps) == (200.0, 20.0)
    assert record.requests[0].seconds == 10.0


def test_that_only_the_newest_requests_stay(recorder):
    for task in range(MOST_REQUESTS + 20):
        _ask(recorder, task, 101.0 + task)
    assert len(recorder.record(1e6).requests) == MOST_REQUESTS


def test_that_a_gap_stays_a_gap_and_an_unknown_source_is_none(recorder):
    recorder.on_sample(100.0, {"gpu.CUDA0.used": None, "server.rss": 1.0})
    recorder.on_sample(100.5, {"gpu.CUDA0.used": 5.0, "server.rss": None})
    record = recorder.record(200.0)
    assert record.columns["gpu.CUDA0.used"] == (None, 5.0)
    assert record.device_key("CUDA0") == "gpu.CUDA0.used"
    assert record.device_key(RAM) == "server.rss"
    assert record.device_key("Vulkan1") is None
    assert record.peak("nothing") is None


def test_that_a_run_that_was_never_ready_or_too_short_is_not_kept(plan, recorder):
    assert recorder.record(101.0) is None
    assert RunRecorder(plan, "Qwen", "b1", 0.0).record(100.0) is None


def test_that_neither_the_key_nor_a_word_of_a_question_is_kept(recorder, tmp_path):
    recorder.on_line("srv  params_from_: prompt: what is my secret", 101.0)
    _ask(recorder, 0, 102.0)
    store = LearnedStore(tmp_path / "runs.sqlite")
    keep_run(store, recorder.record(200.0))
    data = (tmp_path / "runs.sqlite").read_bytes()
    assert b"geheim" not in data
    assert b"secret" not in data


@pytest.mark.slow
def test_that_a_record_that_is_too_large_gets_fewer_points(recorder, tmp_path):
    record = dataclasses.replace(
        recorder.record(200.0),
        times=tuple(map(float, range(240))),
        columns={f"gpu.CUDA{i}.used": tuple(float(GIB + j) for j in range(240)) for i in range(60)},
    )
    store = LearnedStore(tmp_path / "runs.sqlite")
    keep_run(store, record)
    (read,) = kept_runs(store)
    assert 0 < len(read.times) < 240
    assert len(read.columns) == 60


def test_that_a_damaged_record_is_left_out(tmp_path):
    store = LearnedStore(tmp_path / "runs.sqlite")
    store.add("run", "run", {"at": 7}, keep=5)
    store.add("run", "run", json.loads('{"times": [1, 2], "columns": {"a": [1]}}'), keep=5)
    assert kept_runs(store) == ()
