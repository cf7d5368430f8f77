"""Whether Windows has moved a card's pages into system memory: no error, and speed falls about tenfold. Pure.

The sign: the server's "Shared Usage" is above what it has a reason for (its pinned host buffers, and what it had at
rest) while the card's own memory is nearly full. Flat shared memory, or a card with room left, is something else.
"""

from __future__ import annotations

from app.common.units import MIB

LEAST_SPILL_BYTES = 256 * MIB
"""Smaller growth is staging memory of the driver."""
FULL_SHARE = 0.95


def spilled_bytes(
    shared_bytes: int | None,
    used_bytes: int | None,
    total_bytes: int | None,
    *,
    resting_bytes: int = 0,
    host_buffer_bytes: int = 0,
) -> int | None:
    """Bytes that left the card; 0 when none did, None when the figures do not tell.

    ``shared_bytes``: "Shared Usage" of the server's process now, ``resting_bytes`` before it loaded its model;
    ``host_buffer_bytes``: its pinned buffers in RAM (they count as shared too); ``used_bytes`` and ``total_bytes`` of
    the whole card.
    """
    if shared_bytes is None or used_bytes is None or not total_bytes:
        return None
    unexplained = shared_bytes - resting_bytes - host_buffer_bytes
    is_full = used_bytes >= FULL_SHARE * total_bytes
    return unexplained if is_full and unexplained >= LEAST_SPILL_BYTES else 0
