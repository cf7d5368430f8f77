"""Our SMBIOS parser beside dmidecode, which reads the same bytes with a parser of its own."""

import random
import re
import shutil
import struct
import subprocess

import pytest

from app.hardware.smbios import parse_smbios, system_slots
from tests.tools.hardware_data import smbios_table

DMIDECODE = shutil.which("dmidecode", path="/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin")
pytestmark = pytest.mark.skipif(DMIDECODE is None, reason="dmidecode is not installed (apt-get install dmidecode)")

UNITS = {"kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}


def _dump(table):
    """The table in dmidecode's own dump format: a 64-bit entry point of SMBIOS 3.2, and the table at offset 32."""
    entry = struct.pack("<5sBBBBBBBIQ", b"_SM3_", 0, 24, 3, 2, 0, 1, 0, len(table), 32)
    checksum = -sum(entry) & 0xFF
    return (entry[:5] + bytes([checksum]) + entry[6:]).ljust(32, b"\0") + table


def _dmidecode(tmp_path, table):
    """What dmidecode tells: one dictionary of texts for each memory device, and the number of places."""
    file = tmp_path / "table.bin"
    file.write_bytes(_dump(table))
    text = subprocess.run(
        [DMIDECODE, "--from-dump", str(file)], capture_output=True, text=True, check=True, timeout=30
    ).stdout
    devices = [
        dict(line.strip().split(": ", 1) for line in block.splitlines() if ": " in line)
        for block in text.split("\n\n")
        if "Memory Device\n" in block
    ]
    slots = re.findall(r"Number Of Devices: (\d+)", text)
    return devices, sum(map(int, slots)) or None


def _number(text, unit):
    found = re.fullmatch(rf"(\d+) {unit}", text or "")
    return int(found.group(1)) if found else None


def _size(text):
    if text == "No Module Installed":
        return 0
    found = re.fullmatch(r"(\d+) (kB|MB|GB|TB)", text or "")
    return int(found.group(1)) * UNITS[found.group(2)] if found else None


def test_that_both_parsers_agree_about_random_modules(tmp_path):
    rng = random.Random(20261129)
    modules = [
        {
            "mib": rng.choice([0, 512, 4096, 16384, 32767, 32768, 65536, 98304, 131072, None]),
            "width": rng.choice([16, 32, 64, 72, 0xFFFF]),
            "form": rng.choice([9, 0x0B, 0x0D, 0x10]),
            "kind": rng.choice([0x12, 0x13, 0x18, 0x1A, 0x1B, 0x1D, 0x1E, 0x20, 0x22, 0x23]),
            "rated": rng.choice([0, 2400, 3200, 5600, 8533]),
            "configured": rng.choice([0, 2133, 2933, 4800, 8000]),
            "locator": rng.choice(["DIMM_A1", "Controller1-ChannelB-DIMM0", "P0 CHANNEL A", "Motherboard"]),
            "bank": rng.choice(["BANK 0", "P0 CHANNEL B"]),
        }
        for _ in range(60)
    ]
    table = smbios_table(*modules)
    theirs, slots = _dmidecode(tmp_path, table)
    ours = parse_smbios(table)
    assert len(theirs) == len(ours) == 60
    assert system_slots(table) == slots == 60
    for module, told in zip(ours, theirs, strict=True):
        assert module.size_bytes == _size(told["Size"])
        assert (module.locator, module.bank) == (told["Locator"], told["Bank Locator"])
        assert module.data_width_bits == _number(told["Data Width"], "bits")
        assert module.is_soldered == (told["Form Factor"] in ("Row Of Chips", "Die"))
        if module.is_populated:  # dmidecode prints the rest for populated places only
            assert module.kind == told["Type"]
            assert module.rated_mts == _number(told.get("Speed"), "MT/s")
            assert module.configured_mts == _number(told.get("Configured Memory Speed"), "MT/s")
