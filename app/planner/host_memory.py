"""What a run takes of RAM besides its weights, caches and buffers: a second copy of rearranged weights, and the
states that the server keeps to go back to. Pure.

Rearranging (ggml/src/ggml-cpu/repack.cpp:4925-5120, b11434): weights that stay in RAM go to the first buffer type of
the processor's list that can multiply them: the GPU's own host memory where there is a GPU that has any, then
CPU_REPACK, then plain RAM (src/llama-model.cpp:1080-1130). So only machines without such a GPU (CPU only, RPC) do it.
A mapped file stays in memory beside the rearranged copy as long as RAM suffices; one that is read does not exist twice.
Where RAM is short the pages of the file give way: nothing reads them again, so they never decide whether a plan fits.
Measured with LFM2-8B-A1B Q4_K (5122 MiB) in RAM: 8259 MiB resident when mapped (5122 of the file, 3071 rearranged),
5266 when read, 5188 mapped without rearranging.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from app.common.problem import ParamValue, Problem, Severity
from app.model.types import ModelInfo, Role, TensorInfo
from app.planner.kv import KvSettings, kv_bytes_by_block
from app.planner.types import RAM, DeviceKind, DeviceSet, MemoryEstimate, Placement, Segment

REARRANGED_TYPES = frozenset({"Q4_0", "Q4_K", "Q2_K", "IQ4_NL", "MXFP4"})
"""Tensor types that a processor with AVX2 (Q2_K: AVX-512) rearranges; on ARM Q5_K, Q6_K and Q8_0 too, not counted."""
_ROWS = 8
_CHECKPOINTS = 32
_CHECKPOINT_SPACING = 8192
"""``--ctx-checkpoints`` and ``--checkpoint-min-step`` where nobody says them (common/common.h:635)."""
_MAPPED = frozenset({"mmap", "mmap+mlock", "auto"})
_NEVER_REARRANGED = ("-nr", "--no-repack")
_NO_HOST_BUFFER = "--no-host"
LIMITED_TYPES = frozenset({Role.EMBEDDING, Role.NORM})
"""Looked up or multiplied element by element: no matrix product, so never rearranged."""


def rearranges(devices: DeviceSet, extra: tuple[str, ...]) -> bool:
    """Does this run put weights in RAM into CPU_REPACK buffers?"""
    if any(flag in extra for flag in _NEVER_REARRANGED):
        return False
    has_host_buffer = any(device.kind is not DeviceKind.RPC for device in devices.gpus)
    return _NO_HOST_BUFFER in extra or not has_host_buffer


def is_rearranged(tensor: TensorInfo) -> bool:
    """Can the processor multiply this tensor rearranged? Two-dimensional matrices and experts, in whole groups of rows
    (repack.cpp:5190-5230)."""
    if tensor.type_name not in REARRANGED_TYPES or tensor.role in LIMITED_TYPES or len(tensor.shape) < 2:
        return False
    return tensor.shape[1] % _ROWS == 0


def rearranged_bytes(model: ModelInfo, where: Mapping[str, str]) -> int:
    """Bytes of the tensors in RAM that are rearranged."""
    return sum(t.n_bytes for t in model.tensors if where.get(t.name) == RAM and is_rearranged(t))


def tied_copy_bytes(model: ModelInfo, placement: Placement) -> int:
    """The output's copy of a tied embedding in RAM: rows are looked up in the one and the other is rearranged, so they
    cannot be the same tensor (llama-model-loader.cpp:1149). On a GPU, and in Gemma 4, the copy counts as a weight."""
    if not model.has_tied_output or placement.home_of_unit(placement.block_count) != RAM:
        return 0
    if model.architecture == "gemma4":
        return 0
    return sum(
        t.n_bytes
        for t in model.tensors
        if t.name == "token_embd.weight" and t.type_name in REARRANGED_TYPES and t.shape[1] % _ROWS == 0
    )


def checkpoint_bytes(model: ModelInfo, kv: KvSettings, extra: tuple[str, ...]) -> int:
    """What the server's context checkpoints may grow to (tools/server/server-context.cpp:2513): of every slot one state
    of the recurrent and sliding blocks per 8192 tokens and two at the end, 32 at most. 0 for models without such
    blocks, whose memory can be cut back."""
    limit = _number_after(extra, ("-ctxcp", "--ctx-checkpoints", "--swa-checkpoints"), _CHECKPOINTS)
    step = _number_after(extra, ("-cms", "--checkpoint-min-step"), _CHECKPOINT_SPACING)
    one = replace(kv, n_slots=1, n_snapshots=0, is_unified=True)
    blocks = kv_bytes_by_block(model, one)
    size = sum(blocks[i] for i, layer in enumerate(model.layers) if layer.recurrent or layer.sliding)
    per_slot = kv.n_ctx if kv.is_unified else kv.n_ctx // kv.n_slots
    count = min(limit, per_slot // step + 2 if step else limit)
    return size * max(0, count) * kv.n_slots


def _number_after(words: tuple[str, ...], flags: tuple[str, ...], default: int) -> int:
    value = default
    for flag, word in pairwise(words):
        if flag in flags and word.removeprefix("-").isdigit():
            value = max(0, int(word))
    return value


def with_ram_segment(predicted: MemoryEstimate, segment: Segment, n_bytes: int) -> MemoryEstimate:
    """The estimate with a further stretch of RAM."""
    if not n_bytes:
        return predicted
    return MemoryEstimate(
        tuple(
            replace(d, segments={**d.segments, segment: n_bytes}) if d.device == RAM else d for d in predicted.devices
        )
    )


def second_copies(rearranged: int, load_mode: str) -> int:
    """How much would lie in RAM twice with endless RAM: ``rearranged`` bytes, where the file stays mapped."""
    return rearranged if load_mode in _MAPPED else 0


def with_second_copies(predicted: MemoryEstimate, copies: int) -> MemoryEstimate:
    """The estimate with as much of the copies as the rest leaves room for; all of them where free RAM is unknown."""
    left = predicted.get(RAM).left_bytes
    return with_ram_segment(predicted, Segment.REPACKED, copies if left is None else min(copies, max(0, left)))


@dataclass(frozen=True, slots=True)
class RamLimits:
    """What the system promises: ``commit_free_bytes`` is left of the commit limit; None: no limit, or nobody tells.

    ``cards_count``: what graphics cards hold is promised too (Windows, WDDM).
    """

    commit_free_bytes: int | None = None
    cards_count: bool = False


NO_LIMITS = RamLimits()


def committed_bytes(predicted: MemoryEstimate, load_mode: str, *, cards_count: bool, copies: int = 0) -> int:
    """What the system must promise (commit charge): everything in RAM but a mapped file, which is its own backing; on
    Windows also what cards hold, since their memory can be moved out to RAM. ``copies``: rearranged weights."""
    total = 0
    for device in predicted.devices:
        if device.device == RAM:
            mapped = device.weights_bytes if load_mode in _MAPPED else 0
            total += device.total_bytes - device.segments.get(Segment.REPACKED, 0) - mapped + copies
        elif cards_count and device.kind in (DeviceKind.GPU, DeviceKind.IGPU):
            total += device.total_bytes
    return total


def host_problems(
    predicted: MemoryEstimate, load_mode: str, limits: RamLimits, copies: int = 0
) -> Iterator[Problem]:  # fmt: skip
    """``commit_too_small``: the system would refuse the memory although enough is free; ``mapped_twice``: RAM has no
    room for the mapped weights beside their rearranged ``copies``, so the file is read in and pushed out again."""
    committed = committed_bytes(predicted, load_mode, cards_count=limits.cards_count, copies=copies)
    free = limits.commit_free_bytes
    if free is not None and committed > free:
        params: dict[str, ParamValue] = {
            "needed_bytes": committed,
            "free_bytes": free,
            "missing_bytes": committed - free,
        }
        yield Problem("commit_too_small", Severity.ERROR, params)
    shared = shared_memory_problem(predicted)
    if shared is not None:
        yield shared
    ram = predicted.get(RAM)
    shown = ram.segments.get(Segment.REPACKED, 0)
    if copies > shown and ram.fits:
        once = ram.total_bytes - shown
        yield Problem(
            "mapped_twice",
            Severity.WARNING,
            {"copy_bytes": copies, "total_bytes": once + copies, "without_bytes": once},
        )


def is_part_of_ram(kind: DeviceKind, capacity_bytes: int | None, ram_bytes: int | None) -> bool:
    """Does this device take its memory from RAM? Graphics inside the processor do; with more memory than all of RAM
    has, some was set aside by the firmware."""
    return kind is DeviceKind.IGPU and (capacity_bytes or 0) <= (ram_bytes or 0)


def shared_memory_problem(predicted: MemoryEstimate) -> Problem | None:
    """``memory_shared``: graphics inside the processor and RAM each have room, but not both at once, since the one is
    part of the other: the engine counts every heap of such a device (ggml-vulkan.cpp:15209), those in RAM too.

    Where some of it is surely not RAM (``is_part_of_ram``) nothing is said.
    """
    ram = predicted.get(RAM)
    inside = [d for d in predicted.devices if d.kind is DeviceKind.IGPU and d.weights_bytes + d.kv_bytes]
    together = ram.total_bytes + sum(d.total_bytes for d in inside)
    if not inside or ram.free_bytes is None or together <= ram.free_bytes:
        return None
    if not all(is_part_of_ram(d.kind, d.total_capacity_bytes, ram.total_capacity_bytes) for d in inside):
        return None
    params: dict[str, ParamValue] = {
        "devices": ", ".join(d.device for d in inside),
        "needed_bytes": together,
        "free_bytes": ram.free_bytes,
    }
    return Problem("memory_shared", Severity.WARNING, params)
