"""How far loading has come, seen from outside: llama-server reports nothing while it reads the weights."""

from __future__ import annotations

import psutil  # type: ignore[import-untyped]  # ships no types


def bytes_touched(pid: int) -> int | None:
    """Bytes that the process has read from files or mapped into its memory, whichever is more; None when unknown.

    Reading (``-lm none``) shows in the I/O counters, mapping (``-lm mmap``) only in the resident size. Windows counts
    ``read_bytes`` for both kinds of read, Linux needs ``read_chars`` because the page cache serves most of it.
    """
    try:
        process = psutil.Process(pid)
        resident = int(process.memory_info().rss)
        counters = getattr(process, "io_counters", None)  # absent on macOS
        if counters is None:
            return resident
        io = counters()
        return max(resident, int(getattr(io, "read_chars", io.read_bytes)))
    except psutil.Error:
        return None
