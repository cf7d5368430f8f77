"""Graphics inside the processor take their memory from RAM: what is said counts it once."""

from dataclasses import replace

import pytest

from app.cli.plan_text import verdict as cli_verdict
from app.engine.capabilities import FALLBACK
from app.planner.file_verdict import file_verdict
from app.planner.first_verdict import first_verdict
from app.planner.plan import PlanInputs, make_plan
from app.planner.sizing import pool_bytes, room_bytes
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from app.ui.pages.plan_verdict import verdict
from app.words import Language, set_language

MIB, GIB = 1 << 20, 1 << 30
INSIDE = Device("Vulkan0", DeviceKind.IGPU, 8 * GIB, 8 * GIB, "", "Vulkan0", 256 * MIB, bandwidth_gbs=40.0)


@pytest.fixture(autouse=True)
def _english():
    set_language(Language.EN)
    yield
    set_language(Language.EN)


def machine(ram_free_gib, inside=INSIDE):
    return DeviceSet((inside,), Device(RAM, DeviceKind.RAM, 32 * GIB, ram_free_gib * GIB, bandwidth_gbs=40.0))


def plan_of(model, devices, **wishes):
    told = Wishes(**{"n_ctx": 4096, "prompt_cache_mib": 0, **wishes})
    return make_plan(PlanInputs(model, devices, told, FALLBACK, 6))


def test_that_the_headline_warns_with_both_figures_where_one_memory_is_too_little_for_two(real_headers):
    model = real_headers["deepseek-v2-lite"]
    plan = plan_of(model, machine(9))
    assert plan.estimate.fits
    needed = sum(d.total_bytes for d in plan.estimate.devices)
    told = verdict(plan, model)
    assert told.look == "warning"
    assert f"need {needed / GIB:.1f} GiB of 9 216 MiB" in told.text
    assert "Vulkan0" in told.text
    assert "Runs" not in told.text
    assert f"{needed / GIB:.1f} GiB of 9 216 MiB" in cli_verdict(plan, has_errors=False)
    set_language(Language.ZH_CN)
    assert f"合计需要 {needed / GIB:.1f} GiB" in verdict(plan, model).text
    assert "可能放不下" in cli_verdict(plan, has_errors=False)


def test_that_the_headline_stays_good_where_ram_suffices_for_both(real_headers):
    model = real_headers["deepseek-v2-lite"]
    plan = plan_of(model, machine(24))
    assert verdict(plan, model).look != "error"
    assert "shares" not in verdict(plan, model).text
    assert "shares" not in cli_verdict(plan, has_errors=False)


def test_that_what_would_fit_is_capped_by_the_shared_memory(real_headers):
    problem = next(
        p for p in plan_of(real_headers["qwen3-30b"], machine(9)).problems if p.code == "does_not_fit_memory"
    )
    assert 0 < problem.params["file_fits_8k_bytes"] < problem.params["room_bytes"] < 9 * GIB
    assert problem.params["missing_bytes"] > 8 * GIB


def test_that_a_list_of_models_counts_the_shared_memory_once_too(real_headers):
    model = real_headers["deepseek-v2-lite"]
    plan = plan_of(model, machine(9))
    told = file_verdict(plan, model)
    assert not told.runs
    assert told.missing_bytes == sum(d.total_bytes for d in plan.estimate.devices) - 9 * GIB
    assert file_verdict(plan_of(model, machine(24)), model).runs
    assert first_verdict(model, machine(9), plan.wishes) is None


def test_that_only_memory_inside_ram_is_counted_once():
    assert pool_bytes(machine(9)) == 9 * GIB - INSIDE.overhead_bytes
    assert room_bytes(machine(9)) == 17 * GIB - INSIDE.overhead_bytes
    for other in (replace(INSIDE, total_bytes=48 * GIB), replace(INSIDE, kind=DeviceKind.GPU)):
        assert pool_bytes(machine(9, other)) == room_bytes(machine(9, other))
    assert pool_bytes(machine(9, replace(INSIDE, free_bytes=None))) is None


def test_that_the_memory_speed_of_graphics_inside_the_processor_is_called_ram_speed(real_headers):
    model = real_headers["qwen3-30b"]
    slow = replace(INSIDE, total_bytes=30 * GIB, free_bytes=30 * GIB, bandwidth_gbs=10.0)
    plan = plan_of(model, machine(31, slow), preset="all-gpu")
    assert plan.speed.limited_by == "ram"
    card = plan_of(model, machine(31, replace(slow, kind=DeviceKind.GPU)), preset="all-gpu")
    assert card.speed.limited_by == "vram"
