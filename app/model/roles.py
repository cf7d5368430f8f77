"""What a tensor is for, and with which layer it lives: the one definition for cards, estimate and override generator.

Names: ``LLM_TENSOR_NAMES`` in llama-arch.cpp:380-735 of llama.cpp b11434. Where a name could be two things:

* A norm is a norm whatever it normalises (``attn_q_norm``, ``ssm_norm``, ``ffn_norm_exps``, ``indexer.k_norm``): all
  are tiny, and they live with their block anyway.
* Everything that only routed experts read, one row or matrix per expert, is ``routed_expert`` (weights, biases, scales,
  chunked experts ``_chexps``); what chooses them is ``router``.
* Hyper-connections (``hc_attn_*``, ``hc_ffn_*``) carry the residual stream around attention and count as attention.
* A block's own part of a per-layer embedding (``inp_gate``, ``proj``, ``ple_*``) is ``other``: role ``embedding`` is
  kept for what the engine never puts on a device by itself.
"""

from __future__ import annotations

import re
from functools import lru_cache

from app.model.types import LayerFacts, Role

_BLOCK = re.compile(r"(?:dec\.|enc\.)?blk\.(\d{1,4})\.(.+)", re.ASCII)
_PARAMETER_SUFFIXES = (".weight", ".bias", ".scale", ".input_scale", ".scales", ".lora_a", ".lora_b")

_BLOCK_RULES: tuple[tuple[re.Pattern[str], Role], ...] = (
    (re.compile(r"nextn\."), Role.MTP),
    (re.compile(r"vis_"), Role.VISION),
    (re.compile(r"(?:.*[._])?norm(?:[._]|\d|$)"), Role.NORM),
    (re.compile(r"ffn_\w+_(?:ch)?exps$|ffn_(?:gate|up|down)\.\d+$"), Role.ROUTED_EXPERT),
    (re.compile(r"ffn_\w+_shexp$"), Role.SHARED_EXPERT),
    (re.compile(r"ffn_gate_inp$|ffn_gate_tid2eid$|exp_probs_b"), Role.ROUTER),
    (re.compile(r"ssm_|shortconv|time_mix_"), Role.RECURRENT),
    (re.compile(r"(?:cross_)?attn_|indexer[._]|hc_"), Role.ATTENTION),
    (re.compile(r"ffn[_.]|channel_mix_"), Role.DENSE_FFN),
)
_GLOBAL_RULES: tuple[tuple[re.Pattern[str], Role], ...] = (
    (re.compile(r"nextn\."), Role.MTP),
    (re.compile(r"(?:v|mm|a|resampler|vision_tower|audio_tower)\."), Role.VISION),
    (re.compile(r"(?:token_embd|per_layer_token_embd|position_embd|token_types)$"), Role.EMBEDDING),
    (re.compile(r"(?:.*[._])?norm(?:[._]|\d|$)"), Role.NORM),
    (re.compile(r"output$|output_(?:hc|res)_"), Role.OUTPUT),
)


def classify(tensor_name: str, block_count: int, nextn_count: int) -> tuple[Role, int | None]:
    """The role of a tensor and its block (N of ``blk.N.``), or None for one that belongs to no block.

    ``block_count`` includes the last ``nextn_count`` blocks; whatever lies in those is ``mtp`` (the engine loads them
    only for speculation, llama-model.cpp:1300-1332). Unknown names are ``other``.
    """
    role, block = _role_and_block(tensor_name)
    if nextn_count and block is not None and block >= block_count - nextn_count:
        return Role.MTP, block
    return role, block


@lru_cache(maxsize=1 << 15)
def _role_and_block(tensor_name: str) -> tuple[Role, int | None]:
    """By the name alone; the files of a folder share most of their names."""
    found = _BLOCK.fullmatch(tensor_name)
    return (_global_role(tensor_name), None) if found is None else (_block_role(found[2]), int(found[1]))


def role_in_layer(role: Role, layer: LayerFacts) -> Role:
    """The role of a tensor in the block it lies in: what is named like attention is recurrent where no KV is kept.

    Linear attention uses the names of attention (``attn_qkv`` in qwen3next.cpp:77-86, ``attn_q`` in kimi-linear.cpp).
    """
    if role is Role.ATTENTION and layer.recurrent and layer.head_count_kv == 0:
        return Role.RECURRENT
    return role


@lru_cache(maxsize=4096)
def _block_role(rest: str) -> Role:
    return _first_match(_BLOCK_RULES, _stem(rest))


@lru_cache(maxsize=4096)
def _global_role(name: str) -> Role:
    return _first_match(_GLOBAL_RULES, _stem(name))


def _first_match(rules: tuple[tuple[re.Pattern[str], Role], ...], stem: str) -> Role:
    for pattern, role in rules:
        if pattern.match(stem):
            return role
    return Role.OTHER


def _stem(name: str) -> str:
    """A name without what it ends in: ``ffn_gate_inp.bias`` -> ``ffn_gate_inp``."""
    for suffix in _PARAMETER_SUFFIXES:
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name
