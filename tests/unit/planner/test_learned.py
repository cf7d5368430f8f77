"""What was learned changes the next plan of the same kind, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import GpuInfo
from app.planner.devices import DeviceWishes, device_set
from app.planner.kv import KvSettings
from app.planner.learned import (
    NOTHING_LEARNED,
    Correction,
    Learned,
    MemoryFigures,
    nearest_correction,
    overhead_from,
    situation_of,
)
from app.planner.learned_devices import learning_key, learning_keys, with_learned
from app.planner.memory import RunSettings, estimate, model_id
from app.planner.overhead import overhead_estimate_bytes
from app.planner.placement import all_on_gpu
from app.planner.plan import other_wishes
from app.planner.types import RAM, DeviceKind, Wishes
from tests.unit.planner.synthetic_boards import ONE_GPU, QWEN3

MIB = 1 << 20
GIB = 1 << 30
DATA = Path(__file__).parents[2] / "data" / "hardware"
KV = KvSettings(n_ctx=8192)


@pytest.fixture
def laptop():
    return load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")


def _situation(**changes):
    return situation_of(replace(KV, **changes), True, False)


def _correction(ours, engine, *, model="other file", **changes):
    return Correction(_situation(**changes), model, MemoryFigures(*ours), MemoryFigures(*engine))


# --- overheads --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("launches", "expected"),
    [((250,), (250, 1)), ((240, 310, 250), (310, 3)), ((250, 1900, 240, 260), (260, 4)), ((-30,), (0, 1))],
)
def test_that_an_overhead_is_the_largest_of_recent_launches_without_one_outlier(launches, expected):
    found = overhead_from(launches)
    assert (found.n_bytes, found.n_launches) == expected


def test_that_launches_of_long_ago_do_not_count():
    assert overhead_from((1,) * 8 + (900, 900)).n_bytes == 1
    assert overhead_from(()) is None


def test_that_another_engine_build_on_the_same_card_is_the_next_best_teacher():
    learned = Learned({("CUDA GPU-a", "b2"): (300,), ("CUDA GPU-a", "b1"): (200, 100), ("CUDA GPU-b", "b1"): (900,)})
    assert learned.overhead("CUDA GPU-a", "b1").n_bytes == 200
    assert learned.overhead("CUDA GPU-a", "b9").n_bytes == 300
    assert learned.overhead("CUDA GPU-c", "b1") is None


@pytest.mark.parametrize(("gib", "measured_mib"), [(6, 88), (12, 123), (12, 169), (16, 264), (24, 281)])
def test_that_the_estimate_covers_what_public_logs_show_of_cuda_cards(gib, measured_mib):
    estimated = overhead_estimate_bytes("CUDA0", DeviceKind.GPU, gib * GIB) / MIB
    assert measured_mib <= estimated <= measured_mib + 200


def test_that_other_backends_and_rpc_have_their_own_estimates():
    assert overhead_estimate_bytes("RPC0", DeviceKind.RPC, 24 * GIB) == 0
    assert overhead_estimate_bytes("ROCm1", DeviceKind.GPU, 32 * GIB) == 256 * MIB
    assert overhead_estimate_bytes("CUDA0", DeviceKind.GPU, 96 * GIB) == 576 * MIB
    assert overhead_estimate_bytes("CUDA0", DeviceKind.GPU, None) == 320 * MIB
    assert overhead_estimate_bytes("CANN0", DeviceKind.GPU, None) == 300 * MIB


# --- corrections ------------------------------------------------------------------------------------------------------


def test_that_the_likest_situation_teaches_and_the_newest_of_equals():
    far, near, newer = (
        _correction((1, 1, 1), (1, 1, n), n_ctx=n_ctx) for n_ctx, n in ((32768, 2), (4096, 3), (4096, 4))
    )
    assert nearest_correction((newer, far, near), _situation(n_ctx=4096)) is newer
    assert nearest_correction((far, near), _situation(n_ctx=16384)) is far
    assert nearest_correction((far,), _situation(n_ctx=4096)) is None


@pytest.mark.parametrize("change", [{"cache_type_k": "q8_0"}, {"n_slots": 2}, {"is_unified": False}])
def test_that_other_wishes_teach_nothing(change):
    assert nearest_correction((_correction((1, 1, 1), (1, 1, 2), **change),), _situation()) is None


def test_that_extra_arguments_are_part_of_the_situation():
    with_extra = situation_of(KV, True, False, ("extra=('-ub', '2048')",))
    assert with_extra.octaves_from(_situation()) is None
    assert with_extra.octaves_from(with_extra) == 0


def test_that_buffers_are_corrected_in_proportion_and_within_bounds():
    correction = _correction((100, 100, 100), (100, 110, 150))
    assert correction.applied_to(MemoryFigures(500, 200, 300), "a") == MemoryFigures(500, 220, 450)
    wild = _correction((100, 100, 10), (100, 1, 1000))
    assert wild.applied_to(MemoryFigures(0, 100, 100), "a") == MemoryFigures(0, 25, 400)
    from_nothing = _correction((100, 0, 100), (100, 64, 100))
    assert from_nothing.applied_to(MemoryFigures(7, 0, 5), "a") == MemoryFigures(7, 64, 5)


def test_that_weights_are_corrected_for_the_same_file_only():
    correction = _correction((1000, 1, 1), (1300, 1, 1), model="this")
    assert correction.applied_to(MemoryFigures(500, 1, 1), "this").weights == 800
    assert correction.applied_to(MemoryFigures(500, 1, 1), "that").weights == 500


@pytest.mark.parametrize("extra", [96 * MIB, -100_000])
def test_that_an_estimate_takes_the_correction_and_remembers_the_formula(extra):
    model = QWEN3
    placement = all_on_gpu(model, ONE_GPU)
    plain = estimate(model, placement, ONE_GPU, RunSettings(KV)).get(ONE_GPU.gpus[0].name)
    ours = MemoryFigures(plain.weights_bytes, plain.kv_bytes, plain.compute_bytes)
    said = MemoryFigures(ours.weights + extra, ours.kv, ours.compute * 2)
    taught = replace(
        ONE_GPU, gpus=(replace(ONE_GPU.gpus[0], corrections=(Correction(_situation(), model_id(model), ours, said),)),)
    )
    corrected = estimate(model, placement, taught, RunSettings(KV)).get(ONE_GPU.gpus[0].name)
    assert (corrected.weights_bytes, corrected.kv_bytes, corrected.compute_bytes) == (
        said.weights,
        said.kv,
        said.compute,
    )
    assert corrected.formula == ours
    assert min(corrected.weights_by_role.values()) > 0
    other = estimate(model, placement, taught, RunSettings(replace(KV, cache_type_k="q8_0")))
    assert other.get(ONE_GPU.gpus[0].name).formula is None


# --- whose it is ------------------------------------------------------------------------------------------------------


def test_that_a_card_keeps_what_it_taught_in_another_slot_but_not_under_another_backend():
    card = GpuInfo("RTX 4070", "gpu", "CUDA1", 12 * GIB, 12 * GIB, uuid="GPU-a", pci_id="01:00.0")
    moved = replace(card, engine_name="CUDA0", pci_id="02:00.0")
    assert learning_key("CUDA1", card) == learning_key("CUDA0", moved)
    assert learning_key("Vulkan0", card) != learning_key("CUDA1", card)
    assert learning_key(RAM, None) == RAM
    assert learning_key("CUDA5", None) == ""


def test_that_the_devices_of_a_plan_get_what_their_card_and_engine_taught(laptop):
    devices = device_set(laptop, DeviceWishes())
    assert with_learned(devices, laptop, NOTHING_LEARNED, "b1", "qwen3moe") is devices
    card = learning_keys(devices, laptop)["CUDA0"]
    correction = _correction((1, 1, 1), (1, 1, 9))
    learned = Learned({(card, "b1"): (700 * MIB, 650 * MIB)}, {("b1", "qwen3moe", card): (correction,)})
    taught = with_learned(devices, laptop, learned, "b1", "qwen3moe").get("CUDA0")
    assert (taught.overhead_bytes, taught.overhead_kind, taught.overhead_launches) == (700 * MIB, "calibrated", 2)
    assert taught.corrections == (correction,)
    assert with_learned(devices, laptop, learned, "b1", "deepseek2").get("CUDA0").corrections == ()
    assert with_learned(devices, laptop, learned, "b1", "qwen3moe").ram.overhead_kind == "estimated"


def test_that_further_wishes_are_told_apart_without_being_written_down():
    secret = Wishes(extra=("--api-key", "lw-secret"))
    assert other_wishes(Wishes(n_ctx=4096, n_ubatch=64, preset="all-cpu", n_threads=3)) == ()
    assert other_wishes(secret) == other_wishes(replace(secret, n_ctx=999))
    assert other_wishes(secret) != other_wishes(Wishes(extra=("--api-key", "lw-other")))
    assert "secret" not in "".join(other_wishes(secret))
