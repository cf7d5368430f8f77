"""Files beside the model and what they take: projector, draft model or MTP block, LoRA adapters. Pure.

Where each lies (llama.cpp b11434):

* projector: the first device of ``-dev``, or RAM with ``--no-mmproj-offload`` or without a device
  (common/arg.cpp:893, tools/mtmd/clip.cpp:184-204); all its tensors in one buffer (clip.cpp:3641), a compute buffer
  for one picture beside it (clip.cpp:3805), the picture itself in RAM;
* draft model: a model and a context of its own on the same devices, all layers unless ``-ngld`` says else, with its
  own cache types, the target's context and slots (common/speculative.cpp:2527-2640);
* MTP block of the model itself: its tensors are loaded with the others (``load_mtp``, common/common.cpp:1683), a
  second context holds its KV and its graph (speculative.cpp:2640);
* LoRA: each pair lies in the buffer of the tensor it changes (src/llama-adapter.cpp:311-340).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.common.problem import ParamValue, Problem, Severity
from app.model.roles import classify, role_in_layer
from app.model.side_files import NO_FILES, SideFile, SideFiles
from app.model.types import LayerFacts, ModelInfo, Role, TensorInfo
from app.planner.homes import engine_homes, split_argument
from app.planner.placement import homes, in_use
from app.planner.projector import projector_compute
from app.planner.types import RAM, DeviceSet, KvHome, MemoryEstimate, Placement, Segment, Wishes

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.planner.memory import RunSettings

    Estimate = Callable[[ModelInfo, Placement, DeviceSet, RunSettings], MemoryEstimate]

ENGINE_DRAFT_MAX = 3
"""``--spec-draft-n-max`` where nobody says it (common/common.h:329)."""
SIMPLE, MTP = "draft-simple", "draft-mtp"
_VOCABULARY_DIFFERENCE = 128
"""More tokens than this apart, and the engine takes the vocabularies for different ones (common/speculative.cpp:30)."""
_KEEPS_SNAPSHOTS = frozenset({MTP, "draft-eagle3", "draft-dflash", "draft-dspark"})
"""Kinds of speculation that keep a recurrent state per drafted token (common/common.h:399, need_n_rs_seq)."""


@dataclass(frozen=True, slots=True)
class Companions:
    """The files and how they are run. ``speculation``: a value of ``--spec-type``, None without any.

    ``draft_gpu_layers`` None = all; ``draft_device``: one device by name, ``none`` for RAM, None for the model's own.
    """

    files: SideFiles = NO_FILES
    projector_on_gpu: bool = True
    speculation: str | None = None
    draft_gpu_layers: int | None = None
    draft_device: str | None = None
    draft_cache_type_k: str = "f16"
    draft_cache_type_v: str = "f16"
    draft_max: int = ENGINE_DRAFT_MAX
    n_batch: int = 2048

    @property
    def loads_mtp(self) -> bool:
        """Are the MTP tensors of the model itself loaded? So whenever that kind of speculation is on."""
        return self.speculation == MTP

    @property
    def n_snapshots(self) -> int:
        """Recurrent states kept per sequence besides the current one."""
        return self.draft_max if self.speculation in _KEEPS_SNAPSHOTS else 0

    def n_outputs(self, n_slots: int) -> int | None:
        """Rows of logits that the server reserves for the model: one per slot and drafted token
        (speculative.cpp:2667); None without speculation."""
        if self.speculation is None:
            return None
        return max(1, min(self.n_batch, n_slots * (1 + max(0, self.draft_max))))


NO_COMPANIONS = Companions()


def speculation_of(wishes: Wishes, files: SideFiles) -> str | None:
    """The kind of speculation that these wishes mean, as ``--spec-type`` calls it.

    A draft file tells by its architecture or its MTP block which kind it is (speculative.cpp:2351-2378).
    """
    if wishes.draft_path is None:
        return MTP if wishes.mtp else None
    draft = files.draft
    if draft is None:
        return MTP if wishes.mtp else SIMPLE
    if draft.architecture == "eagle3":
        return "draft-eagle3"
    names = {t.name for t in draft.tensors}
    if draft.architecture == "dflash":
        return "draft-dspark" if "markov_w1.weight" in names else "draft-dflash"
    return MTP if f"blk.{draft.block_count - 1}.nextn.eh_proj.weight" in names else SIMPLE


def companions_of(wishes: Wishes, files: SideFiles) -> Companions:
    """What of the files runs, and how."""
    return Companions(
        files=files,
        projector_on_gpu=wishes.mmproj_offload,
        speculation=speculation_of(wishes, files),
        draft_gpu_layers=wishes.draft_gpu_layers,
        draft_device=wishes.draft_device,
        draft_cache_type_k=wishes.draft_cache_type_k,
        draft_cache_type_v=wishes.draft_cache_type_v,
        draft_max=ENGINE_DRAFT_MAX if wishes.draft_max is None else wishes.draft_max,
        n_batch=wishes.n_batch,
    )


def companion_problems(model: ModelInfo, wishes: Wishes, files: SideFiles) -> Iterator[Problem]:
    """What the engine would refuse of these files, or what they would do without being told."""
    if wishes.mtp and not model.nextn_count and wishes.draft_path is None:
        yield Problem("mtp_missing", Severity.ERROR, {"architecture": model.architecture})
    draft = files.draft
    if draft is not None and draft.vocab_size and model.vocab_size:
        difference = abs(draft.vocab_size - model.vocab_size)
        if speculation_of(wishes, files) == SIMPLE and difference > _VOCABULARY_DIFFERENCE:
            params: dict[str, ParamValue] = {"draft": draft.vocab_size, "model": model.vocab_size}
            yield Problem("draft_other_vocabulary", Severity.WARNING, params)
    if draft is not None and draft.file_bytes > model.file_bytes:
        yield Problem("draft_larger", Severity.WARNING, {"draft": draft.file_bytes, "model": model.file_bytes})
    names = {t.name for t in model.tensors}
    for adapter in files.adapters:
        bases = [base for t in adapter.tensors if (base := base_of(t.name)) is not None]
        strange = next((base for base in bases if base not in names), None)
        if strange is not None and (not adapter.architecture or adapter.architecture == model.architecture):
            yield Problem("lora_other_model", Severity.ERROR, {"path": adapter.path, "tensor": strange})


Segments = dict[str, dict[Segment, int]]


def companion_segments(
    model: ModelInfo,
    placement: Placement,
    devices: DeviceSet,
    where: Mapping[str, str],
    settings: RunSettings,
    estimate: Estimate,
) -> Segments:
    """Device -> segment -> bytes, for whatever of the companions there is."""
    asked = settings.companions
    found: Segments = {device.name: {} for device in devices.all}
    if asked == NO_COMPANIONS:
        return found
    used = in_use(devices, placement)
    parts: list[tuple[Segment, Mapping[str, int]]] = []
    if asked.files.projector is not None:
        parts.append((Segment.PROJECTOR, _projector(asked.files.projector, used, settings)))
    if asked.files.draft is not None:
        parts.append((Segment.DRAFT, _draft(asked.files.draft, placement, used, settings, estimate)))
    elif asked.loads_mtp and model.nextn_count:
        parts.append((Segment.DRAFT, _mtp_context(model, placement, used, settings, estimate)))
    if asked.files.adapters:
        parts.append((Segment.ADAPTERS, _adapters(asked.files.adapters, where)))
    for segment, sizes in parts:
        for device, n_bytes in sizes.items():
            if n_bytes:
                found[device][segment] = n_bytes
    return found


def _projector(projector: SideFile, devices: DeviceSet, settings: RunSettings) -> dict[str, int]:
    on_gpu = settings.companions.projector_on_gpu and bool(devices.gpus)
    home = devices.gpus[0].name if on_gpu else RAM
    compute = projector_compute(projector, settings.flash_attention)
    sizes = {home: projector.tensor_bytes + compute.device_bytes}
    if home != RAM:
        sizes[RAM] = compute.picture_bytes
    return sizes


def _adapters(adapters: tuple[SideFile, ...], where: Mapping[str, str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for adapter in adapters:
        for tensor in adapter.tensors:
            base = base_of(tensor.name)
            if base is not None:  # norms are passed over (llama-adapter.cpp:256)
                device = where.get(base, RAM)
                sizes[device] = sizes.get(device, 0) + tensor.n_bytes
    return sizes


def base_of(name: str) -> str | None:
    """The model's tensor that an adapter's tensor changes; None for one that is no half of a pair."""
    for ending in (".lora_a", ".lora_b"):
        if name.endswith(ending):
            return name.removesuffix(ending)
    return None


def _draft(
    draft: ModelInfo, placement: Placement, used: DeviceSet, settings: RunSettings, estimate: Estimate
) -> dict[str, int]:
    """Weights, KV and compute of the draft model and its context."""
    asked = settings.companions
    devices = used
    if asked.draft_device is not None:
        devices = replace(used, gpus=tuple(d for d in used.gpus if d.name == asked.draft_device))
    n_layers = asked.draft_gpu_layers
    indices = engine_homes(
        draft.block_count,
        -1 if n_layers is None or n_layers < 0 else n_layers,
        _shares(placement, devices),
        len(devices.gpus),
    )
    runs = tuple((device.name, indices.count(i)) for i, device in enumerate(devices.gpus))
    placed = Placement(draft.block_count, runs, {}, placement.kv_home if devices.gpus else KvHome.HOME)
    return _totals(_remembered(estimate, draft, placed, _without_corrections(devices), _draft_settings(settings)))


def _shares(placement: Placement, devices: DeviceSet) -> tuple[float, ...]:
    """``-ts`` holds for the draft too (``result = params``, speculative.cpp:2531); without it free memory decides."""
    if len(devices.gpus) < 2:
        return ()
    try:
        told = split_argument(placement, devices)
    except ValueError:
        told = None
    if told is not None:
        return tuple(float(share) for share in told)
    free = tuple(float(device.free_bytes or 0) for device in devices.gpus)
    return free if all(free) else (1.0,) * len(devices.gpus)


def _draft_settings(settings: RunSettings) -> RunSettings:
    """The target's context and slots, the draft's own cache types, one logit row per slot."""
    asked = settings.companions
    kv = replace(
        settings.kv,
        cache_type_k=asked.draft_cache_type_k,
        cache_type_v=asked.draft_cache_type_v,
        n_snapshots=0,
    )
    return replace(settings, kv=kv, companions=NO_COMPANIONS, prompt_cache_bytes=0, others=())


def _without_corrections(devices: DeviceSet) -> DeviceSet:
    """What was learned about the model says nothing of its draft."""
    gpus = tuple(replace(device, corrections=()) for device in devices.gpus)
    return replace(devices, gpus=gpus, ram=replace(devices.ram, corrections=()))


def _totals(predicted: MemoryEstimate) -> dict[str, int]:
    return {d.device: d.weights_bytes + d.kv_bytes + d.compute_bytes for d in predicted.devices}


_KEPT_RESULTS = 64
_known: list[tuple[ModelInfo, object, MemoryEstimate]] = []
_alone: list[tuple[ModelInfo, ModelInfo | None]] = []


def _remembered(
    estimate: Estimate, model: ModelInfo, placement: Placement, devices: DeviceSet, settings: RunSettings
) -> MemoryEstimate:
    """A draft's estimate stays the same while experts of the model move: most plans ask for one made before."""
    key = (placement.runs, placement.kv_home, devices.gpus, devices.ram, settings)
    for known, its_key, result in _known:
        if known is model and its_key == key:
            return result
    made = estimate(model, placement, devices, settings)
    _known.insert(0, (model, key, made))
    del _known[_KEPT_RESULTS:]
    return made


