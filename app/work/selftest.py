"""``selftest``: all raw facts about this machine in one JSON file, for a bug report that somebody else can replay.

What is in it: the snapshot and its facts, what each probe read (Linux' files, Windows' records as hex, the firmware's
memory structures), what the engine says of itself and its devices, how long it took. What is not: names of persons,
computers and folders, serial numbers, UUIDs, keys.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from app.common.paths import AppPaths
from app.common.problem import ProblemError, fail
from app.common.system_name import machine_name
from app.common.whole_file import SHARED, write_whole
from app.engine.devices import parse_devices
from app.engine.environment import engine_environment
from app.engine.launcher import run_tool
from app.engine.locate import EngineBinary
from app.hardware.devices import with_engine_devices
from app.hardware.probe import probe
from app.hardware.raw import read_raw
from app.hardware.snapshot_file import snapshot_to_json
from app.hardware.sysfs import Recording, recording
from app.hardware.types import HardwareSnapshot
from app.work.machine_facts import machine_groups
from app.work.selftest_privacy import names_here, recorded_files, recorded_links, scrubbed

FORMAT, VERSION = "lanewise-selftest", 1
_PACKAGES = ("PySide6-Essentials", "psutil", "nvidia-ml-py", "numpy", "pyqtgraph", "httpx")
_ENGINE_TIMEOUT_S = 60.0
_LONGEST_TEXT = 20_000


def make_selftest(binary: EngineBinary | None, paths: AppPaths) -> dict[str, Any]:
    """The report as JSON values, redacted. Takes as long as a look at the machine and two starts of the engine."""
    started = time.perf_counter()
    with recording() as record:
        snapshot = probe()
    probe_ms = 1000 * (time.perf_counter() - started)
    engine = _engine(binary, paths)
    if binary is not None and isinstance(engine.get("devices"), str):
        snapshot = with_engine_devices(snapshot, parse_devices(engine["devices"]))
    report = {
        "format": FORMAT,
        "version": VERSION,
        "program": _program(),
        "probe_ms": round(probe_ms, 1),
        "snapshot": _without_identities(snapshot),
        "facts": _facts(snapshot),
        "raw": {"files": _files(record), "links": recorded_links(record), **read_raw()},
        "engine": engine,
    }
    hidden = () if binary is None else (str(Path(binary.path).parent),)
    cleaned = scrubbed(report, names_here(), (*hidden, str(paths.cache), str(paths.data), str(paths.config)))
    assert isinstance(cleaned, dict)
    return cleaned


def save_selftest(path: Path, report: Mapping[str, Any]) -> int:
    """Write the file whole or not at all; returns its bytes. Raises ProblemError ``selftest_not_saved``."""
    data = (json.dumps(report, indent=1, ensure_ascii=False) + "\n").encode("utf-8", errors="backslashreplace")
    try:
        write_whole(path, data, mode=SHARED)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise fail("selftest_not_saved", (str(error),), path=str(path)) from error
    return len(data)


def _program() -> dict[str, Any]:
    return {
        "lanewise": _version("lanewise"),
        "python": ".".join(map(str, sys.version_info[:3])),
        "machine": "Windows" if sys.platform == "win32" else machine_name(),
        "is_frozen": bool(getattr(sys, "frozen", False)),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _without_identities(snapshot: HardwareSnapshot) -> dict[str, Any]:
    """The snapshot with numbered instead of real UUIDs: two equal cards stay two."""
    data = snapshot_to_json(snapshot)
    for number, gpu in enumerate(data["gpus"]):
        if gpu["uuid"] is not None:
            gpu["uuid"] = f"GPU-{number:08x}-0000-0000-0000-000000000000"
    return data


def _facts(snapshot: HardwareSnapshot) -> list[dict[str, Any]]:
    """Each fact with its value, unit, source and confidence, and what would reveal an unknown one."""
    return [
        {"key": f.key, "value": f.raw, "unit": f.unit, "source": f.source, "confidence": f.confidence, "hint": f.hint}
        for group in machine_groups(snapshot)
        for f in group.facts
    ]


def _files(record: Recording) -> dict[str, str]:
    return recorded_files(record) if sys.platform != "win32" else {}


def _engine(binary: EngineBinary | None, paths: AppPaths) -> dict[str, Any]:
    if binary is None:
        return {"found": False}
    told: dict[str, Any] = {"found": True, "name": Path(binary.path).name}
    for key, option in (("version", "--version"), ("devices", "--list-devices"), ("help", "--help")):
        told[key] = _ask(binary, paths, option)
    text = told.pop("help")
    told["options"] = (
        sorted(set(re.findall(r"(?m)^\s*(-{1,2}[a-zA-Z][\w-]*)", text))) if isinstance(text, str) else text
    )
    return told


def _ask(binary: EngineBinary, paths: AppPaths, option: str) -> Any:
    try:
        output = run_tool([binary.path, option], engine_environment(paths.engine_home), _ENGINE_TIMEOUT_S)
    except OSError as error:
        return {"error": error.strerror or str(error)}
    except ProblemError as error:
        return {"error": error.problem.code, "evidence": list(error.problem.evidence)}
    if output.code != 0:
        return {"error": f"exit code {output.code}", "evidence": list(output.lines)[-20:]}
    text = output.stdout if option != "--version" else "\n".join(output.lines)
    return text[:_LONGEST_TEXT]
