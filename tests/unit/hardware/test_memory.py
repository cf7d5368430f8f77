"""Memory modules, channels and bandwidth from firmware tables and udev's notes."""

import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.hardware import memory_linux, memory_windows
from app.hardware.memory_common import bus_limit_bits, summarise_modules, theoretical_gbs
from app.hardware.smbios import parse_smbios, system_slots, without_names
from tests.tools.hardware_data import DATA, smbios_table, write_files

LAPTOP_DDR5 = smbios_table(
    {"locator": "Controller0-ChannelA-DIMM0", "configured": 5200},
    {"locator": "Controller1-ChannelA-DIMM0", "configured": 5200},
)


def _summary(table, cpu_name=None):
    return summarise_modules(parse_smbios(table), cpu_name)


def test_that_two_ddr5_modules_are_two_channels_at_the_configured_speed():
    first, second = parse_smbios(LAPTOP_DDR5)
    assert (first.size_bytes, first.kind, first.rated_mts, first.configured_mts) == (16 << 30, "DDR5", 5600, 5200)
    assert (first.locator, second.locator) == ("Controller0-ChannelA-DIMM0", "Controller1-ChannelA-DIMM0")
    summary = _summary(LAPTOP_DDR5)
    assert (summary.kind, summary.modules, summary.channels, summary.speed_mts) == ("DDR5", 2, 2, 5200)
    assert summary.channels_from == "locator"
    assert theoretical_gbs(summary.channels, summary.speed_mts) == 83.2


def test_that_equal_bank_labels_do_not_join_two_channels():
    table = smbios_table(  # field report RAM-03
        {"locator": "Controller0-DIMMA2", "mib": 32768, "configured": 5200},
        {"locator": "Controller1-DIMMB2", "mib": 32768, "configured": 5200},
    )
    summary = _summary(table)
    assert summary.channels == 2
    assert theoretical_gbs(summary.channels, summary.speed_mts) == 83.2
    assert sum(m.size_bytes for m in parse_smbios(table)) == 64 << 30


@pytest.mark.parametrize("width", [32, 64])
def test_that_eight_soldered_packages_are_a_128_bit_bus_at_the_running_speed(width):
    package = {"kind": 0x23, "form": 0x0B, "mib": 8192, "width": width, "rated": 6400, "configured": 6000}
    summary = _summary(smbios_table(*[package] * 8))  # field report RAM-01
    assert (summary.kind, summary.channels, summary.channels_from) == ("LPDDR5", 2, "width")
    assert theoretical_gbs(summary.channels, summary.speed_mts) == 96.0


def test_that_ryzen_ai_max_is_believed_to_have_256_bits():
    package = {"kind": 0x23, "form": 0x0B, "mib": 16384, "width": 32, "rated": 8000, "configured": 8000}
    summary = _summary(smbios_table(*[package] * 8), "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S")
    assert (summary.channels, theoretical_gbs(summary.channels, summary.speed_mts)) == (4, 256.0)


def test_that_one_module_beside_an_empty_slot_is_one_channel():
    table = smbios_table(
        {"locator": "DIMM 0", "bank": "P0 CHANNEL A", "kind": 0x1A, "configured": 3200, "rated": 3200},
        {"locator": "DIMM 0", "bank": "P0 CHANNEL B", "kind": 2, "mib": 0, "configured": 0, "rated": 0, "width": 0},
    )
    summary = _summary(table)
    assert (summary.modules, summary.channels) == (1, 1)
    assert theoretical_gbs(summary.channels, summary.speed_mts) == 25.6


def test_that_the_amd_bank_label_tells_the_channel_of_four_modules():
    table = smbios_table(
        *({"locator": f"DIMM {i % 2}", "bank": f"P0 CHANNEL {'AB'[i // 2]}", "kind": 0x1A} for i in range(4))
    )
    assert (_summary(table).channels, _summary(table).channels_from) == (2, "locator")


@pytest.mark.parametrize(
    "names",
    [
        ("DIMM_A1", "DIMM_B1"),
        ("DIMM A", "DIMM B"),
        ("ChannelA-DIMM0", "ChannelB-DIMM0"),
        ("DDR4-A1", "DDR4-B1"),
        ("P0_Node0_Channel0_Dimm0", "P0_Node0_Channel1_Dimm0"),
        ("CHA_DIMM0", "CHB_DIMM0"),
    ],
)
def test_that_makers_names_of_channels_are_understood(names):
    summary = _summary(smbios_table(*({"locator": name} for name in names)))
    assert (summary.channels, summary.channels_from) == (2, "locator")


def test_that_nameless_slots_are_counted_but_never_beyond_a_client_bus():
    four = smbios_table(*({"locator": f"Bottom-Slot {i}(left)", "bank": f"BANK {i}"} for i in range(4)))
    assert (_summary(four).channels, _summary(four).channels_from) == (2, "count")
    two_of_one = smbios_table({"locator": "Bottom-Slot 1(left)"})
    assert _summary(two_of_one).channels == 1


