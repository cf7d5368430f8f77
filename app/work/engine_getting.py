"""Gets an official llama.cpp: list, choose, fetch, check, unpack, ask whether it sees the card, put it in place.

Nothing here is called without the user having asked for it: it is the only part of Lanewise, apart from model
downloads, that uses the network.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from app.common.paths import AppPaths
from app.common.patient import rename_patiently
from app.common.problem import Problem, ProblemError, fail
from app.engine.archive import unpack
from app.engine.filelock import FileLock
from app.engine.identity import backends_of
from app.engine.locate import MARKER, EngineBinary, engine_at
from app.engine.release import MOST_LISTING_BYTES, PUBLIC_RELEASES, Asset, Package, Release, parse_releases
from app.engine.release_choice import Offer, offers, real_gpus, this_target
from app.hardware.types import GpuInfo
from app.work.downloads.addresses import parse_address
from app.work.downloads.fetch import fetch_bytes, fetch_files
from app.work.downloads.space import check_room
from app.work.downloads.types import Cancelled, DownloadProgress, Patience, WantedFile, check_cancelled
from app.work.engine_knowing import know_engine
from app.work.engine_store import EngineSource, KnownEngine

_TEMPORARY = ".get-"
_UNPACKED_FACTOR = 4
_USUAL = Patience()
_LOOK_S = 0.2
_KEEP_ARCHIVES = ("archive_not_written", "download_cancelled")
"""After these the same archives can be used once more."""

_NEEDS_A_CARD = ("cuda", "vulkan", "rocm", "hip", "metal")
_SAME_BACKEND = {"rocm": "hip"}


class GetStep(StrEnum):
    """Steps of getting an engine; ``engine.get.<step>`` are their words."""

    LISTING = "listing"
    DOWNLOADING = "downloading"
    CHECKING = "checking"
    UNPACKING = "unpacking"
    TESTING = "testing"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class GetProgress:
    """Where it is. ``download`` only in that step; ``unpacked_bytes`` only while unpacking."""

    step: GetStep
    package: str | None = None
    download: DownloadProgress | None = None
    unpacked_bytes: int | None = None


GetHandler = Callable[[GetProgress], None]


def load_releases(
    paths: AppPaths, mirror: str | None, cancelled: Cancelled, patience: Patience = _USUAL
) -> tuple[Release, ...]:
    """Ask the official listing, or the mirror, and keep the answer for archives that the user brings later.

    Raises ProblemError ``download_*`` or ``release_list_bad``.
    """
    first: ProblemError | None = None
    for url in listing_addresses(mirror):
        try:
            data = fetch_bytes(url, MOST_LISTING_BYTES, cancelled, patience)
            releases = parse_releases(data)
        except ProblemError as error:
            if error.problem.code == "download_cancelled":
                raise
            first = first or error
            continue
        with suppress(OSError):
            _listing_file(paths).parent.mkdir(parents=True, exist_ok=True)
            _listing_file(paths).write_bytes(data)
        return releases
    assert first is not None
    raise first


def known_releases(paths: AppPaths) -> tuple[Release, ...]:
    """The listing that was loaded last, without asking anybody; empty when there is none."""
    try:
        with _listing_file(paths).open("rb") as file:
            return parse_releases(file.read(MOST_LISTING_BYTES))
    except (OSError, ProblemError):
        return ()


def _listing_file(paths: AppPaths) -> Path:
    return paths.cache / "llama-releases.json"


def listing_addresses(mirror: str | None) -> tuple[str, ...]:
    """Where to ask for the list. A mirror either has the same paths, takes the whole address behind its own, or is the
    address of a list itself."""
    if not mirror:
        return (PUBLIC_RELEASES,)
    base = mirror.strip().rstrip("/")
    if urlsplit(base).path.endswith((".json", "/releases")):
        return (base,)
    return (f"{base}{_path_of(PUBLIC_RELEASES)}", f"{base}/{PUBLIC_RELEASES}")


def asset_addresses(asset: Asset, mirror: str | None) -> tuple[str, ...]:
    """Where an archive is; with a mirror only there, since it was set because the official place is out of reach."""
    base = (mirror or "").strip().rstrip("/")
    if not base or _is_below(asset.url, base):
        return (asset.url,)
    if urlsplit(base).path.endswith((".json", "/releases")):
        parts = urlsplit(base)
        base = f"{parts.scheme}://{parts.netloc}"
    return (f"{base}{_path_of(asset.url)}", f"{base}/{asset.url}")


def _is_below(url: str, base: str) -> bool:
    return urlsplit(url)[:2] == urlsplit(base)[:2]


def _path_of(url: str) -> str:
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def check_mirror(mirror: str) -> None:
    """Raise ProblemError ``download_address_bad`` unless it can be an address."""
    parse_address(mirror)


def offers_here(releases: Sequence[Release], gpus: Sequence[GpuInfo]) -> tuple[Offer, ...]:
    """The packages for this computer, best first. Raises ProblemError ``release_none_here``."""
    target = this_target()
    found = offers(releases, target, gpus)
    if not found:
        raise fail("release_none_here", system=target.system or "?", arch=target.arch or "?")
    return found


def get_package(
    package: Package,
    paths: AppPaths,
    gpus: Sequence[GpuInfo],
    on_progress: GetHandler,
    cancelled: Cancelled,
    mirror: str | None = None,
    patience: Patience = _USUAL,
) -> KnownEngine:
    """Fetch and install one package; call it on a worker thread.

    A package that is installed already and works is only asked again. Cancelling keeps what has arrived.

    Raises ProblemError: ``download_*``, ``archive_*``, ``engine_*`` (it does not start here), ``engine_sees_no_card``
    (it starts, but not on the graphics card: the next offer is worth a try).
    """
    with one_at_a_time(paths, cancelled):
        there = _installed(paths, package.id)
        if there is not None:
            on_progress(GetProgress(GetStep.TESTING, package.id))
            with suppress(ProblemError):  # an antivirus program took a part of it: fetched anew
                return _tested(there, package.id, package, paths, gpus)
        check_room([(paths.engines, package.size_bytes * _UNPACKED_FACTOR)])
        wanted = [_wanted(asset, paths, mirror) for asset in package.assets]

        def tell(download: DownloadProgress) -> None:
            on_progress(GetProgress(GetStep.DOWNLOADING, package.id, download))

        archives = fetch_files(wanted, tell, cancelled, patience)
        hashes = {archive.path.name: archive.sha256 for archive in archives}
        job = InstallJob(package.id, package, tuple(a.path for a in archives), hashes, gpus)
        try:
            known = install(job, paths, on_progress, cancelled)
        except ProblemError as error:
            if error.problem.code not in _KEEP_ARCHIVES:
                _remove(job.archives)
            raise
        _remove(job.archives)
        return known


def _remove(archives: Sequence[Path]) -> None:
    for archive in archives:
        with suppress(OSError):  # an antivirus program that still reads it; it only takes room
            archive.unlink(missing_ok=True)


def _wanted(asset: Asset, paths: AppPaths, mirror: str | None) -> WantedFile:
    """An older file of that name in our own cache that cannot be checked is not kept."""
    path = paths.cache / "downloads" / asset.name
    if asset.sha256 is None:
        path.unlink(missing_ok=True)
    elif path.exists() and path.stat().st_size != asset.size_bytes:
        path.unlink()
    return WantedFile(asset_addresses(asset, mirror), path, asset.size_bytes, asset.sha256)


class one_at_a_time:  # noqa: N801  # reads as a statement
    """Two windows never install at once."""

    def __init__(self, paths: AppPaths, cancelled: Cancelled) -> None:
        self._lock = FileLock(paths.engines / "get.lock")
        self._paths = paths
        self._cancelled = cancelled

    def __enter__(self) -> None:
        try:
            if not self._lock.try_acquire():
                raise fail("download_busy", name="llama.cpp")
        except OSError as error:
            why = error.strerror or str(error)
            raise fail("archive_not_written", folder=str(self._paths.engines), why=why) from error
        for folder in self._paths.engines.glob(f"{_TEMPORARY}*"):  # of a Lanewise that was killed
            shutil.rmtree(folder, ignore_errors=True)
        check_cancelled(self._cancelled)

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _installed(paths: AppPaths, engine_id: str) -> EngineBinary | None:
    folder = paths.engines / engine_id
    if not (folder / MARKER).is_file():
        return None
    try:
        return engine_at(folder)
    except ProblemError:
        return None


@dataclass(frozen=True, slots=True)
class InstallJob:
    """Archives to be made into one engine. ``hashes``: SHA-256 by archive name; ``gpus``: what it should see."""

    engine_id: str
    package: Package | None
    archives: tuple[Path, ...]
    hashes: Mapping[str, str]
    gpus: Sequence[GpuInfo]


def install(job: InstallJob, paths: AppPaths, on_progress: GetHandler, cancelled: Cancelled) -> KnownEngine:
    """Unpack into a folder of its own, ask the engine, and give the folder its name only when all is well.

    Call it under ``one_at_a_time``. Raises as ``get_package`` does.
    """
    work = _new_folder(paths)
    try:
        _unpack_all(job, work, on_progress, cancelled)
        folder = _joined(work, len(job.archives), job.archives[0].name)
        on_progress(GetProgress(GetStep.TESTING, job.engine_id))
        known = _tested(engine_at(folder), job.engine_id, job.package, paths, job.gpus)
        check_cancelled(cancelled)
        _mark(folder, job)
        final = paths.engines / job.engine_id
        _put_in_place(folder, final, work)
    except OSError as error:
        raise fail("archive_not_written", folder=str(paths.engines), why=error.strerror or str(error)) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    on_progress(GetProgress(GetStep.DONE, job.engine_id))
    return replace(known, path=engine_at(final).path, package=job.archives[0].name)


def _unpack_all(job: InstallJob, work: Path, on_progress: GetHandler, cancelled: Cancelled) -> None:
    done = 0
    for number, archive in enumerate(job.archives):
        part = work / f"part-{number}"
        part.mkdir()

        def tell(n_bytes: int, before: int = done) -> None:
            on_progress(GetProgress(GetStep.UNPACKING, job.engine_id, unpacked_bytes=before + n_bytes))

        files = unpack(archive, part, tell, cancelled)
        done += sum(file.lstat().st_size for file in files)


def _new_folder(paths: AppPaths) -> Path:
    try:
        paths.engines.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=paths.engines))
    except OSError as error:
        raise fail("archive_not_written", folder=str(paths.engines), why=error.strerror or str(error)) from error


def _joined(work: Path, n_parts: int, name: str) -> Path:
    """The first archive's folder, with the runtime's libraries of the others put beside the server."""
    folder = work / "part-0"
    try:
        server = Path(engine_at(folder).path)
    except ProblemError as error:
        raise fail("archive_no_server", name=name) from error
    for number in range(1, n_parts):
        for file in (work / f"part-{number}").rglob("*"):
            place = server.parent / file.name
            if file.is_file() and not place.exists():
                file.rename(place)
    return folder


def _mark(folder: Path, job: InstallJob) -> None:
    with Path(engine_at(folder).path).open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    marker = {"sha256": sha256, "id": job.engine_id, "archives": dict(job.hashes)}
    (folder / MARKER).write_text(json.dumps(marker), encoding="utf-8")


def _put_in_place(folder: Path, final: Path, work: Path) -> None:
    """By renaming: at no moment is there half an engine under the final name."""
    folder.chmod(0o755)
    if final.exists():
        rename_patiently(final, work / "old")
    rename_patiently(folder, final)


def _tested(
    binary: EngineBinary, engine_id: str, package: Package | None, paths: AppPaths, gpus: Sequence[GpuInfo]
) -> KnownEngine:
    """Start it. Raises ProblemError when it does not run here, or runs but not on the card it was chosen for."""
    known = know_engine(binary, paths, EngineSource.DOWNLOADED, engine_id, package.main.name if package else None)
    backend = None if package is None else _SAME_BACKEND.get(package.backend, package.backend)
    here = real_gpus(gpus)
    if package is None or package.backend not in _NEEDS_A_CARD or not here:
        return known
    if known.devices is None or backend not in backends_of((), _names(known.devices)):
        evidence = known.devices or ("--list-devices: (none)",)
        raise ProblemError(
            Problem(
                "engine_sees_no_card", params={"package": package.key, "gpu": here[0].name}, evidence=tuple(evidence)
            )
        )
    return known


def _names(devices: Sequence[str]) -> tuple[str, ...]:
    return tuple(device.partition(":")[0] for device in devices)
