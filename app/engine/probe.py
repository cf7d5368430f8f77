"""Asks llama-server itself what a command line would allocate, without reading any weights.

``-fit on`` makes the loader do a trial load with nothing allocated and print the bytes per device; the process is
ended as soon as it has (0.2 - 0.9 s). The first table describes the given arguments unchanged, the number of outputs
and sliding caches included, and its compute figures equal the real run's.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from app.common.paths import AppPaths
from app.common.problem import Problem, ProblemError, fail
from app.common.units import MIB
from app.engine.child import Child, ChildSpec, iter_lines
from app.engine.environment import engine_environment
from app.engine.failure import explain_exit
from app.engine.launcher import launch_tool
from app.engine.locate import EngineBinary
from app.engine.logparse import RAM, device_of_buffer

_DEFAULT_TIMEOUT_S = 60.0
_KEPT_LINES = 500
_LAST_LINES_S = 2.0
_REPLACED = ("-fit", "--fit", "--port", "--host", "--log-file", "-lv", "--verbosity", "--log-verbosity")
_DROPPED = ("--log-jsonl", "--no-log-jsonl", "-v", "--verbose", "--log-verbose", "--log-disable", "--warmup")
_OURS = ("-fit", "on", "--log-jsonl", "--no-warmup", "--host", "127.0.0.1", "--port", "0")
_TELL_TENSORS = ("-lv", "5")
_ASKED_FLAGS = ("-fit", "--fit", "--log-jsonl", "--no-warmup")


_LOADS_IN_EARNEST = "fitting params to free memory took"
"""The end of the dry run: what follows reads weights."""


@dataclass(frozen=True, slots=True)
class DryRunDevice:
    """What one device would hold. Bytes are the engine's whole MiB (rounded down per figure).

    ``device``: CUDA0, RPC0..., ``RAM`` for host memory and everything else that lies there (CPU_REPACK is added in).
    ``kv_bytes`` holds recurrent state and the host's output buffer too: the engine calls the sum "context".
    ``total_bytes`` and ``free_bytes`` are None for RAM.
    """

    device: str
    total_bytes: int | None
    free_bytes: int | None
    weights_bytes: int
    kv_bytes: int
    compute_bytes: int


def dry_run(
    binary: EngineBinary,
    argv: Sequence[str],
    paths: AppPaths,
    timeout_s: float = _DEFAULT_TIMEOUT_S,
    on_line: Callable[[str], None] | None = None,
    on_draft: Callable[[tuple[DryRunDevice, ...]], None] | None = None,
) -> tuple[DryRunDevice, ...]:
    """The engine's own figures for this command line, devices in its order, RAM last.

    ``argv`` starts after the program's name; its ``-fit``, ``--port`` and logging options are replaced. ``on_line``
    gets every line up to the figures, homes and overrides of single tensors among them (``-lv 5``). ``on_draft`` gets
    the figures of a draft model or MTP context, which follow the model's (common/fit.cpp:206); it is not called when
    the engine has none.

    Raises ProblemError: the reason why the engine refuses it, ``engine_probe_unsupported`` (an old build),
    ``engine_probe_timeout``.
    """
    command = (binary.path, *dry_run_argv(argv), *(() if on_line is None else _TELL_TENSORS))
    try:
        child = launch_tool(ChildSpec(command, engine_environment(paths.engine_home), merge_output=False))
    except (OSError, ValueError) as error:  # ValueError: a word that no command line can carry
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise fail("engine_broken", path=binary.path, why=why) from error
    last_lines: deque[str] = deque(maxlen=_KEPT_LINES)

    def heard(line: str) -> None:
        last_lines.append(line)
        if on_line is not None:
            on_line(line)

    with _Output(child) as output:
        rows = _figures(output.until(time.monotonic() + timeout_s), heard, on_draft)
    if rows is not None:
        return rows
    if not output.is_over:
        raise fail("engine_probe_timeout", seconds=round(timeout_s))
    raise ProblemError(_reason(output.code, list(last_lines)))


def _figures(
    lines: Iterable[str],
    on_line: Callable[[str], None],
    on_draft: Callable[[tuple[DryRunDevice, ...]], None] | None,
) -> tuple[DryRunDevice, ...] | None:
    """The model's figures among the lines, those of a draft too where they are wanted; None: the lines end first."""
    rows: tuple[DryRunDevice, ...] | None = None
    for line in lines:
        found = parse_breakdown(line)
        if found is None:
            if rows is not None and _LOADS_IN_EARNEST in line:
                break
            on_line(line)
        elif rows is None:
            rows = found
            if on_draft is None:
                break
        elif on_draft is not None:
            on_draft(found)
            break
    return rows


