"""Which of a release's packages suits this machine, and why. Pure.

A CUDA package suits when its toolkit still knows the card and the driver can run it. ggml's CUDA code is shipped as
machine code for a few cards and as PTX for the rest (ggml/src/ggml-cuda/CMakeLists.txt:43-68). Machine code runs on
every driver of the same CUDA major version; PTX needs a driver at least as new as the toolkit ("minor version
compatibility" in NVIDIA's CUDA compatibility guide). Whether it works is settled by ``--list-devices`` afterwards.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.common.problem import ParamValue
from app.common.system_name import machine_name
from app.engine.release import Package, Release
from app.hardware.types import GpuInfo

_CUDA_OF_DRIVER = (
    (595, (13, 2)), (590, (13, 1)), (580, (13, 0)), (575, (12, 9)), (570, (12, 8)), (565, (12, 7)), (560, (12, 6)),
    (555, (12, 5)), (550, (12, 4)), (545, (12, 3)), (535, (12, 2)), (530, (12, 1)), (525, (12, 0)), (450, (11, 0)),
)  # fmt: skip
"""First driver branch -> the newest CUDA it runs (NVIDIA's CUDA release notes, table 3); newer ones: at least that."""

_OLDEST_CARD = {12: (5, 0), 13: (7, 5)}
"""CUDA major version -> the oldest compute capability it compiles for."""

_MACHINE_CODE = (((0, 0), (8, 6)), ((11, 8), (8, 9)), ((12, 8), (12, 0)), ((12, 9), (12, 1)))
"""From this toolkit on, machine code for this card is in the package."""

_NVIDIA = re.compile(r"nvidia|geforce|quadro|tesla|\brtx\b|\bgtx\b", re.IGNORECASE)
_AMD = re.compile(r"\bamd\b|radeon", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Offer:
    """A package with the reason for its place: ``engine.offer.<reason>`` in the words. ``suits``: it should work."""

    package: Package
    suits: bool
    reason: str
    params: Mapping[str, ParamValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """System and processor as the archives name them; None where there is no official build."""

    system: str | None
    arch: str | None


def this_target() -> Target:
    """Of the computer we run on."""
    system = {"win32": "win", "linux": "ubuntu", "darwin": "macos"}.get(sys.platform)
    machine = machine_name().lower()
    arch = {"amd64": "x64", "x86_64": "x64", "arm64": "arm64", "aarch64": "arm64"}.get(machine)
    return Target(system, arch)


def offers(releases: Sequence[Release], target: Target, gpus: Sequence[GpuInfo]) -> tuple[Offer, ...]:
    """The packages of the newest release that has any for this machine, the recommended one first.

    Those that cannot work are last, with the reason. Empty when no release has one.
    """
    for release in releases:
        packages = release.for_machine(target.system or "", target.arch or "")
        if packages:
            made = [_offer(package, gpus) for package in packages]
            return tuple(sorted(made, key=lambda offer: _rank(offer, gpus)))
    return ()


def driver_major(driver: str | None) -> int | None:
    """560 for NVIDIA's '560.94' and for Windows' own '32.0.15.6094'."""
    parts = (driver or "").strip().split(".")
    if len(parts) == 4 and all(part.isdigit() for part in parts):
        digits = (parts[2] + parts[3].zfill(4))[-5:]
        return int(digits[:3])
    return int(parts[0]) if parts[0].isascii() and parts[0].isdigit() and len(parts[0]) < 6 else None


def cuda_of_driver(driver: str | None) -> tuple[int, int] | None:
    """The newest CUDA that a driver is known to run; None when the driver is unknown or too old to matter."""
    major = driver_major(driver)
    if major is None:
        return None
    return next((cuda for first, cuda in _CUDA_OF_DRIVER if major >= first), None)


def nvidia_cards(gpus: Sequence[GpuInfo]) -> tuple[GpuInfo, ...]:
    """The NVIDIA cards among them."""
    return tuple(gpu for gpu in gpus if gpu.compute_capability or _NVIDIA.search(gpu.name))


def real_gpus(gpus: Sequence[GpuInfo]) -> tuple[GpuInfo, ...]:
    """Without software rasterizers and other machines' cards."""
    return tuple(gpu for gpu in gpus if gpu.kind in ("gpu", "igpu") and not gpu.is_software)


def _offer(package: Package, gpus: Sequence[GpuInfo]) -> Offer:
    here = real_gpus(gpus)
    if package.cuda is not None:
        return _cuda_offer(package, nvidia_cards(here))
    if package.backend in ("rocm", "hip"):
        amd = next((gpu for gpu in here if _AMD.search(gpu.name)), None)
        return Offer(package, amd is not None, "rocm" if amd else "rocm_no_card", {"gpu": amd.name if amd else None})
    if package.backend == "vulkan":
        return Offer(package, bool(here), "vulkan" if here else "vulkan_no_card", {"gpu": _best(here)})
    if package.backend == "metal":
        return Offer(package, True, "metal")
    return Offer(package, True, "cpu_beside_card" if here else "cpu", {"gpu": _best(here)})


def _best(gpus: Sequence[GpuInfo]) -> str | None:
    ranked = sorted(gpus, key=lambda gpu: (gpu.kind != "gpu", -(gpu.total_bytes or 0)))
    return ranked[0].name if ranked else None


def _cuda_offer(package: Package, cards: Sequence[GpuInfo]) -> Offer:
    cuda = package.cuda
    assert cuda is not None
    params: dict[str, ParamValue] = {"cuda": package.version, "gpu": _best(cards)}
    if not cards:
        return Offer(package, False, "cuda_no_card", params)
    if package.runtime is None:
        return Offer(package, False, "cuda_no_runtime", params)
    known = [card for card in cards if _knows(cuda, card)]
    if not known:
        params["capability"] = cards[0].compute_capability
        return Offer(package, False, "cuda_card_too_old", params)
    driver = known[0].driver
    params |= {"gpu": _best(known), "driver": driver}
    runs = cuda_of_driver(driver)
    if driver_major(driver) is None:
        return Offer(package, cuda[0] <= 12, "cuda_driver_unknown", params)
    if runs is None or (runs < cuda and not (runs[0] == cuda[0] and all(_has_code(cuda, card) for card in known))):
        needed = _driver_for(cuda, translates=not all(_has_code(cuda, card) for card in known))
        params["needed"] = needed
        return Offer(package, False, "cuda_driver_too_old" if needed else "cuda_driver_not_new_enough", params)
    return Offer(package, True, "cuda", params)


def _capability(card: GpuInfo) -> tuple[int, int] | None:
    found = re.fullmatch(r"(\d{1,2})\.(\d{1,2})", card.compute_capability or "")
    return (int(found[1]), int(found[2])) if found else None


def _knows(cuda: tuple[int, int], card: GpuInfo) -> bool:
    """Does this toolkit still compile for the card? A card whose age nobody told gets the benefit of the doubt."""
    capability = _capability(card)
    oldest = _OLDEST_CARD.get(cuda[0], _OLDEST_CARD[13] if cuda[0] > 13 else (5, 0))
    return capability is None or capability >= oldest


def _has_code(cuda: tuple[int, int], card: GpuInfo) -> bool:
    """Is there machine code for this very card in the package, so that the driver need not translate?"""
    capability = _capability(card)
    return any(cuda >= since and capability == code for since, code in _MACHINE_CODE)


def _driver_for(cuda: tuple[int, int], *, translates: bool) -> int | None:
    """The first driver branch that runs this CUDA; None for one newer than the table. Machine code needs only the
    first driver of the same CUDA major version."""
    least = cuda if translates else (cuda[0], 0)
    return min((first for first, runs in _CUDA_OF_DRIVER if runs >= least), default=None)


def _rank(offer: Offer, gpus: Sequence[GpuInfo]) -> tuple[int, int, tuple[int, int]]:
    """Suitable ones first: CUDA (newest first), Metal, Vulkan, ROCm, CPU."""
    order = {"cuda": 0, "metal": 1, "vulkan": 2, "rocm": 3, "hip": 3, "cpu": 4}
    major, minor = offer.package.cuda or (0, 0)
    return (0 if offer.suits else 1, order[offer.package.backend], (-major, -minor))
