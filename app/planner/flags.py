"""How llama-server spells the options that a plan uses, over the builds we support. The only table of flags.

Each option lists its spellings, the one we write first. What a build has is read from its ``--help``
(``Capabilities``), never from a version number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.common.capabilities import Capabilities


@dataclass(frozen=True, slots=True)
class Option:
    """One setting. ``also``: other flags that set the same thing (opposites, flags of older builds)."""

    spellings: tuple[str, ...]
    also: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every flag that touches this setting."""
        return (*self.spellings, *self.also)


OPTIONS: Mapping[str, Option] = {
    "model": Option(("-m", "--model"), ("-mu", "--model-url", "-hf", "-hfr", "--hf-repo", "-dr", "--docker-repo")),
    "rpc": Option(("--rpc",)),
    "device": Option(("-dev", "--device")),
    "n_gpu_layers": Option(("-ngl", "--gpu-layers", "--n-gpu-layers")),
    "split_mode": Option(("-sm", "--split-mode")),
    "tensor_split": Option(("-ts", "--tensor-split")),
    "fit": Option(("-fit", "--fit")),
    "fit_target": Option(("-fitt", "--fit-target")),
    "ctx": Option(("-c", "--ctx-size")),
    "slots": Option(("-np", "--parallel")),
    "kv_unified": Option(("-kvu", "--kv-unified"), ("-no-kvu", "--no-kv-unified")),
    "kv_split": Option(("-no-kvu", "--no-kv-unified"), ("-kvu", "--kv-unified")),
    "cache_k": Option(("-ctk", "--cache-type-k")),
    "cache_v": Option(("-ctv", "--cache-type-v")),
    "flash_attn": Option(("-fa", "--flash-attn")),
    "batch": Option(("-b", "--batch-size")),
    "ubatch": Option(("-ub", "--ubatch-size")),
    "prompt_cache": Option(("-cram", "--cache-ram")),
    "threads": Option(("-t", "--threads")),
    "threads_batch": Option(("-tb", "--threads-batch")),
    "priority": Option(("--prio",)),
    "poll": Option(("--poll",)),
    "load_mode": Option(("-lm", "--load-mode"), ("--mmap", "--no-mmap", "--mlock", "-dio", "--direct-io")),
    "no_mmap": Option(("--no-mmap",), ("--mmap", "--mlock")),
    "mmap": Option(("--mmap",), ("--no-mmap", "--mlock")),
    "mlock": Option(("--mlock",)),
    "kv_in_ram": Option(("-nkvo", "--no-kv-offload"), ("-kvo", "--kv-offload")),
    "override_tensor": Option(("-ot", "--override-tensor")),
    "mmproj": Option(("-mm", "--mmproj"), ("-mmu", "--mmproj-url", "--no-mmproj", "--no-mmproj-auto")),
    "mmproj_in_ram": Option(("--no-mmproj-offload",), ("--mmproj-offload", "-mmdev", "--mmproj-device")),
    "draft_model": Option(
        ("-md", "--model-draft", "--spec-draft-model"), ("-hfd", "--hf-repo-draft", "--spec-draft-hf")
    ),
    "draft_gpu_layers": Option(("-ngld", "--gpu-layers-draft", "--n-gpu-layers-draft", "--spec-draft-ngl")),
    "draft_device": Option(("-devd", "--device-draft", "--spec-draft-device")),
    "draft_cache_k": Option(("-ctkd", "--cache-type-k-draft", "--spec-draft-type-k")),
    "draft_cache_v": Option(("-ctvd", "--cache-type-v-draft", "--spec-draft-type-v")),
    "draft_max": Option(("--spec-draft-n-max", "--draft-max", "--draft-n", "--draft")),
    "spec_type": Option(("--spec-type",), ("--spec-default",)),
    "lora": Option(("--lora",)),
    "host": Option(("--host",)),
    "port": Option(("--port",)),
    "metrics": Option(("--metrics",)),
    "slots_endpoint": Option(("--slots",), ("--no-slots",)),
    "alias": Option(("-a", "--alias")),
    "api_key": Option(("--api-key",)),
    "verbosity": Option(("-lv", "--verbosity", "--log-verbosity"), ("-v", "--verbose", "--log-verbose")),
    "log_colors": Option(("--log-colors",)),
}

PLACEMENT = frozenset({"rpc", "device", "n_gpu_layers", "tensor_split", "override_tensor", "kv_in_ram"})
"""Without these the command would run another placement than the board's: lacking one is an error."""

MOVES_TENSORS = ("-ot", "--override-tensor", "-cmoe", "--cpu-moe", "-ncmoe", "--n-cpu-moe", "-ncffn", "--n-cpu-ffn")
"""All of these append override rules (arg.cpp:2757-2790), also after our own ``-ot``."""

STOPS_FIT = (*MOVES_TENSORS, "-ngl", "--gpu-layers", "--n-gpu-layers", "-ts", "--tensor-split")
"""Any of these makes ``--fit`` give up its placement (common/fit.cpp; llama.cpp#27872)."""

SECRETS = ("--api-key", "-hft", "--hf-token")
"""Options whose value must not reach a log or a bug report."""

_SINCE_FLASH_ATTN_VALUE = ("-cram", "-ctxcp", "--ctx-checkpoints", "-fit", "-lm")


def takes_on_off(capabilities: Capabilities) -> bool:
    """Do ``-fa`` and ``--log-colors`` take a value (``on|off|auto``) in this build, or are they bare switches?

    They got the value in August and September 2025; ``--help`` lists names only, so the answer is taken from options
    that are younger than that (prompt cache and context checkpoints, October 2025; fit, December 2025; load mode,
    September 2026). A build from the few weeks between is treated as one without the value.
    """
    return capabilities.first(*_SINCE_FLASH_ATTN_VALUE, "--cache-ram", "--fit", "--load-mode") is not None


def normalised(argument: str) -> str:
    """A flag as the engine compares it: in ``--`` options ``_`` means ``-`` (arg.cpp:805)."""
    return argument.replace("_", "-") if argument.startswith("--") else argument


def flags_in(arguments: Iterable[str]) -> tuple[str, ...]:
    """What looks like a flag among arguments, normalised: a dash, then a letter or another dash."""
    return tuple(normalised(a) for a in arguments if len(a) > 1 and a[0] == "-" and (a[1] == "-" or a[1].isalpha()))
