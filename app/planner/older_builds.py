"""What older mainline builds hold in their compute buffers beyond today's (``EngineTraits``).

Until ggml-org/llama.cpp#23764 the mask of flash attention was an F32 input and a cast F16 copy; until #23861 the
server reserved one row of logits per token of a micro-batch. Both only matter in one moment of the graph each, so the
buffer is the largest of today's and those two moments.
"""

from __future__ import annotations

from app.model.types import ModelInfo
from app.planner.engine_traits import EngineTraits
from app.planner.kv import KvSettings, sliding_cells
from app.planner.placement import homes
from app.planner.types import RAM, Placement

_F32 = 4
_F16 = 2


def _cells(model: ModelInfo, kv: KvSettings) -> int:
    """Mask entries per token: the cells, and the window's where blocks slide."""
    cells = kv.n_cells
    if model.sliding_window and any(layer.sliding for layer in model.layers):
        cells += sliding_cells(model.sliding_window, kv)
    return cells


def with_older_traits(
    compute: dict[str, int],
    model: ModelInfo,
    placement: Placement,
    kv: KvSettings,
    flash_attention: bool,
    traits: EngineTraits,
) -> dict[str, int]:
    """Today's compute bytes per device, raised to what an engine with these traits reserves."""
    tokens = min(kv.n_ctx, kv.n_ubatch)
    embd = (model.embedding_length or 0) * _F32
    query = max((x.head_count * x.key_length for x in model.layers if not x.recurrent), default=0) * _F32
    mask = tokens * _cells(model, kv) if flash_attention and traits.mask_is_f32 else 0
    logits = tokens * ((model.vocab_size or 0) * _F32 + 2 * embd) if traits.logits_for_every_token else 0
    unit_homes = homes(placement)
    result = dict(compute)
    for name, today in compute.items():
        moments = [today]
        if name == RAM:
            moments.append(today + mask * (_F32 - _F16) if RAM in unit_homes[:-1] else mask * _F32 + tokens * embd)
        elif name in unit_homes[:-1]:
            moments.append(mask * (_F32 + _F16) + tokens * (2 * query + 2 * embd))
        if unit_homes[-1] == name:
            moments.append(logits)
        result[name] = max(moments)
    return result
