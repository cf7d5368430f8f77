"""llama-server's start-up log as facts.

The formats are those of b11434; each pattern names the engine's source line. Buffer sizes need ``-lv 4``, overrides
and layer homes need ``-lv 5``. The log has MiB with two decimals, so bytes made of them are right to about 5 KiB.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from app.common.units import MIB
from app.engine.line_shape import looks_for
from app.engine.log_decoding import LONGEST_LINE
from app.engine.loglines import split_level

RAM = "RAM"
"""Our name for host memory; the same word as the planner's."""


class BufferKind(StrEnum):
    """What a buffer holds. ``RECURRENT`` is the state of recurrent layers (the engine calls it RS); ``DRAFT`` anything
    of a draft model or of the context that runs the model's own MTP block."""

    WEIGHTS = "weights"
    KV = "kv"
    COMPUTE = "compute"
    OUTPUT = "output"
    RECURRENT = "rs"
    DRAFT = "draft"


@dataclass(frozen=True, slots=True)
class EngineBuffer:
    """One buffer that the engine allocated. ``buffer_name`` is the engine's, ``device`` ours (``RAM``, ``CUDA0``)."""

    kind: BufferKind
    buffer_name: str
    device: str
    n_bytes: int


@dataclass(frozen=True, slots=True)
class NewPass:
    """Loading begins; ``-fit on`` begins several times, only the last time in earnest (llama-model.cpp:1539)."""

    load_mode: str


@dataclass(frozen=True, slots=True)
class NewContext:
    """A context is made: what follows are its KV and compute buffers."""


@dataclass(frozen=True, slots=True)
class DeviceUsed:
    """A device that takes part, with its free memory just before loading (llama.cpp:306)."""

    name: str
    description: str
    free_bytes: int


@dataclass(frozen=True, slots=True)
class LayerHome:
    """Home device of a layer; ``layer`` == block count is the output layer (llama-model.cpp:1596)."""

    layer: int
    device: str
    sliding: bool


@dataclass(frozen=True, slots=True)
class OverrideConfirmed:
    """``-ot`` hit this tensor (llama-model-loader.cpp:1253)."""

    tensor: str
    buffer_name: str


@dataclass(frozen=True, slots=True)
class TensorsMoved:
    """Tensors that could not live where wanted; the engine names only the first (llama-model-loader.cpp:1404)."""

    first_tensor: str
    n_others: int
    wanted: str
    got: str


@dataclass(frozen=True, slots=True)
class BufferSize:
    """A buffer was allocated."""

    buffer: EngineBuffer


@dataclass(frozen=True, slots=True)
class GraphSplits:
    """Graph pieces per prompt batch and per generated token (llama-context.cpp:753)."""

    prompt: int
    decode: int


@dataclass(frozen=True, slots=True)
class ContextLength:
    """Tokens of context really in use; fit may have lowered what was asked for."""

    n_ctx: int


@dataclass(frozen=True, slots=True)
class FlashAttention:
    """What ``-fa auto`` came to."""

    enabled: bool


@dataclass(frozen=True, slots=True)
class ModelLoaded:
    """Weights are in place (server.cpp:498)."""


@dataclass(frozen=True, slots=True)
class Listening:
    """The address of the server (server.cpp:526)."""

    url: str


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """A line of level E, or a plain one that begins with ``error``."""

    text: str


LogFact = (
    NewPass
    | NewContext
    | DeviceUsed
    | LayerHome
    | OverrideConfirmed
    | TensorsMoved
    | BufferSize
    | GraphSplits
    | ContextLength
    | FlashAttention
    | ModelLoaded
    | Listening
    | ErrorLine
)

_RAM_BUFFERS = ("CPU", "AMX", "BLAS")


def device_of_buffer(buffer_name: str) -> str:
    """``RAM`` for every host buffer type, else the device's name without ``[host:port]`` and ``_Mapped``.

    Host: CPU, CPU_Mapped, CPU_REPACK and the other CPU_*, AMX, and the pinned ``*_Host`` (ggml-cuda.cu:1260).
    """
    if buffer_name.endswith("_Host") or buffer_name.split("_")[0] in _RAM_BUFFERS:
        return RAM
    name = buffer_name.split("[", 1)[0]
    return name.removesuffix("_Mapped").removesuffix("_Private")


def parse_log_line(line: str) -> LogFact | None:
    """The fact that a line states, or None. Never raises, whatever the line holds."""
    return fact_of(*split_level(line[:LONGEST_LINE]))


def fact_of(level: str | None, text: str) -> LogFact | None:
    """The fact of a line whose prefix has been taken off."""
    if not _may_state_a_fact(text):
        return ErrorLine(text) if level == "E" else None
    for needle, pattern, build in _FACTS:
        if needle in text and (match := pattern.search(text)) is not None:
            return build(match)
    if level == "E" or (level is None and text.startswith("error")):
        return ErrorLine(text)
    return None


def _buffer(kind: BufferKind) -> Callable[[re.Match[str]], BufferSize]:
    def build(match: re.Match[str]) -> BufferSize:
        name = match["name"]
        return BufferSize(EngineBuffer(kind, name, device_of_buffer(name), round(float(match["mib"]) * MIB)))

    return build


