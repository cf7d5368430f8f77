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
from app.model.types import ModelInfo
from app.planner.kv import KvSettings, sliding_cells
from app.planner.placement import kv_device
from app.planner.types import DeviceKind, Placement

_GIB = 1024 * MIB
_CUDA_BASE_MIB, _CUDA_MIB_PER_GIB, _CUDA_MOST_MIB = 64, 16, 576
_FIXED_MIB = {"ROCm": 256, "HIP": 256, "Vulkan": 150, "SYCL": 300, "Metal": 100}
_UNKNOWN_MIB = 300
_FLOAT_CACHES = frozenset({"f16", "bf16", "f32"})
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


def cuda_pool_bytes(model: ModelInfo, placement: Placement, kv: KvSettings, device: str) -> int:
    """What a CUDA or ROCm engine of before build 9450 takes from its pool for flash attention over a quantised cache:
    one layer's K and V as F16 (fattn-common.cuh ``launch_fattn``, ``K_f16.alloc``; in the compute buffer since
    ggml-org/llama.cpp#23907). Reached once a prompt fills the context."""
    if backend_of(device) not in ("CUDA", "ROCm", "HIP"):
        return 0
    largest = 0
    for block, layer in enumerate(model.layers):
        if layer.recurrent or not layer.head_count_kv or kv_device(placement, block) != device:
            continue
        slides = layer.sliding and model.sliding_window
        cells = sliding_cells(model.sliding_window or 0, kv) if slides else kv.n_cells
        rows = [
            width * layer.head_count_kv
            for width, cache_type in ((layer.key_length, kv.cache_type_k), (layer.value_length, kv.cache_type_v))
            if cache_type not in _FLOAT_CACHES
        ]
        largest = max(largest, 2 * cells * sum(rows))
    return largest
