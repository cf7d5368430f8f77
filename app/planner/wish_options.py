"""What the wishes are called on the command line of Lanewise (docs/cli.md)."""

from __future__ import annotations

from collections.abc import Mapping

WISH_OPTIONS: Mapping[str, str] = {
    "n_ctx": "--ctx",
    "cache_type_k": "--ctk",
    "cache_type_v": "--ctv",
    "n_batch": "--batch",
    "n_ubatch": "--ubatch",
    "flash_attn": "--flash-attn",
    "n_slots": "--slots",
    "n_threads": "--threads",
    "prompt_cache_mib": "--prompt-cache-mib",
    "is_quiet": "--quiet",
    "load_mode": "--load-mode",
    "reserve_mib": "--reserve-mib",
    "keep_ram_mib": "--keep-ram-mib",
    "kv_home": "--kv",
    "n_gpu_layers": "--ngl",
    "preset": "--preset",
    "extra": "--extra",
    "mmproj_path": "--mmproj",
    "mmproj_offload": "--mmproj-in-ram",
    "draft_path": "--draft",
    "draft_gpu_layers": "--draft-ngl",
    "draft_max": "--draft-max",
    "mtp": "--mtp",
    "lora_paths": "--lora",
}
"""Field of ``Wishes`` -> option of every verb that makes a plan."""

LOAD_MODES = ("auto", "none", "mmap", "mlock", "mmap+mlock", "dio")
"""Values of ``-lm`` that a wish may have (arg.cpp:2703 of b11434)."""
