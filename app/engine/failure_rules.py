"""The failure table: what llama-server and its relatives print when they fail -> code and parameters. Pure.

In each group the most telling code stands first: within one cascade of messages (a cause and what follows from it) the
earlier rule wins. Wordings are those of b11434, of mainline builds since 2023, of ik_llama.cpp, of the GPU runtimes and
of the programs that wrap llama.cpp (ollama, LM Studio, koboldcpp); the source stands beside what is the engine's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from app.engine.failure_readers import (
    Cascade,
    Params,
    allocation,
    buffer_types,
    host_allocation,
    listening_port,
    named_tensor,
    vram_allocation,
)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


Build = Callable[[re.Match[str], Cascade], Params]


@dataclass(frozen=True, slots=True)
class Rule:
    """``while_running``: it is a failure also after the server has been ready; else readiness proves it harmless."""

    code: str
    text: str
    build: Build
    while_running: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        """Compiled when it is needed first: the window starts without it."""
        return _compiled(self.text)


def rule(code: str, pattern: str, build: Build | None = None, *, running: bool = False) -> Rule:
    """A line of a table; without ``build`` the pattern's named groups are the parameters."""
    return Rule(code, pattern, build or (lambda match, cascade: match.groupdict()), running)


_WHY = r"(?P<why>.+)"
_MODEL = r"error loading model: "
_NO_COLON = r"(?:[^:]|:(?! ))*"
"""Patterns look at lines of up to a thousand characters that anybody may have written. One that may begin anywhere and
then run to the end takes the square of that: such a pattern begins where a word or a line does, or ends at a mark."""

ARGUMENTS: tuple[Rule, ...] = (
    rule("unknown_buffer_type", r'error while handling argument "[^"]+": unknown buffer type', buffer_types),
    rule(
        "bad_argument_value",
        r'error while handling (?:argument|environment variable) "(?P<argument>[^"]+)": ' + _WHY,
    ),
    rule("bad_argument_value", r"error: invalid parameter for argument: (?P<argument>\S+)(?P<why>)"),
    rule("unknown_argument", r"error: (?:invalid|unknown) argument: (?P<argument>\S+)"),
    rule("unknown_argument", r"unrecognized arguments?: (?P<argument>\S+)"),
)
"""common/arg.cpp:960-1080; ``error: unknown argument`` is ik_llama.cpp and builds before 2024."""

NETWORK: tuple[Rule, ...] = (
    rule(
        "port_forbidden",
        r"forbidden by its access permissions|\[?WinError 10013\]?|bind: permission denied|WSAEACCES",
        listening_port,
        running=True,
    ),
    rule(
        "port_in_use",
        r"couldn't bind (?:HTTP server|to server) socket[,:] hostname[:=] ?(?P<host>[^\s,]+),?"
        r" port[:=] ?(?P<port>\d{1,5})",
        listening_port,
        running=True,
    ),
    rule(
        "port_in_use",
        r"[Aa]ddress already in use|Only one usage of each socket address|Errno 98|WinError 10048|EADDRINUSE",
        listening_port,
        running=True,
    ),
    rule("rpc_unreachable", r"Failed to connect to (?P<endpoint>\S+)"),
    rule("rpc_unreachable", r"RPC handshake failed for (?P<endpoint>\S+)"),
    rule("rpc_lost", r"Remote RPC server crashed or returned malformed response", running=True),
)

