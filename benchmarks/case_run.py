"""A public case's run as the planner's values: devices, placement and settings."""

import re
from collections.abc import Iterable
from dataclasses import replace

from app.model.types import ModelInfo, Role, TensorInfo
from app.planner.engine_traits import EngineKind, EngineTraits, IkTraits, mainline_traits
from app.planner.kv import KvSettings
from app.planner.memory import RunSettings
from app.planner.placement import home_of, homes
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, KvHome, Placement
from benchmarks.case_model import is_mla
from benchmarks.cases import Case

_CAPACITY = 1 << 45
_WITHOUT_OFFLOAD = ("RPC", "OpenCL")
"""Backends that never take over an operation whose weights lie in RAM (no ``offload_op``)."""


def devices_of(case: Case) -> DeviceSet:
    """The devices that the log names, or one GPU; the engine's order."""
    named = [name for name in case.printed if name != RAM]
    for more in (case.run.get("layers_per_device"), case.measured.get("card_total")):
        named += [n for n in (more or {}) if n not in named and n not in ("HOST", RAM)]
    overrides = [target for _, target in case.run.get("overrides") or ()]
    named += [n for n in overrides if n not in named and not n.upper().startswith(("CPU", "CUDA_HOST", "HOST"))]
    named = sorted(named, key=lambda n: (re.sub(r"\d+$", "", n), int(re.search(r"\d*$", n)[0] or 0))) or ["CUDA0"]
    gpus = tuple(
        Device(n, DeviceKind.RPC if n.startswith(_WITHOUT_OFFLOAD) else DeviceKind.GPU, _CAPACITY, _CAPACITY)
        for n in named
    )
    return DeviceSet(gpus, Device(RAM, DeviceKind.RAM, _CAPACITY, _CAPACITY))


def _n_gpu_layers(case: Case, block_count: int) -> int:
    """``-ngl`` of the case in current counting: units from the end, the output unit the last of them.

    Older builds and ik put the last ngl blocks on the GPU, and the output only beyond that; one more unit says so.
    """
    told = case.run.get("ngl")
    if told is None or told == "all" or int(told) < 0:
        return block_count + 1
    ngl = int(told)
    if case.run.get("ngl_counts_output") is False and ngl:
        ngl += 1
    return min(ngl, block_count + 1)


def _runs(case: Case, block_count: int, devices: DeviceSet) -> tuple[tuple[str, int], ...]:
    """Home units per GPU: as the printed cache tells, else split in the stated shares, else all on the first."""
    ngl = _n_gpu_layers(case, block_count)
    names = [d.name for d in devices.gpus]
    told = case.run.get("layers_per_device")
    if told:
        units = {name: min(block_count, max(0, int(told.get(name, 0)))) for name in names}
        unsaid = block_count - sum(units.values()) - int(told.get("HOST", 0))
        last = next((n for n in reversed(names) if units[n]), names[-1])
        units[last] += max(0, unsaid) + 1
        return tuple(units.items())
    shares = case.run.get("tensor_split")
    if shares and len(names) > 1:
        return _split(ngl, names, [float(x) for x in shares])
    return tuple((name, ngl if i == 0 else 0) for i, name in enumerate(names))


def _split(ngl: int, names: list[str], shares: list[float]) -> tuple[tuple[str, int], ...]:
    """``-ts``: unit k of ngl goes to the first device whose cumulated share exceeds k / ngl (llama-model.cpp:1591)."""
    shares = [*shares, *([0.0] * len(names))][: len(names)]
    total, bounds = 0.0, []
    for share in shares:
        total += share
        bounds.append(total)
    counts = dict.fromkeys(names, 0)
    for unit in range(ngl):
        at = next((i for i, bound in enumerate(bounds) if total and bound / total > unit / ngl), len(names) - 1)
        counts[names[at]] += 1
    return tuple(counts.items())


def placement_of(case: Case, model: ModelInfo, devices: DeviceSet) -> Placement:
    """Homes and overrides of the case: overrides first, then -cmoe / -ncmoe, then the homes."""
    kv_home = KvHome.RAM if case.run.get("no_kv_offload") else KvHome.HOME
    placement = Placement(model.block_count, _runs(case, model.block_count, devices), {}, kv_home)
    unit_homes = homes(placement)
    rules = _rules(case, model, devices)
    overrides = {}
    for tensor in model.tensors:
        home = home_of(tensor, unit_homes)
        target = next((device for pattern, device in rules if pattern.search(tensor.name)), None)
        if target is None and _output_stays(case, tensor):
            target = RAM
        if target is not None and target != home:
            overrides[tensor.name] = target
    return replace(placement, overrides=overrides)


