"""AMD and Intel cards on Linux while a server runs, from what their drivers write into /sys. Small files, no library.

amdgpu: ``mem_info_vram_used``, ``gpu_busy_percent``, ``mem_busy_percent`` and a hwmon folder (Documentation/gpu/amdgpu,
"thermal.rst" and "driver-misc.rst"). i915 and xe: the clock, and a hwmon folder with a counter of energy
(Documentation/ABI/testing/sysfs-driver-intel-{i915,xe}-hwmon). A card that sleeps is left asleep.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.hardware.sysfs import read_int, read_text
from app.hardware.types import GpuInfo
from app.monitor.sample import Values

METRICS = ("used", "free", "util", "mem_util", "temperature", "power_w", "power_limit_w", "clock")
_CLOCKS = ("drm/{card}/gt/gt0/rps_act_freq_mhz", "drm/{card}/gt_act_freq_mhz", "tile0/gt0/freq0/act_freq")
"""i915 today, i915 before 6.2, xe; in MHz."""


@dataclass(slots=True)
class _Card:
    label: str
    folder: Path
    hwmon: Path | None
    clocks: tuple[Path, ...]
    has_gtt: bool
    energy: tuple[float, int] | None = field(default=None)
    """(seconds, microjoules) of the last look."""


class DrmCardSampler:
    """Values ``gpu.<label>.<metric>`` of the given cards: bytes, percent, degrees Celsius, watts and MHz. Never raises;
    what a driver does not tell is None."""

    name = "drm card"

    def __init__(
        self,
        cards: Mapping[str, str],
        root: Path = Path("/"),
        integrated: frozenset[str] = frozenset(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``cards``: PCI address -> label; ``integrated``: addresses of cards whose memory is the system's."""
        self._clock = clock
        self._cards = [_open(root, pci_id, label, pci_id in integrated) for pci_id, label in cards.items()]

    def sample(self) -> Values:
        """All metrics of all cards."""
        values: dict[str, float | None] = {}
        for card in self._cards:
            asleep = read_text(card.folder / "power/runtime_status") == "suspended"
            told = {} if asleep else self._read(card)
            values.update({f"gpu.{card.label}.{metric}": told.get(metric) for metric in METRICS})
        return values

    def close(self) -> None:
        """Nothing to give back."""

    def _read(self, card: _Card) -> dict[str, float | None]:
        used, total = _memory(card, "used"), _memory(card, "total")
        return {
            "used": used,
            "free": None if used is None or not total else max(0.0, total - used),
            "util": _number(card.folder / "gpu_busy_percent"),
            "mem_util": _number(card.folder / "mem_busy_percent"),
            "temperature": _first(card, ("temp1_input", "temp2_input"), 1000),
            "power_w": self._power(card),
            "power_limit_w": _first(card, ("power1_cap", "power1_max"), 1_000_000),
            "clock": _clock_mhz(card),
        }

    def _power(self, card: _Card) -> float | None:
        """Watts where the driver tells them, else the energy since the last look over the time."""
        told = _first(card, ("power1_average", "power1_input"), 1_000_000)
        if told is not None or card.hwmon is None:
            return told
        energy = read_int(card.hwmon / "energy1_input")
        if energy is None:
            return None
        now, before = self._clock(), card.energy
        card.energy = (now, energy)
        if before is None or now <= before[0] or energy < before[1]:
            return None
        return (energy - before[1]) / 1_000_000 / (now - before[0])


def drm_card_sampler(gpus: Sequence[GpuInfo], root: Path = Path("/")) -> DrmCardSampler | None:
    """The sampler of this computer's cards; None where there is no such card. NVIDIA's have NVML (and a UUID)."""
    if sys.platform == "win32":
        return None
    cards = {g.pci_id: g.engine_name or g.name for g in gpus if g.pci_id is not None and g.uuid is None}
    integrated = frozenset(g.pci_id for g in gpus if g.pci_id is not None and g.kind == "igpu")
    return DrmCardSampler(cards, root, integrated) if cards else None


def _open(root: Path, pci_id: str, label: str, has_gtt: bool) -> _Card:
    folder = root / "sys/bus/pci/devices" / pci_id
    hwmon = next(iter(sorted(folder.glob("hwmon/hwmon*"))), None)
    card = next((path.name for path in sorted(folder.glob("drm/card*")) if path.name[4:].isdigit()), "card0")
    return _Card(label, folder, hwmon, tuple(folder / path.format(card=card) for path in _CLOCKS), has_gtt)


def _memory(card: _Card, what: str) -> float | None:
    """A processor's own card is given RAM as well, and the engine counts it."""
    own = _number(card.folder / f"mem_info_vram_{what}")
    lent = read_int(card.folder / f"mem_info_gtt_{what}") if card.has_gtt else None
    return None if own is None else own + (lent or 0)


def _clock_mhz(card: _Card) -> float | None:
    told = _first(card, ("freq1_input",), 1_000_000)
    return told if told is not None else next((mhz for path in card.clocks if (mhz := _number(path)) is not None), None)


def _first(card: _Card, names: Sequence[str], unit: int) -> float | None:
    """The first of these hwmon files that tells something, in whole units."""
    if card.hwmon is None:
        return None
    told = next((value for name in names if (value := read_int(card.hwmon / name)) is not None), None)
    return None if told is None else told / unit


def _number(path: Path) -> float | None:
    value = read_int(path)
    return None if value is None else float(value)
