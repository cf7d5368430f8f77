"""Why an NVIDIA card does not run as fast as it could: the bits of NVML's clock event reasons, as words codes.

nvml.h "nvmlClocksEventReasons": idle, application clocks and sync boost are no trouble and are left out.
"""

from __future__ import annotations

POWER_CAP, SUPPLY, HEAT, HARDWARE = "power_cap", "supply", "heat", "hardware"
"""The set power limit; the supply or the board's limit; a temperature limit; a slowdown that names no cause."""

_CODES = ((4, POWER_CAP), (128 | 512, SUPPLY), (32 | 64, HEAT))
_SLOWDOWN = 8
"""Set together with the one that says why, where the driver knows it."""
TROUBLE = 4 | 8 | 32 | 64 | 128 | 512


def reasons_of(mask: float | None) -> tuple[str, ...]:
    """The codes of a mask, () for none and for one that nobody told."""
    bits = 0 if mask is None else int(mask)
    found = tuple(code for bit, code in _CODES if bits & bit)
    return found if HEAT in found or SUPPLY in found or not bits & _SLOWDOWN else (*found, HARDWARE)
