"""Which llama-server a program is: its kind, its build, its libraries, and the hash that tells when it has changed."""

from __future__ import annotations

import hashlib
import mmap
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.common.capabilities import Capabilities
from app.common.problem import fail

_LIBRARY = re.compile(r"^(?:lib)?[\w+.\-]+?(?:\.dll|\.dylib|\.so(?:\.\d+)*)$", re.IGNORECASE)
_BACKEND = re.compile(r"^(?:lib)?ggml-([a-z]+)(?=[.\-])", re.IGNORECASE)
_BACKEND_NAMES = frozenset({"cpu", "cuda", "vulkan", "hip", "rocm", "sycl", "metal", "rpc", "opencl", "musa", "cann"})
_DEVICE_BACKENDS = {"CUDA": "cuda", "Vulkan": "vulkan", "ROCm": "hip", "SYCL": "sycl", "Metal": "metal", "MTL": "metal"}
_NEW_VERSION = re.compile(r"\(build (\d+), commit ([0-9a-f]{4,40}|unknown)\)")
_OLD_VERSION = re.compile(r"^(\d+) \(([0-9a-f]{4,40}|unknown)\)")
_OUR_BUILD = re.compile(r"b(\d+)")
_IK_FLAGS = ("-fmoe", "--fused-moe", "-mla", "--mla-use", "-rtr", "--run-time-repack", "-amb", "-ser")
_MAINLINE_FLAGS = ("--gpu-layers", "--n-gpu-layers", "-ngl")
_MOST_LIBRARIES = 400
_CODE_LIBRARY = re.compile(r"^(?:lib)?llama\.", re.IGNORECASE)
_ARCHITECTURE = re.compile(r"[a-z0-9][a-z0-9_.\-]{2,40}")


class EngineKind(StrEnum):
    """Whose llama-server it is."""

    MAINLINE = "mainline"
    IK = "ik_llama.cpp"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class FileStamp:
    """The server program and its libraries as files.

    ``sha256`` covers the program and llama.cpp's own libraries beside it; NVIDIA's (0.5 GB) only by name.
    """

    sha256: str
    size_bytes: int
    mtime_ns: int
    libraries: tuple[str, ...]


def kind_of(capabilities: Capabilities) -> EngineKind:
    """From the options that ``--help`` lists: ik_llama.cpp has switches that mainline never had."""
    if sum(capabilities.has(flag) for flag in _IK_FLAGS) >= 2:
        return EngineKind.IK
    has_layers = capabilities.first(*_MAINLINE_FLAGS) is not None
    return EngineKind.MAINLINE if has_layers and capabilities.has("--host") else EngineKind.OTHER


def build_of(version: str | None) -> tuple[int | None, str | None]:
    """(number, commit) of '0.6.0 (build 11434, commit 0123abc)', '7502 (0123abc)' or 'b11434'; unknown is None.

    common/build-info.cpp.in:33; before 2026 ``version: %d (%s)``.
    """
    if version is None:
        return None, None
    found = _NEW_VERSION.search(version) or _OLD_VERSION.match(version)
    if found:
        number, commit = int(found[1]), found[2]
        return number or None, None if commit == "unknown" else commit
    ours = _OUR_BUILD.fullmatch(version)
    return (int(ours[1]) if ours else None), None


def stamp_of(server: Path) -> FileStamp:
    """Look at the program and hash it with the libraries beside it. Raises ProblemError ``engine_not_found``."""
    try:
        status = server.stat()
        folder = server.resolve().parent
        names = _libraries_of(folder)
        digest = hashlib.sha256()
        for path in (server, *(folder / name for name in names if not _is_nvidia(name))):
            with path.open("rb") as file:
                digest.update(path.name.encode("utf-8", "surrogateescape") + b"\0")
                digest.update(hashlib.file_digest(file, "sha256").digest())
    except OSError as error:
        raise fail("engine_not_found", path=str(server)) from error
    return FileStamp(digest.hexdigest(), *_size_and_time(folder, names, status), names)


def quick_look(server: Path) -> tuple[int, int] | None:
    """(bytes, newest change time in ns) of the program and its libraries; None when it is gone."""
    try:
        folder = server.resolve().parent
        return _size_and_time(folder, _libraries_of(folder), server.stat())
    except OSError:
        return None


def _size_and_time(folder: Path, names: Iterable[str], status: os.stat_result) -> tuple[int, int]:
    size, newest = status.st_size, status.st_mtime_ns
    for name in names:
        one = (folder / name).stat()
        size, newest = size + one.st_size, max(newest, one.st_mtime_ns)
    return size, newest


def _libraries_of(folder: Path) -> tuple[str, ...]:
    """Libraries beside the server that belong to llama.cpp; links to others are left out.

    A folder such as /usr/bin or Downloads holds things of other programs: only known names count there.
    """
    with os.scandir(folder) as entries:
        found = [e.name for e in entries if _is_engine_library(e.name) and e.is_file(follow_symlinks=False)]
    return tuple(sorted(found)[:_MOST_LIBRARIES])


def _is_engine_library(name: str) -> bool:
    if _LIBRARY.match(name) is None:
        return False
    bare = name.lower().removeprefix("lib")
    return bare.startswith(("ggml", "llama", "mtmd", "cudart", "cublas"))


def _is_nvidia(name: str) -> bool:
    return name.lower().removeprefix("lib").startswith(("cudart", "cublas"))


def backends_of(libraries: Iterable[str], device_names: Iterable[str]) -> tuple[str, ...]:
    """'cpu', 'cuda', 'vulkan'...: from the library names beside the server and from the devices it names itself."""
    found = set()
    for name in libraries:
        match = _BACKEND.match(name)
        if match and match[1].lower() in _BACKEND_NAMES:
            found.add(match[1].lower())
    for device in device_names:
        backend = _DEVICE_BACKENDS.get(device.rstrip("0123456789"))
        if backend:
            found.add(backend)
    return tuple(sorted(found)) or ("cpu",)


def has_cuda_runtime(libraries: Iterable[str]) -> bool:
    """Do NVIDIA's cudart and cublas lie beside the server?"""
    bare = [name.lower().removeprefix("lib") for name in libraries]
    return any(n.startswith("cudart") for n in bare) and any(n.startswith("cublas") for n in bare)


def knows_architecture(server: Path, architecture: str) -> bool | None:
    """Does this build contain the name of a model architecture? None when that cannot be told.

    Every build carries the names in one table (src/llama-arch.cpp, LLM_ARCH_NAMES) as zero-ended texts in libllama, or
    in the server itself when it is linked statically.
    """
    if _ARCHITECTURE.fullmatch(architecture) is None:
        return None
    needle = architecture.encode("ascii") + b"\0"
    try:
        folder = server.resolve().parent
        with os.scandir(folder) as entries:
            code = [Path(e.path) for e in entries if _CODE_LIBRARY.match(e.name) and e.is_file(follow_symlinks=False)]
        places = [path for path in code if _LIBRARY.match(path.name)] or [server]
        tables = [path for path in places if _contains(path, b"llama\0") and _contains(path, b"qwen2moe\0")]
        return any(_contains(path, needle) for path in tables) if tables else None
    except (OSError, ValueError):
        return None


def _contains(path: Path, needle: bytes) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(needle) >= 0
