"""Looks through all places at once: files as they are found, read, judged; nothing waits for a silent drive.

Each place is walked and read on a thread of its own. Every file is listed at once with what sums alone can tell
(``Judge.first_verdict``); the plans are made while nothing new comes in, those that somebody looks at first. Whoever
waits looks ten times a second for a wish to stop, and a place that says nothing for a while is given up and told; its
thread is left to its time-out, it only reads.
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
from app.work.library.plans import PlansToMake, next_of
from app.work.library.store import LibraryStore, Stamps, stamps_of
from app.work.library.summary import HALF_CODE, summarise
from app.work.library.types import Entry, EntryRole, FoundFile, Place, ScanNote, Source, Summary
from app.work.library.walk import Limits, Walk, folder_of, walk_folder

SILENT_S = 20.0
_LOOK_S = 0.05
_QUIET_S = 0.3
"""Plans are made when nothing new has come in for so long: they would slow down the reading."""
_WAITING = 64
_BATCH_S, _PLANS_S = 0.1, 0.3
"""New files are told at once; who reads the list is not disturbed ten times a second by verdicts."""
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
    """``silent_s``: how long a place may say nothing before it is given up. ``wanted``: paths whose plans come first,
    asked before each plan. ``kept_models``: so many headers wait for their plans in memory; others are read again."""

    limits: Limits = field(default_factory=Limits)
    silent_s: float = SILENT_S
    wanted: Callable[[], Sequence[str]] = tuple
    kept_models: int = 128


def scan_library(
    places: Sequence[Place],
    judge: Judge | None,
    store: LibraryStore,
    cancelled: Cancelled,
    on_batch: BatchHandler = lambda _: None,
    options: ScanOptions | None = None,
) -> Scan:
    """Find, read and judge. Call it on a worker thread; ``on_batch`` gets new entries ten times a second, and again
    those whose plans have been made.

    ``judge`` None: nobody knows the machine yet, the verdicts stay None. Raises ProblemError ``download_cancelled``.
    """
    options = options or ScanOptions()
    return _Scanner(places, judge, store, cancelled, on_batch, options).scan()


@dataclass(frozen=True, slots=True)
class _Read:
    """One file out of a place's thread. ``model`` and ``first`` (what is certain before the plan) only where somebody
    has to judge it; ``is_again``: it is listed already, and its header was read once more for the plan. ``before``: its
    size and time when the reading began."""

    found: FoundFile
    summary: Summary
    model: ModelInfo | None
    inode: tuple[int, int] | None
    first: FileVerdict | None = None
    is_again: bool = False
    before: Stamps | None = None


class _PlaceReader:
    """One place on its thread."""

    def __init__(self, place: Place, scanner: _Scanner) -> None:
        self.place = place
        self.walk = Walk()
        self.out: queue.Queue[_Read | Exception | None] = queue.Queue(_WAITING)
        self.heard_at = time.monotonic()
        self.is_listed = False
        self.is_done = False
        self._scanner = scanner
        self._gone = threading.Event()
        threading.Thread(target=self._run, name="library", daemon=True).start()

    def give_up(self) -> None:
        """Nobody listens any more."""
        self._gone.set()
        self.is_listed = self.is_done = True

    def _cancelled(self) -> bool:
        return self._gone.is_set() or self._scanner.cancelled()

    def _run(self) -> None:
        try:
            if not self.place.path.is_dir():
                params = {"folder": str(self.place.path)}
                raise ProblemError(Problem("library_folder_missing", Severity.WARNING, params))
            let_go: dict[str, FoundFile] = {}
            for found in self._found():
                self.heard_at = time.monotonic()
                read = self._scanner.read(found)
                if read.model is None and self._scanner.must_judge(read.summary):
                    let_go[found.path] = found
                self._put(read)
            self.is_listed = True
            while let_go and not self._cancelled():
                self.heard_at = time.monotonic()
                self._put(self._scanner.read_again(let_go.pop(next_of(let_go, self._scanner.options.wanted()))))
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
        self._entries: dict[str, Entry] = {}
        self._seen: set[object] = set()
        self._plans = PlansToMake()
        self._batch: dict[str, Entry] = {}
        self._batch_at = time.monotonic()

    def scan(self) -> Scan:
        readers = [_PlaceReader(place, self) for place in self._places]
        notes: list[ScanNote] = []
        try:
            heard_at = time.monotonic()
            while self._plans or not all(reader.is_done for reader in readers):
                heard = [self._take_from(reader, notes) for reader in readers if not reader.is_done]
                if any(heard):
                    heard_at = time.monotonic()
                    continue
                check_cancelled(self.cancelled)
                is_quiet = time.monotonic() - heard_at > _QUIET_S or all(reader.is_listed for reader in readers)
                if self._plans and is_quiet:
                    self._plan_one()
                else:
                    time.sleep(_LOOK_S / 10)
            check_cancelled(self.cancelled)
        finally:
            for reader in readers:
                reader.give_up()
            self._store.save()
        notes += [ScanNote(reader.place, problem) for reader in readers for problem in reader.walk.problems]
        for path in [path for path, entry in self._entries.items() if entry.waits]:
            self._settle(path)  # of a place that was given up
        self._tell(force=True)
        n_names = sum(reader.walk.entries for reader in readers)
        return Scan(with_beside(tuple(self._entries.values())), tuple(notes), n_names)

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
        if item is None or isinstance(item, ProblemError):
            reader.is_listed = reader.is_done = True
        if isinstance(item, ProblemError):
            if item.problem.code == "download_cancelled":
                raise item
            notes.append(ScanNote(reader.place, item.problem))
        elif isinstance(item, Exception):
            raise item
        elif item is not None:
            check_cancelled(self.cancelled)
            self._add(item)
        return True

    def read(self, found: FoundFile) -> _Read:
        """On a place's thread: the summary, from the store where the file is the same; the model where it must be
        judged and may wait for that in memory."""
        inode = _inode(found.path)
        summary = self._store.summary(found.path)
        if summary is not None and _is_same_kind(summary, found) and not self.must_judge(summary):
            return _Read(found, summary, None, inode)
        before = stamps_of((found.path,))
        summary, model = summarise(found, self._alike, self._texts)
        if model is None or self._judge is None or not self.must_judge(summary):
            return _Read(found, summary, None, inode, before=before)
        first = self._judge.first_verdict(model)
        kept = model if len(self._plans) < self.options.kept_models else None
        return _Read(found, summary, kept, inode, first, before=before)

    def read_again(self, found: FoundFile) -> _Read:
        """On a place's thread: a listed file with its model, for the plan."""
        summary, model = summarise(found, self._alike, self._texts)
        return _Read(found, summary, model, _inode(found.path), is_again=True)

    def must_judge(self, summary: Summary) -> bool:
        """Is there no plan of such a model yet?"""
        is_judged = summary.signature is None or summary.signature in self._store.verdicts(self._key)
        return self._judge is not None and not is_judged

    def _add(self, read: _Read) -> None:
        """A file that lies in two places (one inside the other, a link, a hard link) is listed once."""
        found, summary = read.found, read.summary
        key: object = read.inode or os.path.realpath(found.path)
        if read.is_again:
            if read.model is not None and summary.signature is not None and self.must_judge(summary):
                self._plans.add(summary.signature, found.path, read.model)
            else:  # gone or changed since it was listed, or another of its kind has been planned
                self._settle(found.path)
            return
        if key in self._seen:
            return
        self._seen.add(key)
        self._store.keep_summary(found.path, summary, read.before)
        signature, waits = summary.signature, self.must_judge(summary)
        verdict = read.first if waits or signature is None else self._store.verdicts(self._key).get(signature)
        self._entries[found.path] = Entry(
            found.name, found.source, found.place, summary, verdict, found.note, waits=waits
        )
        if waits and signature is not None:
            self._plans.add(signature, found.path, read.model)
        self._tell(found.path)

    def _plan_one(self) -> None:
        """Make the next plan, and give its verdict to every file of the same model."""
        assert self._judge is not None
        signature, model, paths = self._plans.take(self.options.wanted())
        self._store.keep_verdict(self._key, signature, self._judge.verdict(model))
        for path in paths:
            self._settle(path)

    def _settle(self, path: str) -> None:
        """A listed file gets the verdict of its plan; where there is none, it does not wait for one either."""
        entry = self._entries.get(path)
        if entry is None or not entry.waits:
            return
        verdict = self._store.verdicts(self._key).get(entry.summary.signature or "", entry.verdict)
        self._entries[path] = replace(entry, verdict=verdict, waits=False)
        self._tell(path)

    def _tell(self, path: str | None = None, *, force: bool = False) -> None:
        now = time.monotonic()
        if path is not None:
            self._batch[path] = self._entries[path]
        pause_s = _BATCH_S if path is None or self._entries[path].waits else _PLANS_S
        if self._batch and (force or now - self._batch_at >= pause_s):
            self._batch_at = now
            self._on_batch(tuple(self._batch.values()))
            self._batch = {}


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
    if not side:
        return tuple(entries)
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
