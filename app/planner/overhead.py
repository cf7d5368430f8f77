"""What a card takes beyond the buffers that the engine prints: an estimate by backend and size, until it is learned.

Where the CUDA estimate comes from (MiB; the context grows with the number of multiprocessors, which no driver tells on
every system, but which goes with the memory of a card well enough):

* context alone, ``total - free`` of ``cudaMemGetInfo`` in public logs: RTX 3060 119, RTX 4070 169, RTX 2000 Ada 180,
  RTX 5070 Ti 248 (104 on a small second card), RTX 3090 264 and 279, RTX 3090 Ti 281; 120 to 550 depending on the card
  (ggml-org/llama.cpp#20595);
* after real runs, code and pools included: 76 to 88 on a 6 GB card, 123 on a 12 GB one, 153 for one process, 248 to 264
  on an RTX 5070 Ti, 451 to 456 on headless RTX 4090s (ggml-org/llama.cpp#15860).

64 MiB and 16 MiB for each GiB of the card lies at or above all of these but the last, which it misses by 1 %; it stops
growing at 576. ROCm: 253 and 254 after runs on MI50, 164 and 202 of context on RX 9070 XT and RX 6700 XT. Vulkan, SYCL
and Metal: no clean public figure, an assumption. RPC devices are somebody else's memory: 0 until a launch tells.
"""

from __future__ import annotations

from app.common.units import MIB
from app.planner.types import DeviceKind

_GIB = 1024 * MIB
_CUDA_BASE_MIB, _CUDA_MIB_PER_GIB, _CUDA_MOST_MIB = 64, 16, 576
_FIXED_MIB = {"ROCm": 256, "HIP": 256, "Vulkan": 150, "SYCL": 300, "Metal": 100}
_UNKNOWN_MIB = 300
_UNKNOWN_CARD_GIB = 16


def backend_of(name: str) -> str:
    """``CUDA`` of ``CUDA0``."""
    return name.rstrip("0123456789")


def overhead_estimate_bytes(name: str, kind: DeviceKind, total_bytes: int | None) -> int:
    """What nobody has measured yet. ``name`` is the engine's (CUDA0), ``total_bytes`` the card's memory."""
    if kind in (DeviceKind.RPC, DeviceKind.RAM):
        return 0
    backend = backend_of(name)
    if backend == "CUDA":
        gib = _UNKNOWN_CARD_GIB if total_bytes is None else total_bytes / _GIB
        return round(min(_CUDA_MOST_MIB, _CUDA_BASE_MIB + _CUDA_MIB_PER_GIB * gib)) * MIB
    return _FIXED_MIB.get(backend, _UNKNOWN_MIB) * MIB