def _mtp_context(
    model: ModelInfo, placement: Placement, used: DeviceSet, settings: RunSettings, estimate: Estimate
) -> dict[str, int]:
    """KV and compute of the context that runs the MTP block; its weights are among the model's."""
    alone = _kept_alone(model)
    if alone is None:
        return {}
    unit_homes = homes(placement)
    tail = (*unit_homes[model.block_count - model.nextn_count : -1], *unit_homes[-2:])
    runs = tuple((device.name, tail.count(device.name)) for device in used.gpus)
    placed = Placement(alone.block_count, runs, {}, placement.kv_home)
    predicted = _remembered(estimate, alone, placed, _without_corrections(used), _draft_settings(settings))
    kept = model.nextn_count / alone.block_count
    return {d.device: round(d.kv_bytes * kept) + d.compute_bytes for d in predicted.devices}


def _kept_alone(model: ModelInfo) -> ModelInfo | None:
    """``mtp_alone`` of the last few models: the graph of the same value is known already."""
    for known, alone in _alone:
        if known is model:
            return alone
    made = mtp_alone(model)
    _alone.insert(0, (model, made))
    del _alone[4:]
    return made


def mtp_alone(model: ModelInfo) -> ModelInfo | None:
    """The MTP blocks as a model of their own, with the model's embedding and output: near enough for KV and graph.

    An MTP block attends to the whole context with plain attention (llama-model.cpp:2407, 2547, 2667). The last one is
    there twice: the graph of a model's last block drops all rows that nobody asks for, the MTP block keeps them.
    """
    first = model.block_count - model.nextn_count
    layer = _attending_layer(model, first)
    if layer is None or not model.nextn_count:
        return None
    layers = (layer,) * (model.nextn_count + 1)
    used = [t for t in model.tensors if (t.block is None or t.block >= first) and ".nextn." not in t.name]
    again = [t for t in used if t.block == model.block_count - 1]
    tensors = (*(_renumbered(t, first, layers) for t in used), *(_renumbered(t, first - 1, layers) for t in again))
    return replace(model, block_count=len(layers), nextn_count=0, layers=layers, tensors=tensors)


def _attending_layer(model: ModelInfo, n_trunk: int) -> LayerFacts | None:
    """A block with full attention, whose shapes the MTP block shares."""
    full = (x for x in model.layers[:n_trunk] if x.head_count_kv and not x.recurrent)
    attending = list(full)
    return next((x for x in reversed(attending) if not x.sliding), attending[-1] if attending else None)


def _renumbered(tensor: TensorInfo, first: int, layers: tuple[LayerFacts, ...]) -> TensorInfo:
    if tensor.block is None:
        return tensor
    block = tensor.block - first
    name = f"blk.{block}." + tensor.name.split(".", 2)[2]
    role, _ = classify(name, len(layers), 0)
    return tensor._replace(name=name, block=block, role=role_in_layer(role, layers[block]))


def mtp_weights(model: ModelInfo, placement: Placement) -> Iterator[tuple[str, int]]:
    """(device, bytes) of the MTP tensors, which a run with MTP speculation loads: at their blocks' homes."""
    unit_homes = homes(placement)
    for tensor in model.tensors:
        if tensor.role is Role.MTP:
            yield (unit_homes[tensor.block] if tensor.block is not None else RAM), tensor.n_bytes
