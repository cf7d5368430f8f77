"""Joins what llama-server says it can use (``--list-devices``) with what the computer says it has.

The engine's list is the truth for what it can use and for its names; the probes explain it (bus, link, driver).
The order of the two lists differs (CUDA: fastest first, NVML: bus order), so cards are matched by name, then by size.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass

from app.common.units import MIB
from app.hardware.types import GpuInfo, HardwareSnapshot
from app.hardware.vram_speeds import with_spec_bandwidths

ENGINE_SOURCE = "engine"
"""The source name of facts that ``llama-server --list-devices`` told."""

_RPC = re.compile(r"RPC\d*$")
_SOFTWARE = re.compile(r"llvmpipe|lavapipe|swiftshader|softpipe|microsoft basic render|\bcpu\b", re.IGNORECASE)
_INTEGRATED = re.compile(
    r"\buhd\b|\biris\b|\bhd graphics\b|\badreno\b|\bradeon(\(tm\))? graphics\b|\barc(\(tm\))? graphics\b"
    r"|\barc(\(tm\))? 1\d0[tv]\b|\bradeon(\(tm\))? ([678]\d|80[56])[05]?[ms]\b|\bvega \d+ graphics\b",
    re.IGNORECASE,
)
_NOISE = re.compile(r"\((r|tm)\)|\bcorporation\b|\bnvidia\b|\bamd\b|\bintel\b|[^a-z0-9]+", re.IGNORECASE)
_GPU_KEY = re.compile(r"gpus\.(\d+)(?:\.(\w+))?$")
_CONTEXT_BYTES = 768 * MIB
"""The most that an open context takes (300 to 500 MB for CUDA, and more on the newest cards)."""
_VENDOR = re.compile(r"nvidia|geforce|quadro|amd|radeon|intel|\barc\b", re.IGNORECASE)
_VENDOR_OF = {
    "nvidia": "nvidia", "geforce": "nvidia", "quadro": "nvidia", "amd": "amd", "radeon": "amd", "intel": "intel",
    "arc": "intel",
}  # fmt: skip
_SAME_SIZE = 0.06
"""Two lists may disagree this much about one card's memory (reserved memory, rounding to MiB)."""


@dataclass(frozen=True, slots=True)
class EngineDevice:
    """One line of ``llama-server --list-devices`` (common/arg.cpp:1165): ``  NAME: DESC (TOTAL MiB, FREE MiB free)``.

    ``buffer_name`` is what ``-ot`` wants: ``name``, except for RPC, where it is ``RPC0[HOST:PORT]``.
    """

    name: str
    description: str
    total_bytes: int | None
    free_bytes: int | None
    buffer_name: str

    @property
    def is_rpc(self) -> bool:
        """Is it another machine's device, reached through ggml-rpc-server?"""
        return _RPC.match(self.name) is not None

    @property
    def is_software(self) -> bool:
        """Is it a processor that plays a graphics card (llvmpipe)? It works, slowly, in system RAM."""
        return not self.is_rpc and _SOFTWARE.search(self.description) is not None

    @property
    def backend(self) -> str:
        """``CUDA`` of ``CUDA0``."""
        return self.name.rstrip("0123456789")


def looks_integrated(name: str) -> bool:
    """Is this the name of graphics inside the processor? Discrete Arc and Radeon cards carry a model number."""
    return _INTEGRATED.search(name) is not None


def with_engine_devices(snapshot: HardwareSnapshot, devices: tuple[EngineDevice, ...]) -> HardwareSnapshot:
    """The snapshot with the engine's names and figures: first what the engine lists, in its order, then the rest.

    A GPU that the engine does not list keeps ``engine_name`` None. A device that no probe saw (RPC, llvmpipe, a card
    without a management library) is added. A card that two backends list keeps the first name. Asking twice gives the
    same as asking once.
    """
    cards, facts = _without_engine(snapshot)
    taken: dict[int, str] = {}
    listed: list[tuple[GpuInfo, dict[str, str]]] = []
    for device in devices:
        index = None if device.is_rpc or device.is_software else _match(device, cards, taken)
        if index is not None:
            taken[index] = device.backend
            listed.append(_joined(cards[index], device, facts[index]))
        elif not _listed_by_another_backend(device, cards, taken):
            listed.append((_engine_only(device), {"": ENGINE_SOURCE}))
    listed += [(cards[i], facts[i]) for i in range(len(cards)) if i not in taken]
    sources = {key: value for key, value in snapshot.sources.items() if not _GPU_KEY.match(key)}
    for i, (_, told) in enumerate(listed):
        sources.update({f"gpus.{i}.{field}" if field else f"gpus.{i}": source for field, source in told.items()})
    gpus = tuple(gpu for gpu, _ in listed)
    return with_spec_bandwidths(dataclasses.replace(snapshot, gpus=gpus, sources=sources, engine_asked=True))


def _without_engine(snapshot: HardwareSnapshot) -> tuple[list[GpuInfo], list[dict[str, str]]]:
    """The probes' cards without what an engine told before, and the sources of each ('' = the card itself)."""
    facts: list[dict[str, str]] = [{} for _ in snapshot.gpus]
    for key, source in snapshot.sources.items():
        found = _GPU_KEY.match(key)
        if found and int(found.group(1)) < len(facts):
            facts[int(found.group(1))][found.group(2) or ""] = source
    cards: list[GpuInfo] = []
    kept: list[dict[str, str]] = []
    for gpu, told in zip(snapshot.gpus, facts, strict=True):
        if told.get("") == ENGINE_SOURCE:
            continue
        cards.append(
            dataclasses.replace(
                gpu,
                engine_name=None,
                buffer_name=None,
                engine_free_bytes=None,
                total_bytes=None if told.get("total_bytes") == ENGINE_SOURCE else gpu.total_bytes,
                free_bytes=gpu.driver_free_bytes if told.get("free_bytes") == ENGINE_SOURCE else gpu.free_bytes,
                driver_free_bytes=None,
            )
        )
        kept.append({field: source for field, source in told.items() if source != ENGINE_SOURCE})
    return cards, kept


