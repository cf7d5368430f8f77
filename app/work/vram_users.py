"""Who uses each card's memory at this moment, in words; or why nobody can say."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from app.common.units import size_text
from app.hardware.free_now import is_asleep
from app.hardware.gpu_users import GpuUser, read_gpu_users
from app.hardware.types import GpuInfo, HardwareSnapshot
from app.words import say
from app.work.machine_facts import Fact

_MOST = 6
"""More programs than these on one card are counted, not named."""


@dataclass(frozen=True, slots=True)
class CardUsers:
    """One card. ``users``: the largest first; ``reason``: why there are none (``vram_users.<reason>``), else ""."""

    users: tuple[GpuUser, ...]
    reason: str = ""


def look_at_users(
    snapshot: HardwareSnapshot,
    read: Callable[[tuple[GpuInfo, ...]], tuple[GpuUser, ...]] = read_gpu_users,
    asleep: Callable[[GpuInfo], bool | None] = is_asleep,
) -> tuple[CardUsers, ...]:
    """Ask once, a card of the snapshot each. Whether a card sleeps is looked at first, and none is woken."""
    gpus = tuple(replace(gpu, is_asleep=asleep(gpu)) for gpu in snapshot.gpus)
    users = read(gpus)
    is_nvml_left_out = any(gpu.uuid is not None and gpu.is_asleep for gpu in gpus)
    found = []
    for index, gpu in enumerate(gpus):
        own = tuple(user for user in users if user.gpu == index)
        found.append(CardUsers(own, "" if own else _reason(gpu, is_nvml_left_out=is_nvml_left_out)))
    return tuple(found)


def _reason(gpu: GpuInfo, *, is_nvml_left_out: bool) -> str:
    if gpu.is_asleep:
        return "asleep"
    if gpu.kind == "rpc":
        return "remote"
    if sys.platform == "win32":
        return "none" if gpu.luid is not None else "untold"
    if gpu.uuid is not None:
        return "neighbour_asleep" if is_nvml_left_out else "none"
    return "only_own" if gpu.pci_id is not None else "untold"


def users_text(told: CardUsers) -> str:
    """'chrome.exe 310 MiB, dwm.exe 96 MiB and 3 more', or the reason why there is nobody to name."""
    if not told.users:
        return say(f"vram_users.{told.reason}")
    named = [
        say("vram_users.one", name=user.name or say("vram_users.nameless", pid=user.pid), size=user.dedicated_bytes)
        for user in told.users[:_MOST]
    ]
    more = len(told.users) - _MOST
    return ", ".join(named) if more <= 0 else say("vram_users.more", named=", ".join(named), n=more)


def users_fact(index: int, gpu: GpuInfo, told: CardUsers) -> Fact:
    """The line of a card on the machine page."""
    label, key = say("machine.label.vram_users"), f"gpus.{index}.users"
    if not told.users:
        is_known = told.reason == "none"
        return Fact(
            key,
            label,
            say("vram_users.nobody") if is_known else None,
            _source(gpu) if is_known else "",
            users_text(told),
            confidence="told" if is_known else "unknown",
        )
    raw = ", ".join(f"{user.name or user.pid} {size_text(user.dedicated_bytes)}" for user in told.users)
    return Fact(key, label, users_text(told), _source(gpu), "", raw)


def _source(gpu: GpuInfo) -> str:
    if sys.platform == "win32":
        return say("source.gpu_counters")
    return say("source.nvml" if gpu.uuid is not None else "source.drm")
