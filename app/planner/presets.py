"""Presets: named recipes for a placement. Pure and deterministic.

``fill``, the default, is the search of ``app.planner.fill``. The others place whole groups: everything, or everything
but the routed experts, on the GPUs; several of them share the layers in proportion to their room.
"""

from __future__ import annotations

from dataclasses import replace

from app.model.types import ModelInfo
from app.planner.card_runs import rooms, shared_runs, unit_bytes
from app.planner.expert_cache import CACHE_PRESET
from app.planner.fill import Measures, fill
from app.planner.placement import all_in_ram, runs_for, with_experts_in_ram
from app.planner.types import DeviceSet, KvHome, Placement, Wishes

PRESETS = ("fill", "experts-cpu", "all-gpu", "all-cpu", "article", "fit")
"""Names of the command line's contract (docs/cli.md); ``cache`` joins them with an engine that has it."""


def wishes_for_preset(wishes: Wishes, preset: str) -> Wishes:
    """The wishes a preset brings along: the article's plan D quantises the KV cache and asks for 16k context."""
    wishes = replace(wishes, preset=preset)
    if preset != "article":
        return wishes
    return replace(
        wishes,
        cache_type_k="q8_0" if wishes.cache_type_k == "f16" else wishes.cache_type_k,
        cache_type_v="q8_0" if wishes.cache_type_v == "f16" else wishes.cache_type_v,
        n_ctx=16384 if wishes.n_ctx is None else wishes.n_ctx,
        flash_attn="on" if wishes.flash_attn == "auto" else wishes.flash_attn,
    )


def preset_placement(model: ModelInfo, devices: DeviceSet, wishes: Wishes, measures: Measures) -> Placement:
    """The placement of ``wishes.preset``; ``wishes.n_gpu_layers`` forces the homes of every preset."""
    if not devices.gpus or wishes.preset == "all-cpu":
        return replace(all_in_ram(model, devices), kv_home=wishes.kv_home)
    most, forced = model.block_count + 1, wishes.n_gpu_layers
    n_units = most if forced is None else max(0, min(forced, most))
    if wishes.preset == "fill":
        return fill(model, devices, wishes.kv_home, measures, None if forced is None else n_units)
    with_experts = wishes.preset in ("all-gpu", "fit")
    kv = measures.kv_by_block if wishes.kv_home is KvHome.HOME else ()
    runs = runs_for(devices, n_units)
    if wishes.preset == CACHE_PRESET:  # one card holds the layers and the cache
        runs = ((max(devices.gpus, key=lambda d: d.free_bytes or 0).name, n_units),)
    elif len(devices.gpus) > 1:
        sizes = unit_bytes(model, kv, with_experts=with_experts)
        runs = shared_runs(devices, sizes, n_units, rooms(devices))
    base = Placement(model.block_count, runs, {}, wishes.kv_home)
    if with_experts:
        return base
    return with_experts_in_ram(model, base, devices, frozenset(model.expert_blocks))
