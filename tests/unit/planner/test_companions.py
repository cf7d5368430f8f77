"""Projector, draft model, MTP block and LoRA adapters: their bytes on every device, and the command.

The engine's figures are those of llama-server b11434 with the same files (``-fit on --log-jsonl`` and real starts).
"""

from dataclasses import replace

import pytest

from app.engine.capabilities import FALLBACK
from app.model.reader import read_model
from app.model.side_files import NO_FILES, SideFiles, read_side_file
from app.planner.command_import import read_command
from app.planner.companions import Companions, companions_of, speculation_of
from app.planner.kv import KvSettings
from app.planner.memory import RunSettings, estimate
from app.planner.placement import all_on_gpu, runs_for
from app.planner.plan import PlanInputs, make_plan
from app.planner.projector import picture_patches, projector_compute
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Placement, Role, Segment, Wishes
from tests.tools.dry_run_cases import WITH_RPC
from tests.tools.small_lora import write_lora
from tests.tools.small_moe import write_small_moe
from tests.tools.sparse_projector import make_projector

MIB = 1 << 20
GIB = 1 << 30
CARD = DeviceSet(
    (Device("CUDA0", DeviceKind.GPU, 12 * GIB, 12 * GIB, buffer_name="CUDA0"),),
    Device(RAM, DeviceKind.RAM, 64 * GIB, 50 * GIB, buffer_name="CPU"),
)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return read_model(write_small_moe(tmp_path_factory.mktemp("small") / "small.gguf"))


@pytest.fixture(scope="module")
def towers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("towers")
    found = {}
    for name in ("gemma3", "qwen3vl"):
        make_projector(name, folder / name, 512)
        found[name] = read_side_file(folder / name)
    return found


def plan_with(model, files, devices=CARD, **wishes):
    return make_plan(PlanInputs(model, devices, Wishes(**{"n_ctx": 8192, **wishes}), FALLBACK, 6, files=files))


@pytest.mark.parametrize(
    ("name", "flash_attention", "device_mib", "picture_mib"),
    [
        ("gemma3", True, 121.25, 9.19),
        ("gemma3", False, 1132.00, 9.19),
        ("qwen3vl", True, 359.68, 24.93),
        ("qwen3vl", False, 4769.39, 24.93),
    ],
)
def test_that_a_projectors_compute_buffer_is_the_engines(towers, name, flash_attention, device_mib, picture_mib):
    compute = projector_compute(towers[name], flash_attention)
    assert compute.device_bytes / MIB == pytest.approx(device_mib, abs=0.2)
    assert compute.picture_bytes / MIB == pytest.approx(picture_mib, abs=0.2)


def test_that_the_picture_reserved_for_is_the_projectors_own(towers):
    assert picture_patches(towers["gemma3"]) == (64, 14)  # 896 pixels
    assert picture_patches(towers["qwen3vl"]) == (92, 16)  # 46 tokens of two patches: 1472 pixels


def test_that_a_projector_lies_on_the_first_card_or_in_ram(small, towers):
    tower = towers["gemma3"]
    files = SideFiles(projector=tower)
    whole = tower.tensor_bytes + projector_compute(tower, True).device_bytes
    plan = plan_with(small, files, mmproj_path=tower.path)
    assert plan.estimate.get("CUDA0").segments[Segment.PROJECTOR] == whole
    assert plan.estimate.get(RAM).segments[Segment.PROJECTOR] == 896 * 896 * 3 * 4
    in_ram = plan_with(small, files, mmproj_path=tower.path, mmproj_offload=False)
    assert Segment.PROJECTOR not in in_ram.estimate.get("CUDA0").segments
    assert in_ram.estimate.get(RAM).segments[Segment.PROJECTOR] == whole
    assert plan.argv[plan.argv.index("-mm") + 1] == tower.path
    assert "--no-mmproj-offload" in in_ram.argv
    assert "--no-mmproj-offload" not in plan.argv


def test_that_total_and_verdict_count_the_files_beside_the_model(small, towers):
    alone = plan_with(small, NO_FILES).estimate.get("CUDA0")
    beside = plan_with(small, SideFiles(projector=towers["gemma3"])).estimate.get("CUDA0")
    assert beside.total_bytes - alone.total_bytes == beside.segments_bytes > 800 * MIB
    tight = replace(CARD, gpus=(replace(CARD.gpus[0], free_bytes=alone.total_bytes + 300 * MIB),))
    assert plan_with(small, SideFiles(projector=towers["gemma3"]), tight, preset="all-gpu").estimate.fits is False


