"""Asks a llama-server what it is, and says what is worth knowing about it on this machine."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from app.common.paths import AppPaths
from app.common.problem import Problem, ProblemError, Severity
from app.engine.capabilities import read_capabilities
from app.engine.devices import list_devices
from app.engine.identity import (
    backends_of,
    build_of,
    has_cuda_runtime,
    kind_of,
    knows_architecture,
    quick_look,
    stamp_of,
)
from app.engine.locate import EngineBinary
from app.engine.release_choice import nvidia_cards, real_gpus
from app.engine.wheel_install import engine_folder
from app.hardware.devices import EngineDevice
from app.hardware.types import GpuInfo
from app.work.engine_store import EngineSource, EngineStore, KnownEngine

_GPU_BACKENDS = ("cuda", "vulkan", "hip", "rocm", "sycl", "metal", "opencl", "musa", "cann")
_LINUX_PLACES = ("/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/aarch64-linux-gnu")


def know_engine(
    binary: EngineBinary,
    paths: AppPaths,
    source: EngineSource | None = None,
    engine_id: str | None = None,
    package: str | None = None,
) -> KnownEngine:
    """Run ``--help``, ``--version`` and ``--list-devices`` and hash the files. Takes up to seconds.

    Raises ProblemError ``engine_broken`` and its kin when it does not answer. A build that has no ``--list-devices`` is
    known all the same; its devices are None.
    """
    capabilities = read_capabilities(binary, paths.cache)
    server = Path(binary.path)
    stamp = stamp_of(server)
    devices = _devices(binary, paths) if capabilities.has("--list-devices") else None
    number, commit = build_of(capabilities.build)
    return KnownEngine(
        id=engine_id or id_of(binary, paths),
        path=binary.path,
        kind=kind_of(capabilities),
        build=capabilities.build,
        build_number=number,
        commit=commit,
        backends=backends_of(stamp.libraries, [device.name for device in devices or ()]),
        devices=None if devices is None else tuple(_device_text(device) for device in devices),
        stamp=stamp,
        source=source or source_of(binary, paths),
        package=package,
        flags=tuple(sorted(capabilities.flags)),
    )


def _devices(binary: EngineBinary, paths: AppPaths) -> tuple[EngineDevice, ...] | None:
    try:
        return list_devices(binary, (), paths)
    except ProblemError:
        return None  # it answers --help and not this: told as unknown


def _device_text(device: EngineDevice) -> str:
    mib = None if device.total_bytes is None else device.total_bytes >> 20
    return f"{device.name}: {device.description}" + ("" if mib is None else f" ({mib} MiB)")


def id_of(binary: EngineBinary, paths: AppPaths) -> str:
    """The folder's name for an engine in our cache, else a short name that belongs to the path."""
    server = Path(binary.path)
    try:
        return server.relative_to(paths.engines).parts[0]
    except ValueError:
        digest = hashlib.sha256(os.fsencode(os.path.normcase(server.absolute()))).hexdigest()
        return f"own-{digest[:8]}"


def source_of(binary: EngineBinary, paths: AppPaths) -> EngineSource:
    """Downloaded and built ones lie in our cache; everything else is the user's."""
    server = Path(binary.path)
    if server.is_relative_to(engine_folder(paths)):
        return EngineSource.BUILT
    return EngineSource.DOWNLOADED if server.is_relative_to(paths.engines) else EngineSource.OWN


def has_changed(known: KnownEngine) -> bool:
    """Is the program at this path another one than we know? The hash is only computed when size or time differ."""
    look = quick_look(Path(known.path))
    if look is None or look == (known.stamp.size_bytes, known.stamp.mtime_ns):
        return False
    try:
        return stamp_of(Path(known.path)).sha256 != known.stamp.sha256
    except ProblemError:
        return False  # it vanished between the two looks; that is told when it is started


def engine_warnings(
    known: KnownEngine, gpus: Sequence[GpuInfo], store: EngineStore | None = None
) -> tuple[Problem, ...]:
    """What is wrong or unwise about this engine on this machine, as warnings.

    ``engine_missing_file``, ``engine_no_cuda_runtime``, ``engine_cuda_no_card``, ``engine_cpu_only``,
    ``engine_vulkan_but_cuda``, ``engine_other_kind``.
    """
    if not os.path.isfile(known.path):
        return (_warning("engine_missing_file", path=known.path),)
    found = [*_card_warnings(known, gpus, store)]
    if known.kind.value == "other":
        found.append(_warning("engine_other_kind", path=known.path))
    return tuple(found)


def architecture_warning(known: KnownEngine, architecture: str) -> Problem | None:
    """``engine_lacks_architecture`` when the build does not know this kind of model. Reads the program's file."""
    if knows_architecture(Path(known.path), architecture) is not False:
        return None
    return _warning("engine_lacks_architecture", architecture=architecture, build=known.build)


def _card_warnings(known: KnownEngine, gpus: Sequence[GpuInfo], store: EngineStore | None) -> Iterable[Problem]:
    here = real_gpus(gpus)
    cards = nvidia_cards(here)
    names = [device.partition(":")[0] for device in known.devices or ()]
    sees_cuda = any(name.startswith("CUDA") for name in names)
    if "cuda" in known.backends and known.devices is not None and not sees_cuda and cards:
        if not has_cuda_runtime(known.stamp.libraries) and not _has_system_runtime():
            yield _warning("engine_no_cuda_runtime", gpu=cards[0].name, folder=str(Path(known.path).parent))
        else:
            yield _warning("engine_cuda_no_card", gpu=cards[0].name, driver=cards[0].driver)
    discrete = [gpu for gpu in here if gpu.kind == "gpu"]
    has_gpu_code = any(backend in _GPU_BACKENDS for backend in known.backends)
    if discrete and not has_gpu_code and not sees_cuda:
        yield _warning("engine_cpu_only", gpu=discrete[0].name)
    if cards and "vulkan" in known.backends and "cuda" not in known.backends:
        better = _cuda_engine(store)
        if better is not None and better.id != known.id:
            yield _warning("engine_vulkan_but_cuda", gpu=cards[0].name, other=better.id)


def _cuda_engine(store: EngineStore | None) -> KnownEngine | None:
    """Another engine of the user's that uses the card through CUDA."""
    for engine in store.engines if store else ():
        if any(device.startswith("CUDA") for device in engine.devices or ()) and os.path.isfile(engine.path):
            return engine
    return None


def _has_system_runtime() -> bool:
    """Do NVIDIA's cudart and cublas lie where the system looks for them?"""
    if sys.platform == "win32":
        places = [Path(p) for p in os.environ.get("PATH", "").split(os.pathsep) if p]
        wanted = ("cudart64_*.dll", "cublas64_*.dll")
    else:
        extra = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
        places = [Path(p) for p in (*extra, *_LINUX_PLACES) if p]
        wanted = ("libcudart.so*", "libcublas.so*")
    return all(any(_has_file(place, pattern) for place in places) for pattern in wanted)


def _has_file(folder: Path, pattern: str) -> bool:
    try:
        return next(folder.glob(pattern), None) is not None
    except (OSError, ValueError):
        return False


def _warning(code: str, **params: str | int | None) -> Problem:
    return Problem(code, Severity.WARNING, dict(params))
