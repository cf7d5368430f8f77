"""Memory bandwidth of well-known cards whose driver does not tell it: AMD, Intel, an NVIDIA card that sleeps.

The figures are the makers' published specifications (bus width x data rate), decimal GB/s. They describe the reference
card, so a plan made with one is an estimate and says so. A card that is not here, or whose name stands for several
that differ, stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from app.common.units import GIB
from app.hardware.types import GpuInfo, HardwareSnapshot

SPEC_SOURCE = "estimate_spec"
"""Where such a figure comes from, in ``HardwareSnapshot.sources``."""

CARDS: Mapping[str, Mapping[int, float]] = {
    # AMD
    "rx 9070 xt": {16: 640}, "rx 9070 gre": {12: 432, 16: 640}, "rx 9070": {16: 640}, "rx 9060 xt": {8: 320, 16: 320},
    "rx 7900 xtx": {24: 960}, "rx 7900 xt": {20: 800}, "rx 7900 gre": {16: 576}, "rx 7900m": {16: 576},
    "rx 7800 xt": {16: 624}, "rx 7700 xt": {12: 432}, "rx 7600 xt": {16: 288}, "rx 7600": {8: 288},
    "rx 6950 xt": {16: 576}, "rx 6900 xt": {16: 512}, "rx 6800 xt": {16: 512}, "rx 6800": {16: 512},
    "rx 6750 xt": {12: 432}, "rx 6700 xt": {12: 384}, "rx 6700": {10: 320}, "rx 6650 xt": {8: 280},
    "rx 6600 xt": {8: 256}, "rx 6600": {8: 224}, "rx 6500 xt": {4: 144},
    "rx 5700 xt": {8: 448}, "rx 5700": {8: 448}, "rx 5500 xt": {4: 224, 8: 224},
    "rx 590": {8: 256}, "rx 580": {8: 256}, "rx vega 64": {8: 484}, "rx vega 56": {8: 410}, "radeon vii": {16: 1024},
    "instinct mi50": {16: 1024, 32: 1024}, "instinct mi60": {32: 1024}, "instinct mi100": {32: 1229},
    # Intel
    "arc b580": {12: 456}, "arc b570": {10: 380}, "arc a770": {8: 512, 16: 560}, "arc a750": {8: 512},
    "arc a580": {8: 512}, "arc a380": {6: 186},
    # NVIDIA
    "rtx 5090": {32: 1792}, "rtx 5080": {16: 960}, "rtx 5070 ti": {16: 896}, "rtx 5070": {12: 672},
    "rtx 5060 ti": {8: 448, 16: 448}, "rtx 5060": {8: 448},
    "rtx 4090": {24: 1008}, "rtx 4080 super": {16: 736}, "rtx 4080": {16: 717}, "rtx 4070 ti super": {16: 672},
    "rtx 4070 ti": {12: 504}, "rtx 4070 super": {12: 504}, "rtx 4070": {12: 504}, "rtx 4060 ti": {8: 288, 16: 288},
    "rtx 4060": {8: 272},
    "rtx 3090 ti": {24: 1008}, "rtx 3090": {24: 936}, "rtx 3080 ti": {12: 912}, "rtx 3080": {10: 760, 12: 912},
    "rtx 3070 ti": {8: 608}, "rtx 3070": {8: 448}, "rtx 3060 ti": {8: 448}, "rtx 3060": {8: 240, 12: 360},
    "rtx 3050": {6: 168, 8: 224},
    "rtx 2080 ti": {11: 616}, "rtx 2080 super": {8: 496}, "rtx 2080": {8: 448}, "rtx 2070 super": {8: 448},
    "rtx 2070": {8: 448}, "rtx 2060 super": {8: 448}, "rtx 2060": {6: 336, 12: 336},
    "gtx 1660 super": {6: 336}, "gtx 1660 ti": {6: 288}, "gtx 1660": {6: 192},
    "gtx 1080 ti": {11: 484}, "gtx 1080": {8: 320}, "gtx 1070 ti": {8: 256}, "gtx 1070": {8: 256},
    "rtx 5090 laptop": {24: 896}, "rtx 5080 laptop": {16: 896}, "rtx 5070 ti laptop": {12: 672},
    "rtx 4090 laptop": {16: 576}, "rtx 4080 laptop": {12: 432}, "rtx 4070 laptop": {8: 256},
    "rtx 4060 laptop": {8: 256}, "rtx 4050 laptop": {6: 192}, "rtx 3080 ti laptop": {16: 512},
    "rtx 3060 laptop": {6: 336},
}  # fmt: skip
"""Model -> size of its memory in GiB -> GB/s. One name with two memories may have two speeds."""

_MODEL = re.compile(
    r"\b(rx|rtx|gtx|arc|instinct|radeon|vega)?\s*((?:vega\s+)?(?:[a-z]{1,2})?\d{2,4}[a-z]?|vii)"
    r"((?:\s+(?:xtx|xt|gre|ti|super))*)(?![\w-])"
)
_MOBILE = re.compile(r"\b(laptop|mobile|max-q)\b")
_PART = re.compile(r"\[(.*)\]")
_NOISE = re.compile(r"\((?:tm|r)\)|™|®|\([^)]*\)")
_SIZE_TOLERANCE = 0.08
"""Drivers keep a little of a card's memory for themselves."""


def spec_bandwidth_gbs(name: str, total_bytes: int | None) -> float | None:
    """The published figure for a card of this name and memory; None where there is none, or not just one."""
    figures = set()
    for model in _models(name.lower()):
        for size_gib, gbs in CARDS.get(model, {}).items():
            if total_bytes is None or abs(total_bytes / GIB - size_gib) <= _SIZE_TOLERANCE * size_gib:
                figures.add(gbs)
    return float(figures.pop()) if len(figures) == 1 else None


def _models(name: str) -> Iterator[str]:
    """'navi 31 [radeon rx 7900 xt/7900 xtx]' -> 'rx 7900 xt', 'rx 7900 xtx': the names of a PCI list stand for several
    cards, and only the first has the family's name."""
    mobile = " laptop" if _MOBILE.search(name) else ""
    listed = _PART.search(name)
    family = ""
    for part in _NOISE.sub(" ", listed[1] if listed else name).split("/"):
        for found in _MODEL.finditer(part):
            family = found[1] or family
            yield " ".join(f"{family} {found[2]}{found[3]}".split()) + mobile


def with_spec_bandwidths(snapshot: HardwareSnapshot) -> HardwareSnapshot:
    """The snapshot with the published figure for every discrete card that nobody has told one of."""
    cards: list[GpuInfo] = []
    sources = dict(snapshot.sources)
    for index, gpu in enumerate(snapshot.gpus):
        may_know = gpu.kind == "gpu" and not gpu.is_software and gpu.memory_gbs is None
        gbs = spec_bandwidth_gbs(gpu.name, gpu.total_bytes) if may_know else None
        cards.append(gpu if gbs is None else replace(gpu, memory_gbs=gbs))
        if gbs is not None:
            sources[f"gpus.{index}.memory_gbs"] = SPEC_SOURCE
    return replace(snapshot, gpus=tuple(cards), sources=sources)
