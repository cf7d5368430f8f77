"""Byte units and their text forms.

VRAM and RAM are binary (MiB, GiB), bandwidth is decimal (GB/s), as everywhere in Lanewise.
"""

from __future__ import annotations

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


def mib(n_bytes: float) -> float:
    """Bytes as MiB."""
    return n_bytes / MIB


def pad(n: int, multiple: int) -> int:
    """Round ``n`` up to a multiple, as ggml's GGML_PAD does (ggml/include/ggml.h)."""
    return (n + multiple - 1) // multiple * multiple


def size_text(n_bytes: float | None) -> str:
    """A size for people: '784 MiB', '17.3 GiB', '0.14 MiB'; unknown is an em dash."""
    if n_bytes is None:
        return "—"
    value = abs(n_bytes)
    if value >= 10 * GIB:
        return f"{n_bytes / GIB:.1f} GiB"
    if value >= 10 * MIB or value == 0:
        return f"{n_bytes / MIB:,.0f} MiB".replace(",", " ")
    if value >= MIB / 10:
        return f"{n_bytes / MIB:.1f} MiB"
    return f"{n_bytes / MIB:.2f} MiB"
