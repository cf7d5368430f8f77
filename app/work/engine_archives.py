"""Archives of llama.cpp that the user fetched by hand: checked against the list, or shown and confirmed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.common.paths import AppPaths
from app.common.problem import fail
from app.engine.release import Asset, Package, Release, is_runtime_name, package_of, tag_of_name
from app.hardware.types import GpuInfo
from app.work.downloads.fetch import sha256_of
from app.work.downloads.types import Cancelled
from app.work.engine_getting import GetHandler, GetProgress, GetStep, InstallJob, install, known_releases, one_at_a_time
from app.work.engine_store import KnownEngine

_MAGIC = (b"PK", b"\x1f\x8b")


class Verdict(StrEnum):
    """Is it what was published? UNKNOWN: the list that we have does not know this file."""

    PUBLISHED = "published"
    DIFFERS = "differs"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class BroughtArchive:
    """An archive on this computer. ``package`` is what its name says it holds, None for a name nobody knows."""

    path: Path
    size_bytes: int
    sha256: str
    verdict: Verdict
    package: Package | None = None

    @property
    def is_runtime(self) -> bool:
        """Is it only the CUDA runtime?"""
        return is_runtime_name(self.path.name)


def look_at_archive(
    path: Path, paths: AppPaths, cancelled: Cancelled, releases: Sequence[Release] | None = None
) -> BroughtArchive:
    """Hash it and look it up in the list loaded last; asks nobody. Raises ProblemError ``archive_missing``,
    ``archive_kind`` or ``download_cancelled``."""
    try:
        with path.open("rb") as file:
            magic = file.read(2)
        size = path.stat().st_size
        if magic not in _MAGIC:
            raise fail("archive_kind", name=path.name)
        sha256 = sha256_of(path, cancelled)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise fail("archive_missing", path=str(path), why=why) from error
    listed = known_releases(paths) if releases is None else releases
    verdict = _verdict(path.name, sha256, listed)
    return BroughtArchive(path, size, sha256, verdict, _package_of(path, size, sha256))


def _verdict(name: str, sha256: str, releases: Sequence[Release]) -> Verdict:
    """By the digests that were published for this name. The CUDA runtime of Windows has the same name in every
    release, so another content than the listed ones may be that of an older release."""
    assets = [asset for release in releases for package in release.packages for asset in package.assets]
    digests = {asset.sha256 for asset in assets if asset.name == name and asset.sha256 is not None}
    if sha256 in digests:
        return Verdict.PUBLISHED
    return Verdict.DIFFERS if digests and tag_of_name(name) is not None else Verdict.UNKNOWN


def _package_of(path: Path, size: int, sha256: str) -> Package | None:
    tag = tag_of_name(path.name)
    return None if tag is None else package_of(Asset(path.name, size, path.name, sha256), tag)


def install_archives(
    archives: Sequence[BroughtArchive],
    confirmed: Collection[str],
    paths: AppPaths,
    gpus: Sequence[GpuInfo],
    on_progress: GetHandler,
    cancelled: Cancelled,
) -> KnownEngine:
    """Install what the user brought: the server's archive and, for CUDA, the runtime's.

    ``confirmed``: SHA-256 values that the user has looked at and wants. Raises ProblemError ``archive_not_published``
    (the list knows another content for this name), ``archive_unconfirmed`` (the list does not know it), and what
    ``get_package`` raises. The user's own files stay where they are.
    """
    on_progress(GetProgress(GetStep.CHECKING))
    for archive in archives:
        _check_trust(archive, confirmed)
    mains = [archive for archive in archives if not archive.is_runtime]
    if len(mains) != 1:
        raise fail("archive_no_server", name=", ".join(archive.path.name for archive in archives))
    main = mains[0]
    ordered = (main, *(archive for archive in archives if archive is not main))
    engine_id = main.package.id if main.package else f"archive-{main.sha256[:8]}"
    hashes = {archive.path.name: archive.sha256 for archive in ordered}
    job = InstallJob(engine_id, main.package, tuple(a.path for a in ordered), hashes, gpus)
    with one_at_a_time(paths, cancelled):
        return install(job, paths, on_progress, cancelled)


def _check_trust(archive: BroughtArchive, confirmed: Collection[str]) -> None:
    name = archive.path.name
    if archive.verdict is Verdict.DIFFERS:
        raise fail("archive_not_published", name=name, sha256=archive.sha256)
    if archive.verdict is Verdict.UNKNOWN and archive.sha256 not in confirmed:
        raise fail("archive_unconfirmed", name=name, sha256=archive.sha256)


def matching_runtime(main: BroughtArchive) -> Path | None:
    """The CUDA runtime's archive beside the server's, when the user put it there."""
    package = main.package
    if package is None or package.backend != "cuda" or package.version is None:
        return None
    middle = f"bin-{package.system}-cuda-{package.version}-{package.arch}"
    names = [f"cudart-llama-{middle}.zip", f"cudart-llama-{package.tag}-{middle}.tar.gz"]
    return next((main.path.parent / name for name in names if (main.path.parent / name).is_file()), None)


def look_with_runtime(path: Path, paths: AppPaths, cancelled: Cancelled) -> tuple[BroughtArchive, ...]:
    """The archive, and the CUDA runtime's when it lies beside it. Raises as ``look_at_archive``."""
    main = look_at_archive(path, paths, cancelled)
    runtime = matching_runtime(main)
    return (main,) if runtime is None else (main, look_at_archive(runtime, paths, cancelled))
