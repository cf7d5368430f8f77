"""A child process on Windows: a Job Object that closes with us, affinity before the first instruction.

The program is created suspended inside a kill-on-close job (its own children join it), given its affinity mask and
full speed ("efficiency mode" off, or Windows moves it to E-cores while our window is in the background), then resumed.
"""

from __future__ import annotations

import ctypes
import sys
import threading

from app.engine import cpu_sets, power_throttling
from app.engine.child import ChildSpec

assert sys.platform == "win32"

from ctypes import wintypes  # noqa: E402  (does not import on other systems)

from app.engine._spawn_windows import spawn_suspended  # noqa: E402

_KILL_ON_JOB_CLOSE = 0x2000
_EXTENDED_LIMIT_INFORMATION = 9
_KILLED = 1
_FOR_EVER = 0xFFFFFFFF
_NOT_RESUMED = 0xFFFFFFFF
_CPUS_PER_GROUP = 64


class _BasicLimits(ctypes.Structure):
    _fields_ = (
        ("per_process_user_time_limit", ctypes.c_int64),
        ("per_job_user_time_limit", ctypes.c_int64),
        ("limit_flags", wintypes.DWORD),
        ("minimum_working_set_size", ctypes.c_size_t),
        ("maximum_working_set_size", ctypes.c_size_t),
        ("active_process_limit", wintypes.DWORD),
        ("affinity", ctypes.c_size_t),
        ("priority_class", wintypes.DWORD),
        ("scheduling_class", wintypes.DWORD),
    )


class _ExtendedLimits(ctypes.Structure):
    _fields_ = (
        ("basic", _BasicLimits),
        ("io_info", ctypes.c_uint64 * 6),
        ("process_memory_limit", ctypes.c_size_t),
        ("job_memory_limit", ctypes.c_size_t),
        ("peak_process_memory_used", ctypes.c_size_t),
        ("peak_job_memory_used", ctypes.c_size_t),
    )


_kernel = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel.CreateJobObjectW.restype = wintypes.HANDLE
_kernel.CreateJobObjectW.argtypes = [ctypes.c_void_p, wintypes.LPCWSTR]
_kernel.SetInformationJobObject.argtypes = [wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD]
_kernel.TerminateJobObject.argtypes = [wintypes.HANDLE, wintypes.UINT]
_kernel.CloseHandle.argtypes = [wintypes.HANDLE]
_kernel.SetProcessAffinityMask.argtypes = [wintypes.HANDLE, ctypes.c_size_t]
_kernel.GetProcessAffinityMask.argtypes = [
    wintypes.HANDLE,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
]
_kernel.ResumeThread.argtypes = [wintypes.HANDLE]
_kernel.ResumeThread.restype = wintypes.DWORD
_kernel.WaitForSingleObject.argtypes = [wintypes.HANDLE, wintypes.DWORD]
_kernel.GetExitCodeProcess.argtypes = [wintypes.HANDLE, ctypes.POINTER(wintypes.DWORD)]


def _check(succeeded: int) -> None:
    if not succeeded:
        raise ctypes.WinError(ctypes.get_last_error())


class WindowsChild:
    """See ``app.engine.child.Child``."""

    def __init__(self, spec: ChildSpec) -> None:
        self._lock = threading.Lock()
        self._prefers = bool(spec.cpus) and spec.prefers_cpus
        self._code: int | None = None
        self._job: int | None = _kill_on_close_job()
        try:
            made = spawn_suspended(spec.argv, spec.env, spec.cwd, self._job, spec.merge_output)
        except BaseException:
            self._close_job()
            raise
        self.pid, self.stdout, self.stderr = made.pid, made.stdout, made.stderr
        self._handle: int | None = made.process
        try:
            self._prepare(spec, made.process)
            if _kernel.ResumeThread(made.thread) == _NOT_RESUMED:
                raise ctypes.WinError(ctypes.get_last_error())
        except BaseException:
            self.reap()
            for stream in (self.stdout, self.stderr):
                if stream is not None:
                    stream.close()
            raise
        finally:
            _kernel.CloseHandle(made.thread)

    def _prepare(self, spec: ChildSpec, handle: int) -> None:
        """A refusal is no reason not to start: what the program really got is read back later."""
        if self._prefers:
            cpu_sets.prefer(handle, spec.cpus)
        elif spec.cpus and max(spec.cpus) < _CPUS_PER_GROUP:
            _kernel.SetProcessAffinityMask(handle, sum(1 << cpu for cpu in spec.cpus))
        if not spec.may_be_slowed:
            power_throttling.ask_full_speed(handle)

    def wait_exit(self) -> None:
        """Block until the program has ended."""
        handle = self._handle
        if handle is not None:
            _kernel.WaitForSingleObject(handle, _FOR_EVER)

    def reap(self) -> int:
        """End what is left of the job, free the handles, return the exit code."""
        self.kill_tree()
        self.wait_exit()
        with self._lock:
            if self._handle is not None:
                code = wintypes.DWORD()
                _kernel.GetExitCodeProcess(self._handle, ctypes.byref(code))
                self._code = code.value
                _kernel.CloseHandle(self._handle)
                self._handle = None
        self._close_job()
        assert self._code is not None
        return self._code

    def terminate(self) -> None:
        """A program without a window gets neither WM_CLOSE nor CTRL_BREAK, and the server has nothing to lose."""
        self.kill_tree()

    def kill_tree(self) -> None:
        """End every process of the job."""
        with self._lock:
            if self._job is not None:
                _kernel.TerminateJobObject(self._job, _KILLED)

    def affinity(self) -> tuple[int, ...] | None:
        """Read back from Windows; only CPUs 0-63, one processor group. Of preferred CPUs those that it should use."""
        with self._lock:
            if self._handle is None:
                return None
            if self._prefers:
                return cpu_sets.preferred(self._handle)
            mask, system = ctypes.c_size_t(), ctypes.c_size_t()
            if not _kernel.GetProcessAffinityMask(self._handle, ctypes.byref(mask), ctypes.byref(system)):
                return None
        # Windows answers 0 for a program whose threads run in several processor groups.
        return tuple(cpu for cpu in range(_CPUS_PER_GROUP) if mask.value >> cpu & 1) or None

    def full_speed(self) -> bool | None:
        """Read back from Windows: is "efficiency mode" switched off for it?"""
        with self._lock:
            return None if self._handle is None else power_throttling.full_speed(self._handle)

    def _close_job(self) -> None:
        with self._lock:
            if self._job is not None:
                _kernel.CloseHandle(self._job)
                self._job = None


def _kill_on_close_job() -> int:
    job = _kernel.CreateJobObjectW(None, None)
    _check(job)
    limits = _ExtendedLimits()
    limits.basic.limit_flags = _KILL_ON_JOB_CLOSE
    _check(
        _kernel.SetInformationJobObject(job, _EXTENDED_LIMIT_INFORMATION, ctypes.byref(limits), ctypes.sizeof(limits))
    )
    return int(job)
