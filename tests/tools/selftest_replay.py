"""Runs the probes again over what a ``selftest`` file recorded on somebody else's machine.

python -m tests.tools.selftest_replay REPORT.json
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from app.hardware import cpu_linux, cpu_windows, gpus_linux, memory_linux
from app.hardware.memory_common import summarise_modules
from app.hardware.smbios import parse_smbios, system_slots


def write_tree(report: dict, root: Path) -> Path:
    """The recorded files and links below ``root``, with the firmware's table in its place."""
    raw = report["raw"]
    for name, target in raw["links"].items():
        link, real = root / name.lstrip("/"), root / target.lstrip("/")
        real.mkdir(parents=True, exist_ok=True)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(real)
    for name, text in raw["files"].items():
        path = root / name.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    if isinstance(raw["smbios"], str):
        table = root / "sys/firmware/dmi/tables/DMI"
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_bytes(bytes.fromhex(raw["smbios"]))
    return root


def replayed_cores(report: dict, root: Path) -> tuple:
    """The cores as our probes read them from the record: Windows' bytes, or Linux' files."""
    records = report["raw"].get("processor_information")
    if isinstance(records, str):
        return cpu_windows.classify_cores(*cpu_windows.parse_processor_information(bytes.fromhex(records)))
    return cpu_linux.read_cpu(root).cores


def replayed_memory(report: dict, root: Path):
    """(summary of the modules, places)."""
    table = report["raw"]["smbios"]
    if isinstance(table, str) and "processor_information" in report["raw"]:
        data = bytes.fromhex(table)
        return summarise_modules(parse_smbios(data), report["snapshot"]["cpu"]["name"]), system_slots(data)
    facts = memory_linux.read_modules(root)
    return summarise_modules(facts.modules, report["snapshot"]["cpu"]["name"]), facts.slots


def replayed_gpus(root: Path) -> tuple:
    """Linux' cards."""
    return gpus_linux.read_gpus(root)


def main() -> None:
    """Print what the probes make of the report today."""
    report = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        root = write_tree(report, Path(folder))
        print(*replayed_cores(report, root), *replayed_memory(report, root), *replayed_gpus(root), sep="\n")


if __name__ == "__main__":
    main()
