"""Where each tensor and each block's KV is, given a ``Placement``. The one definition that every view uses.

Homes (llama-model.cpp:1591-1612): unit ``il`` is on a GPU iff ``il >= block_count + 1 - ngl``; the unit after the last
block is the output; token embeddings are always in RAM (``dev_input = cpu``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from app.model.types import ModelInfo, Role, TensorInfo
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, KvHome, Placement

NOT_LOADED = frozenset({Role.MTP, Role.VISION})
"""Roles the engine skips when it loads a plain text model (``model has unused tensor ... ignoring``)."""

FOLLOWS_HOME = frozenset({Role.ATTENTION, Role.RECURRENT, Role.ROUTER, Role.NORM})
"""Roles that go along when a block's home moves; the big parts (experts, dense FFN) stay where the user put them."""


def unit_of(tensor: TensorInfo, block_count: int) -> int | None:
    """The layer unit whose home the tensor shares; None for tensors that always stay in RAM."""
    if tensor.role is Role.EMBEDDING:
        return None
    if tensor.block is not None:
        return tensor.block
    if tensor.role in (Role.OUTPUT, Role.NORM):
        return block_count
    return None


def homes(placement: Placement) -> tuple[str, ...]:
    """Home device of every unit: ``block_count`` blocks, then the output unit."""
    in_ram = placement.block_count + 1 - placement.n_gpu_layers
    listed = [RAM] * in_ram
    for name, n_units in placement.runs:
        listed.extend([name] * n_units)
    return tuple(listed)


def home_of(tensor: TensorInfo, unit_homes: tuple[str, ...]) -> str:
    """Where the engine puts the tensor without an override."""
    unit = unit_of(tensor, len(unit_homes) - 1)
    return RAM if unit is None else unit_homes[unit]


class _Loaded(NamedTuple):
    """What of a model the engine loads: name and home unit of each tensor (the unit behind the output's stands for
    RAM), each routed expert tensor with its block, each tensor by name with its unit, and bytes by unit and role."""

    units: tuple[tuple[str, int], ...]
    experts: tuple[tuple[TensorInfo, int], ...]
    by_name: Mapping[str, tuple[TensorInfo, int]]
    sums: tuple[tuple[int, Role, int], ...]


_KEPT_MODELS = 4
_known: list[tuple[ModelInfo, _Loaded]] = []


def _loaded(model: ModelInfo) -> _Loaded:
    """Kept for the last few models: plans ask for it dozens of times."""
    for known, loaded in _known:
        if known is model:
            return loaded
    always_ram = model.block_count + 1
    by_name: dict[str, tuple[TensorInfo, int]] = {}
    sums: dict[tuple[int, Role], int] = {}
    for tensor in model.tensors:
        if tensor.role in NOT_LOADED:
            continue
        unit = unit_of(tensor, model.block_count)
        unit = always_ram if unit is None else unit
        by_name[tensor.name] = (tensor, unit)
        sums[unit, tensor.role] = sums.get((unit, tensor.role), 0) + tensor.n_bytes
    loaded = _Loaded(
        tuple((name, unit) for name, (_, unit) in by_name.items()),
        tuple((t, t.block) for t, _ in by_name.values() if t.role is Role.ROUTED_EXPERT and t.block is not None),
        by_name,
        tuple((unit, role, n_bytes) for (unit, role), n_bytes in sums.items()),
    )
    _known.insert(0, (model, loaded))
    del _known[_KEPT_MODELS:]
    return loaded


def expert_tensors(model: ModelInfo) -> tuple[tuple[TensorInfo, int], ...]:
    """Every routed expert tensor that the engine loads, with its block."""
    return _loaded(model).experts


def locations(model: ModelInfo, placement: Placement) -> dict[str, str]:
    """Tensor name -> device name, for every tensor that the engine loads."""
    unit_homes = (*homes(placement), RAM)
    found = {name: unit_homes[unit] for name, unit in _loaded(model).units}
    found.update((name, device) for name, device in placement.overrides.items() if name in found)
    return found


def bytes_by_role(model: ModelInfo, placement: Placement) -> dict[str, dict[Role, int]]:
    """Device name -> role -> bytes of the tensors that are there; the copy of a tied embedding is not among them."""
    loaded, unit_homes = _loaded(model), (*homes(placement), RAM)
    found: dict[str, dict[Role, int]] = {}
    for unit, role, n_bytes in loaded.sums:
        by_role = found.setdefault(unit_homes[unit], {})
        by_role[role] = by_role.get(role, 0) + n_bytes
    for name, device in placement.overrides.items():
        tensor, unit = loaded.by_name.get(name, (None, 0))
        if tensor is not None and device != unit_homes[unit]:
            found[unit_homes[unit]][tensor.role] -= tensor.n_bytes
            by_role = found.setdefault(device, {})
            by_role[tensor.role] = by_role.get(tensor.role, 0) + tensor.n_bytes
    return {device: {role: n for role, n in by_role.items() if n} for device, by_role in found.items()}