def test_that_a_draft_model_takes_its_weights_kv_and_buffers(small):
    settings = RunSettings(KvSettings(8192), companions=Companions(SideFiles(draft=small), speculation="draft-simple"))
    placed = all_on_gpu(small, WITH_RPC)
    drafted = estimate(small, placed, WITH_RPC, settings)
    alone = estimate(small, placed, WITH_RPC, RunSettings(KvSettings(8192)))
    for device in drafted.devices:
        same = alone.get(device.device)
        assert device.segments[Segment.DRAFT] == same.weights_bytes + same.kv_bytes + same.compute_bytes


def test_that_a_draft_has_its_own_cache_types_layers_and_device(small):
    files = SideFiles(draft=small)
    plain = plan_with(small, files, draft_path="d.gguf")
    smaller = plan_with(small, files, draft_path="d.gguf", draft_cache_type_k="q8_0", draft_cache_type_v="q8_0")
    kv = 8192 * 8 * 2 * 2 * 64 * 2
    gained = plain.estimate.get("CUDA0").segments[Segment.DRAFT] - smaller.estimate.get("CUDA0").segments[Segment.DRAFT]
    assert gained == pytest.approx(kv * (1 - 34 / 64), rel=0.1)
    assert plain.argv[plain.argv.index("-md") :][:4] == ("-md", "d.gguf", "--spec-type", "draft-simple")
    assert smaller.argv[smaller.argv.index("-ctkd") + 1] == smaller.argv[smaller.argv.index("-ctvd") + 1] == "q8_0"
    for wish, flag in (({"draft_gpu_layers": 0}, "-ngld"), ({"draft_device": "none"}, "-devd")):
        in_ram = plan_with(small, files, draft_path="d.gguf", **wish)
        assert flag in in_ram.argv
        assert in_ram.estimate.get(RAM).segments[Segment.DRAFT] > plain.estimate.get(RAM).segments[Segment.DRAFT]


def test_that_speculation_needs_a_row_of_logits_for_every_drafted_token(real_headers):
    model = real_headers["qwen3-30b"]
    asked = companions_of(Wishes(draft_path="d", draft_max=7), SideFiles(draft=model))
    assert asked.n_outputs(1) == 8
    assert asked.n_outputs(4) == 32
    assert replace(asked, n_batch=16).n_outputs(4) == 16
    assert Companions().n_outputs(4) is None


