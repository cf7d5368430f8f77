"""Gathers what the doctor is told about this system at this moment."""

from __future__ import annotations

import getpass
import sys

import psutil  # type: ignore[import-untyped]  # ships no types

from app.diagnose.doctor.types import MachineState


def machine_state() -> MachineState:
    """Free RAM, swap and the lock limit now; what the system does not tell is None."""
    try:
        available: int | None = int(psutil.virtual_memory().available)
        swap = psutil.swap_memory()
        used, total = int(swap.used), int(swap.total)
    except (OSError, RuntimeError, ValueError):  # a container without /proc, a counter that is switched off
        return MachineState(memlock_limit_bytes=_memlock_limit())
    return MachineState(available, used, total, None, _memlock_limit())


def user_names() -> tuple[str, ...]:
    """How this user is called: hidden in reports."""
    try:
        return (getpass.getuser(),)
    except (KeyError, OSError, ImportError):  # a user number without a name
        return ()


def _memlock_limit() -> int | None:
    """RLIMIT_MEMLOCK of this process, which its children inherit; None without a limit or on Windows."""
    if sys.platform == "win32":
        return None
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return None if soft == resource.RLIM_INFINITY else int(soft)
