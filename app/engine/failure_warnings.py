"""The table of troubles that the engine lives with: what it prints -> code and parameters. Pure."""

from __future__ import annotations

import re

from app.common.units import MIB
from app.engine.failure_readers import Cascade, Params
from app.engine.failure_rules import Rule, rule

_WHY = r"(?P<why>.+)"


def _lock(match: re.Match[str], cascade: Cascade) -> Params:
    said = match.groupdict()
    size = said.get("size")
    n_bytes = int(size) if size else round(float(said["mib"]) * MIB) if said.get("mib") else None
    locked = said.get("locked")
    locked_mib = said.get("locked_mib")
    done = int(locked) if locked else round(float(locked_mib) * MIB) if locked_mib else None
    return {"n_bytes": n_bytes, "locked_bytes": done, "why": (said.get("why") or "").strip() or None}


def _pinned(match: re.Match[str], cascade: Cascade) -> Params:
    said = match.groupdict()
    return {"n_bytes": round(float(said["mib"]) * MIB) if said.get("mib") else None, "why": said.get("why")}


WARNINGS: tuple[Rule, ...] = (
    rule(
        "mlock_failed",
        r"failed to (?:mlock|VirtualLock) (?P<size>\d{1,18})-byte buffer"
        r"(?: \(after previously locking (?P<locked>\d{1,18}) bytes\))?:? ?(?P<why>.*)",
        _lock,
        running=True,
    ),
    rule(
        "mlock_failed",
        r"VirtualLock of (?P<mib>\d{1,12}(?:\.\d+)?) MiB failed after (?P<locked_mib>\d{1,12}(?:\.\d+)?) MiB"
        r" were locked:? ?(?P<why>.*)",
        _lock,
        running=True,
    ),
    rule(
        "mlock_failed",
        r"(?:VirtualLock|SetProcessWorkingSetSize) failed:? ?(?P<why>.*)|mlock not supported on this system",
        _lock,
        running=True,
    ),
    rule("fit_gave_up_context_reduced", r"failed to fit params to free device memory: " + _WHY, running=True),
    rule(
        "pinned_memory_cap",
        r"[Ff]ailed to (?:allocate|register) (?P<mib>\d{1,9}(?:\.\d+)?) M(?:i)?B of pinned memory:? ?(?P<why>.*)",
        _pinned,
        running=True,
    ),
    rule("pinned_memory_cap", r"Failed to allocate pinned memory \((?P<why>[^)]*)\)", _pinned, running=True),
    rule("no_usable_gpu", r"no usable GPU found, --gpu-layers option will be ignored", running=True),
    rule("no_usable_gpu", r"compiled without (?:support for )?GPU (?:offload|support)", running=True),
    rule(
        "gpu_backend_not_loaded",
        r"(?:failed to load \S*ggml-(?:cuda|hip|vulkan|sycl|musa|opencl)\S*: "
        r"|failed to initialize (?:CUDA|ROCm|MUSA|SYCL): )"
        r"(?P<why>.+)",
        running=True,
    ),
    rule(
        "context_full",
        r"request \((?P<asked>\d{1,9}) tokens\) exceeds the available context size \((?P<n_ctx>\d{1,9})",
        lambda m, _: {"asked": int(m["asked"]), "n_ctx": int(m["n_ctx"])},
        running=True,
    ),
    rule(
        "context_full",
        r"[Cc]ontext size has been exceeded|failed to find (?:a memory slot|free space in the KV|available cells)"
        r"|context shift is disabled|stopped due to running out of context|stop processing: .*truncated = 1",
        lambda m, _: {"asked": None, "n_ctx": None},
        running=True,
    ),
    rule(
        "batch_too_small",
        r"input (?:\((?P<asked>\d{1,9}) tokens\) )?is too large to process\. increase the physical batch",
        lambda m, _: {"asked": int(m["asked"]) if m["asked"] else None},
        running=True,
    ),
    rule("prompt_cache_memory", r"failed to allocate memory for prompt cache state: " + _WHY, running=True),
    rule("request_failed", r"(?P<why>(?:Invalid input batch|Compute error)\..*)", running=True),
)
