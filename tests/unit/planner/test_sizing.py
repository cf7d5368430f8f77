"""What fits into a machine's memory at all: said before anyone downloads or launches."""

from dataclasses import replace

import pytest

from app.engine.capabilities import FALLBACK
from app.planner.plan import PlanInputs, make_plan
from app.planner.sizing import Needs, no_room_problem
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from app.words import say_problem

GIB = 1 << 30
MIB = 1 << 20
GPU = Device("CUDA0", DeviceKind.GPU, 8 * GIB, 8 * GIB - 400 * MIB, overhead_bytes=400 * MIB, reserve_bytes=512 * MIB)
SMALL = DeviceSet((GPU,), Device(RAM, DeviceKind.RAM, 16 * GIB, 9 * GIB, bandwidth_gbs=19.0))


def _plan(model, devices=SMALL, **wishes):
    return make_plan(PlanInputs(model, devices, Wishes(**wishes), FALLBACK, 6))


def _problem(plan, code):
    return next((p for p in plan.problems if p.code == code), None)


def test_that_8_gib_of_vram_and_9_of_free_ram_are_too_little_for_the_30b_file(real_headers):
    model = real_headers["qwen3-30b"]
    plan = _plan(model, n_ctx=8192)
    problem = _problem(plan, "does_not_fit_memory")
    assert plan.has_errors
    room = 8 * GIB - 1312 * MIB + 9 * GIB
    assert problem.params["room_bytes"] == room
    needed = sum(d.weights_bytes + d.kv_bytes + d.compute_bytes for d in plan.estimate.devices)
    assert 0 <= problem.params["missing_bytes"] - (needed - room) < 400 * MIB  # less than the experts of one layer
    assert 2.2 < problem.params["missing_bytes"] / GIB < 2.9
    assert 14.5 < problem.params["file_fits_8k_bytes"] / GIB < 15.1
    assert problem.params["file_fits_8k_bytes"] - problem.params["file_fits_16k_bytes"] == 768 * MIB
    said = say_problem(problem)
    assert "does not fit in memory" in said
    assert f"{problem.params['missing_bytes'] / MIB:,.0f} MiB".replace(",", " ") in said


def test_that_a_file_of_the_size_that_is_said_to_fit_does_fit(real_headers):
    model = real_headers["qwen3-30b"]
    told = _problem(_plan(model, n_ctx=8192), "does_not_fit_memory").params
    share = told["file_fits_8k_bytes"] / told["file_bytes"]
    smaller = replace(model, tensors=tuple(t._replace(n_bytes=int(t.n_bytes * share)) for t in model.tensors))
    assert _problem(_plan(smaller, n_ctx=8192), "does_not_fit_memory") is None


@pytest.mark.slow
def test_that_a_context_larger_than_memory_is_answered_with_one_that_fits(real_headers):
    model = real_headers["qwen3-30b"]
    devices = replace(SMALL, ram=replace(SMALL.ram, free_bytes=13 * GIB))
    problem = _problem(_plan(model, devices, n_ctx=40960), "context_too_long")
    shorter = problem.params["fits_ctx"]
    assert 8192 < shorter < 40960
    assert _problem(_plan(model, devices, n_ctx=shorter), "context_too_long") is None
    assert _problem(_plan(model, devices, n_ctx=shorter + 4096), "context_too_long") is not None


def test_that_a_reserve_larger_than_the_card_is_named(real_headers):
    devices = replace(SMALL, gpus=(replace(GPU, reserve_bytes=20 * GIB),))
    problem = _problem(_plan(real_headers["deepseek-v2-lite"], devices), "reserve_above_free")
    assert problem.params["device"] == "CUDA0"


def test_that_nothing_is_said_where_the_free_memory_is_unknown(real_headers):
    devices = replace(SMALL, ram=replace(SMALL.ram, free_bytes=None))
    assert _problem(_plan(real_headers["qwen3-30b"], devices), "does_not_fit_memory") is None


@pytest.mark.parametrize(("file_gib", "fits"), [(17.28, False), (14.5, True)])
def test_that_size_and_architecture_alone_answer_before_a_download(file_gib, fits):
    per_token = 48 * 4 * (128 + 128) * 2
    needs = Needs(int(file_gib * GIB), lambda tokens: tokens * per_token, 300 * MIB)
    problem = no_room_problem(SMALL, needs, 8192)
    assert (problem is None) == fits
    if problem is not None:
        assert problem.code == "does_not_fit_memory"


def _with_more_ram(devices, n_bytes):
    ram = devices.ram
    more = replace(ram, total_bytes=ram.total_bytes + n_bytes, free_bytes=ram.free_bytes + n_bytes)
    return replace(devices, ram=more)


@pytest.mark.parametrize("load_mode", [None, "mmap", "none"])
@pytest.mark.parametrize("name", ["qwen3-30b", "gpt-oss-20b", "lfm2-8b"])
def test_that_exactly_the_missing_bytes_make_a_model_fit_where_there_is_no_card(real_headers, name, load_mode):
    model = real_headers[name]
    small = DeviceSet((), Device(RAM, DeviceKind.RAM, 6 * GIB, 4 * GIB, reserve_bytes=GIB))
    wishes = {"n_ctx": 16384, "load_mode": load_mode}
    plan = _plan(model, small, **wishes)
    missing = {p.params["missing_bytes"] for p in plan.problems if "missing_bytes" in p.params}
    assert len(missing) == 1, "every sentence names the same figure"
    (n_bytes,) = missing
    assert _plan(model, _with_more_ram(small, n_bytes), **wishes).estimate.fits
    assert not _plan(model, _with_more_ram(small, n_bytes - MIB), **wishes).estimate.fits


@pytest.mark.parametrize("free_mib", [2048, 3000, 5000, 7000])
@pytest.mark.share(1)
def test_that_the_missing_bytes_make_a_model_fit_beside_a_card_too(real_headers, free_mib):
    model = real_headers["qwen3-30b"]
    devices = replace(SMALL, ram=replace(SMALL.ram, free_bytes=free_mib * MIB))
    problem = _problem(_plan(model, devices, n_ctx=8192), "does_not_fit_memory")
    assert _plan(model, _with_more_ram(devices, problem.params["missing_bytes"]), n_ctx=8192).estimate.fits
