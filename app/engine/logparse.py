"""llama-server's start-up log as facts.

The formats are those of b11434; each pattern names the engine's source line. Buffer sizes need ``-lv 4``, overrides
and layer homes need ``-lv 5``. The log has MiB with two decimals, so bytes made of them are right to about 5 KiB.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from app.common.units import MIB
from app.engine.line_shape import looks_for
from app.engine.log_decoding import LONGEST_LINE
from app.engine.loglines import CleanLine, split_level

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

_RPC_BUFFER = re.compile(r"^RPC(?P<index>\d+)\[(?P<endpoint>.+)\]$")
_RAM_BUFFERS = ("CPU", "AMX", "BLAS")
_MOST_ERRORS = 200


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
    return _fact_of(*split_level(line[:LONGEST_LINE]))


def _fact_of(level: str | None, text: str) -> LogFact | None:
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


class LogReader:
    """Collects the facts of one server's log; the figures are those of the last loading pass of the model itself.

    Every ``NewPass`` forgets the figures of the pass before: with ``-fit on`` and ``-lv 5`` the trial passes print the
    same lines with empty buffers. A pass after one that loaded weights is a draft model's, and a second context of the
    same pass the MTP block's: their buffers are ``DRAFT``. Compute buffers that are reserved again replace those
    before; KV buffers add up (a model with sliding layers has two caches).
    """

    def __init__(self) -> None:
        self.devices: dict[str, DeviceUsed] = {}
        self.errors: list[str] = []
        self.url: str | None = None
        self.is_loaded = False
        self._main: tuple[EngineBuffer, ...] = ()
        self._start_pass(None)

    def _start_pass(self, load_mode: str | None) -> None:
        self.load_mode = load_mode
        self.layer_homes: dict[int, str] = {}
        self.overrides: dict[str, str] = {}
        self.moved: list[TensorsMoved] = []
        self.splits: GraphSplits | None = None
        self.n_ctx: int | None = None
        self.flash_attention: bool | None = None
        self._n_contexts = 0
        self._added: list[EngineBuffer] = []
        self._compute: dict[tuple[int, BufferKind, str], EngineBuffer] = {}

    @property
    def buffers(self) -> tuple[EngineBuffer, ...]:
        """Every buffer of the model and of its draft, in the order of the log, with RPC devices under their own
        names."""
        found = self._of_this_pass()
        if self._main:
            found = (*self._main, *(replace(buffer, kind=BufferKind.DRAFT) for buffer in found))
        return tuple(self._with_device_name(buffer) for buffer in found)

    def _of_this_pass(self) -> tuple[EngineBuffer, ...]:
        compute = (
            replace(buffer, kind=BufferKind.DRAFT) if context > 1 else buffer
            for (context, _, _), buffer in self._compute.items()
        )
        return (*self._added, *compute)

    @property
    def has_weights(self) -> bool:
        """Did a pass load weights? A trial pass of ``-fit on`` reports 0.00 MiB for all of them."""
        return bool(self._main) or any(b.kind is BufferKind.WEIGHTS and b.n_bytes > 0 for b in self._added)

    def feed(self, line: str) -> LogFact | None:
        """Read one line; returns its fact, if it states one."""
        fact = parse_log_line(line)
        if fact is not None:
            self._take(fact)
        return fact

    def feed_clean(self, line: CleanLine) -> None:
        """Read one line that has been cleaned already."""
        fact = _fact_of(line.level, line.text)
        if fact is not None:
            self._take(fact)

    def _take(self, fact: LogFact) -> None:
        match fact:
            case NewPass():
                if not self._main and self.has_weights:
                    self._main = self._of_this_pass()
                self._start_pass(fact.load_mode)
            case NewContext():
                self._n_contexts += 1
            case DeviceUsed():
                self.devices[fact.name] = fact
            case LayerHome():
                self.layer_homes[fact.layer] = fact.device
            case OverrideConfirmed():
                self.overrides[fact.tensor] = fact.buffer_name
            case TensorsMoved():
                self.moved.append(fact)
            case BufferSize():
                self._take_buffer(fact.buffer)
            case GraphSplits():
                self.splits = fact
            case ContextLength():
                self.n_ctx = fact.n_ctx
            case FlashAttention():
                self.flash_attention = fact.enabled
            case ModelLoaded():
                self.is_loaded = True
            case Listening():
                self.url = fact.url
            case ErrorLine():
                if len(self.errors) < _MOST_ERRORS:
                    self.errors.append(fact.text)

    def _take_buffer(self, buffer: EngineBuffer) -> None:
        if buffer.kind in (BufferKind.COMPUTE, BufferKind.OUTPUT):
            self._compute[(self._n_contexts, buffer.kind, buffer.buffer_name)] = buffer
        elif self._n_contexts > 1:
            self._added.append(replace(buffer, kind=BufferKind.DRAFT))
        else:
            self._added.append(buffer)

    def _with_device_name(self, buffer: EngineBuffer) -> EngineBuffer:
        """With several RPC servers the number in ``RPC0[host:port]`` counts per server, not over all of them.

        ggml-rpc.cpp:1094 names the buffer after the server's own device number, :2355 the device after a global one;
        the endpoint, which is the device's description, tells which device is meant.
        """
        match = _RPC_BUFFER.match(buffer.buffer_name)
        if match is None:
            return buffer
        of_server = [d.name for d in self.devices.values() if d.description == match["endpoint"]]
        index = int(match["index"])
        if index >= len(of_server):
            return buffer
        return EngineBuffer(buffer.kind, buffer.buffer_name, of_server[index], buffer.n_bytes)
