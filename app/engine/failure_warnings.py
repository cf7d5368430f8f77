"""The table of troubles that the engine lives with: what it prints -> code and parameters. Pure."""

from __future__ import annotations

import re

from app.common.units import MIB
from app.engine.failure_gpu import DRIVER_OLD
from app.engine.failure_readers import Cascade, Params, number
from app.engine.failure_rule import Rule, rule

_WHY = r"(?P<why>.+)"
_TO_QUOTE = r'(?:(?!\\n)[^"])*'
"""To the end of a message inside JSON, or of its first line."""
_GPU_LIBRARY = r"\S*ggml-(?:cuda|hip|vulkan|sycl|musa|opencl|metal)\S*"


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
    return {"n_bytes": round(number(said["mib"]) * MIB) if said.get("mib") else None, "why": said.get("why") or None}


def _asked(match: re.Match[str], cascade: Cascade) -> Params:
    said = match.groupdict()
    return {name: int(value) if (value := said.get(name)) else None for name in ("asked", "n_ctx")}


def _too_large(match: re.Match[str], cascade: Cascade) -> Params:
    return {"n_bytes": round(float(match["mib"]) * MIB), "limit": round(float(match["limit"]) * MIB)}


LOADING: tuple[Rule, ...] = (
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
        r"[Ff]ailed to (?:allocate|register) (?P<mib>\d{1,9}(?:[.,]\d+)?) M(?:i)?B of pinned memory:? ?(?P<why>.*)",
        _pinned,
        running=True,
    ),
    rule("pinned_memory_cap", r"Failed to allocate pinned memory \((?P<why>[^)]*)\)", _pinned, running=True),
    rule(
        "gpu_driver_too_old",
        rf"failed to initialize (?:CUDA|ROCm|MUSA): (?P<why>(?:{DRIVER_OLD}).*)",
        running=True,
    ),
    rule(
        "backend_other_build",
        r"failed to initialize backend from (?P<path>.+): (?P<why>(?:incompatible API|ggml_backend_init returned).*)",
        running=True,
    ),
    rule(
        "gpu_backend_not_loaded",
        rf"(?:failed to load {_GPU_LIBRARY}: |failed to initialize (?:CUDA|ROCm|MUSA|SYCL): )" + _WHY,
        running=True,
    ),
    rule(
        "gpu_memory_unknown",
        r"cudaMemGetInfo failed \((?P<why>[^)]{1,200})\), returning 0/0|device (?P<device>\S+) did not report memory",
        lambda m, _: {"why": m["why"] or m["device"]},
        running=True,
    ),
    rule("no_usable_gpu", r"no usable GPU found, --gpu-layers option will be ignored", running=True),
    rule("no_usable_gpu", r"ggml_vulkan: No devices found|ggml_cuda_init: found 0 ", running=True),
    rule(
        "no_usable_gpu",
        r"(?:[Nn]ot compiled with|compiled without (?:support for )?) ?GPU (?:offload|support)",
        running=True,
    ),
)

PROMPT_CACHE: tuple[Rule, ...] = (
    rule("prompt_cache_memory", r"failed to allocate memory for prompt cache state: " + _WHY, running=True),
)

REQUESTS: tuple[Rule, ...] = (
    rule(
        "context_full",
        r"(?:request|input) \((?P<asked>\d{1,9}) tokens\) (?:exceeds the available|is larger than the max) context size"
        r" \((?P<n_ctx>\d{1,9})",
        _asked,
        running=True,
    ),
    rule(
        "context_full",
        r'"exceed_context_size_error".{0,40}?"n_prompt_tokens": ?(?P<asked>\d{1,9}), ?"n_ctx": ?(?P<n_ctx>\d{1,9})',
        _asked,
        running=True,
    ),
    rule(
        "context_full",
        r"[Cc]ontext size has been exceeded|failed to find (?:a memory slot|available cells)"
        r"|context shift is disabled|stopped due to running out of context|stop processing: .*truncated = 1"
        r"|request exceeds the available context size|input is larger than the max context size"
        r"|Either enable context shift or increase the context|context_length_exceeded|exceed_context_size_error",
        _asked,
        running=True,
    ),
    rule(
        "batch_too_small",
        r"input (?:\((?P<asked>\d{1,9}) tokens\) )?is too large to process\. increase the physical batch size(?! or)",
        lambda m, _: {"asked": int(m["asked"]) if m["asked"] else None},
        running=True,
    ),
    *PROMPT_CACHE,
    rule(
        "prompt_cache_too_small",
        r"prompt state size (?P<mib>\d{1,9}\.\d+) MiB exceeds cache size limit (?P<limit>\d{1,9}\.\d+) MiB",
        _too_large,
        running=True,
    ),
    rule("prompt_reread", r"forcing full prompt re-processing due to lack of cache data", running=True),
    rule("tools_need_jinja", r"tool(?:s|_choice) param requires --jinja", running=True),
    rule(
        "tool_call_unread",
        r"(?P<why>(?:model produced output that does not match the expected|Failed to parse tool call arguments as JSON"
        r"|Failed to parse input at pos \d|Invalid diff: '|Tool call mismatch|tool call mismatch)" + _TO_QUOTE + ")",
        running=True,
    ),
    rule(
        "grammar_bad",
        r"(?P<why>(?:error parsing grammar: |[Ff]ailed to parse grammar|Unexpected empty grammar stack"
        r"|error initializing grammar sampler|invalid grammar: |unsupported grammar, "
        r"|JSON schema (?:error|conversion failed))" + _TO_QUOTE + ")",
        running=True,
    ),
    rule(
        "chat_template_request",
        r"(?:^|\"message\": ?\"|xception: |rror: |what\(\): +)(?P<why>(?:Conversation roles must alternate"
        r"|Value is not (?:callable|iterable)|Unknown (?:method|filter|test|statement): |System message must be at"
        r"|failed to apply (?:chat )?template|Unable to generate parser for this"
        r"|this custom template is not supported)" + _TO_QUOTE + ")",
        running=True,
    ),
    rule("chat_template_request", rf"(?P<why>Jinja Exception: {_TO_QUOTE})", running=True),
    rule(
        "chat_template_request",
        r"(?:^|: |\"message\": ?\")(?P<why>[^\":{}]{1,200} at row \d{1,6}, column \d{1,6})",
        running=True,
    ),
    rule(
        "media_unsupported",
        r"(?P<why>(?:image|audio|video) input is not supported|model does not support multimodal requests)",
        running=True,
    ),
    rule("router_model_failed", r"model name=(?P<name>\S{1,200}) failed to load", running=True),
    rule("request_failed", r"(?P<why>(?:Invalid input batch|Compute error)\..*)", running=True),
    rule(
        "request_refused",
        r"got exception: \{\"error\":\{\"code\":\d{3},\"message\":\"(?P<why>"
        + _TO_QUOTE
        + r")|(?P<other>This server does not support [^\"]+)",
        lambda m, _: {"why": m["why"] or m["other"]},
        running=True,
    ),
)
"""server-context.cpp:3380-4040, server-common.cpp:1197-1478, server-task.cpp:1743-1783 and common/chat.cpp."""

WARNINGS: tuple[Rule, ...] = (*LOADING, *REQUESTS)

HARMLESS: tuple[Rule, ...] = (*LOADING, *PROMPT_CACHE)
"""A line of these is no failure although it has the words of one: the engine has found another way."""
