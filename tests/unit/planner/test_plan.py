"""Plans: presets do what they say, the best one uses the budget, the command says exactly what the board shows."""

from dataclasses import replace

import pytest

from app.common.problem import ProblemError
from app.engine.capabilities import FALLBACK
from app.model.types import Role
from app.planner.placement import expert_layers_in_ram, locations, with_experts_in_ram
from app.planner.plan import PlanInputs, kv_settings, make_plan
from app.planner.presets import PRESETS
from app.planner.token_work import active_bytes, kv_read_bytes, ram_bytes_per_token
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, KvHome, Wishes
from tests.tools.dry_run_cases import CPU_ONLY, RPC_DEVICE

MIB = 1 << 20
ROOMY_RAM = Device(RAM, DeviceKind.RAM, 64 << 30, 60 << 30)


def _devices(free_mib, **changes):
    gpu = replace(RPC_DEVICE, total_bytes=free_mib * MIB, free_bytes=free_mib * MIB, **changes)
    return DeviceSet((gpu,), ROOMY_RAM, rpc_servers=("127.0.0.1:50099",))


def _plan(model, devices, **wishes):
    return make_plan(PlanInputs(model, devices, Wishes(**{"n_ctx": 8192, **wishes}), FALLBACK, n_threads=6))


def _ram_read_mib(model, plan):
    where = locations(model, plan.placement)
    experts = [t for t in model.tensors if t.role is Role.ROUTED_EXPERT and where[t.name] == RAM]
    return sum(active_bytes(model, t) for t in experts) / MIB


@pytest.mark.share(2)
@pytest.mark.parametrize(
    ("name", "budget_mib", "best_known", "engine_fit"),
    [
        ("qwen3-30b", 8192, 637, 661),
        ("qwen3-30b", 12288, 381, 396),
        ("qwen1.5-moe", 8192, 153, 187),
        ("deepseek-v2-lite", 8192, 179, 202),
        ("gpt-oss-20b", 8192, 388, 439),
    ],
)
def test_that_the_best_plan_reads_less_from_ram_than_the_engines_own_fit(
    real_headers, name, budget_mib, best_known, engine_fit
):
    model = real_headers[name]
    plan = _plan(model, _devices(budget_mib))
    assert plan.estimate.get("RPC0").fits
    read = _ram_read_mib(model, plan)
    assert read < engine_fit
    assert read < best_known * 1.03


def test_that_everything_goes_on_the_gpu_when_it_fits(real_headers):
    plan = _plan(real_headers["deepseek-v2-lite"], _devices(16384))
    assert not plan.overrides
    assert plan.placement.n_gpu_layers == 28


def test_that_fewer_layers_are_used_when_even_the_dense_parts_do_not_fit(real_headers):
    plan = _plan(real_headers["qwen3-30b"], _devices(4096), n_ctx=32768, cache_type_k="f16")
    assert plan.estimate.get("RPC0").fits
    small = _plan(real_headers["qwen3-30b"], _devices(2048), n_ctx=32768)
    assert small.estimate.get("RPC0").fits
    assert 0 < small.placement.n_gpu_layers < 49


def test_that_a_plan_without_a_gpu_is_all_in_ram(real_headers):
    plan = _plan(real_headers["gpt-oss-20b"], CPU_ONLY)
    assert plan.placement.n_gpu_layers == 0
    assert plan.argv[plan.argv.index("-dev") + 1] == "none"


@pytest.mark.parametrize("preset", PRESETS)
def test_that_every_preset_makes_a_plan_whose_command_is_complete(real_headers, preset):
    plan = _plan(real_headers["qwen3-30b"], _devices(12288), preset=preset)
    for flag in ("-m", "-c", "-np", "-ctk", "-ctv", "-fit", "-cram", "-t"):
        assert flag in plan.argv, flag
    assert plan.argv[plan.argv.index("-fit") + 1] == ("on" if preset == "fit" else "off")
    if preset == "experts-cpu":
        assert len(expert_layers_in_ram(real_headers["qwen3-30b"], plan.placement)) == 48
    if preset == "all-gpu":
        assert not plan.overrides
    if preset == "article":
        assert plan.wishes.cache_type_k == plan.wishes.cache_type_v == "q8_0"
        assert plan.n_ctx == 8192, "a context that the user asked for stays"


def test_that_an_over_full_plan_is_an_error_with_the_missing_bytes(real_headers):
    plan = _plan(real_headers["qwen3-30b"], _devices(8192), preset="all-gpu")
    problem = next(p for p in plan.problems if p.code == "over_full_gpu")
    assert plan.has_errors
    assert problem.params["missing_bytes"] == -plan.estimate.get("RPC0").left_bytes


def test_that_ram_too_small_for_the_file_is_an_error(real_headers):
    devices = replace(CPU_ONLY, ram=replace(CPU_ONLY.ram, free_bytes=9 << 30))
    plan = _plan(real_headers["qwen3-30b"], devices)
    assert "over_full_ram" in {p.code for p in plan.problems}
    assert plan.argv[plan.argv.index("-lm") + 1] == "mmap", "a file larger than RAM can only run mapped"


def test_that_the_context_is_the_models_own_when_that_is_smaller(real_headers):
    model = replace(real_headers["qwen3-30b"], context_length=2048)
    plan = make_plan(PlanInputs(model, CPU_ONLY, Wishes(), FALLBACK, 6))
    assert plan.n_ctx == 2048


