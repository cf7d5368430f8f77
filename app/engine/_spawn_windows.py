"""Creates a Windows process that is a member of a job from the moment it exists, and stands still until resumed.

``subprocess`` can start a program and put it into a job afterwards; whoever is killed between the two leaves a
program behind that nobody ends. CreateProcess itself takes the job (PROC_THREAD_ATTRIBUTE_JOB_LIST, Windows 10).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

assert sys.platform == "win32"

import msvcrt  # noqa: E402  (does not import on other systems)
from ctypes import wintypes  # noqa: E402

_CREATE_SUSPENDED = 0x4
_CREATE_UNICODE_ENVIRONMENT = 0x400
_EXTENDED_STARTUPINFO_PRESENT = 0x80000
_HANDLE_LIST = 0x20002
_JOB_LIST = 0x2000D


class _StartupInfo(ctypes.Structure):
    """STARTUPINFOEXW."""

    _fields_ = (
        ("size", wintypes.DWORD),
        ("reserved", wintypes.LPWSTR),
        ("desktop", wintypes.LPWSTR),
        ("title", wintypes.LPWSTR),
        ("place_and_colours", wintypes.DWORD * 7),
        ("flags", wintypes.DWORD),
        ("show_window", wintypes.WORD),
        ("reserved_size", wintypes.WORD),
        ("reserved_bytes", ctypes.c_void_p),
        ("stdin", wintypes.HANDLE),
        ("stdout", wintypes.HANDLE),
        ("stderr", wintypes.HANDLE),
        ("attributes", ctypes.c_void_p),
    )


class _ProcessInformation(ctypes.Structure):
    _fields_ = (
        ("process", wintypes.HANDLE),
        ("thread", wintypes.HANDLE),
        ("process_id", wintypes.DWORD),
        ("thread_id", wintypes.DWORD),
    )


_kernel = ctypes.WinDLL("kernel32", use_last_error=True)
_kernel.CreateProcessW.argtypes = [
    wintypes.LPCWSTR,
    wintypes.LPWSTR,
    ctypes.c_void_p,
    ctypes.c_void_p,
    wintypes.BOOL,
    wintypes.DWORD,
    ctypes.c_void_p,
    wintypes.LPCWSTR,
    ctypes.c_void_p,
    ctypes.c_void_p,
]
_kernel.InitializeProcThreadAttributeList.argtypes = [
    ctypes.c_void_p,
    wintypes.DWORD,
    wintypes.DWORD,
    ctypes.POINTER(ctypes.c_size_t),
]
_kernel.UpdateProcThreadAttribute.argtypes = [
    ctypes.c_void_p,
    wintypes.DWORD,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_void_p,
]
_kernel.DeleteProcThreadAttributeList.argtypes = [ctypes.c_void_p]
_kernel.DeleteProcThreadAttributeList.restype = None


@dataclass(frozen=True, slots=True)
class Spawned:
    """A process that has not run yet. The two handles and the streams belong to the caller."""

    process: int
    thread: int
    pid: int
    stdout: BinaryIO
    stderr: BinaryIO | None


def spawn_suspended(
    argv: Sequence[str], env: Mapping[str, str], cwd: str | None, job: int, merge_output: bool
) -> Spawned:
    """Create the program inside ``job``, without a console window, with pipes as its outputs and nothing as its input.

    ``merge_output``: stderr goes into stdout. Raises OSError when Windows refuses.
    """
    with contextlib.ExitStack() as ours:  # what the child has inherited is closed here, whatever happens
        nothing = os.open(os.devnull, os.O_RDONLY)
        ours.callback(os.close, nothing)
        out_reader, out_writer = os.pipe()
        ours.callback(os.close, out_writer)
        stdout = os.fdopen(out_reader, "rb", 0)
        stderr: BinaryIO | None = None
        err_writer = out_writer
        try:
            if not merge_output:
                err_reader, err_writer = os.pipe()
                ours.callback(os.close, err_writer)
                stderr = os.fdopen(err_reader, "rb", 0)
            handles = [_inheritable(fd) for fd in (nothing, out_writer, err_writer)]
            made = _create(argv, env, cwd, job, handles)
        except BaseException:
            for stream in (stdout, stderr):
                if stream is not None:
                    stream.close()
            raise
    return Spawned(int(made.process), int(made.thread), int(made.process_id), stdout, stderr)


def _inheritable(fd: int) -> int:
    handle = msvcrt.get_osfhandle(fd)
    os.set_handle_inheritable(handle, True)
    return handle


def _create(
    argv: Sequence[str], env: Mapping[str, str], cwd: str | None, job: int, streams: Sequence[int]
) -> _ProcessInformation:
    inherited = dict.fromkeys(streams)  # Windows refuses a handle that is listed twice
    handles, jobs = (wintypes.HANDLE * len(inherited))(*inherited), (wintypes.HANDLE * 1)(job)
    flags = subprocess.STARTF_USESTDHANDLES
    startup = _StartupInfo(size=ctypes.sizeof(_StartupInfo), flags=flags)
    startup.stdin, startup.stdout, startup.stderr = streams
    made = _ProcessInformation()
    with contextlib.ExitStack() as attributes:
        memory = _attribute_list(2)
        attributes.callback(_kernel.DeleteProcThreadAttributeList, memory)
        for key, values in ((_HANDLE_LIST, handles), (_JOB_LIST, jobs)):
            size = ctypes.sizeof(values)
            _check(_kernel.UpdateProcThreadAttribute(memory, 0, key, ctypes.byref(values), size, None, None))
        startup.attributes = ctypes.addressof(memory)
        creation = subprocess.CREATE_NO_WINDOW | _CREATE_SUSPENDED
        creation |= _CREATE_UNICODE_ENVIRONMENT | _EXTENDED_STARTUPINFO_PRESENT
        command = ctypes.create_unicode_buffer(_without_nul(subprocess.list2cmdline(argv)))  # Windows writes into it
        block = _environment_block(env)
        made_it = _kernel.CreateProcessW(
            None, command, None, None, True, creation, block, cwd, ctypes.byref(startup), ctypes.byref(made)
        )
        _check(made_it)
    return made


def _attribute_list(count: int) -> ctypes.Array[ctypes.c_char]:
    size = ctypes.c_size_t()
    _kernel.InitializeProcThreadAttributeList(None, count, 0, ctypes.byref(size))  # tells the size, and "fails"
    memory = ctypes.create_string_buffer(size.value)
    _check(_kernel.InitializeProcThreadAttributeList(memory, count, 0, ctypes.byref(size)))
    return memory


def _environment_block(env: Mapping[str, str]) -> ctypes.Array[ctypes.c_wchar]:
    """NAME=value, each with its NUL, in alphabetical order, one more NUL at the end (CreateProcess)."""
    entries = sorted(env.items(), key=lambda entry: entry[0].upper())
    text = "".join(_without_nul(f"{name}={value}") + "\0" for name, value in entries)
    return ctypes.create_unicode_buffer(text + "\0")


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("a NUL character in a command or an environment variable")
    return text


def _check(succeeded: int) -> None:
    if not succeeded:
        raise ctypes.WinError(ctypes.get_last_error())
