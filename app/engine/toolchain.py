"""What building llama.cpp needs on this computer, and how much of it may run at once."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from app.common.problem import Problem, fail

_BYTES_PER_JOB = 1_500_000_000
"""A compiler process took 0.7 GB at its peak (b11434, g++ 12); twice that leaves the system room to breathe."""

_COMPILERS = ("c++", "g++", "clang++")
_MAKERS = ("make", "ninja")
_INSTALL_LINES = {
    "apt-get": "sudo apt-get install -y g++ make",
    "dnf": "sudo dnf install gcc-c++ make",
    "pacman": "sudo pacman -S gcc make",
    "zypper": "sudo zypper install gcc-c++ make",
}


def build_tools_problem() -> Problem | None:
    """``engine_no_compiler`` with what is missing and the one line that installs it; None when all is there.

    cmake is not looked for: pip fetches it for the build, as the package asks for it.
    """
    missing = missing_tools()
    if not missing:
        return None
    return fail("engine_no_compiler", missing=", ".join(missing), command=_install_line()).problem


def missing_tools() -> tuple[str, ...]:
    """Names of programs that a build needs and that are not on PATH."""
    if sys.platform == "win32":
        return () if shutil.which("cl") or _visual_studio() is not None else ("Visual Studio C++ Build Tools",)
    missing = []
    if not any(shutil.which(name) for name in _COMPILERS):
        missing.append("g++")
    if not any(shutil.which(name) for name in _MAKERS):
        missing.append("make")
    return tuple(missing)


def _visual_studio() -> Path | None:
    """cmake finds Visual Studio through this program of its installer."""
    programs = os.environ.get("PROGRAMFILES(X86)") or "C:/Program Files (x86)"
    finder = Path(programs) / "Microsoft Visual Studio" / "Installer" / "vswhere.exe"
    return finder if finder.is_file() else None


def _install_line() -> str:
    if sys.platform == "win32":
        return "winget install Microsoft.VisualStudio.2022.BuildTools"
    if sys.platform == "darwin":
        return "xcode-select --install"
    found = next((line for manager, line in _INSTALL_LINES.items() if shutil.which(manager)), None)
    return found or _INSTALL_LINES["apt-get"]


def build_environment(work: Path) -> dict[str, str]:
    """The variables of a build: our options, bounded parallelism, and temporary files in ``work``.

    Without LLAMA_CPP_BUILD_JOBS the package runs ``make -j`` without limit, which can exhaust the memory.
    """
    variables: dict[str, str] = {**os.environ}
    for name in ("LLAMA_CPP_DIR", "PIP_REQUIRE_VIRTUALENV", "MAKEFLAGS"):
        variables.pop(name, None)
    variables |= {
        "CMAKE_ARGS": "-DGGML_RPC=ON -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_CURL=OFF",
        "LLAMA_CPP_BUILD_JOBS": str(build_jobs(_cpus(), _memory_bytes())),
        "TMPDIR": str(work),
        "TEMP": str(work),
        "TMP": str(work),
        "PYTHONUNBUFFERED": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }
    if sys.platform != "win32" and not shutil.which("make") and not _has_generator(variables):
        variables["CMAKE_GENERATOR"] = "Ninja"
    return variables


def _has_generator(variables: Mapping[str, str]) -> bool:
    return bool(variables.get("CMAKE_GENERATOR"))


def build_jobs(cpus: int, memory_bytes: int | None) -> int:
    """How many compilers at once: one per CPU, but no more than the memory holds; at least one."""
    by_memory = cpus if memory_bytes is None else memory_bytes // _BYTES_PER_JOB
    return max(1, min(cpus, by_memory))


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_bytes() -> int | None:
    """RAM of the machine, or of the container if that is less; None where only the standard library cannot tell."""
    if sys.platform == "win32":
        return None
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
    try:
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return total  # no container, or no limit ("max")
    return min(total, limit)
