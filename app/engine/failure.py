"""Why a server ended: its exit code and its log -> one Problem.

The patterns are llama-server's own messages (b11434); the codes are the ones that ``doctor`` shows. The first rule
that matches any line wins, so the cause stands before its consequences ("exiting due to model loading error").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.common.problem import ParamValue, Problem, Severity
from app.common.units import MIB
from app.engine.logparse import device_of_buffer, split_level

_MOST_EVIDENCE = 8
_LONGEST_EVIDENCE = 400

Params = Mapping[str, ParamValue]


@dataclass(frozen=True, slots=True)
class _Rule:
    """``build`` makes the problem's parameters from the match and all lines (without their prefixes)."""

    code: str
    pattern: re.Pattern[str]
    build: Callable[[re.Match[str], Sequence[str]], Params]


def _rule(code: str, pattern: str, build: Callable[[re.Match[str], Sequence[str]], Params] | None = None) -> _Rule:
    return _Rule(code, re.compile(pattern), build or (lambda match, lines: match.groupdict()))


_ALLOC = re.compile(r"failed to allocate (?P<buffer>\S+) buffer of size (?P<size>\d{1,18})")
_HOST_ALLOC = re.compile(r"attempted to allocate\s*(?P<mb>\d{1,12}(?:\.\d+)?) MB")


def _allocation(match: re.Match[str], lines: Sequence[str]) -> Params:
    """Device and size of the allocation that failed (ggml-backend.cpp, ggml-alloc.c)."""
    for line in lines:
        if (found := _ALLOC.search(line)) is not None:
            return {"device": device_of_buffer(found["buffer"]), "n_bytes": int(found["size"])}
    for line in lines:
        if (found := _HOST_ALLOC.search(line)) is not None:
            return {"device": "RAM", "n_bytes": round(float(found["mb"]) * MIB)}
    buffer = match.groupdict().get("buffer")
    return {"device": device_of_buffer(buffer) if buffer else None, "n_bytes": None}


def _cuda(match: re.Match[str], lines: Sequence[str]) -> Params:
    return {"device": f"CUDA{match['device']}", "n_bytes": round(float(match["mib"]) * MIB)}


def _buffer_types(match: re.Match[str], lines: Sequence[str]) -> Params:
    start = next((i for i, line in enumerate(lines) if line.startswith("Available buffer types")), len(lines))
    names = []
    for line in lines[start + 1 :]:
        if not line.startswith("  "):
            break
        names.append(line.strip())
    return {"available": ", ".join(names) or None}