def _output_stays(case: Case, tensor: TensorInfo) -> bool:
    """Builds that do not count the output need ngl above the number of blocks to place it."""
    told = case.run.get("ngl")
    is_output = tensor.block is None and tensor.role in (Role.OUTPUT, Role.NORM)
    return is_output and case.run.get("ngl_counts_output") is False and isinstance(told, int) and told <= case.n_layers


def _rules(case: Case, model: ModelInfo, devices: DeviceSet) -> list[tuple[re.Pattern[str], str]]:
    run = case.run
    names = {d.name for d in devices.gpus}
    rules = [(re.compile(p), d if d in names else RAM) for p, d in run.get("overrides") or ()]
    experts = r"\.ffn_(up|down|gate|gate_up)_(ch|)exps"
    if case.is_ik and not case.is_before("2025-10-19"):  # its biases go to the GPU since ikawrakow/ik_llama.cpp#840
        experts += r"\.weight"
    blocks = model.expert_blocks
    if run.get("cpu_moe"):
        rules.append((re.compile(experts), RAM))
    elif run.get("n_cpu_moe"):
        rules.append((_of_blocks(range(min(int(run["n_cpu_moe"]), case.n_layers)), experts), RAM))
    elif run.get("overrides") is None and run.get("experts_on_cpu") in ("all", "some"):
        told = run.get("n_expert_layers_on_cpu")
        n = len(blocks) if run["experts_on_cpu"] == "all" else (len(blocks) // 2 if told is None else int(told))
        rules.append((_of_blocks(blocks[:n], experts), RAM))
    return rules


def _of_blocks(blocks: Iterable[int], pattern: str) -> re.Pattern[str]:
    """The pattern for tensors of these blocks; what ``-ncmoe`` says in as many rules."""
    return re.compile(rf"^blk\.({'|'.join(map(str, blocks)) or '(?!)'}){pattern}")


def settings_of(case: Case) -> RunSettings:
    """Cache and compute settings, with the engine's defaults where the case has none."""
    run = case.run
    n_ctx = int(run.get("n_ctx") or case.facts.get("n_ctx_train") or 4096)
    n_ubatch = int(run.get("n_ubatch") or min(512, int(run.get("n_batch") or 512)))
    slots = int(run.get("n_parallel") or 1)
    unified = run.get("kv_unified")
    kv = KvSettings(
        n_ctx=n_ctx,
        n_ubatch=min(n_ubatch, n_ctx),
        cache_type_k=str(run.get("ctk") or "f16").lower(),
        cache_type_v=str(run.get("ctv") or "f16").lower(),
        n_slots=slots,
        is_unified=slots == 1 or bool(unified),
        swa_full=bool(run.get("swa_full")) or (case.is_ik and run.get("swa_full") is None),
        keeps_mla_values=_keeps_mla_values(case),
    )
    return RunSettings(kv, flash_attention=run.get("fa") != "off", engine=engine_of(case))


def _keeps_mla_values(case: Case) -> bool:
    """ik with -mla 1 and no flash attention keeps the transposed c^KV as well; mainline kept it until b7850."""
    if not is_mla(case):
        return False
    if case.is_ik:
        return case.run.get("mla") == 1 and case.run.get("fa") == "off" and not case.run.get("mla_effective")
    return mainline_traits(case.build).keeps_mla_values


def _repacks(case: Case) -> bool:
    """``-rtr`` in the command, or a file of interleaved types that CUDA cannot multiply: K-quants never, ik's own since
    its #461 and #462."""
    types = case.raw.get("type_counts") or {}
    flags = str(case.raw.get("flags") or "")
    own = r"|iq\d_k\w*_r\d" if case.is_before("2025-05-27") else ""
    return re.search(r"(^|\s)(-rtr|--run-time-repack)\b", flags) is not None or any(
        re.fullmatch(rf"q\d_k_r\d{own}", name) for name in types
    )


def engine_of(case: Case) -> EngineTraits:
    """Which engine, of which time. A log that tells neither build nor day is taken as an older, larger one."""
    if case.is_ik:
        ik = IkTraits(
            mla=int(case.run.get("mla") or 0),
            attn_max_batch_mib=int(case.run.get("amb") or 0),
            repacks=_repacks(case),
            offloads_small_batches=case.is_before("2025-06-11"),
        )
        is_older = case.day is None or case.is_before("2025-10-12")
        return EngineTraits(EngineKind.IK, mask_is_f32=is_older, logits_for_every_token=True, ik=ik)
    traits = mainline_traits(case.build if case.build is not None else 1)
    is_server = case.run.get("tool") in (None, "llama-server")
    return traits if is_server else replace(traits, logits_for_every_token=True)
