"""Looks through all places at once: files as they are found, read, judged; nothing waits for a silent drive.

Each place is walked and read on a thread of its own. Whoever waits looks ten times a second for a wish to stop, and a
place that says nothing for a while is given up and told; its thread is left to its time-out, it only reads.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.common.problem import ParamValue, Problem, ProblemError, Severity
from app.model.known_texts import KnownTexts
from app.model.types import ModelInfo
from app.planner.file_verdict import FileVerdict
from app.work.downloads.types import Cancelled, check_cancelled
from app.work.library.alike import AlikeHeaders
from app.work.library.hub_cache import find_hub_cache
from app.work.library.judge import Judge
from app.work.library.ollama import find_ollama
from app.work.library.store import LibraryStore
from app.work.library.summary import HALF_CODE, summarise
from app.work.library.types import Entry, EntryRole, FoundFile, Place, ScanNote, Source, Summary
from app.work.library.walk import Limits, Walk, folder_of, walk_folder

SILENT_S = 20.0
_LOOK_S = 0.05
_WAITING = 64
_BATCH_S = 0.1
_BESIDE = (EntryRole.PROJECTOR, EntryRole.ADAPTER)

BatchHandler = Callable[[tuple[Entry, ...]], None]


@dataclass(frozen=True, slots=True)
class Scan:
    """All that was found. ``entries`` counts the names looked at in all places."""

    files: tuple[Entry, ...]
    notes: tuple[ScanNote, ...]
    entries: int = 0


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """``silent_s``: how long a place may say nothing before it is given up."""

    limits: Limits = field(default_factory=Limits)
    silent_s: float = SILENT_S


def scan_library(
    places: Sequence[Place],
    judge: Judge | None,
    store: LibraryStore,
    cancelled: Cancelled,
    on_batch: BatchHandler = lambda _: None,
    options: ScanOptions | None = None,
) -> Scan:
    """Find, read and judge. Call it on a worker thread; ``on_batch`` gets new entries ten times a second.

    ``judge`` None: nobody knows the machine yet, the verdicts stay None. Raises ProblemError ``download_cancelled``.
    """
    options = options or ScanOptions()
    return _Scanner(places, judge, store, cancelled, on_batch, options).scan()


@dataclass(frozen=True, slots=True)
class _Read:
    """One file out of a place's thread; ``model`` only where somebody has to judge it."""

    found: FoundFile
    summary: Summary
    model: ModelInfo | None
    inode: tuple[int, int] | None


class _PlaceReader:
    """One place on its thread."""

    def __init__(self, place: Place, scanner: _Scanner) -> None:
        self.place = place
        self.walk = Walk()
        self.out: queue.Queue[_Read | Exception | None] = queue.Queue(_WAITING)
        self.heard_at = time.monotonic()
        self.is_done = False
        self._scanner = scanner
        self._gone = threading.Event()
        threading.Thread(target=self._run, name="library", daemon=True).start()

    def give_up(self) -> None:
        """Nobody listens any more."""
        self._gone.set()
        self.is_done = True

    def _cancelled(self) -> bool:
        return self._gone.is_set() or self._scanner.cancelled()

    def _run(self) -> None:
        try:
            if not self.place.path.is_dir():
                params = {"folder": str(self.place.path)}
                raise ProblemError(Problem("library_folder_missing", Severity.WARNING, params))
            for found in self._found():
                self.heard_at = time.monotonic()
                self._put(self._scanner.read(found))
            self._put(None)
        except Exception as error:  # handed to the scanning thread, which tells a Problem and raises a bug
            self._put(error)

    def _found(self) -> Iterator[FoundFile]:
        limits = self._scanner.options.limits
        if self.place.source is Source.OLLAMA and (self.place.path / "blobs").is_dir():
            return find_ollama(self.place, self.walk, self._cancelled)
        if self.place.source is Source.HUGGING_FACE:
            return find_hub_cache(self.place, self.walk, self._cancelled, limits)
        return walk_folder(self.place, self.walk, self._cancelled, self._hear, limits)

    def _hear(self, _: str) -> None:
        self.heard_at = time.monotonic()

    def _put(self, item: _Read | Exception | None) -> None:
        while not self._gone.is_set():
            try:
                self.out.put(item, timeout=_LOOK_S)
                return
            except queue.Full:
                self.heard_at = time.monotonic()