_MODEL = "error loading model: "
_RULES: tuple[_Rule, ...] = (
    _rule("unknown_buffer_type", r'error while handling argument "[^"]+": unknown buffer type', _buffer_types),
    _rule("bad_argument_value", r'error while handling argument "(?P<argument>[^"]+)": (?P<why>.*)'),
    _rule("unknown_argument", r"error: invalid argument: (?P<argument>\S+)"),
    _rule("port_in_use", r"couldn't bind HTTP server socket, hostname: (?P<host>\S+), port: (?P<port>\d{1,5})"),
    _rule("rpc_unreachable", r"Failed to connect to (?P<endpoint>\S+)"),
    _rule("unknown_arch", _MODEL + r"unknown model architecture: '(?P<architecture>[^']+)'"),
    _rule("split_part_missing", _MODEL + r".*failed to load GGUF split from (?P<path>.+)"),
    _rule("file_missing", r"failed to open GGUF file '(?P<path>.+)' \((?P<why>[^)]*)\)"),
    _rule("bad_magic", r"invalid magic characters: '(?P<found>[^']*)', expected 'GGUF'"),
    _rule("file_truncated", r"tensor '(?P<tensor>[^']+)' data is not within the file bounds"),
    _rule("missing_tensor", _MODEL + r".*(?:tensor '(?P<tensor>[^']+)' not found|missing tensor '(?P<other>[^']+)')"),
    _rule(
        "bad_regex",
        _MODEL + r"(?P<why>.*(?:regular expression|regex|Mismatched|The expression contained"
        r"|Unexpected (?:character|end|null|escape)|Invalid (?:escape|range|back|character class)).*)",
    ),
    _rule(
        "vram_oom_cuda", r"allocating (?P<mib>\d{1,12}(?:\.\d+)?) MiB on device (?P<device>\d{1,3}): cudaMalloc", _cuda
    ),
    _rule("vram_oom_cuda", r"(?:CUDA|ROCm|MUSA) error: out of memory", _allocation),
    _rule("vram_oom_vulkan", r"ggml_vulkan: Device memory allocation of size \d+ failed", _allocation),
    _rule("weights_oom", _MODEL + r"unable to allocate (?P<buffer>.+) buffer", _allocation),
    _rule("kv_oom", r"failed to allocate buffer for (?:kv|rs) cache", _allocation),
    _rule("compute_oom", r"failed to allocate compute (?:pp|tg)? ?buffers", _allocation),
    _rule("host_oom", r"ggml_aligned_malloc: insufficient memory", _allocation),
    _rule("host_oom", r"std::bad_alloc", _allocation),
    _rule("rpc_lost", r"Remote RPC server crashed or returned malformed response"),
    _rule("v_cache_needs_fa", r"quantized V cache (?:requires flash_attn|was requested, but this requires Flash)"),
    _rule("moe_cache_too_small", r"MoE cache is too small to hold the experts of one token"),
    _rule("engine_dll_missing", r"error while loading shared libraries: (?P<library>[^:\s]+): cannot open"),
    _rule("gpu_error", r"(?P<why>(?:CUDA|ROCm|MUSA|SYCL) error: .*|vk::\w*Error.*|.*ErrorDeviceLost.*)"),
    _rule("engine_broken", r"lanewise: cannot start (?P<path>.+): (?P<why>[^:]*)$"),
    _rule("model_load_failed", _MODEL + r"(?P<why>.+)"),
    _rule("context_failed", r"failed to initialize the context: (?P<why>.+)"),
    _rule("engine_aborted", r"(?P<why>GGML_ASSERT\(.*\) failed|GGML_ABORT.*)"),
    _rule("model_load_failed", r"(?P<why>exiting due to model loading error)"),
)

_WARNINGS: tuple[_Rule, ...] = (
    _rule("mlock_failed", r"failed to mlock (?P<n_bytes>\d{1,18})-byte buffer", lambda m, _: {"n_bytes": int(m[1])}),
    _rule("fit_gave_up_context_reduced", r"failed to fit params to free device memory: (?P<why>.*)"),
)

_WINDOWS_CODES = {
    0xC0000135: "engine_dll_missing",  # STATUS_DLL_NOT_FOUND
    0xC0000139: "engine_dll_wrong",  # STATUS_ENTRYPOINT_NOT_FOUND
    0xC000007B: "engine_dll_wrong",  # STATUS_INVALID_IMAGE_FORMAT
    0xC0000142: "engine_dll_wrong",  # STATUS_DLL_INIT_FAILED
    0xC000001D: "engine_cpu_unsupported",  # STATUS_ILLEGAL_INSTRUCTION
    0xC0000017: "host_oom",  # STATUS_NO_MEMORY
    0xC000012D: "host_oom",  # STATUS_COMMITMENT_LIMIT
    0xC0000005: "engine_crashed",  # STATUS_ACCESS_VIOLATION
    0xC00000FD: "engine_crashed",  # STATUS_STACK_OVERFLOW
    0xC0000374: "engine_crashed",  # STATUS_HEAP_CORRUPTION
    0xC0000409: "engine_aborted",  # STATUS_STACK_BUFFER_OVERRUN, what abort() gives
}
_SIGNALS = {
    4: "engine_cpu_unsupported",  # SIGILL
    6: "engine_aborted",  # SIGABRT
    7: "engine_crashed",  # SIGBUS
    8: "engine_crashed",  # SIGFPE
    9: "engine_killed",  # SIGKILL; unasked it is nearly always the system's out-of-memory killer
    11: "engine_crashed",  # SIGSEGV
}