FILES: tuple[Rule, ...] = (
    rule("unknown_arch", _MODEL + r".*unknown (?:model )?architecture:? '(?P<architecture>[^']+)'"),
    rule("unknown_arch", r"(?:unknown|unsupported) (?:model )?architecture:? ['\"](?P<architecture>[^'\"]+)['\"]"),
    rule("split_part_missing", _MODEL + r".*failed to load GGUF split from (?P<path>.+)"),
    rule("split_part_missing", _MODEL + r".*(?P<path>illegal split file.*|invalid split (?:file|count).*)"),
    rule(
        "file_denied", r"failed to open GGUF file '(?P<path>.+)' \((?P<why>Permission denied|Access is denied)[^)]*\)"
    ),
    rule("file_missing", r"failed to open GGUF file '(?P<path>.+)' \((?P<why>[^)]*)\)"),
    rule("file_denied", r"failed to open '?(?P<path>[^']+?\.gguf)'?: (?P<why>Permission denied|Access is denied)"),
    rule(
        "file_missing", r"failed to open '?(?P<path>[^']+?\.gguf)'?: (?P<why>No such file or directory|.*cannot find.*)"
    ),
    rule(
        "file_missing", r"unable to (?:find|open) (?:the )?(?:model|file)[: '\"]+(?P<path>[^'\"]+\.gguf)['\"]?(?P<why>)"
    ),
    rule("bad_magic", r"invalid magic (?:characters: '?|number[: ]+)(?P<found>[^',]*)'?"),
    rule("file_truncated", r"tensor '(?P<tensor>[^']+)' data is not within the file bounds", named_tensor),
    rule("file_truncated", r"tensor '?(?P<tensor>[^' ]+)'? (?:data )?(?:is )?out of (?:file )?bounds", named_tensor),
    rule(
        "file_truncated",
        _MODEL + r".*(?:corrupted model|corrupted or incomplete|unexpectedly reached end of file|read error)",
        named_tensor,
    ),
    rule("file_truncated", r"failed to read (?:magic|header|key-value pairs|tensor info|tensor data)", named_tensor),
    rule("file_truncated", r"unexpectedly reached end of file|bad_alloc error while reading", named_tensor),
    rule("engine_too_old", _MODEL + r".*(?P<why>key not found in model: .*)"),
    rule("engine_too_old", r"(?P<why>unknown pre-tokenizer type: .*|unknown tokenizer: .*)"),
    rule("engine_too_old", r"(?P<why>(?:has )?invalid ggml type \d+.*|unknown (?:ggml )?type \d+.*)"),
    rule("engine_too_old", r"(?P<why>wrong number of tensors; expected \d+, got \d+)"),
    rule(
        "missing_tensor",
        _MODEL + r".*(?:tensor '(?P<tensor>[^']+)' not found|missing tensor '(?P<other>[^']+)')",
        named_tensor,
    ),
    rule(
        "bad_regex",
        _MODEL + r"(?P<why>.*(?:regular expression|regex|Mismatched|The expression contained"
        r"|Unexpected (?:character|end|null|escape)|Invalid (?:escape|range|back|character class)).*)",
    ),
)

MEMORY: tuple[Rule, ...] = (
    rule(
        "vram_oom_cuda",
        r"allocating \d{1,12}(?:\.\d+)? MiB on device \d{1,3}: (?:cuda|hip|musa)Malloc\w*",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_cuda",
        r"(?:CUDA|ROCm|MUSA|HIP) error(?: \d+ at [^:]{1,260}(?::\d+)?)?: out of memory",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_cuda",
        r"(?:CUDA|ROCm|MUSA|HIP|CUBLAS|cuBLAS) (?:error|status).*(?:shared object initialization failed|ALLOC_FAILED"
        r"|resource allocation failed|NOT_INITIALIZED|library was not initialized)",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_cuda",
        r"cudaMalloc\w* failed|hipMalloc\w* failed|cudaErrorMemoryAllocation|hipErrorOutOfMemory|CUDA out of memory",
        vram_allocation,
        running=True,
    ),
    rule("vram_oom_cuda", r"cuMemCreate|cuMemAddressReserve.*out of memory", vram_allocation, running=True),
    rule(
        "vram_oom_vulkan",
        r"ggml_vulkan: (?:Device m|M)emory allocation of size \d+ failed",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_vulkan",
        r"(?:Error)?OutOfDeviceMemory(?:Error)?\b|VK_ERROR_OUT_OF_DEVICE_MEMORY"
        r"|exceeds device (?:buffer size|memory allocation) limit",
        vram_allocation,
        running=True,
    ),
    rule(
        "vram_oom_device",
        r"aclrtMalloc failed|UR_RESULT_ERROR_OUT_OF_(?:DEVICE_MEMORY|RESOURCES)|ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"
        r"|PI_ERROR_OUT_OF_RESOURCES|kIOGPUCommandBufferCallbackErrorOutOfMemory"
        r"|can't allocate \d+ Bytes of memory on device"
        r"|CL_(?:MEM_OBJECT_ALLOCATION_FAILURE|OUT_OF_RESOURCES)|ggml_metal\S*: (?:error: )?failed to allocate"
        r"|Metal buffer of \d+ bytes \(out of memory\)",
        vram_allocation,
        running=True,
    ),
    rule("weights_oom", _MODEL + r".*unable to allocate (?P<buffer>.+?) buffer", allocation),
    rule("weights_oom", r"alloc_tensor_range: failed to (?:allocate|initialize) ", allocation),
    rule("kv_oom", r"failed to allocate buffer for (?:kv|rs) cache|llama_kv_cache_init\(\) failed", allocation),
    rule("kv_oom", r"failed to allocate buffer for DSV4", allocation),
    rule("compute_oom", r"failed to allocate compute (?:pp|tg)? ?buffers?", allocation),
    rule(
        "commit_limit",
        r"paging file is too small|[Ww]in(?:dows )?[Ee]rror 1455|os error 1455|ERROR_COMMITMENT_LIMIT"
        r"|页面文件太小",
        host_allocation,
        running=True,
    ),
    rule("host_oom", r"ggml_aligned_malloc: insufficient memory", host_allocation, running=True),
    rule("host_oom", r"requires more system memory \((?P<gib>\d{1,5}(?:\.\d+)?) GiB\)", host_allocation),
    rule(
        "host_oom",
        r"insufficient system resources|[Nn]ot enough memory resources|ErrorOutOfHostMemory",
        host_allocation,
        running=True,
    ),
    rule(
        "host_oom",
        r"(?:mmap|MapViewOfFile\w*|posix_memalign|calloc|malloc) failed.*(?:Cannot allocate|Not enough|error 12|$)",
        host_allocation,
    ),
    rule("host_oom", r"std::bad_alloc|bad allocation|Cannot allocate memory$", host_allocation, running=True),
    rule("host_oom", r"failed to allocate buffer of size \d+|failed to allocate \s*\d+\.\d+ MB$", host_allocation),
    rule(
        "v_cache_needs_fa",
        r"[Vv] cache (?:quantization )?(?:requires flash_attn|was requested, but this requires Flash)",
    ),
    rule("moe_cache_too_small", r"MoE cache is too small to hold the experts of one token"),
)
"""CUDA's own words for "no memory left" vary with the moment: a kernel that cannot be loaded is a shared object that
does not initialise, cuBLAS without room for its workspace is "not initialized" (ggml-cuda.cu:87-100)."""