class _Scanner:
    """Joins what the places send."""

    def __init__(
        self,
        places: Sequence[Place],
        judge: Judge | None,
        store: LibraryStore,
        cancelled: Cancelled,
        on_batch: BatchHandler,
        options: ScanOptions,
    ) -> None:
        self._places = places
        self._judge = judge
        self._key = "" if judge is None else judge.key
        self._store = store
        self.cancelled = cancelled
        self._on_batch = on_batch
        self.options = options
        self._alike, self._texts = AlikeHeaders(), KnownTexts()
        self._entries: list[Entry] = []
        self._seen: set[object] = set()
        self._batch: list[Entry] = []
        self._batch_at = time.monotonic()

    def scan(self) -> Scan:
        readers = [_PlaceReader(place, self) for place in self._places]
        notes: list[ScanNote] = []
        try:
            while not all(reader.is_done for reader in readers):
                heard = [self._take_from(reader, notes) for reader in readers if not reader.is_done]
                if not any(heard):
                    check_cancelled(self.cancelled)
                    time.sleep(_LOOK_S / 10)
            check_cancelled(self.cancelled)
        finally:
            for reader in readers:
                reader.give_up()
            self._store.save()
        notes += [ScanNote(reader.place, problem) for reader in readers for problem in reader.walk.problems]
        self._tell(force=True)
        return Scan(with_beside(self._entries), tuple(notes), sum(reader.walk.entries for reader in readers))

    def _take_from(self, reader: _PlaceReader, notes: list[ScanNote]) -> bool:
        """Take what one place has sent; False when that was nothing."""
        try:
            item = reader.out.get_nowait()
        except queue.Empty:
            if time.monotonic() - reader.heard_at > self.options.silent_s:
                reader.give_up()
                seconds = round(self.options.silent_s)
                params: dict[str, ParamValue] = {"folder": str(reader.place.path), "seconds": seconds}
                notes.append(ScanNote(reader.place, Problem("library_place_silent", Severity.WARNING, params)))
            return False
        if item is None:
            reader.is_done = True
        elif isinstance(item, ProblemError):
            reader.is_done = True
            if item.problem.code == "download_cancelled":
                raise item
            notes.append(ScanNote(reader.place, item.problem))
        elif isinstance(item, Exception):
            raise item
        else:
            check_cancelled(self.cancelled)
            self._add(item)
        return True

    def read(self, found: FoundFile) -> _Read:
        """On a place's thread: the summary, from the store where the file is the same; the model where it must be
        judged."""
        inode = _inode(found.path)
        summary = self._store.summary(found.path)
        if summary is not None and _is_same_kind(summary, found) and not self._must_judge(summary):
            return _Read(found, summary, None, inode)
        summary, model = summarise(found, self._alike, self._texts)
        return _Read(found, summary, model, inode)

    def _must_judge(self, summary: Summary) -> bool:
        is_judged = summary.signature is None or summary.signature in self._store.verdicts(self._key)
        return self._judge is not None and not is_judged

    def _add(self, read: _Read) -> None:
        """A file that lies in two places (one inside the other, a link, a hard link) is listed once."""
        key: object = read.inode or os.path.realpath(read.found.path)
        if key in self._seen:
            return
        self._seen.add(key)
        self._store.keep_summary(read.found.path, read.summary)
        found, verdict = read.found, self._verdict(read)
        entry = Entry(found.name, found.source, found.place, read.summary, verdict, found.note)
        self._entries.append(entry)
        self._batch.append(entry)
        self._tell()

    def _verdict(self, read: _Read) -> FileVerdict | None:
        signature = read.summary.signature
        if self._judge is None or signature is None:
            return None
        known = self._store.verdicts(self._key)
        if signature in known:
            return known[signature]
        assert read.model is not None
        verdict = self._judge.verdict(read.model)
        self._store.keep_verdict(self._key, signature, verdict)
        return verdict

    def _tell(self, *, force: bool = False) -> None:
        now = time.monotonic()
        if self._batch and (force or now - self._batch_at >= _BATCH_S):
            self._batch_at = now
            self._on_batch(tuple(self._batch))
            self._batch = []


def _is_same_kind(summary: Summary, found: FoundFile) -> bool:
    """Was it half a download then as it is now? A control file beside it may have come or gone."""
    is_half = summary.problem is not None and summary.problem.code == HALF_CODE
    return is_half == found.unfinished


def with_beside(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Each model with the projectors and adapters of its folder."""
    side: dict[str, list[str]] = {}
    for entry in entries:
        if entry.summary.role in _BESIDE and entry.source is not Source.OLLAMA:
            side.setdefault(folder_of(entry.path), []).append(entry.path)
    return tuple(
        replace(entry, beside=tuple(side.get(folder_of(entry.path), ()))) if entry.is_model else entry
        for entry in entries
    )


def _inode(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if status.st_ino else None
