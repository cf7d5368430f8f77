"""What differs between engines and their builds in how much memory they take. The default is today's mainline build.

Build numbers are those of the first releases after a change was merged, to within some dozens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

_HALF_MASK_BUILD = 9370
"""ggml-org/llama.cpp#23764 (May 2026): with flash attention the mask is F16 from the start."""
_FEW_OUTPUTS_BUILD = 9440
"""ggml-org/llama.cpp#23861 (June 2026): llama-server reserves logits for its slots, not for a whole micro-batch."""
_EMBEDDINGS_BUILD = 7700
"""ggml-org/llama.cpp#18550 (January 2026): every graph has an input for rows that are no text."""
_F16_CACHE_BUILD = 9450
"""ggml-org/llama.cpp#23907 (June 2026): CUDA reserves the F16 copies of a quantised cache in its compute buffer."""
_AUTUMN_BUILD = 10900
"""ggml-org/llama.cpp#25952 (September 2026): CUDA adds up experts in one step and keeps their rows until then. Batches
of text and embeddings together came about then too; only a few rows per token depend on it."""
_NO_MLA_VALUES_BUILD = 7840
"""ggml-org/llama.cpp#19067 (January 2026): MLA caches have no V part."""


class EngineKind(StrEnum):
    """The family of an engine."""

    MAINLINE = "mainline"
    IK = "ik"


@dataclass(frozen=True, slots=True)
class IkTraits:
    """ik_llama.cpp's own switches: ``-mla`` (0 to 3) and ``-amb`` in MiB, 0 for no limit.

    ``repacks``: experts in RAM are row-interleaved (``-rtr``, or a file of ``_r4`` types), which no GPU multiplies.
    ``offloads_small_batches``: before ikawrakow/ik_llama.cpp#520 (June 2025) 32 tokens were enough to copy experts.
    """

    mla: int = 3
    attn_max_batch_mib: int = 0
    repacks: bool = False
    offloads_small_batches: bool = False


@dataclass(frozen=True, slots=True)
class EngineTraits:
    """``mask_is_f32``: flash attention's mask is an F32 input that the device casts to F16, both in its buffer.

    ``logits_for_every_token``: the graph is reserved with one logit row per token of a micro-batch (older servers, the
    command-line tools, ik_llama.cpp), not one per slot. ``keeps_mla_values``: MLA caches have a V part too. The others
    are explained at ``compute.compute_bytes``.
    """

    kind: EngineKind = EngineKind.MAINLINE
    mask_is_f32: bool = False
    logits_for_every_token: bool = False
    keeps_mla_values: bool = False
    takes_embeddings: bool = True
    mixes_embeddings: bool = True
    reserves_f16_cache: bool = True
    fuses_experts: bool = True
    ik: IkTraits = field(default_factory=IkTraits)


CURRENT_MAINLINE = EngineTraits()
"""A llama-server of today."""


def mainline_traits(build: int | None) -> EngineTraits:
    """Traits of a mainline llama-server by its build number; None is taken as a current one."""
    if build is None:
        return CURRENT_MAINLINE
    return EngineTraits(
        mask_is_f32=build < _HALF_MASK_BUILD,
        logits_for_every_token=build < _FEW_OUTPUTS_BUILD,
        keeps_mla_values=build < _NO_MLA_VALUES_BUILD,
        takes_embeddings=build >= _EMBEDDINGS_BUILD,
        mixes_embeddings=build >= _AUTUMN_BUILD,
        reserves_f16_cache=build >= _F16_CACHE_BUILD,
        fuses_experts=build >= _AUTUMN_BUILD,
    )
