"""Builders of hardware test data: sysfs trees, Windows records, SMBIOS tables and a stand-in for the NVML binding."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace

DATA = Path(__file__).parents[1] / "data" / "hardware"


def write_files(root: Path, files: dict[str, str | bytes]) -> Path:
    """Write {relative path: content} below ``root`` and return it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def machine_tree(root: Path, name: str) -> Path:
    """The files of ``data/hardware/trees/NAME.txt`` ("path = content" lines) as a file system below ``root``."""
    files = {}
    for line in (DATA / "trees" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            path, _, content = line.partition(" = ")
            files[path] = content.replace("\\n", "\n").replace("\\t", "\t") + "\n"
    return write_files(root, files)


def windows_core(efficiency: int, smt: bool, mask: int, group: int = 0) -> bytes:
    """A PROCESSOR_RELATIONSHIP record as GetLogicalProcessorInformationEx writes it."""
    return struct.pack("<IIBB20xHQH6x", 0, 48, int(smt), efficiency, 1, mask, group)


def windows_cache(level: int, size: int, mask: int, group: int = 0) -> bytes:
    """A CACHE_RELATIONSHIP record."""
    return struct.pack("<IIBBHII18xHQH6x", 2, 56, level, 8, 64, size, 0, 1, mask, group)


def cpu_set(index: int, *, core: int, cache: int, efficiency: int, group: int = 0, parked: bool = False) -> bytes:
    """A SYSTEM_CPU_SET_INFORMATION entry."""
    return struct.pack("<IIIHBBBBBBIQ", 32, 0, 0x100 + index, group, index, core, cache, 0, efficiency, parked, 0, 0)


def cpu_tree(root: Path, cores: Sequence[tuple], is_vm: bool = False) -> Path:
    """A sysfs tree of ``cores``: (sibling CPUs, kind or None, number of its third-level cache or None, its MiB)."""
    cpus = "sys/devices/system/cpu"
    flags = "fpu hypervisor" if is_vm else "fpu"
    files = {"proc/cpuinfo": f"model name : Some CPU\nflags : {flags}\n"}
    files[f"{cpus}/online"] = _list(n for siblings, *_ in cores for n in siblings)
    for kind, name in (("P", "cpu_core"), ("E", "cpu_atom"), ("LP-E", "cpu_atom")):
        numbers = [n for siblings, k, *_ in cores for n in siblings if k is not None and k.value == kind]
        before = files.get(f"sys/devices/{name}/cpus", "")
        if numbers:
            files[f"sys/devices/{name}/cpus"] = ",".join(filter(None, (before, _list(numbers))))
    for siblings, _, cache, mib in cores:
        for n in siblings:
            files[f"{cpus}/cpu{n}/topology/core_cpus_list"] = _list(siblings)
            if cache is not None:
                folder = f"{cpus}/cpu{n}/cache/index3"
                files[f"{folder}/level"] = "3"
                files[f"{folder}/size"] = f"{mib * 1024}K"
                files[f"{folder}/shared_cpu_list"] = _list(m for s, _, c, _ in cores for m in s if c == cache)
    return write_files(root, files)


def _list(numbers: Iterable[int]) -> str:
    return ",".join(str(n) for n in sorted(numbers))


def smbios_table(*modules: dict[str, object]) -> bytes:
    """A raw SMBIOS 3.2 table with one type 16 and a type 17 structure for each module.

    Keys with defaults: mib 16384, width 64, form 0x0D (SODIMM), kind 0x22 (DDR5), locator, bank, rated, configured.
    """
    out = struct.pack("<BBHBBBIHH", 16, 15, 0x1000, 3, 3, 3, 0x4000000, 0xFFFE, len(modules)) + b"\0\0"
    for i, given in enumerate(modules):
        out += _module(i, {"mib": 16384, "width": 64, "form": 0x0D, "kind": 0x22, "locator": "DIMM", "bank": "BANK 0",
                           "rated": 5600, "configured": 5600, **given})  # fmt: skip
    return out + struct.pack("<BBH", 127, 4, 0x7F00) + b"\0\0"


def _module(number: int, m: dict) -> bytes:
    size = 0xFFFF if m["mib"] is None else 0x7FFF if m["mib"] >= 0x7FFF else m["mib"]
    extended = m["mib"] if size == 0x7FFF else 0
    body = struct.pack(
        "<BBHHHHHHBBBBBHHBBBBBIHHHH",
        17, 0x28, 0x1100 + number, 0x1000, 0xFFFE, m["width"], m["width"], size, m["form"], 0, 1, 2, m["kind"], 0x80,
        m["rated"], 3, 4, 0, 5, 1, extended, m["configured"], 0, 0, 0,
    )  # fmt: skip
    texts = [m["locator"], m["bank"], "Maker", "Serial", "Part"]
    return body + b"\0".join(text.encode("latin-1") for text in texts) + b"\0\0"


class NvmlError(Exception):
    """Like pynvml.NVMLError: an exception with a number."""

    def __init__(self, value: int) -> None:
        super().__init__(f"NVML error {value}")
        self.value = value


NOT_SUPPORTED, LIBRARY_NOT_FOUND, GPU_IS_LOST = 3, 12, 15

RTX_4080_LAPTOP = {
    "name": "NVIDIA GeForce RTX 4080 Laptop GPU", "uuid": "GPU-aaaa", "busId": "00000000:01:00.0",
    "memory": (12878610432, 11500000000, 900000000), "v1_used": 1378610432,
    "CudaComputeCapability": (8, 9), "MaxPcieLinkGeneration": 4, "CurrPcieLinkGeneration": 1,
    "MaxPcieLinkWidth": 8, "CurrPcieLinkWidth": 8, "MemoryBusWidth": 192, "clock": 9001,
    "DisplayActive": 0, "DisplayMode": 0, "utilization": (40, 12), "PowerUsage": 61500, "Temperature": 58,
    "EnforcedPowerLimit": 115000, "ClockInfo": 2280,
}  # fmt: skip


class FakeNvml:
    """The few functions of the ``pynvml`` module that we call, over plain dictionaries.

    ``refused`` holds (function, uuid) pairs that answer "not supported"; ``lost`` makes every question fail.
    """

    NVMLError = NvmlError
    NVML_ERROR_NOT_SUPPORTED = NOT_SUPPORTED
    NVML_ERROR_LIBRARY_NOT_FOUND = LIBRARY_NOT_FOUND
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0
    NVML_CLOCK_GRAPHICS = 0
    nvmlMemory_v2 = 0x02000028  # noqa: N815

    def __init__(self, *cards: dict, init_error: int | None = None, as_bytes: bool = False) -> None:
        self.cards = cards
        self.init_error = init_error
        self.as_bytes = as_bytes
        self.refused: set[str] = set()
        self.lost = False
        self.calls: list[str] = []
        self.opened = 0

    def __getattr__(self, name: str):
        if not name.startswith("nvml") or name == "nvmlDeviceGetNothing":
            raise AttributeError(name)
        return lambda *args: self._answer(name, args)

    def _text(self, value: str):
        return value.encode() if self.as_bytes else value

    def _answer(self, name: str, args: tuple):
        self.calls.append(name)
        if name == "nvmlInit":
            if self.init_error is not None:
                raise NvmlError(self.init_error)
            self.opened += 1
            return None
        if name == "nvmlShutdown":
            self.opened -= 1
            return None
        if self.lost:
            raise NvmlError(GPU_IS_LOST)
        if name in self.refused:
            raise NvmlError(NOT_SUPPORTED)
        if name == "nvmlSystemGetDriverVersion":
            return self._text("555.42")
        if name == "nvmlDeviceGetCount":
            return len(self.cards)
        if name == "nvmlDeviceGetHandleByIndex":
            return self.cards[args[0]]
        if name == "nvmlDeviceGetHandleByUUID":
            found = [c for c in self.cards if c["uuid"] == args[0]]
            if not found:
                raise NvmlError(6)
            return found[0]
        return self._of_card(name.removeprefix("nvmlDeviceGet"), *args)

    def _of_card(self, what: str, card: dict, *args):
        if what == "MemoryInfo":
            total, free, used = card["memory"]
            if args:
                return SimpleNamespace(total=total, free=free, used=used, reserved=total - free - used)
            return SimpleNamespace(total=total, free=free, used=card["v1_used"])
        if what in ("Name", "UUID"):
            return self._text(card[what.lower()])
        if what == "PciInfo":
            return SimpleNamespace(busId=self._text(card["busId"]))
        if what == "MaxClockInfo":
            return card["clock"]
        if what == "UtilizationRates":
            return SimpleNamespace(gpu=card["utilization"][0], memory=card["utilization"][1])
        if what not in card:
            raise NvmlError(NOT_SUPPORTED)
        return card[what]
