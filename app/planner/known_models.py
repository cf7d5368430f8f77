"""Cache sizes of public models by architecture, to judge a file that is not here yet from its size alone. Pure data.

Bytes of KV per token and of what does not grow with the context (recurrent states, sliding windows), f16, one slot:
what ``planner.kv`` computes from the headers of these models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnownModel:
    """``billions`` of parameters; ``kv_token_bytes`` per token of context, ``kv_base_bytes`` whatever the context."""

    architecture: str
    name: str
    billions: float
    kv_token_bytes: int
    kv_base_bytes: int = 0


_MIB = 1 << 20

KNOWN_MODELS = (
    KnownModel("qwen3moe", "Qwen3-30B-A3B", 30.5, 98304),
    KnownModel("qwen3moe", "Qwen3-235B-A22B", 235.1, 192512),
    KnownModel("qwen2moe", "Qwen1.5-MoE-A2.7B", 14.3, 196608),
    KnownModel("deepseek2", "DeepSeek-V2-Lite", 15.7, 31104),
    KnownModel("deepseek2", "DeepSeek-V3", 671.0, 70272),
    KnownModel("deepseek32", "DeepSeek-V3.2", 671.9, 85888),
    KnownModel("gpt-oss", "gpt-oss-20b", 20.9, 24576, 18 * _MIB),
    KnownModel("qwen3next", "Qwen3-Next-80B-A3B", 79.7, 24576, 75 * _MIB),
    KnownModel("qwen35moe", "Qwen3.5-35B-A3B", 35.5, 20480, 63 * _MIB),
    KnownModel("granitehybrid", "Granite-4.0-H-Small", 32.2, 16384, 147 * _MIB),
    KnownModel("gemma3", "Gemma 3 27B", 27.0, 81920, 624 * _MIB),
    KnownModel("gemma4", "Gemma 4 26B-A4B", 25.2, 20480, 300 * _MIB),
    KnownModel("glm4moe", "GLM-4.5-Air", 109.2, 188416),
    KnownModel("glm-dsa", "GLM-5.2", 743.4, 95232),
    KnownModel("lfm2moe", "LFM2-8B-A1B", 8.3, 12288),
    KnownModel("llama", "Mixtral 8x7B", 46.7, 131072),
    KnownModel("llama4", "Llama 4 Scout", 107.8, 49152, 1224 * _MIB),
    KnownModel("minimax-m2", "MiniMax-M2", 228.7, 253952),
    KnownModel("bailingmoe2", "Ling-flash-2.0", 102.9, 65536),
    KnownModel("nemotron_h_moe", "Nemotron 3 Nano", 31.6, 6144, 48 * _MIB),
    KnownModel("kimi-linear", "Kimi-Linear-48B-A3B", 49.1, 8064, 43 * _MIB),
    KnownModel("afmoe", "Trinity Mini", 26.1, 16384, 120 * _MIB),
    KnownModel("step35", "Step-3.5-Flash", 197.0, 49152, 132 * _MIB),
    KnownModel("qwen4exp", "Qwen3.8-Flash-Next", 146.0, 30720, 76 * _MIB),
)

_USUAL_BITS = 4.8
"""Bits per weight of a Q4_K_M file, the usual choice."""


def known_architectures() -> tuple[str, ...]:
    """Names that ``likeliest`` knows."""
    return tuple(dict.fromkeys(model.architecture for model in KNOWN_MODELS))


def likeliest(architecture: str, file_bytes: int) -> KnownModel | None:
    """The model of this architecture whose file of usual bits per weight is nearest in size; None without one."""
    sizes: Mapping[KnownModel, float] = {
        model: model.billions * 1e9 * _USUAL_BITS / 8 for model in KNOWN_MODELS if model.architecture == architecture
    }
    if not sizes:
        return None
    return min(sizes, key=lambda model: max(sizes[model] / file_bytes, file_bytes / sizes[model]))