@pytest.mark.parametrize(
    ("name", "kv", "n_layers", "device", "host", "draft_mib"),
    [
        ("glm45-air", KvSettings(8192), 99, (74836, 1472, 170), (333, 0, 40), (186, 24)),
        ("glm45-air", KvSettings(32768, 1024, n_slots=2), 99, (74836, 5888, 388), (333, 0, 128), (440, 96)),
        ("qwen35moe-35b", KvSettings(8192), 99, (21689, 411, 80), (272, 0, 24), (88, 16)),
        ("qwen35moe-35b", KvSettings(32768, 1024, n_slots=2), 99, (21689, 1142, 208), (272, 0, 96), (216, 80)),
        ("qwen35moe-35b", KvSettings(16384), 20, (10264, 268, 84), (11698, 302, 92), (100, 24)),
    ],
)
@pytest.mark.share(1)
def test_that_mtp_takes_what_the_engine_says(real_headers, name, kv, n_layers, device, host, draft_mib):
    """Weights, KV (with the states to take drafts back) and compute are exact; the MTP context's graph is estimated:
    never less than the engine's, a third more at most beyond 16 MiB."""
    model = real_headers[name]
    placed = Placement(model.block_count, runs_for(WITH_RPC, min(n_layers, model.block_count + 1)))
    found = estimate(model, placed, WITH_RPC, RunSettings(kv, companions=Companions(speculation="draft-mtp")))
    for name_of_device, figures, said in zip(("RPC0", RAM), (device, host), draft_mib, strict=True):
        one = found.get(name_of_device)
        assert (one.weights_bytes // MIB, one.kv_bytes // MIB, one.compute_bytes // MIB) == figures
        assert said * MIB <= one.segments[Segment.DRAFT] <= (max(said * 4 // 3, said + 16) + 1) * MIB
    assert found.get("RPC0").weights_by_role[Role.MTP] > 0


def test_that_without_drafting_the_mtp_block_is_left_out(real_headers):
    model = real_headers["qwen35moe-35b"]
    placed = all_on_gpu(model, WITH_RPC)
    alone = estimate(model, placed, WITH_RPC, RunSettings(KvSettings(8192)))
    assert Role.MTP not in alone.get("RPC0").weights_by_role
    assert not alone.get("RPC0").segments


def test_that_a_wish_for_mtp_reaches_the_command_and_needs_a_block(real_headers, small):
    plan = plan_with(real_headers["qwen35moe-35b"], NO_FILES, mtp=True, draft_max=5)
    assert plan.argv[plan.argv.index("--spec-type") :][:4] == ("--spec-type", "draft-mtp", "--spec-draft-n-max", "5")
    refused = plan_with(small, NO_FILES, mtp=True)
    assert [p.code for p in refused.problems if p.code == "mtp_missing"]


def test_that_a_draft_file_tells_its_kind(real_headers, small):
    wishes = Wishes(draft_path="d.gguf")
    assert speculation_of(wishes, SideFiles(draft=small)) == "draft-simple"
    assert speculation_of(wishes, SideFiles(draft=real_headers["qwen35moe-35b"])) == "draft-mtp"
    assert speculation_of(wishes, SideFiles(draft=replace(small, architecture="eagle3"))) == "draft-eagle3"
    assert speculation_of(wishes, SideFiles(draft=replace(small, architecture="dflash"))) == "draft-dflash"
    assert speculation_of(Wishes(), NO_FILES) is None


def test_that_adapters_lie_beside_the_tensors_they_change(small, tmp_path):
    names = ["blk.0.attn_q.weight", "blk.7.attn_q.weight"]
    adapter = read_side_file(write_lora(tmp_path / "a.gguf", small, names))
    plan = plan_with(small, SideFiles(adapters=(adapter, adapter)), lora_paths=("a.gguf", "b.gguf"))
    everything = adapter.tensor_bytes
    assert everything == 2 * 8 * (512 + 512) * 4
    assert plan.estimate.get("CUDA0").segments[Segment.ADAPTERS] == 2 * everything
    half = Placement(small.block_count, runs_for(CARD, 4))
    settings = RunSettings(KvSettings(4096), companions=Companions(SideFiles(adapters=(adapter,))))
    split = estimate(small, half, CARD, settings)
    assert split.get("CUDA0").segments[Segment.ADAPTERS] == split.get(RAM).segments[Segment.ADAPTERS] == everything // 2
    assert [plan.argv[i + 1] for i, word in enumerate(plan.argv) if word == "--lora"] == ["a.gguf", "b.gguf"]


def test_that_an_adapter_of_another_model_is_refused_by_name(small, tmp_path):
    adapter = read_side_file(write_lora(tmp_path / "a.gguf", small, ["blk.9.attn_q.weight"]))
    plan = plan_with(small, SideFiles(adapters=(adapter,)), lora_paths=("a.gguf",))
    (problem,) = [p for p in plan.problems if p.code == "lora_other_model"]
    assert problem.params["tensor"] == "blk.9.attn_q.weight"


def test_that_a_draft_of_another_vocabulary_or_a_larger_one_is_told(small, real_headers):
    plan = plan_with(small, SideFiles(draft=real_headers["qwen3-30b"]), draft_path="d.gguf")
    assert "draft_larger" in {p.code for p in plan.problems}
    other = plan_with(small, SideFiles(draft=replace(small, vocab_size=999)), draft_path="d.gguf")
    assert "draft_other_vocabulary" in {p.code for p in other.problems}
    same = plan_with(small, SideFiles(draft=small), draft_path="d.gguf")
    assert not {p.code for p in same.problems} & {"draft_larger", "draft_other_vocabulary"}


def test_that_a_build_without_the_options_says_so(small):
    lacking = replace(
        FALLBACK, flags=FALLBACK.flags - {"-mm", "--mmproj", "-md", "--model-draft", "--spec-draft-model"}
    )
    plan = make_plan(PlanInputs(small, CARD, Wishes(mmproj_path="m", draft_path="d"), lacking, 6))
    told = [p.params["flag"] for p in plan.problems if p.code == "engine_lacks_placement"]
    assert told == ["-mm", "-md"]


def test_that_the_plans_own_command_reads_back_the_same():
    wishes = {
        "mmproj_path": "m.gguf", "mmproj_offload": False, "draft_path": "d.gguf", "draft_gpu_layers": 3,
        "draft_device": "CUDA0", "draft_cache_type_k": "q8_0", "draft_cache_type_v": "q8_0", "draft_max": 8,
        "lora_paths": ("a.gguf", "b.gguf"),
    }  # fmt: skip
    text = "-m x.gguf -mm m.gguf --no-mmproj-offload -md d.gguf -ngld 3 -devd CUDA0 --spec-type draft-simple"
    text += " --spec-draft-n-max 8 -ctkd q8_0 -ctvd q8_0 --lora a.gguf --lora b.gguf"
    command = read_command(text.split(), FALLBACK)
    assert {name: getattr(command.wishes, name) for name in wishes} == wishes
    assert command.wishes.extra == ()
    assert read_command(("--spec-type", "draft-mtp"), FALLBACK).wishes.mtp


@pytest.mark.parametrize(
    "words",
    [
        ("--spec-type", "ngram-simple"),
        ("--lora", "a.gguf,b.gguf"),
        ("-devd", "CUDA0,CUDA1"),
        ("--lora-scaled", "a.gguf:0.5"),
    ],
)
def test_that_what_the_board_does_not_model_stays_as_it_is(words):
    assert read_command(words, FALLBACK).wishes.extra == words
