"""The limits of a container: CPU time and memory of this process's control group and of every group above it.

Version 2 keeps ``cpu.max`` and ``memory.max`` in one tree; version 1 has one tree per controller
(Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/ of the Linux kernel).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.hardware.sysfs import read_int, read_text

_UNLIMITED_FROM = 1 << 60
"""Version 1 writes "no limit" as a number near 2**63."""


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """The tightest memory limit. ``used_bytes`` leaves out file cache that the kernel can drop."""

    limit_bytes: int
    used_bytes: int | None


def parse_memberships(text: str) -> dict[str, str]:
    """``/proc/self/cgroup`` -> {controller: path}; version 2 stands under ''."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        parts = line.split(":", 2)
        if len(parts) == 3:
            for controller in parts[1].split(","):
                found[controller] = parts[2]
    return found


def parse_cpu_max(text: str) -> float | None:
    """``cpu.max`` of version 2: '400000 100000' -> 4.0 CPUs, 'max 100000' -> None."""
    parts = text.split()
    if len(parts) != 2 or not parts[0].isdigit() or not parts[1].isdigit() or int(parts[1]) == 0:
        return None
    return int(parts[0]) / int(parts[1])


def cpu_quota(root: Path) -> float | None:
    """The tightest CPU time limit, in CPUs; None where there is none."""
    quotas = [parse_cpu_max(read_text(folder / "cpu.max") or "") for folder in _folders(root, "")]
    for folder in _folders(root, "cpu"):
        quota, period = read_int(folder / "cpu.cfs_quota_us"), read_int(folder / "cpu.cfs_period_us")
        quotas.append(quota / period if quota is not None and quota > 0 and period else None)
    return min((q for q in quotas if q is not None), default=None)


def memory_limit(root: Path) -> MemoryLimit | None:
    """The tightest memory limit; None where there is none."""
    found = []
    for folder in _folders(root, ""):
        limit = read_int(folder / "memory.max")
        found.append(_limit(folder, limit, "memory.current", "inactive_file"))
    for folder in _folders(root, "memory"):
        limit = read_int(folder / "memory.limit_in_bytes")
        found.append(_limit(folder, limit, "memory.usage_in_bytes", "total_inactive_file"))
    return min((f for f in found if f is not None), key=lambda f: f.limit_bytes, default=None)


def _limit(folder: Path, limit: int | None, usage_file: str, cache_key: str) -> MemoryLimit | None:
    if limit is None or limit <= 0 or limit >= _UNLIMITED_FROM:
        return None
    used = read_int(folder / usage_file)
    if used is not None:
        used = max(0, used - _stat(read_text(folder / "memory.stat") or "", cache_key))
    return MemoryLimit(limit, used)


def _stat(text: str, key: str) -> int:
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name == key and value.isdigit():
            return int(value)
    return 0


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """This process's group of a controller and all groups above it, as far as this mount shows them.

    Inside a container the path of ``/proc/self/cgroup`` may not exist below the mount; then the mount's root is ours.
    """
    path = parse_memberships(read_text(root / "proc/self/cgroup") or "").get(controller)
    if path is None:
        return
    mount = root / "sys/fs/cgroup" / controller
    if controller == "" and not (mount / "cgroup.controllers").exists():
        mount = mount / "unified"
    folder = mount / path.strip("/")
    while True:
        yield folder
        if folder == mount or mount not in folder.parents:
            return
        folder = folder.parent
