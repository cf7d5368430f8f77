"""What a list of memory modules says about channels and bandwidth: an estimate, and named as one. Pure.

The firmware does not tell channels. Populated modules are counted by the channel in their locator (the bank label on
AMD boards); soldered LPDDR, which shows up as 4 to 8 packages, by the width of its bus. The halves of a DDR5 module are
no extra channels, and a client processor has no more than 128 bits unless it is known to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.hardware.smbios import MemoryModule

CHANNEL_BITS = 64
_CHANNEL = re.compile(
    r"chan(?:nel)?[ _-]?([a-p0-9])(?![a-z0-9]{2})|\bch[ _-]?([a-p])(?=\d|\b|_)|(?:dimm|ddr\d)[ _-]?([a-p])(?=\d|\b)",
    re.I,
)
_CONTROLLER = re.compile(r"controller[ _-]?(\d+)", re.I)
_WIDE = ((re.compile(r"epyc|xeon|threadripper", re.I), None), (re.compile(r"ryzen ai max", re.I), 256))
_CLIENT_BITS = 128


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """The modules that a system's probe read, the source they came from (None: nothing tells), and the places."""

    modules: tuple[MemoryModule, ...]
    source: str | None
    slots: int | None = None


@dataclass(frozen=True, slots=True)
class ModuleSummary:
    """``channels_from``: locator, width, count; ``speed_from``: configured, rated. All None when nothing is known."""

    kind: str | None
    modules: int | None
    channels: int | None
    channels_from: str | None
    speed_mts: int | None
    speed_from: str | None
    is_soldered: bool | None = None


def summarise_modules(modules: tuple[MemoryModule, ...], cpu_name: str | None) -> ModuleSummary:
    """Kind, count, channels and speed of the populated modules. Mixed modules all run at the slowest one's speed."""
    filled = tuple(m for m in modules if m.is_populated)
    if not filled:
        return ModuleSummary(None, None, None, None, None, None)
    kinds = {m.kind for m in filled if m.kind}
    speed, speed_from = _speed(filled)
    # A virtual machine's firmware invents one module without speed or kind: no channels follow from it. The memory
    # controller's driver (EDAC) tells no speeds, but kinds and channels.
    is_real = speed is not None or bool(kinds)
    channels, channels_from = _channels(filled, bus_limit_bits(cpu_name)) if is_real else (None, None)
    kind = kinds.pop() if len(kinds) == 1 else None
    soldered = all(_is_soldered(m) for m in filled) if is_real else None
    return ModuleSummary(kind, len(filled), channels, channels_from, speed, speed_from, soldered)


def bus_limit_bits(cpu_name: str | None) -> int | None:
    """The widest memory bus to believe: 128 bits for client parts, 256 for Ryzen AI Max, None (any) for servers."""
    for pattern, bits in _WIDE:
        if cpu_name and pattern.search(cpu_name):
            return bits
    return _CLIENT_BITS


def theoretical_gbs(channels: int | None, speed_mts: int | None) -> float | None:
    """Peak bandwidth in decimal GB/s: channels x 8 bytes x MT/s."""
    if not channels or not speed_mts:
        return None
    return round(channels * CHANNEL_BITS / 8 * speed_mts / 1000, 1)


def _speed(modules: tuple[MemoryModule, ...]) -> tuple[int | None, str | None]:
    """The configured speed; the rated one only where the firmware gives no other."""
    configured = [m.configured_mts for m in modules if m.configured_mts]
    if configured:
        return min(configured), "configured"
    rated = [m.rated_mts for m in modules if m.rated_mts]
    return (min(rated), "rated") if rated else (None, None)


def _channels(modules: tuple[MemoryModule, ...], limit_bits: int | None) -> tuple[int, str]:
    most = None if limit_bits is None else limit_bits // CHANNEL_BITS
    named = {_channel_name(m) for m in modules}
    if any(_is_soldered(m) for m in modules):
        widths = [m.data_width_bits for m in modules]
        bits = sum(w for w in widths if w) if all(widths) else CHANNEL_BITS * len(modules)
        count, how = max(1, bits // CHANNEL_BITS), "width"
    elif None not in named:
        count, how = len(named), "locator"
    else:
        count, how = len(modules), "count"
    return (count if most is None else min(count, most)), how


def _is_soldered(module: MemoryModule) -> bool:
    return module.is_soldered or (module.kind or "").startswith("LPDDR")


def _channel_name(module: MemoryModule) -> tuple[str, str] | None:
    """(controller, channel) from the locator, else from the bank label; None when neither names a channel."""
    for text in (module.locator, module.bank):
        found = _CHANNEL.search(text)
        if found:
            controller = _CONTROLLER.search(text)
            return (controller.group(1) if controller else "", next(g for g in found.groups() if g).upper())
    return None