def find_failure(lines: Iterable[str]) -> Problem | None:
    """The cause of a failure as far as the log alone tells it; None for the log of a good run."""
    return next(iter(_matches(_RULES, lines, Severity.ERROR, only_first=True)), None)


def find_warnings(lines: Iterable[str]) -> tuple[Problem, ...]:
    """Trouble that the engine lived with: memory that could not be locked, a context that fit made shorter."""
    return tuple(_matches(_WARNINGS, lines, Severity.WARNING, only_first=False))


def explain_exit(code: int | None, lines: Iterable[str]) -> Problem | None:
    """Why a server that nobody stopped ended. None for exit code 0.

    ``code`` as Python gives it: negative = signal on Linux; NTSTATUS values may come signed or unsigned; 128 + n is a
    shell's way to say signal n. The log's own words come first, then what the code means.
    """
    if code == 0:
        return None
    kept = list(lines)
    found = find_failure(kept)
    if found is not None and found.code != "engine_aborted":
        return found
    by_code = _code_of_exit(code)
    if found is not None and by_code in (None, "engine_aborted"):
        return found
    params: dict[str, ParamValue] = {"code": None if code is None else exit_code_text(code)}
    if by_code == "engine_dll_missing":
        params["library"] = None
    elif by_code == "host_oom":
        params |= {"device": "RAM", "n_bytes": None}
    elif by_code == "engine_aborted":
        params["why"] = None
    return Problem(by_code or "engine_exited", Severity.ERROR, params, _last_lines(kept))


def exit_code_text(code: int) -> str:
    """``0xC0000135`` for NTSTATUS values, ``signal 9`` for signals, else the number."""
    if code & 0xFFFFFFFF >= 0xC0000000 and (code > 0 or code < -0xFFFF):
        return f"0x{code & 0xFFFFFFFF:08X}"
    signal_number = _signal_of(code)
    return str(code) if signal_number is None else f"signal {signal_number}"


def _code_of_exit(code: int | None) -> str | None:
    if code is None:
        return None
    if (known := _WINDOWS_CODES.get(code & 0xFFFFFFFF)) is not None:
        return known
    signal_number = _signal_of(code)
    return None if signal_number is None else _SIGNALS.get(signal_number)


def _signal_of(code: int) -> int | None:
    if -64 <= code < 0:
        return -code
    return code - 128 if 128 < code <= 128 + 64 else None


def _matches(rules: Sequence[_Rule], lines: Iterable[str], severity: Severity, only_first: bool) -> list[Problem]:
    raw = list(lines)
    plain = [split_level(line[: 10 * _LONGEST_EVIDENCE])[1] for line in raw]
    problems = []
    for rule in rules:
        for i, text in enumerate(plain):
            match = rule.pattern.search(text)
            if match is None:
                continue
            params = dict(rule.build(match, plain))
            if rule.code == "missing_tensor":
                params = {"tensor": params["tensor"] or params["other"]}
            problems.append(Problem(rule.code, severity, params, _evidence(raw, i)))
            if only_first:
                return problems
            break
    return problems


def _evidence(raw: Sequence[str], index: int) -> tuple[str, ...]:
    """The decisive line, then the error lines around it."""
    errors = [line for line in raw if line != raw[index] and split_level(line[:_LONGEST_EVIDENCE])[0] == "E"]
    return tuple(_readable(line) for line in [raw[index], *errors][:_MOST_EVIDENCE])


def _last_lines(raw: Sequence[str]) -> tuple[str, ...]:
    return tuple(_readable(line) for line in raw[-_MOST_EVIDENCE:])


def _readable(line: str) -> str:
    """The line as it stands; a line of ``--log-jsonl`` as the text in it."""
    text = split_level(line)[1] if line.startswith('{"type"') else line
    return text[:_LONGEST_EVIDENCE]
