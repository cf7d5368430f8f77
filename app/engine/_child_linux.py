"""A child process on Linux (and macOS, which has neither parent-death signals nor affinity).

The program is started through a few lines of Python that become the program (exec), so its pid is the child's pid:
they ask the kernel to kill it when our launcher thread ends, check that this has not already happened, and set the
affinity and memory limit before its first instruction. CPUs that the system refuses are only reported: what the
program really got is read back later. ``preexec_fn`` would do the same but may deadlock with threads.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from app.engine.child import ChildSpec

_SHIM = """
import ctypes, json, os, signal, sys
todo = json.loads(sys.argv[1])
command = sys.argv[2:]
if sys.platform == "linux":
    if ctypes.CDLL(None, use_errno=True).prctl(1, int(signal.SIGKILL), 0, 0, 0) != 0:
        sys.exit("lanewise: prctl failed")
    if os.getppid() != todo["parent"]:
        sys.exit("lanewise: the parent is gone")
    if todo["cpus"]:
        try:
            os.sched_setaffinity(0, todo["cpus"])
        except OSError as error:
            print("lanewise: these CPUs cannot be used: %s" % error.strerror, file=sys.stderr, flush=True)
if todo["address_space"]:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (todo["address_space"], todo["address_space"]))
signal.signal(signal.SIGPIPE, signal.SIG_IGN if todo["ignores_sigpipe"] else signal.SIG_DFL)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
try:
    os.execv(command[0], command)
except OSError as error:
    sys.exit("lanewise: cannot start %s: %s" % (command[0], error.strerror))
"""


class LinuxChild:
    """See ``app.engine.child.Child``. Must be made by a thread that lives as long as the application."""

    def __init__(self, spec: ChildSpec) -> None:
        todo = {
            "parent": os.getpid(),
            "cpus": list(spec.cpus),
            "address_space": spec.address_space_bytes,
            "ignores_sigpipe": spec.ignores_sigpipe,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _SHIM, json.dumps(todo), *spec.argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if spec.merge_output else subprocess.PIPE,
            env=dict(spec.env),
            cwd=spec.cwd,
            start_new_session=True,
            bufsize=0,
        )
        self.pid = self._process.pid
        self.stdout = cast("BinaryIO", self._process.stdout)
        self.stderr = cast("BinaryIO | None", self._process.stderr)
        self._lock = threading.Lock()
        self._is_reaped = False

    def wait_exit(self) -> None:
        """Block until the program has ended; it stays a zombie, so its pid cannot become another's meanwhile."""
        if sys.platform != "linux":
            self._process.wait()
            return
        try:
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            return  # reaped already

    def reap(self) -> int:
        """Kill what is left of the group, collect the exit code, forget the pid."""
        with self._lock:
            if not self._is_reaped:
                self._signal_group(signal.SIGKILL)
                self._process.wait()
                self._is_reaped = True
        return self._process.returncode

    def terminate(self) -> None:
        """SIGTERM to the program alone; it ends its own children."""
        with self._lock:
            if not self._is_reaped:
                self._process.terminate()

    def kill_tree(self) -> None:
        """SIGKILL to the whole process group and to descendants in groups of their own (ninja gives each compiler
        one)."""
        with self._lock:
            if not self._is_reaped:
                others = _descendants(self.pid)
                self._signal_group(signal.SIGKILL)
                for pid in others:
                    with suppress(OSError):
                        os.kill(pid, signal.SIGKILL)

    def affinity(self) -> tuple[int, ...] | None:
        """Read back from the kernel."""
        if sys.platform != "linux":
            return None
        with self._lock:
            if self._is_reaped:
                return None
            try:
                return tuple(sorted(os.sched_getaffinity(self.pid)))
            except ProcessLookupError:
                return None

    def full_speed(self) -> bool | None:
        """Linux slows no program down for being in the background, and has nothing to tell of it."""
        return None

    def _signal_group(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return  # nothing left of the group; macOS answers EPERM for a group of zombies


def _descendants(pid: int) -> list[int]:
    """All that the program has started and that still runs; must be asked before its parents are killed. Empty where
    there is no /proc."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            # "pid (name) state ppid ...": the name may hold blanks and brackets
            parent = int(stat.read_bytes().rpartition(b")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found[1:]
