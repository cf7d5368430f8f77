"""Memory slots and modules from the firmware's SMBIOS table (types 16, 17), for Windows (RSMB) and Linux (DMI). Pure.

Offsets: DMTF DSP0134, "Physical Memory Array (Type 16)" and "Memory Device (Type 17)"; the parser checks the
structure's length before every field, since older firmware writes shorter ones. Checked against dmidecode
(``--from-dump``) by a test.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from app.common.units import GIB, KIB, MIB

KINDS = {
    0x12: "DDR", 0x13: "DDR2", 0x18: "DDR3", 0x1A: "DDR4", 0x1B: "LPDDR", 0x1C: "LPDDR2", 0x1D: "LPDDR3",
    0x1E: "LPDDR4", 0x20: "HBM", 0x21: "HBM2", 0x22: "DDR5", 0x23: "LPDDR5", 0x24: "HBM3",
}  # fmt: skip
_SOLDERED_FORMS = (0x0B, 0x10)  # row of chips, die
_USE_SYSTEM = 3
_MOST_SLOTS = 1024
_LARGEST = 16 * 1024 * GIB
"""A module that claims more than this is a damaged field."""


@dataclass(frozen=True, slots=True)
class MemoryModule:
    """One slot or soldered package. ``size_bytes`` 0 means that the slot is empty, None that nobody knows."""

    size_bytes: int | None
    kind: str | None
    is_soldered: bool
    locator: str
    bank: str
    data_width_bits: int | None
    rated_mts: int | None
    configured_mts: int | None

    @property
    def is_populated(self) -> bool:
        """Is there memory in it?"""
        return bool(self.size_bytes)


def parse_smbios(table: bytes) -> tuple[MemoryModule, ...]:
    """Every type 17 structure of a raw table; a damaged tail ends the list, it raises nothing."""
    return tuple(_module(body, strings) for kind, body, strings in _structures(table) if kind == 17)


def system_slots(table: bytes) -> int | None:
    """How many places for system memory the type 16 structures count (use @05: 3 = system; count @0D); None: none."""
    counts = [
        _field(body, 0x0D, "H")
        for kind, body, _ in _structures(table)
        if kind == 16 and _field(body, 0x05, "B") == _USE_SYSTEM
    ]
    return sum(c for c in counts if c and c <= _MOST_SLOTS) or None


def without_names(table: bytes) -> bytes:
    """The memory structures alone (16, 17, 127), without the texts that tell one computer from another.

    Kept of each module are locator and bank (type 17, strings @10 and @11); maker, serial number, asset tag and part
    number are replaced by as many 'x'. ``parse_smbios`` finds the same in it as in the whole table.
    """
    out = bytearray()
    for kind, body, strings in _structures(table):
        if kind not in (16, 17, 127):
            continue
        kept = {_field(body, 0x10, "B"), _field(body, 0x11, "B")} if kind == 17 else set()
        texts = [text if i in kept else "x" * len(text) for i, text in enumerate(strings, start=1)]
        # an empty text would end the list; a blank one is read as empty
        out += body + b"\0".join((text or " ").encode("latin-1", "replace") for text in texts) + b"\0\0"
    return bytes(out)


def _structures(table: bytes) -> Iterator[tuple[int, bytes, tuple[str, ...]]]:
    """(type, formatted area, strings) of each structure: u8 type, u8 length, u16 handle ...; strings end in 00 00."""
    offset = 0
    while offset + 4 <= len(table):
        kind, length = table[offset], table[offset + 1]
        end = table.find(b"\0\0", offset + length)
        if length < 4 or end < 0:
            return
        texts = table[offset + length : end].split(b"\0") if end > offset + length else []
        yield kind, table[offset : offset + length], tuple(t.decode("latin-1").strip() for t in texts)
        if kind == 127:
            return
        offset = end + 2


def _module(body: bytes, strings: tuple[str, ...]) -> MemoryModule:
    return MemoryModule(
        size_bytes=_size(body),
        kind=KINDS.get(_field(body, 0x12, "B") or 0),
        is_soldered=_field(body, 0x0E, "B") in _SOLDERED_FORMS,
        locator=_string(body, 0x10, strings),
        bank=_string(body, 0x11, strings),
        data_width_bits=_known(_field(body, 0x0A, "H"), 0xFFFF),
        rated_mts=_speed(body, 0x15, 0x54),
        configured_mts=_speed(body, 0x20, 0x58),
    )


def _size(body: bytes) -> int | None:
    """Size @0C: 0 empty, FFFF unknown, 7FFF see u32 @1C (MiB), bit 15 set: KiB, else MiB."""
    size = _field(body, 0x0C, "H")
    if size is None or size == 0xFFFF:
        return None
    if size == 0x7FFF:
        extended = _field(body, 0x1C, "I")
        size_bytes = None if extended is None else (extended & 0x7FFFFFFF) * MIB
    else:
        size_bytes = (size & 0x7FFF) * (KIB if size & 0x8000 else MIB)
    return None if size_bytes is not None and size_bytes > _LARGEST else size_bytes


def _speed(body: bytes, offset: int, extended: int) -> int | None:
    speed = _field(body, offset, "H")
    if speed == 0xFFFF:
        speed = _field(body, extended, "I")
    return speed or None


def _known(value: int | None, unknown: int) -> int | None:
    return None if not value or value == unknown else value


def _field(body: bytes, offset: int, code: str) -> int | None:
    if offset + struct.calcsize("<" + code) > len(body):
        return None
    (value,) = struct.unpack_from("<" + code, body, offset)
    return int(value)


def _string(body: bytes, offset: int, strings: tuple[str, ...]) -> str:
    number = _field(body, offset, "B") or 0
    return strings[number - 1] if 0 < number <= len(strings) else ""