def test_that_kv_in_ram_says_nkvo_and_frees_the_gpu(real_headers):
    model = real_headers["qwen3-30b"]
    plan = _plan(model, _devices(12288), kv_home=KvHome.RAM, preset="experts-cpu")
    assert "-nkvo" in plan.argv
    assert plan.estimate.get("RPC0").kv_bytes == 0
    assert plan.estimate.get(RAM).kv_bytes == 768 * MIB


def test_that_the_same_inputs_give_the_same_plan(real_headers):
    model = real_headers["qwen1.5-moe"]
    assert _plan(model, _devices(6144)) == _plan(model, _devices(6144))


def test_that_a_bandwidth_nobody_knows_gives_no_speed(real_headers):
    plan = _plan(real_headers["qwen3-30b"], _devices(8192))
    assert plan.speed.decode_tps is None
    assert plan.speed.kind == "unknown"
    assert plan.speed.ram_read_bytes_per_token > 600 * MIB


def test_that_known_bandwidths_give_the_roofline(real_headers):
    """Measured in engine.md section 10: 11.2 tok/s at 22.4 GB/s, all in RAM."""
    devices = replace(CPU_ONLY, ram=replace(CPU_ONLY.ram, bandwidth_gbs=22.4))
    plan = _plan(real_headers["qwen3-30b"], devices, n_ctx=256)
    assert plan.speed.decode_tps == pytest.approx(11.7, abs=0.4)
    assert plan.speed.limited_by == "ram"


@pytest.mark.parametrize(
    ("wishes", "code"),
    [({"preset": "magic"}, "preset_unknown"), ({"cache_type_k": "q3_7"}, "kv_type_unknown")],
)
def test_that_a_wish_no_engine_takes_is_refused_by_name(real_headers, wishes, code):
    with pytest.raises(ProblemError) as caught:
        _plan(real_headers["qwen3-30b"], CPU_ONLY, **wishes)
    assert caught.value.problem.code == code


def test_that_a_quantised_v_cache_without_flash_attention_is_an_error(real_headers):
    plan = _plan(real_headers["qwen3-30b"], CPU_ONLY, cache_type_v="q8_0", flash_attn="off")
    assert "v_type_needs_fa" in {p.code for p in plan.problems}


def test_that_what_is_left_beside_fewer_layers_is_filled_with_experts(real_headers):
    model = real_headers["qwen1.5-moe"]
    plan = _plan(model, _devices(4096), n_ctx=65536)
    homed = plan.placement.n_gpu_layers
    assert 0 < homed < 25
    assert plan.estimate.get("RPC0").left_bytes < 64 * MIB
    on_gpu = {name for name, device in locations(model, plan.placement).items() if device == "RPC0"}
    assert any("_exps" in name for name in on_gpu)
    assert all(int(name.split(".")[1]) >= 25 - homed for name in on_gpu if name.startswith("blk."))


@pytest.mark.share(1)
@pytest.mark.parametrize(("name", "budget_mib"), [("qwen3-30b", 900), ("qwen3-30b", 4096), ("gpt-oss-20b", 1500)])
def test_that_the_cache_goes_to_ram_where_that_reads_clearly_less_than_fewer_layers(real_headers, name, budget_mib):
    model = real_headers[name]
    plan = _plan(model, _devices(budget_mib), n_ctx=65536)
    cached = kv_read_bytes(model, kv_settings(model, plan.wishes))
    read = ram_bytes_per_token(model, plan.placement, cached)
    in_ram = _plan(model, _devices(budget_mib), n_ctx=65536, kv_home=KvHome.RAM)
    assert read <= ram_bytes_per_token(model, in_ram.placement, cached) / 0.95
    assert plan.estimate.get("RPC0").fits
    assert ("-nkvo" in plan.argv) == (plan.placement.kv_home is KvHome.RAM)
    assert (plan.placement.kv_home is KvHome.RAM) == (name == "gpt-oss-20b")


def test_that_the_cache_stays_where_the_board_has_it_when_a_plan_is_edited(real_headers):
    model = real_headers["gpt-oss-20b"]
    plan = _plan(model, _devices(1500), n_ctx=65536)
    assert plan.placement.kv_home is KvHome.RAM
    again = make_plan(PlanInputs(model, plan.devices, plan.wishes, FALLBACK, 6), plan.placement, is_edited=True)
    assert again.placement == plan.placement


def test_that_the_command_says_cpu_moe_where_that_is_all(real_headers):
    model = real_headers["qwen3-30b"]
    plan = _plan(model, _devices(12288), preset="experts-cpu")
    assert "--cpu-moe" in plan.argv
    assert "-ot" not in plan.argv
    assert [(rule.device, rule.n_tensors) for rule in plan.overrides] == [(RAM, 3 * 48)], "the rule it stands for"
    blocks = model.expert_blocks
    first = with_experts_in_ram(model, plan.placement, plan.devices, frozenset(blocks[:20]))
    edited = make_plan(PlanInputs(model, plan.devices, plan.wishes, FALLBACK, 6), first, is_edited=True)
    assert edited.argv[edited.argv.index("--n-cpu-moe") + 1] == "20"
    last = with_experts_in_ram(model, plan.placement, plan.devices, frozenset(blocks[20:]))
    assert "-ot" in make_plan(PlanInputs(model, plan.devices, plan.wishes, FALLBACK, 6), last, is_edited=True).argv
    older = replace(FALLBACK, flags=FALLBACK.flags - {"--cpu-moe", "-cmoe", "--n-cpu-moe", "-ncmoe"})
    assert "-ot" in make_plan(PlanInputs(model, plan.devices, plan.wishes, older, 6)).argv
