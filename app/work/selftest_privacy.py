"""What of a report leaves the machine: files by an allow-list, and no name of a person, a computer or a folder."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import socket
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from app.diagnose.doctor.redact import redacted
from app.hardware.sysfs import Recording

_UUID = re.compile(r"(?i)(?<![0-9a-f])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-f])")
_INVENTED = re.compile(r"[0-9a-f]{8}-0000-0000-0000-000000000000")
_SHORTEST_NAME = 3
_COMMON = frozenset({"root", "user", "admin", "localhost", "home", "administrator", "owner", "linux", "windows"})
_CPUINFO = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "siblings", "cpu cores", "Hardware")
_UEVENT = ("DRIVER", "PCI_CLASS", "PCI_ID", "PCI_SLOT_NAME")
_DMI_KEY = re.compile(r"E:\s*MEMORY_(?:ARRAY_NUM_DEVICES|ARRAY_MAX_CAPACITY|ARRAY_EC_TYPE|DEVICE_\d+_(?:PRESENT|SIZE|"
                      r"FORM_FACTOR|LOCATOR|BANK_LOCATOR|TYPE|TYPE_DETAIL|SPEED_MTS|CONFIGURED_SPEED_MTS|DATA_WIDTH|"
                      r"TOTAL_WIDTH|RANK))=")  # fmt: skip
_KEPT = re.compile(
    r"/sys/devices/(?:system/cpu|cpu_core|cpu_atom|cpu_lowpower|system/edac)/.*"
    r"|/sys/class/drm/card\d+(?:-[\w-]+)?/(?:status|device/(?:vendor|device|mem_info_\w+|\w+_link_\w+))"
    r"|/sys/class/drm/card\d+/card\d+-[\w-]+/status"
    r"|/sys/devices/pci[0-9a-f:]+/.*/\w+_link_\w+"
    r"|/sys/bus/pci/devices/[0-9a-f:.]+/power/runtime_status"
    r"|/sys/firmware/acpi/platform_profile|/sys/class/power_supply/[A-Z]+\d*/(?:online|type|status|scope)"
    r"|/sys/firmware/devicetree/base/model|/proc/sys/vm/overcommit_memory"
)


def recorded_files(record: Recording) -> dict[str, str]:
    """The files that the probes read and that tell nothing but hardware; others are left out or cut to what is used."""
    found: dict[str, str] = {}
    groups = _Groups(record.files.get(Path("/proc/self/cgroup"), ""))
    for path, text in record.files.items():
        kept = _kept(path.as_posix(), text, groups)
        if kept is not None:
            found[groups.renamed(path.as_posix())] = kept
    return dict(sorted(found.items()))


def recorded_links(record: Recording) -> dict[str, str]:
    """Which device folder each card's link points to."""
    links = {path.as_posix(): real.as_posix() for path, real in record.links.items()}
    return {path: real for path, real in sorted(links.items()) if path.startswith("/sys/class/drm/")}


def _kept(path: str, text: str, groups: _Groups) -> str | None:
    if path == "/proc/cpuinfo":
        return _lines(text.split("\n\n")[0], _CPUINFO)
    if path == "/proc/version":
        return " ".join(text.split()[:3])
    if path == "/etc/os-release":
        return _lines(text, ("PRETTY_NAME",))
    if path == "/proc/self/cgroup" or path.startswith("/sys/fs/cgroup/"):
        return groups.renamed(text)
    if path.endswith("/device/uevent"):
        return _lines(text, _UEVENT)
    if path == "/run/udev/data/+dmi:id":
        return "\n".join(line for line in text.splitlines() if _DMI_KEY.match(line))
    return text if _KEPT.fullmatch(path) else None


def _lines(text: str, keys: Iterable[str]) -> str:
    wanted = tuple(keys)
    lines = (line for line in text.splitlines() if re.split(r"\s*[:=]", line, maxsplit=1)[0].strip() in wanted)
    return "\n".join(lines)


class _Groups:
    """Names of control groups hold names of users, services and containers: g0, g1... instead."""

    def __init__(self, membership: str) -> None:
        parts = (PurePosixPath(line.split(":", 2)[-1]).parts for line in membership.splitlines())
        names = dict.fromkeys(name for path in parts for name in path if name != "/")
        self._names = {name: f"g{number}" for number, name in enumerate(names)}

    def renamed(self, text: str) -> str:
        """The same text or path with those names replaced, whole parts of a path only."""
        for name, number in self._names.items():
            text = re.sub(rf"(?<=/){re.escape(name)}(?=/|$|\n)", number, text)
        return text


def names_here() -> tuple[str, ...]:
    """This user's and this computer's names, the longest first; short and general ones would only garble words."""
    candidates = {
        os.environ.get(v, "") for v in ("USER", "LOGNAME", "USERNAME", "COMPUTERNAME", "HOSTNAME", "USERDOMAIN")
    }
    candidates |= {Path.home().name, socket.gethostname(), socket.gethostname().split(".")[0]}
    with contextlib.suppress(OSError, KeyError, ImportError):  # a container's user may have no name
        candidates.add(getpass.getuser())
    names = (name for name in candidates if len(name) >= _SHORTEST_NAME and name.lower() not in _COMMON)
    return tuple(sorted(names, key=len, reverse=True))


def scrubbed(value: Any, names: tuple[str, ...], folders: tuple[str, ...]) -> Any:
    """All texts of a JSON value without names, folders, keys and identities."""
    if isinstance(value, str):
        return _scrubbed_text(value, names, folders)
    if isinstance(value, Mapping):
        return {_scrubbed_text(str(k), names, folders): scrubbed(v, names, folders) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [scrubbed(item, names, folders) for item in value]
    return value


def _scrubbed_text(text: str, names: tuple[str, ...], folders: tuple[str, ...]) -> str:
    for folder in (*sorted(folders, key=len, reverse=True), str(Path.home())):
        if len(folder) > 1:
            text = text.replace(folder, "<folder>").replace(folder.replace("\\", "/"), "<folder>")
    text = redacted(text)
    for name in names:
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "<name>", text, flags=re.IGNORECASE)
    return _UUID.sub(lambda found: found[0] if _INVENTED.fullmatch(found[0].lower()) else "<uuid>", text)
