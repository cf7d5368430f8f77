"""A child process on Windows: a Job Object that closes with us, affinity before the first instruction.

The program is created suspended, put into a kill-on-close job (its own children join it), given its affinity mask and
full speed ("efficiency mode" off, or Windows moves it to E-cores while our window is in the background), then resumed.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from typing import BinaryIO, cast

from app.engine import cpu_sets
from app.engine.child import ChildSpec

assert sys.platform == "win32"

from ctypes import wintypes  # noqa: E402  (does not import on other systems)

_CREATE_SUSPENDED = 0x4
_KILL_ON_JOB_CLOSE = 0x2000
_EXTENDED_LIMIT_INFORMATION = 9
_PROCESS_POWER_THROTTLING = 4
_THROTTLE_EXECUTION_SPEED = 0x1
_KILLED = 1
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


class _PowerThrottling(ctypes.Structure):
    _fields_ = (("version", wintypes.ULONG), ("control_mask", wintypes.ULONG), ("state_mask", wintypes.ULONG))


_kernel = ctypes.WinDLL("kernel32", use_last_error=True)
_ntdll = ctypes.WinDLL("ntdll")
_kernel.CreateJobObjectW.restype = wintypes.HANDLE
_kernel.CreateJobObjectW.argtypes = [ctypes.c_void_p, wintypes.LPCWSTR]
_kernel.SetInformationJobObject.argtypes = [wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD]
_kernel.AssignProcessToJobObject.argtypes = [wintypes.HANDLE, wintypes.HANDLE]
_kernel.TerminateJobObject.argtypes = [wintypes.HANDLE, wintypes.UINT]
_kernel.CloseHandle.argtypes = [wintypes.HANDLE]
_kernel.SetProcessAffinityMask.argtypes = [wintypes.HANDLE, ctypes.c_size_t]
_kernel.GetProcessAffinityMask.argtypes = [
    wintypes.HANDLE,
    ctypes.POINTER(ctypes.c_size_t),
    ctypes.POINTER(ctypes.c_size_t),
]
_ntdll.NtResumeProcess.argtypes = [wintypes.HANDLE]
_ntdll.NtResumeProcess.restype = ctypes.c_long


def _check(succeeded: int) -> None:
    if not succeeded:
        raise ctypes.WinError(ctypes.get_last_error())


class WindowsChild:
    """See ``app.engine.child.Child``."""

    def __init__(self, spec: ChildSpec) -> None:
        self._lock = threading.Lock()
        self._prefers = False
        self._job: int | None = _kill_on_close_job()
        try:
            self._process = subprocess.Popen(
                list(spec.argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if spec.merge_output else subprocess.PIPE,
                env=dict(spec.env),
                cwd=spec.cwd,
                creationflags=_CREATE_SUSPENDED | subprocess.CREATE_NO_WINDOW,
                bufsize=0,
            )
        except OSError:
            self._close_job()
            raise
        self.pid = self._process.pid
        self.stdout = cast("BinaryIO", self._process.stdout)
        self.stderr = cast("BinaryIO | None", self._process.stderr)
        try:
            self._prepare_and_resume(spec)
        except BaseException:
            self._process.kill()
            self._process.wait()
            self._close_job()
            raise

    @property
    def _handle(self) -> int:
        return int(self._process._handle)  # type: ignore[attr-defined]  # noqa: SLF001  the only way to a Popen's handle

    def _prepare_and_resume(self, spec: ChildSpec) -> None:
        assert self._job is not None
        _check(_kernel.AssignProcessToJobObject(self._job, self._handle))
        cpus = spec.cpus
        self._prefers = bool(cpus) and spec.prefers_cpus
        if self._prefers:
            cpu_sets.prefer(self._handle, cpus)  # refused: read back later too
        elif cpus and max(cpus) < _CPUS_PER_GROUP:
            # A refusal is no reason not to start: what the program really got is read back later.
            _kernel.SetProcessAffinityMask(self._handle, sum(1 << cpu for cpu in cpus))
        _full_speed(self._handle)
        if _ntdll.NtResumeProcess(self._handle) < 0:
            raise OSError("NtResumeProcess failed")

    def wait_exit(self) -> None:
        """Block until the program has ended."""
        self._process.wait()

    def reap(self) -> int:
        """End what is left of the job, free the handles, return the exit code."""
        self.kill_tree()
        code = self._process.wait()
        self._close_job()
        return code

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
        if self._prefers:
            return cpu_sets.preferred(self._handle)
        mask, system = ctypes.c_size_t(), ctypes.c_size_t()
        if not _kernel.GetProcessAffinityMask(self._handle, ctypes.byref(mask), ctypes.byref(system)):
            return None
        return tuple(cpu for cpu in range(_CPUS_PER_GROUP) if mask.value >> cpu & 1)

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


def _full_speed(handle: int) -> None:
    """Ask for no power throttling. Windows before 10 1709 has no such call; then there is nothing to switch off."""
    set_information = getattr(_kernel, "SetProcessInformation", None)
    if set_information is None:
        return
    set_information.argtypes = [wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD]
    state = _PowerThrottling(1, _THROTTLE_EXECUTION_SPEED, 0)
    set_information(handle, _PROCESS_POWER_THROTTLING, ctypes.byref(state), ctypes.sizeof(state))
