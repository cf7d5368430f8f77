"""Mains or battery, saving or not: from Windows' own structure and from Linux' files."""

import ctypes

import pytest

from app.hardware.power import PowerStatus, of_linux, of_windows, read_power
from app.hardware.types import PowerInfo


def _tree(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text + "\n", encoding="utf-8")
    return root


@pytest.mark.parametrize(
    ("ac_line", "saver", "expected"),
    [
        (1, 0, PowerInfo(False, False)),
        (0, 0, PowerInfo(True, False)),
        (0, 1, PowerInfo(True, True)),
        (255, 0, PowerInfo(None, False)),
    ],
)
def test_that_windows_structure_is_read_by_its_offsets(ac_line, saver, expected):
    assert ctypes.sizeof(PowerStatus) == 12
    assert of_windows(bytes(PowerStatus(ac_line, 8, 63, saver, 5000, 0xFFFFFFFF))) == expected


def test_that_a_laptop_on_its_battery_is_told_and_a_mouses_battery_is_not_its_own(tmp_path):
    mouse = {"sys/class/power_supply/hid-1/type": "Battery", "sys/class/power_supply/hid-1/scope": "Device"}
    mouse["sys/class/power_supply/hid-1/status"] = "Discharging"
    assert of_linux(_tree(tmp_path / "desktop", mouse)) == PowerInfo(None, None)
    laptop = {
        "sys/class/power_supply/AC/type": "Mains",
        "sys/class/power_supply/AC/online": "0",
        "sys/class/power_supply/BAT0/type": "Battery",
        "sys/class/power_supply/BAT0/status": "Discharging",
        "sys/firmware/acpi/platform_profile": "low-power",
    }
    assert of_linux(_tree(tmp_path / "away", laptop | mouse)) == PowerInfo(True, True)
    plugged = laptop | {"sys/class/power_supply/AC/online": "1", "sys/firmware/acpi/platform_profile": "balanced"}
    assert of_linux(_tree(tmp_path / "home", plugged)) == PowerInfo(False, False)


def test_that_a_full_battery_without_a_told_supply_is_not_called_on_battery(tmp_path):
    files = {"sys/class/power_supply/BAT0/type": "Battery", "sys/class/power_supply/BAT0/status": "Full"}
    assert of_linux(_tree(tmp_path, files)) == PowerInfo(False, None)


def test_that_this_machine_answers_without_an_error():
    assert isinstance(read_power(), PowerInfo)