def _splits(match: re.Match[str]) -> GraphSplits:
    counts = [int(n) for n in match["splits"].split("/")]
    return GraphSplits(counts[0], counts[-1])


_SIZE = r"size =\s*(?P<mib>\d{1,12}(?:\.\d+)?) MiB"
_NAME = r".{0,200}?"
"""Of a buffer: bounded, since the words in front of it may stand in a line many times."""
_CONTEXT = r"(?:llama_context|llama_new_context_with_model|llama_init_from_model)"
"""Who speaks of the context: today, in builds of 2024, in ik_llama.cpp."""

_FACTS: tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str]], LogFact]], ...] = (
    (
        " buffer type overrid",  # ik_llama.cpp and older builds: "Tensor X buffer type overriden to CPU"
        re.compile(r"[Tt]ensor (?P<tensor>\S+)(?: \(\d+ MiB \S+\))? buffer type overridd?en to (?P<name>.+)$"),
        lambda m: OverrideConfirmed(m["tensor"], m["name"]),
    ),
    (
        "load_tensors: layer ",
        re.compile(r"load_tensors: layer\s+(?P<il>\d{1,6}) assigned to device (?P<device>\S+), is_swa = (?P<swa>[01])"),
        lambda m: LayerHome(int(m["il"]), m["device"], m["swa"] == "1"),
    ),
    (
        " buffer size",  # without "model" in builds before 2025 and in ik_llama.cpp
        re.compile(rf"load_tensors:\s*(?P<name>\S{_NAME})(?: model)? buffer {_SIZE}"),  # llama-model.cpp:1932
        _buffer(BufferKind.WEIGHTS),
    ),
    (
        " KV buffer size",
        re.compile(rf"llama_kv_cache\w*:\s*(?P<name>\S{_NAME}) KV buffer {_SIZE}"),  # llama-kv-cache.cpp:291
        _buffer(BufferKind.KV),
    ),
    (
        " RS buffer size",
        re.compile(
            rf"llama_memory_recurrent:\s*(?P<name>\S{_NAME}) RS buffer {_SIZE}"
        ),  # llama-memory-recurrent.cpp:124
        _buffer(BufferKind.RECURRENT),
    ),
    (
        " output buffer size",
        re.compile(rf"(?<!~){_CONTEXT}:\s*(?P<name>\S{_NAME})\s{{1,16}}output buffer {_SIZE}"),  # llama-context.cpp:383
        _buffer(BufferKind.OUTPUT),
    ),
    (
        " compute buffer size",
        re.compile(
            rf"(?:sched_reserve|(?<!~){_CONTEXT}):\s*(?P<name>\S{_NAME}) compute buffer {_SIZE}"
        ),  # llama-context.cpp:742
        _buffer(BufferKind.COMPUTE),
    ),
    (
        "sched_reserve: graph",
        re.compile(r"sched_reserve: graph.*: nodes = [\d /]+, splits = (?P<splits>\d{1,9}(?: / \d{1,9})?),"),
        _splits,
    ),
    (
        "load_tensors: loading model tensors",
        re.compile(r"load_tensors: loading model tensors, .*\((?:load_mode|mmap) = (?P<mode>[^)]+)\)"),
        lambda m: NewPass(m["mode"]),
    ),
    (
        "llama_context: constructing llama_context",
        re.compile(r"llama_context: constructing llama_context"),
        lambda m: NewContext(),
    ),
    (
        ": using device ",
        re.compile(r"using device (?P<name>\S+) \((?P<about>.*?)\)(?: \([^()]*\))? - (?P<free>\d{1,12}) MiB free"),
        lambda m: DeviceUsed(m["name"], m["about"], int(m["free"]) * MIB),
    ),
    (
        "cannot be used with preferred buffer type",
        re.compile(
            r"tensor '(?P<tensor>[^']+)' \([^)]+\) \(and (?P<n>\d{1,12}) others\) "
            r"cannot be used with preferred buffer type (?P<want>.+), using (?P<got>.+) instead"
        ),
        lambda m: TensorsMoved(m["tensor"], int(m["n"]), m["want"], m["got"]),
    ),
    (
        ": n_ctx ",
        re.compile(rf"{_CONTEXT}: n_ctx\s+= (?P<n>\d{{1,12}})"),
        lambda m: ContextLength(int(m["n"])),
    ),
    (
        "resolve_fused_ops: Flash Attention",
        re.compile(r"Flash Attention (?P<state>enabled|not supported)"),
        lambda m: FlashAttention(m["state"] == "enabled"),
    ),
    (": model loaded", re.compile(r"(?:llama_server|main): model loaded"), lambda m: ModelLoaded()),
    (
        " listening on http",
        re.compile(r"(?:llama_server:|server is) listening on (?P<url>http\S+)"),
        lambda m: Listening(m["url"]),
    ),
)

_may_state_a_fact = looks_for([*(needle for needle, _, _ in _FACTS), "error"])
