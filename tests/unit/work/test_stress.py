"""The stress run's figures: the best source of every device, the stamp that belongs to one command and one engine."""

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
from app.work.plan_file import plan_text, read_plan_file
from app.work.planning import plan_inputs
from app.work.stress import peaks_of, prompt_tokens
from app.work.stress_stamp import (
    PeakUse,
    StressStamp,
    command_of,
    fits_engine,
    keep_stamp,
    kept_stamps,
    stamp_from,
    stamp_json,
)
from tests.tools.engine_fixture import TINY_MODEL

GIB = 1 << 30
LAPTOP = Path(__file__).parents[2] / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json"


@pytest.fixture(scope="module")
def laptop():
    return load_snapshot(LAPTOP)


@pytest.fixture(scope="module")
def model():
    return open_model(str(TINY_MODEL))


@pytest.fixture(scope="module")
def plan(model, laptop):
    return make_plan(plan_inputs(model, laptop, Wishes(), DeviceWishes(), capabilities_of(None), api_key="geheim"))


def stamp(*peaks, **changes):
    made = StressStamp("c", "2026-11-29T18:00:00+00:00", "b1", "", 4088, 4096, 3.0, 400.0, 30.0, tuple(peaks))
    return dataclasses.replace(made, **changes)


def _peak(plan, laptop, device, highest, first=None, lowest=None):
    return next(p for p in peaks_of(plan, laptop, highest, lowest or {}, first or highest) if p.device == device)


def test_that_the_drivers_figure_of_the_card_wins_and_counts_the_other_programs(plan, laptop):
    capacity = plan.estimate.get("CUDA0").total_capacity_bytes
    values = {"gpu.CUDA0.used": 8.0 * GIB, "gpu.CUDA0.dedicated": 7.0 * GIB, "engine.CUDA0.allocated": 6.0 * GIB}
    peak = _peak(plan, laptop, "CUDA0", values)
    assert (peak.source, peak.peak_bytes, peak.margin_bytes) == ("driver", 8 * GIB, capacity - 8 * GIB)


def test_that_the_servers_own_figure_is_set_against_what_was_free(plan, laptop):
    free = plan.estimate.get("CUDA0").free_bytes
    peak = _peak(plan, laptop, "CUDA0", {"gpu.CUDA0.dedicated": 7.0 * GIB, "engine.CUDA0.allocated": 6.0 * GIB})
    assert (peak.source, peak.margin_bytes) == ("process", free - 7 * GIB)
    peak = _peak(plan, laptop, "CUDA0", {"engine.CUDA0.allocated": 6.0 * GIB})
    assert (peak.source, peak.peak_bytes) == ("engine", 6 * GIB)


def test_that_a_device_that_nobody_tells_of_stays_unknown(plan, laptop):
    peak = _peak(plan, laptop, "CUDA0", {})
    assert (peak.peak_bytes, peak.margin_bytes, peak.spilled_bytes) == (None, None, None)
    assert stamp(peak).margin_bytes is None
    assert stamp(peak).is_safe


def test_that_ram_is_judged_by_what_the_whole_system_had_left(plan, laptop):
    peak = _peak(plan, laptop, RAM, {"server.rss": 4.0 * GIB}, lowest={"ram.available": 1.0 * GIB})
    assert (peak.peak_bytes, peak.margin_bytes, peak.source) == (4 * GIB, GIB, "system")


def test_that_memory_that_windows_moves_out_while_it_runs_is_not_safe(plan, laptop):
    highest = {"gpu.CUDA0.used": 8.0 * GIB, "gpu.CUDA0.shared": 1.5 * GIB}
    peak = _peak(plan, laptop, "CUDA0", highest, first={"gpu.CUDA0.used": 8.0 * GIB, "gpu.CUDA0.shared": 0.1 * GIB})
    assert peak.spilled_bytes > GIB
    assert not stamp(peak).is_safe


def test_that_the_least_margin_of_all_devices_counts():
    told = stamp(PeakUse("CUDA0", GIB, 2 * GIB, GIB, "driver"), PeakUse(RAM, GIB, GIB, GIB, "system"))
    assert told.margin_bytes == GIB
    assert told.tightest.device == RAM
    assert told.is_safe
    assert not stamp(PeakUse("CUDA0", GIB, -1, GIB, "engine")).is_safe


def test_that_a_command_is_the_same_whatever_its_port_key_and_name(plan):
    argv = plan.argv
    assert "geheim" in argv
    other = tuple({"8080": "9090", "geheim": "andere"}.get(word, word) for word in argv)
    assert command_of(argv) == command_of(other)
    assert command_of(argv) == command_of((*argv, "--port", "1"))
    assert command_of(argv) != command_of((*argv, "-ub", "64"))


def test_that_a_stamp_belongs_to_one_engine():
    assert fits_engine(stamp(engine_sha256="aa"), "b1", "aa")
    assert not fits_engine(stamp(engine_sha256="aa"), "b1", "bb")
    assert fits_engine(stamp(), "b1", "bb")
    assert not fits_engine(stamp(), "b2", "")
    assert not fits_engine(stamp(engine_build=""), "", "")


def test_that_a_stamp_survives_the_store_and_the_plan_file(plan, model, tmp_path):
    told = stamp(PeakUse("CUDA0", GIB, 2 * GIB, GIB, "driver", 5), command=command_of(plan.argv))
    store = LearnedStore(tmp_path / "learned.sqlite")
    keep_stamp(store, dataclasses.replace(told, depth=1))
    keep_stamp(store, told)
    assert kept_stamps(store) == {told.command: told}
    file = tmp_path / "plan.json"
    file.write_text(plan_text(plan, model, capabilities_of(None), None, told), encoding="utf-8")
    assert read_plan_file(file).stamp == told
    assert "geheim" not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize("value", [None, 7, [], {"depth": 4}, {**stamp_json(stamp()), "peaks": [1]}, {"depth": 1e999}])
def test_that_a_broken_stamp_is_none(value):
    assert stamp_from(value) is None


def test_that_the_prompt_is_always_the_same_and_leaves_the_control_tokens_out():
    tokens = prompt_tokens(5000, 32000)
    assert tokens == prompt_tokens(5000, 32000)
    assert len(set(tokens)) > 4000
    assert 4000 <= min(tokens) <= max(tokens) < 28000
    assert len(prompt_tokens(10, None)) == 10
    json.dumps(tokens)