def _match(device: EngineDevice, gpus: list[GpuInfo], taken: dict[int, str]) -> int | None:
    """The index of the card that this device is.

    The same name; else one name within the other; else the only card of that size; else the only card of that vendor.
    """
    open_cards = [i for i in range(len(gpus)) if i not in taken and _vendors_agree(device, gpus[i])]
    same = [i for i in open_cards if _plain(gpus[i].name) == _plain(device.description)]
    inside = [i for i in open_cards if _names_overlap(gpus[i].name, device.description)]
    for candidates in (same, inside):
        if candidates:
            return min(candidates, key=lambda i: (_size_gap(device, gpus[i]), i))
    sized = [i for i in open_cards if _size_gap(device, gpus[i]) <= _SAME_SIZE]
    if len(sized) == 1:
        return sized[0]
    is_placed = _vendor(device.description) is not None and len(open_cards) == 1
    return open_cards[0] if is_placed and gpus[open_cards[0]].total_bytes is None else None


def _listed_by_another_backend(device: EngineDevice, gpus: list[GpuInfo], taken: dict[int, str]) -> bool:
    return any(
        backend != device.backend and _names_overlap(gpus[i].name, device.description) for i, backend in taken.items()
    )


def _vendor(name: str) -> str | None:
    found = _VENDOR.search(name)
    return _VENDOR_OF[found.group(0).lower()] if found else None


def _vendors_agree(device: EngineDevice, gpu: GpuInfo) -> bool:
    """Do the names belong to one vendor, as far as they tell? CUDA drives NVIDIA cards only."""
    theirs, ours = _vendor(gpu.name), _vendor(device.description)
    if device.backend == "CUDA":
        ours = "nvidia"
    return ours is None or theirs is None or ours == theirs


def _plain(name: str) -> str:
    return _NOISE.sub(" ", name.casefold()).strip()


def _names_overlap(ours: str, theirs: str) -> bool:
    """Does one name stand within the other?

    The PCI database writes 'Navi 31 [Radeon RX 7900 XT/7900 XTX]': each part counts, unless it is one general word.
    """
    wanted = f" {_plain(theirs)} "
    bracket = re.search(r"\[(.+)\]", ours)
    names = [ours, *(bracket.group(1).split("/") if bracket else ())]
    telling = [text for name in names if re.search(r"\d|\w \w", text := _plain(name))]
    return any(f" {text} " in wanted or wanted in f" {text} " for text in telling) and wanted.strip() != ""


def _has_real_name(gpu: GpuInfo) -> bool:
    """A name that only repeats PCI numbers ("AMD 1002:744c") gives way to the engine's."""
    return re.search(r"[0-9a-f]{4}:[0-9a-f]{4}", gpu.name) is None


def _size_gap(device: EngineDevice, gpu: GpuInfo) -> float:
    if not device.total_bytes or not gpu.total_bytes:
        return 1.0
    return abs(device.total_bytes - gpu.total_bytes) / max(device.total_bytes, gpu.total_bytes)


def _joined(gpu: GpuInfo, device: EngineDevice, told: dict[str, str]) -> tuple[GpuInfo, dict[str, str]]:
    total = device.total_bytes if gpu.total_bytes is None else gpu.total_bytes
    free = _free(gpu.free_bytes, device.free_bytes)
    sources = {**told, "engine_name": ENGINE_SOURCE}
    if total != gpu.total_bytes:
        sources["total_bytes"] = ENGINE_SOURCE
    if free != gpu.free_bytes:
        sources["free_bytes"] = ENGINE_SOURCE
    joined = dataclasses.replace(
        gpu,
        name=gpu.name if _has_real_name(gpu) else device.description,
        engine_name=device.name,
        buffer_name=device.buffer_name,
        total_bytes=total,
        free_bytes=free,
        engine_free_bytes=device.free_bytes,
        driver_free_bytes=gpu.free_bytes if free != gpu.free_bytes else None,
    )
    return joined, sources


def _free(driver: int | None, engine: int | None) -> int | None:
    """The memory a plan may count on.

    The engine asks with its own context open, so its figure is a few hundred MiB below the driver's; the plan counts
    that context itself, so the driver's figure stands. A larger gap is memory that Windows withholds from every
    program although the driver calls it free: then the engine's figure stands.
    """
    if driver is None or engine is None:
        return engine if driver is None else driver
    return engine if driver - engine > _CONTEXT_BYTES else driver


def _engine_only(device: EngineDevice) -> GpuInfo:
    if device.is_rpc:
        kind = "rpc"
    else:
        kind = "igpu" if device.is_software or looks_integrated(device.description) else "gpu"
    return GpuInfo(
        name=device.description or device.name,
        kind=kind,
        engine_name=device.name,
        buffer_name=device.buffer_name,
        total_bytes=device.total_bytes,
        free_bytes=device.free_bytes,
        engine_free_bytes=device.free_bytes,
        is_software=device.is_software,
    )