def test_that_server_processors_may_have_many_channels():
    table = smbios_table(*({"locator": f"P0 CHANNEL {c}", "bank": "BANK 0", "form": 9} for c in "ABCDEFGHIJKL"))
    assert _summary(table, "AMD EPYC 9354 32-Core Processor").channels == 12
    assert _summary(table, "13th Gen Intel(R) Core(TM) i7-13700H").channels == 2
    assert bus_limit_bits("AMD Ryzen Threadripper PRO 7995WX") is None


def test_that_a_virtual_machines_invented_module_tells_no_channels():
    summary = _summary(smbios_table({"form": 9, "kind": 7, "rated": 0, "configured": 0, "width": 0xFFFF}))
    assert (summary.kind, summary.channels, summary.speed_mts) == (None, None, None)
    assert theoretical_gbs(summary.channels, summary.speed_mts) is None


def test_that_the_rated_speed_counts_only_without_a_configured_one():
    summary = _summary(smbios_table({"configured": 0}))
    assert (summary.speed_mts, summary.speed_from) == (5600, "rated")
    mixed = _summary(smbios_table({"configured": 4800}, {"configured": 4400}))
    assert mixed.speed_mts == 4400


def test_that_big_small_and_unknown_sizes_are_read():
    big, unknown = parse_smbios(smbios_table({"mib": 65536}, {"mib": None}))
    assert big.size_bytes == 64 << 30
    assert unknown.size_bytes is None
    assert not unknown.is_populated


def test_that_short_structures_of_old_firmware_are_read_as_far_as_they_go():
    table = bytes([17, 0x15, 0, 0x11]) + b"\0" * 8 + b"\x00\x20" + b"\x0d\0\1\2" + b"\x18\x80\0" + b"A1\0B\0\0"
    (module,) = parse_smbios(table)
    assert (module.size_bytes, module.kind, module.configured_mts, module.rated_mts) == (8 << 30, "DDR3", None, None)
    assert (module.locator, module.bank) == ("A1", "B")


@settings(max_examples=60)
@given(st.binary(max_size=300))
def test_that_any_bytes_are_a_table_without_an_exception(data):
    parse_smbios(data)
    memory_windows.strip_header(data)


def test_that_a_table_with_flipped_bytes_raises_nothing():
    rng = random.Random(3)
    for _ in range(200):
        table = bytearray(LAPTOP_DDR5)
        for _ in range(3):
            table[rng.randrange(len(table))] = rng.randrange(256)
        summarise_modules(parse_smbios(bytes(table)), None)


def test_that_windows_header_is_cut_off():
    raw = bytes([0, 3, 2, 0]) + len(LAPTOP_DDR5).to_bytes(4, "little") + LAPTOP_DDR5
    assert memory_windows.strip_header(raw) == LAPTOP_DDR5


@pytest.mark.skipif(sys.platform == "win32", reason="about other systems")
def test_that_the_windows_call_says_so_on_another_system():
    with pytest.raises(OSError, match="not Windows"):
        memory_windows.read_modules()


def test_that_udev_tells_what_the_firmware_table_tells():
    modules = memory_linux.parse_udev_dmi((DATA / "udev-dmi-4800-sodimm.txt").read_text())
    summary = summarise_modules(modules, "13th Gen Intel(R) Core(TM) i7-13700H")
    assert (summary.kind, summary.modules, summary.channels, summary.speed_mts) == ("DDR5", 2, 2, 4800)
    assert theoretical_gbs(summary.channels, summary.speed_mts) == 76.8


def test_that_udev_marks_empty_slots_and_odd_values_are_unknown():
    modules = memory_linux.parse_udev_dmi(
        "E:MEMORY_DEVICE_0_PRESENT=0\nE:MEMORY_DEVICE_1_SIZE=17179869184\nE:MEMORY_DEVICE_1_TYPE=<OUT OF SPEC>\n"
        "E:MEMORY_DEVICE_1_CONFIGURED_SPEED_MTS=Unknown\nE:MEMORY_DEVICE_1_FORM_FACTOR=Row Of Chips\n"
    )
    assert [m.is_populated for m in modules] == [False, True]
    assert (modules[1].kind, modules[1].configured_mts, modules[1].is_soldered) == (None, None, True)


def test_that_linux_reads_the_table_first_then_its_entries_then_udev(tmp_path):
    udev = {"run/udev/data/+dmi:id": (DATA / "udev-dmi-4800-sodimm.txt").read_text()}
    assert memory_linux.read_modules(write_files(tmp_path / "a", udev)).source == "udev"
    table = {"sys/firmware/dmi/tables/DMI": LAPTOP_DDR5}
    facts = memory_linux.read_modules(write_files(tmp_path / "b", {**udev, **table}))
    assert (facts.source, facts.modules[0].configured_mts) == ("smbios", 5200)
    one = LAPTOP_DDR5[LAPTOP_DDR5.index(bytes([17, 0x28])) :]
    entries = {"sys/firmware/dmi/entries/17-0/raw": one[: one.index(b"Part\0\0") + 6]}
    assert len(memory_linux.read_modules(write_files(tmp_path / "c", entries)).modules) == 1
    assert memory_linux.read_modules(tmp_path / "nothing") == memory_linux.MemoryFacts((), None)


