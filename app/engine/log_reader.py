"""The facts of one server's log, added up: the figures of the last loading pass."""

from __future__ import annotations

import re
from dataclasses import replace

from app.engine.loglines import CleanLine
from app.engine.logparse import (
    BufferKind,
    BufferSize,
    ContextLength,
    DeviceUsed,
    EngineBuffer,
    ErrorLine,
    FlashAttention,
    GraphSplits,
    LayerHome,
    Listening,
    LogFact,
    ModelLoaded,
    NewContext,
    NewPass,
    OverrideConfirmed,
    TensorsMoved,
    fact_of,
    parse_log_line,
)

_MOST_ERRORS = 200
_RPC_BUFFER = re.compile(r"^RPC(?P<index>\d+)\[(?P<endpoint>.+)\]$")


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
        fact = fact_of(line.level, line.text)
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
