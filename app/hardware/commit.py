"""What the system can still promise of memory (commit charge), where it keeps to a limit. Free RAM is another figure.

Windows always does: RAM and page files together (GlobalMemoryStatusEx, ullAvailPageFile); what graphics cards hold is
promised too, since WDDM may have to move it out to RAM. Linux does with ``vm.overcommit_memory`` 2 alone
(Documentation/mm/overcommit-accounting: CommitLimit, Committed_AS).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from app.hardware.sysfs import read_text

_LINE = re.compile(r"^(CommitLimit|Committed_AS):\s+(\d+) kB$", re.MULTILINE)
_STRICT = "2"


def commit_free_bytes(root: Path = Path("/")) -> int | None:
    """Bytes that can still be promised; None without a limit. Raises OSError where Windows does not answer."""
    if sys.platform == "win32":
        return _ask_windows()
    policy = read_text(root / "proc/sys/vm/overcommit_memory")
    return parse_commit(policy or "", read_text(root / "proc/meminfo") or "")


def parse_commit(policy: str, meminfo: str) -> int | None:
    """What is left of Linux's limit; None where the policy promises without one."""
    if policy.strip() != _STRICT:
        return None
    found = {name: int(kib) * 1024 for name, kib in _LINE.findall(meminfo)}
    if len(found) < 2:
        return None
    return max(0, found["CommitLimit"] - found["Committed_AS"])


def _ask_windows() -> int:
    """ullAvailPageFile of MEMORYSTATUSEX."""
    if sys.platform == "win32":
        import ctypes
        from ctypes import wintypes

        class Status(ctypes.Structure):
            """MEMORYSTATUSEX."""

            _fields_ = [
                ("dwLength", wintypes.DWORD),
                ("dwMemoryLoad", wintypes.DWORD),
                ("ullTotalPhys", ctypes.c_uint64),
                ("ullAvailPhys", ctypes.c_uint64),
                ("ullTotalPageFile", ctypes.c_uint64),
                ("ullAvailPageFile", ctypes.c_uint64),
                ("ullTotalVirtual", ctypes.c_uint64),
                ("ullAvailVirtual", ctypes.c_uint64),
                ("ullAvailExtendedVirtual", ctypes.c_uint64),
            ]

        status = Status(dwLength=ctypes.sizeof(Status))
        call = ctypes.WinDLL("kernel32", use_last_error=True).GlobalMemoryStatusEx
        call.argtypes = [ctypes.POINTER(Status)]
        call.restype = wintypes.BOOL
        if not call(ctypes.byref(status)):
            raise ctypes.WinError(ctypes.get_last_error())
        return int(status.ullAvailPageFile)
    raise OSError("not Windows")