PROGRAM: tuple[Rule, ...] = (
    rule(
        "engine_dll_missing",
        r"error while loading shared libraries: (?P<library>[^:\s]+): cannot open|Library not loaded: (?P<other>\S+)"
        r"|because (?P<third>\S+\.dll) was not found|(?P<fourth>(?<!\S)\S+\.dll)[^.]{0,20}(?:找不到|缺失)",
        lambda match, cascade: {"library": next((v for v in match.groups() if v), None)},
    ),
    rule(
        "engine_dll_wrong",
        r"(?P<code>symbol lookup error.*|version `[^']+' not found.*|undefined symbol: .*"
        r"|entry point .* could not be located.*)",
    ),
    rule("engine_cpu_unsupported", r"(?P<code>[Ii]llegal instruction)", running=True),
    rule(
        "engine_wrong_platform",
        r"(?:cannot execute(?: binary file)?: )?(?P<why>Exec format error|cannot execute binary file|WinError 193\b.*)",
    ),
    rule(
        "engine_blocked",
        r"(?P<why>WinError 22[56].*|contains a virus or potentially unwanted software.*"
        r"|blocked by your administrator.*)",
    ),
    rule(
        "engine_not_executable",
        r"lanewise: cannot start (?P<path>.+): (?P<why>Permission denied|" + _NO_COLON + r"[Aa]ccess is denied.*)$",
    ),
    rule("engine_not_executable", r"(?:^|: )(?P<path>\S*llama-server(?:\.exe)?): (?P<why>Permission denied)"),
    rule(
        "engine_removed",
        r"lanewise: cannot start (?P<path>.+): (?P<why>No such file or directory|"
        + _NO_COLON
        + r"cannot find the (?:file|path).*)$",
    ),
    rule(
        "engine_removed",
        r"(?:^|: )(?P<path>\S*llama-server(?:\.exe)?): (?P<why>command not found|No such file or directory|not found)",
    ),
    rule("engine_broken", r"lanewise: cannot start (?P<path>.+): (?P<why>[^:]*)$"),
    rule(
        "gpu_error",
        r"(?P<why>(?:CUDA|ROCm|MUSA|SYCL|HIP) error(?: \d+ at [^:]{1,260}(?::\d+)?)?: .*|vk::\w*Error.*"
        r"|(?<![^\n]).*ErrorDeviceLost.*|ggml_vulkan: device lost.*)",
        running=True,
    ),
    rule("gpu_error", r"(?P<why>command buffer \d+ failed with status \d+.*)", running=True),
)

FALLBACKS: tuple[Rule, ...] = (
    rule("model_load_failed", _MODEL + _WHY),
    rule("context_failed", r"failed to initialize the context: " + _WHY),
    rule("engine_aborted", r"(?P<why>GGML_ASSERT(?:\(.*\) failed|: .*)|GGML_ABORT.*)", running=True),
    rule("engine_crashed", r"(?P<code>Segmentation fault|segmentation violation|SIGSEGV|Bus error)", running=True),
    rule(
        "engine_killed",
        r"^(?P<code>Killed)$|(?P<code2>signal: killed|oom-kill|Out of memory: Killed process).*",
        lambda m, _: {"code": m["code"] or m["code2"]},
        running=True,
    ),
    rule("engine_aborted", r"terminate called after throwing an instance of '(?P<why>[^']+)'", running=True),
    rule("model_load_failed", r"(?P<why>exiting due to model loading error)"),
    rule(
        "model_load_failed",
        r"(?P<why>error: (?:failed to load|unable to load) model.*|Could not load (?:text )?model.*)",
    ),
)

RULES: tuple[Rule, ...] = (*ARGUMENTS, *NETWORK, *FILES, *MEMORY, *PROGRAM, *FALLBACKS)

GENERIC = frozenset({"model_load_failed", "context_failed", "engine_aborted"})
"""Codes that say little: anything more telling that stands in the same run is preferred."""
