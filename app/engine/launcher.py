"""The one thread that starts every child process.

Linux sends the parent-death signal when the *thread* that started the child ends, so a worker of a pool would take its
servers with it. This thread is made at the first start and lives as long as the application.
"""

from __future__ import annotations

import atexit
import sys
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from queue import SimpleQueue
from typing import BinaryIO

from app.engine.child import Child, ChildSpec
from app.engine.log_decoding import local_text

if sys.platform == "win32":
    from app.engine._child_windows import WindowsChild as SystemChild
else:
    from app.engine._child_linux import LinuxChild as SystemChild

_MOST_OUTPUT_BYTES = 8 * 1024 * 1024
_LAST_OUTPUT_S = 2.0
_CHUNK = 65536


class _Launcher:
    """Owns the thread and remembers the living children, to end them with the application on every system."""

    def __init__(self) -> None:
        self._wanted: SimpleQueue[tuple[ChildSpec, Future[Child]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._children: weakref.WeakSet[SystemChild] = weakref.WeakSet()
        self._tools: weakref.WeakSet[Child] = weakref.WeakSet()

    def launch(self, spec: ChildSpec) -> Child:
        """Start a child on the long-lived thread; raises OSError when the system refuses."""
        self._ensure_thread()
        started: Future[Child] = Future()
        self._wanted.put((spec, started))
        return started.result()

    def launch_tool(self, spec: ChildSpec) -> Child:
        """``launch``, and remember it for ``end_tools``."""
        child = self.launch(spec)
        with self._lock:
            self._tools.add(child)
        return child

    def end_tools(self) -> None:
        """End all of those at once."""
        with self._lock:
            tools = list(self._tools)
        for child in tools:
            child.kill_tree()

    def _ensure_thread(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, name="launcher", daemon=True)
                self._thread.start()
                atexit.register(self._end_all)

    def _serve(self) -> None:
        while True:
            spec, started = self._wanted.get()
            try:
                child = SystemChild(spec)
            except BaseException as error:
                started.set_exception(error)
            else:
                self._children.add(child)
                started.set_result(child)

    def _end_all(self) -> None:
        for child in list(self._children):
            child.kill_tree()


_launcher = _Launcher()


def launch(spec: ChildSpec) -> Child:
    """Start a program that ends with this process at the latest. Raises OSError when the system refuses."""
    return _launcher.launch(spec)


def launch_tool(spec: ChildSpec) -> Child:
    """``launch`` for a program that is asked something and whose answer nobody needs once the window has closed."""
    return _launcher.launch_tool(spec)


def end_tools() -> None:
    """End every such program at once: whoever waits for one gets what it has said so far."""
    _launcher.end_tools()


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a short-lived program printed. ``code`` is None when it was ended because its time was over."""

    code: int | None
    stdout: str
    stderr: str

    @property
    def lines(self) -> tuple[str, ...]:
        """Both outputs, stderr first: the order of importance for an explanation."""
        return (*self.stderr.splitlines(), *self.stdout.splitlines())


def run_tool(argv: Sequence[str], env: dict[str, str], timeout_s: float) -> ToolOutput:
    """Run a program to its end, at most ``timeout_s`` seconds, and give its output (the first 8 MiB of each stream)."""
    child = launch_tool(ChildSpec(tuple(argv), env, merge_output=False))
    assert child.stderr is not None
    outputs = _Collector(child.stdout), _Collector(child.stderr)
    waiter = threading.Thread(target=child.wait_exit, name="tool-exit", daemon=True)
    waiter.start()
    waiter.join(timeout_s)
    in_time = not waiter.is_alive()
    if not in_time:
        child.kill_tree()
        waiter.join()
    code = child.reap()
    out, err = (collector.text() for collector in outputs)
    return ToolOutput(code if in_time else None, out, err)


class _Collector:
    """Reads a pipe to its end on a thread of its own, so that the program never blocks on us."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._data = bytearray()
        self._thread = threading.Thread(target=self._read, name="tool-output", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with self._stream:
            while chunk := self._stream.read(_CHUNK):
                if len(self._data) < _MOST_OUTPUT_BYTES:
                    self._data += chunk

    def text(self) -> str:
        """Everything read, as UTF-8 or, line by line, in the code page of Windows' own messages.

        The program has ended; something that it left behind in a session of its own may hold the pipe open for ever.
        """
        self._thread.join(_LAST_OUTPUT_S)
        try:
            return self._data.decode("utf-8")
        except UnicodeDecodeError:
            return "\n".join(local_text(bytes(line)) for line in self._data.split(b"\n"))
