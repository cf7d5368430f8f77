"""Layer homes over several GPUs: the ``-ts`` shares for a placement, and the engine's own arithmetic to prove them.

The engine keeps no list of "layer -> device". It turns ``-ts`` into cumulative shares in float32 and looks every
layer up in them (llama-model.cpp:1560-1601, b11434). We write the run lengths themselves as shares: cumulative sums
of small whole numbers are exact in float32, and a run's border ``k`` gives the same quotient ``k / total`` on both
sides of the comparison, so every unit falls into its own run.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Sequence

from app.planner.types import RAM, DeviceSet, Placement


def split_argument(placement: Placement, devices: DeviceSet) -> tuple[str, ...] | None:
    """The values of ``-ts``: layer units per GPU, in the order of ``devices.gpus`` (= ``-dev``).

    A run of length zero gets the share 0; the engine's ``upper_bound`` then skips that device, wherever it stands.
    None when no split is needed: fewer than two GPUs, or no layer on any of them (then nothing is looked up, and
    all-zero shares would mean "by free memory").
    Raises ValueError when the runs name an inactive device or are not in the order of the devices.
    """
    shares = _run_lengths(placement, devices)
    if len(devices.gpus) < 2 or not any(shares):
        return None
    return tuple(str(n) for n in shares)


def _run_lengths(placement: Placement, devices: DeviceSet) -> tuple[int, ...]:
    order = [d.name for d in devices.gpus]
    listed = [(name, n) for name, n in placement.runs if n > 0]
    positions = [order.index(name) for name, _ in listed]
    if positions != sorted(set(positions)):
        raise ValueError(f"runs {listed} are not in the order of the devices {order}")
    lengths = dict(listed)
    return tuple(lengths.get(name, 0) for name in order)


def _f32(value: float) -> float:
    """Round to float32. Double arithmetic followed by one rounding equals float32 arithmetic for + and /."""
    rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return rounded


def _split_points(tensor_split: Sequence[float], n_devices: int) -> list[float]:
    """Cumulative shares, normalised (llama-model.cpp:1581-1589)."""
    padded = [_f32(share) for share in tensor_split[:n_devices]]
    padded += [0.0] * (n_devices - len(padded))
    if not any(padded):
        raise ValueError("without shares the engine splits by free memory, which is not known here")
    sums: list[float] = []
    total = 0.0
    for share in padded:
        total = _f32(total + share)
        sums.append(total)
    return [_f32(value / total) for value in sums]


def engine_homes(
    block_count: int, n_gpu_layers: int, tensor_split: Sequence[float], n_devices: int
) -> tuple[int | None, ...]:
    """What the engine makes of ``-ngl`` and ``-ts``: per unit the index of its device, None = RAM.

    Units are the blocks followed by the output unit. A negative ``n_gpu_layers`` means all (``auto``, ``all``).
    ``tensor_split`` may be empty for a single device. Mirrors ``get_layer_buft_list`` (llama-model.cpp:1591-1601).
    Raises ValueError when several devices have no share at all.
    """
    n_units = block_count + 1
    if n_gpu_layers < 0:
        n_gpu_layers = n_units
    first_on_gpu = max(n_units - n_gpu_layers, 0)
    on_gpu = 0 if n_devices == 0 else min(n_gpu_layers, n_units)
    if on_gpu == 0:
        return (None,) * n_units
    points = [1.0] if n_devices == 1 else _split_points(tensor_split, n_devices)
    placed = [bisect_right(points, _f32(unit / on_gpu)) for unit in range(n_units - first_on_gpu)]
    return (*([None] * first_on_gpu), *placed)


def engine_home_names(placement: Placement, devices: DeviceSet) -> tuple[str, ...]:
    """Home device of every unit as the engine will have it from the ``-ngl`` and ``-ts`` that we write."""
    shares = tuple(float(share) for share in split_argument(placement, devices) or ())
    names = [d.name for d in devices.gpus]
    indices = engine_homes(placement.block_count, placement.n_gpu_layers, shares, len(names))
    return tuple(RAM if index is None else names[index] for index in indices)
