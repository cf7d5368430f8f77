"""The Hugging Face cache: models--OWNER--NAME/snapshots/REVISION/FILE, links to blobs (on Windows often real files).

Half a download lies among the blobs as ``<hash>.incomplete``. ``llama-server -hf`` of 2026 keeps its files here too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from app.common.problem import Problem, Severity
from app.work.downloads.types import Cancelled, check_cancelled
from app.work.library.types import FoundFile, Place, Source
from app.work.library.walk import Limits, Walk, begins_as_gguf, walk_folder

_PREFIX = "models--"
_INCOMPLETE = ".incomplete"
_MOST_REPOSITORIES = 20_000


def find_hub_cache(place: Place, walk: Walk, cancelled: Cancelled, limits: Limits) -> Iterator[FoundFile]:
    """Model files of every repository in the cache; a blob that several revisions share is one file."""
    try:
        names = sorted(entry.name for entry in os.scandir(place.path) if entry.name.startswith(_PREFIX))
    except OSError as error:
        params = {"folder": str(place.path), "why": error.strerror or str(error)}
        walk.tell(Problem("library_folder_unread", Severity.WARNING, params))
        return
    for name in names[:_MOST_REPOSITORIES]:
        check_cancelled(cancelled)
        root = place.path / name
        owner_and_name = name.removeprefix(_PREFIX).replace("--", "/", 1)
        seen: set[str] = set()
        for snapshot in _snapshots(root):
            below = Place(snapshot, Source.HUGGING_FACE)
            for file in walk_folder(below, walk, cancelled, limits=limits):
                real = os.path.realpath(file.path)
                if real in seen:
                    continue
                seen.add(real)
                shown = f"{owner_and_name} · {file.name}"
                yield FoundFile(file.path, shown, Source.HUGGING_FACE, str(place.path), file.unfinished)
        yield from _incomplete(root / "blobs", owner_and_name, place)


def _snapshots(root: Path) -> list[Path]:
    """Revisions, the one that ``refs/main`` names first, then the newest."""
    folder = root / "snapshots"
    try:
        main = (root / "refs" / "main").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        main = ""
    try:
        found = [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir()]
    except OSError:
        return []
    return sorted(found, key=lambda path: (path.name != main, -_changed(path)))


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _incomplete(blobs: Path, name: str, place: Place) -> Iterator[FoundFile]:
    """Half-fetched blobs that begin as a GGUF file does."""
    try:
        found = sorted(entry.path for entry in os.scandir(blobs) if entry.name.endswith(_INCOMPLETE))
    except OSError:
        return
    for path in found:
        if begins_as_gguf(path):
            yield FoundFile(path, name, Source.HUGGING_FACE, str(place.path), unfinished=True)
