"""The preset ``cache`` and the table of public models: what engines and files say themselves decides."""

from dataclasses import replace

import pytest

from app.common.problem import ProblemError
from app.engine.capabilities import FALLBACK
from app.planner.expert_cache import CACHE_FLAG
from app.planner.known_models import KNOWN_MODELS, likeliest
from app.planner.kv import KvSettings, kv_bytes_by_block
from app.planner.placement import expert_layers_in_ram
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from tests.tools.dry_run_cases import CPU_ONLY

GIB, MIB = 1 << 30, 1 << 20
WITH_CACHE = replace(FALLBACK, flags=FALLBACK.flags | {CACHE_FLAG})
CARDS = DeviceSet(
    (
        Device("CUDA0", DeviceKind.GPU, 6 * GIB, 6 * GIB, overhead_bytes=400 * MIB, reserve_bytes=256 * MIB),
        Device("CUDA1", DeviceKind.GPU, 8 * GIB, 8 * GIB, overhead_bytes=400 * MIB, reserve_bytes=256 * MIB),
    ),
    Device(RAM, DeviceKind.RAM, 64 * GIB, 60 * GIB),
)


def _plan(model, devices=CARDS, capabilities=WITH_CACHE, **wishes):
    return make_plan(PlanInputs(model, devices, Wishes(n_ctx=8192, preset="cache", **wishes), capabilities, 6))


def test_that_the_rest_of_the_roomiest_card_becomes_the_cache(real_headers):
    plan = _plan(real_headers["qwen3-30b"], extra=("--no-warmup",))
    argv = plan.argv
    n_mib = int(argv[argv.index(CACHE_FLAG) + 1])
    assert argv[-1] == "--no-warmup"
    assert argv[argv.index("-dev") + 1] == "CUDA1"
    assert len(expert_layers_in_ram(real_headers["qwen3-30b"], plan.placement)) == 48
    card = plan.estimate.get("CUDA1")
    assert card.overhead_bytes == (400 + n_mib) * MIB
    assert 0 < card.left_bytes < 0.1 * 8 * GIB
    assert n_mib > 3000


def test_that_an_engine_without_it_and_a_machine_without_a_card_have_no_cache(real_headers):
    with pytest.raises(ProblemError) as refused:
        _plan(real_headers["qwen3-30b"], capabilities=FALLBACK)
    assert refused.value.problem.code == "preset_cache_unsupported"
    assert CACHE_FLAG not in _plan(real_headers["qwen3-30b"], CPU_ONLY).argv


@pytest.mark.parametrize("name", ["qwen3-30b", "gpt-oss-20b", "deepseek-v2-lite", "qwen3next-80b"])
def test_that_the_table_of_public_models_is_what_their_headers_say(real_headers, name):
    model = real_headers[name]
    size = sum(t.n_bytes for t in model.tensors)
    known = likeliest(model.architecture, size)
    for n_ctx in (16384, 65536):
        kv = sum(kv_bytes_by_block(model, KvSettings(n_ctx)).values())
        assert known.kv_base_bytes + n_ctx * known.kv_token_bytes == pytest.approx(kv, abs=MIB)


def test_that_every_known_model_is_found_by_its_own_size():
    for known in KNOWN_MODELS:
        assert likeliest(known.architecture, round(known.billions * 1e9 * 0.6)) == known
    assert likeliest("nothing", GIB) is None
