"""Downloads what was chosen into a folder of its own: resumable, checked, split files together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.common.problem import ProblemError, fail
from app.model.reader import read_model
from app.work.downloads.fetch import fetch_files
from app.work.downloads.space import KEEP_FREE_BYTES, free_bytes
from app.work.downloads.types import Cancelled, Patience, ProgressHandler, WantedFile
from app.work.hub.links import HubLink, file_addresses
from app.work.hub.listing import RemoteSet

_USUAL = Patience()


@dataclass(frozen=True, slots=True)
class Downloaded:
    """What lies on the disk now; ``path`` is what the engine is given (the first part)."""

    path: str
    files: tuple[str, ...]
    n_bytes: int
    is_checked: bool


@dataclass(frozen=True, slots=True)
class Space:
    """What a download takes and what there is; None = unknown."""

    needed_bytes: int | None
    free_bytes: int | None

    @property
    def is_enough(self) -> bool | None:
        """None when one of them is unknown."""
        if self.needed_bytes is None or self.free_bytes is None:
            return None
        return self.needed_bytes + KEEP_FREE_BYTES <= self.free_bytes


def folder_for(link: HubLink, base: Path) -> Path:
    """``base/OWNER/NAME``, as LM Studio lays its models out; a direct link goes into ``base`` itself."""
    return base.joinpath(*link.repository.split("/")) if link.repository else base


def wanted_files(link: HubLink, sets: Sequence[RemoteSet], base: Path) -> tuple[WantedFile, ...]:
    """What is to be fetched, all parts of all sets."""
    folder = folder_for(link, base)
    return tuple(
        WantedFile(file_addresses(link, file.path), folder.joinpath(*file.local), file.size_bytes, file.sha256)
        for each in sets
        for file in each.files
    )


def space_for(link: HubLink, sets: Sequence[RemoteSet], base: Path) -> Space:
    """What is still to come, parts that are there already not counted, beside what the disk has free."""
    sizes = [each.size_bytes for each in sets]
    there = sum(_size(wanted.part) + _size(wanted.path) for wanted in wanted_files(link, sets, base))
    needed = None if None in sizes else max(0, sum(size or 0 for size in sizes) - there)
    return Space(needed, free_bytes(folder_for(link, base)))


def fetch_sets(
    link: HubLink,
    sets: Sequence[RemoteSet],
    base: Path,
    on_progress: ProgressHandler,
    cancelled: Cancelled,
    patience: Patience = _USUAL,
) -> Downloaded:
    """Fetch them; call it on a worker thread. What has arrived stays when it is cancelled or fails.

    Raises ProblemError ``download_*``, ``hub_parts_missing``, and the reader's for a file that is no model after all.
    """
    for each in sets:
        if each.missing_parts:
            raise fail("hub_parts_missing", name=each.name, missing=each.missing_parts)
    wanted = wanted_files(link, sets, base)
    fetched = fetch_files(wanted, on_progress, cancelled, patience)
    first = str(fetched[0].path)
    is_checked = all(file.sha256 is not None for file in wanted)
    if not sets[0].is_projector:
        try:
            read_model(first)
        except ProblemError:
            if not is_checked:
                _set_aside(first)
            raise
    files = tuple(str(file.path) for file in fetched)
    return Downloaded(first, files, sum(file.size_bytes for file in fetched), is_checked)


def _set_aside(path: str) -> None:
    """What nobody could check and what is no model must not stand in the way of the next attempt."""
    try:
        os.replace(path, f"{path}.bad")
    except OSError:
        return  # it stays, and the next attempt says that it is there


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0