def kv_device(placement: Placement, block: int) -> str:
    """Device of a block's KV cache: its home, never an override (llama-kv-cache.cpp:186-190), or RAM with -nkvo."""
    return RAM if placement.kv_home is KvHome.RAM else placement.home_of_unit(block)


def with_locations(
    model: ModelInfo, placement: Placement, wanted: Mapping[str, str], runs: tuple[tuple[str, int], ...] | None = None
) -> Placement:
    """The placement that puts every tensor where ``wanted`` says, with the given homes (the present ones if None)."""
    moved = Placement(placement.block_count, placement.runs if runs is None else runs, {}, placement.kv_home)
    unit_homes = (*homes(moved), RAM)
    overrides = {
        name: wanted[name] for name, unit in _loaded(model).units if name in wanted and wanted[name] != unit_homes[unit]
    }
    return Placement(moved.block_count, moved.runs, overrides, moved.kv_home)


def runs_for(devices: DeviceSet, n_gpu_layers: int) -> tuple[tuple[str, int], ...]:
    """Homes on the first active GPU: its run is the last ``n_gpu_layers`` units. Without a GPU there is no run.

    Over several GPUs see ``app.planner.card_runs``."""
    if not devices.gpus:
        return ()
    return tuple((d.name, n_gpu_layers if i == 0 else 0) for i, d in enumerate(devices.gpus))


def devices_of(placement: Placement) -> set[str]:
    """The devices that hold something: those with a home or an override."""
    return {name for name, n_units in placement.runs if n_units} | set(placement.overrides.values())


def in_use(devices: DeviceSet, placement: Placement) -> DeviceSet:
    """The devices that the command names: those with a run (of any length) or an override; all where there are none.

    A card that is switched on but that nothing uses is left out of ``-dev``: its mere presence would make the engine
    work on four micro-batches at once (llama-context.cpp:432-440) and cost a context on the card.
    """
    if len(devices.gpus) < 2:
        return devices
    named = {name for name, _ in placement.runs} | set(placement.overrides.values())
    used = tuple(d for d in devices.gpus if d.name in named)
    if not used or len(used) == len(devices.gpus):
        return devices
    return replace(devices, gpus=used, off=(*devices.off, *(d for d in devices.gpus if d not in used)))


def with_device(devices: DeviceSet, gpu: Device) -> DeviceSet:
    """The set with one of its switched-off devices on; the order of ``-dev`` is ours to choose: by name."""
    gpus = sorted((*devices.gpus, gpu), key=lambda d: (d.name.rstrip("0123456789"), len(d.name), d.name))
    return replace(devices, gpus=tuple(gpus), off=tuple(d for d in devices.off if d is not gpu))


def further_cards(devices: DeviceSet) -> tuple[Device, ...]:
    """Cards that are off and could be on as well: no graphics inside the processor, and no card that is on already
    under another backend's name."""
    backends = {d.description: d.name.rstrip("0123456789") for d in devices.gpus}
    return tuple(
        d
        for d in devices.off
        if d.kind is not DeviceKind.IGPU
        and d.free_bytes is not None
        and (d.kind is DeviceKind.RPC or backends.get(d.description) in (None, d.name.rstrip("0123456789")))
    )


def all_on_gpu(model: ModelInfo, devices: DeviceSet) -> Placement:
    """Every layer's home on the (first) GPU, no override: what ``-ngl 99`` does."""
    return Placement(model.block_count, runs_for(devices, model.block_count + 1))


def all_in_ram(model: ModelInfo, devices: DeviceSet) -> Placement:
    """Nothing on a GPU: ``-ngl 0``."""
    return Placement(model.block_count, runs_for(devices, 0))


def expert_layers_in_ram(model: ModelInfo, placement: Placement) -> tuple[int, ...]:
    """Blocks that have at least one routed-expert tensor in RAM."""
    unit_homes, overrides = homes(placement), placement.overrides
    found = {block for t, block in expert_tensors(model) if (overrides.get(t.name) or unit_homes[block]) == RAM}
    return tuple(sorted(found))


def blocks_away(model: ModelInfo, placement: Placement) -> tuple[int, ...]:
    """Blocks with routed experts on another device than their home: a token is handed there and back."""
    unit_homes, overrides = homes(placement), placement.overrides
    found = {b for t, b in expert_tensors(model) if (overrides.get(t.name) or unit_homes[b]) != unit_homes[b]}
    return tuple(sorted(found))


def with_experts_in_ram(
    model: ModelInfo, placement: Placement, devices: DeviceSet, blocks: frozenset[int]
) -> Placement:
    """Routed experts of ``blocks`` in RAM, those of all other blocks on the block's GPU (the first GPU when its home
    is RAM); every other override is kept."""
    unit_homes = homes(placement)
    fallback = devices.gpus[0].name if devices.gpus else RAM
    experts = _loaded(model).experts
    overrides = dict(placement.overrides)
    for tensor, block in experts:
        home = unit_homes[block]
        device = RAM if block in blocks else (fallback if home == RAM else home)
        if device != home:
            overrides[tensor.name] = device
        else:
            overrides.pop(tensor.name, None)
    return Placement(placement.block_count, placement.runs, overrides, placement.kv_home)