def test_that_the_slots_of_system_memory_are_counted():
    table = smbios_table({"locator": "DIMM_A1"}, {"locator": "DIMM_B1", "mib": 0})
    assert system_slots(table) == 2
    video = bytearray(table)
    video[5] = 4  # use: video memory
    assert system_slots(bytes(video)) is None
    assert system_slots(b"") is None


def test_that_the_controllers_driver_tells_channels_where_nothing_tells_speeds(tmp_path):
    folder = "sys/devices/system/edac/mc/mc0"
    files = {}
    for n, (channel, slot, size) in enumerate(((0, 0, 16384), (0, 1, 16384), (1, 0, 16384), (1, 1, 0))):
        files[f"{folder}/dimm{n}/dimm_label"] = f"CPU_SrcID#0_MC#0_Chan#{channel}_DIMM#{slot}\n"
        files[f"{folder}/dimm{n}/dimm_location"] = f"channel {channel} slot {slot} \n"
        files[f"{folder}/dimm{n}/size"] = f"{size}\n"
        files[f"{folder}/dimm{n}/dimm_mem_type"] = "Unbuffered-DDR4\n"
    facts = memory_linux.read_modules(write_files(tmp_path, files))
    assert facts.source == "edac"
    summary = summarise_modules(facts.modules, None)
    assert (summary.kind, summary.modules, summary.channels, summary.speed_mts) == ("DDR4", 3, 2, None)
    assert theoretical_gbs(summary.channels, summary.speed_mts) is None
    assert memory_linux.edac_module("", "", None, "") == memory_linux.edac_module("", "x", None, "Unknown")


def test_that_what_leaves_the_computer_names_nobody_and_reads_the_same():
    bare = without_names(LAPTOP_DDR5)
    assert parse_smbios(bare) == parse_smbios(LAPTOP_DDR5)
    assert system_slots(bare) == system_slots(LAPTOP_DDR5) == 2
    for name in (b"Serial", b"Maker", b"Part"):
        assert name in LAPTOP_DDR5
        assert name not in bare


MODULES = st.lists(
    st.fixed_dictionaries(
        {
            "mib": st.sampled_from([0, None, 512, 8192, 16384, 32768, 65536, 131072]),
            "width": st.sampled_from([0, 16, 32, 64, 72, 0xFFFF]),
            "form": st.sampled_from([9, 0x0B, 0x0D, 0x10]),
            "kind": st.sampled_from([2, 0x18, 0x1A, 0x1E, 0x22, 0x23]),
            "rated": st.sampled_from([0, 3200, 5600, 8533]),
            "configured": st.sampled_from([0, 2933, 4800, 8000]),
            "locator": st.sampled_from(["DIMM_A1", "Controller0-ChannelA-DIMM0", "P0 CHANNEL B", "Motherboard"]),
        }
    ),
    min_size=1,
    max_size=8,
)


FLIPS = st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6)


@settings(max_examples=15)
@given(MODULES, FLIPS, st.integers(0, 2000))
def test_that_malformed_tables_give_sane_figures_or_none(modules, flips, cut):
    _check_damaged(modules, flips, cut)


@pytest.mark.slow
@settings(max_examples=500)
@given(MODULES, FLIPS, st.integers(0, 2000))
def test_that_many_malformed_tables_give_sane_figures_or_none(modules, flips, cut):
    _check_damaged(modules, flips, cut)


def _check_damaged(modules, flips, cut):
    table = bytearray(smbios_table(*modules))
    for place, value in flips:
        table[place % len(table)] = value
    damaged = bytes(table[: len(table) - cut % 40])
    for module in parse_smbios(damaged):
        assert module.size_bytes is None or 0 <= module.size_bytes <= 16 << 40
    summary = summarise_modules(parse_smbios(damaged), None)
    gbs = theoretical_gbs(summary.channels, summary.speed_mts)
    assert gbs is None or gbs > 0
    assert (system_slots(damaged) or 1) >= 1
    assert parse_smbios(without_names(damaged)) == parse_smbios(damaged)


@pytest.mark.parametrize(
    "table",
    [
        bytes([17, 3, 0, 0]) + b"\0\0",  # shorter than its own header
        bytes([17, 255, 0, 0]) + b"\0\0" * 4,  # longer than the table
        bytes([17, 4, 0, 0]) + b"no end",
        bytes([17, 0x28, 0, 0]) + b"\xff" * 0x24 + b"\0\0",  # every field unknown
        bytes([16, 15, 0, 0]) + b"\xff" * 11 + b"\0\0",
        bytes([127, 4, 0, 0]) + b"\0\0" + smbios_table({}),  # things after the end
        b"\0" * 64,
    ],
)
def test_that_known_kinds_of_damage_tell_no_memory(table):
    assert not any(m.is_populated for m in parse_smbios(table))
    assert system_slots(table) is None