def dry_run_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """A launch's arguments made into those of a dry run."""
    kept: list[str] = []
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word in _REPLACED:
            skip = True
        elif word not in _DROPPED:
            kept.append(word)
    return (*kept, *_OURS)


def parse_breakdown(line: str) -> tuple[DryRunDevice, ...] | None:
    """The devices of a ``fit_memory_breakdown`` line (common/log.h:140), or None for any other line."""
    if "fit_memory_breakdown" not in line:
        return None
    try:
        data = json.loads(line)
        if data["type"] != "fit_memory_breakdown":
            return None
        rows = [_device_row(row) for row in data["data"]["rows"]]
    except (ValueError, KeyError, TypeError):
        return None
    host = [row for row in rows if row.device == RAM]
    ram = DryRunDevice(
        RAM,
        None,
        None,
        sum(row.weights_bytes for row in host),
        sum(row.kv_bytes for row in host),
        sum(row.compute_bytes for row in host),
    )
    return (*(row for row in rows if row.device != RAM), ram)


def _device_row(row: Mapping[str, object]) -> DryRunDevice:
    """A row is of kind ``device``, ``host`` (named Host) or ``buffer_type`` (CPU_REPACK and the like)."""
    name = str(row["name"])
    is_host = row["kind"] == "host" or device_of_buffer(name) == RAM
    return DryRunDevice(
        device=RAM if is_host else device_of_buffer(name),
        total_bytes=None if is_host else _mib(row, "total"),
        free_bytes=None if is_host else _mib(row, "free"),
        weights_bytes=_mib(row, "model"),
        kv_bytes=_mib(row, "context"),
        compute_bytes=_mib(row, "compute"),
    )


def _mib(row: Mapping[str, object], key: str) -> int:
    value = row[key]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{key} is no number")
    return value * MIB


def _reason(code: int | None, lines: Sequence[str]) -> Problem:
    problem = explain_exit(code, lines)
    if problem is None:  # it ended well without the table: a build that has the flag but not the line
        return fail("engine_probe_unsupported", flag="--log-jsonl").problem
    if problem.code == "unknown_argument" and problem.params.get("argument") in _ASKED_FLAGS:
        return fail("engine_probe_unsupported", flag=problem.params["argument"]).problem
    return problem


class _Output:
    """All lines of both pipes as one stream; at the end of the ``with`` block the process is gone."""

    def __init__(self, child: Child) -> None:
        assert child.stderr is not None
        self._child = child
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), name="dry-run", daemon=True)
            for stream in (child.stdout, child.stderr)
        ]
        self.is_over = False
        self.code: int | None = None

    def __enter__(self) -> _Output:
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self.is_over:
            self._child.kill_tree()
        for reader in self._readers:  # what the program left behind in a session of its own may hold the pipe open
            reader.join(_LAST_LINES_S)
        self.code = self._child.reap()

    def until(self, deadline: float) -> Iterator[str]:
        """Lines as they come; ends when both pipes have ended (``is_over``) or the time is up."""
        open_pipes = len(self._readers)
        while open_pipes:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return
            if line is None:
                open_pipes -= 1
            else:
                yield line
        self.is_over = True

    def _read(self, stream: BinaryIO) -> None:
        with stream:
            for line in iter_lines(stream):
                self._lines.put(line)
        self._lines.put(None)
