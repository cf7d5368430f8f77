"""Fetches files: goes on where a transfer was cut, from another address when one fails, and proves what it has."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from app.common.problem import ProblemError, fail
from app.engine.filelock import FileLock
from app.work.downloads.addresses import parse_address
from app.work.downloads.http import Answer, BrokenOffError, Stream
from app.work.downloads.meter import Meter
from app.work.downloads.part import Part, Validators, disk_problem
from app.work.downloads.space import check_room
from app.work.downloads.types import (
    Cancelled,
    FetchedFile,
    Patience,
    ProgressHandler,
    WantedFile,
    check_cancelled,
)

T = TypeVar("T")

_USUAL = Patience()


@dataclass(frozen=True, slots=True)
class SmallAnswer:
    """A whole small answer. ``headers`` in lower case."""

    data: bytes
    headers: Mapping[str, str]


_LARGEST = 1 << 42
_LOOK_S = 0.05
_BLOCK = 4 << 20
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")
_UNMET = re.compile(r"bytes \*/(\d{1,18})")
_OTHER_ADDRESS_MAY_HELP = frozenset(
    {
        "download_not_found", "download_forbidden", "download_http", "download_redirects", "download_redirect_refused",
        "download_certificate", "download_size_differs", "download_damaged", "download_is_page", "download_encoded",
        "download_too_long", "download_proxy_refused", "download_unreachable", "download_silent", "download_tls",
        "download_no_such_host", "download_cut", "download_odd_answer", "download_too_many",
        "download_slow", "download_head_too_large",
    }
)  # fmt: skip


def fetch_files(
    files: Sequence[WantedFile],
    on_progress: ProgressHandler,
    cancelled: Cancelled,
    patience: Patience = _USUAL,
) -> tuple[FetchedFile, ...]:
    """Fetch all of them, one after the other; call it on a worker thread.

    A file that is there already and is the wanted one (size and SHA-256) is left as it is; another file of that name is
    never written over (``download_exists``). Cancelling or failing keeps the parts: the next call goes on with them.
    Raises ProblemError ``download_*``.
    """
    meter = Meter(files, on_progress)
    done = [_already_there(wanted, cancelled) for wanted in files]
    remaining = [
        (wanted.path.parent, max(0, (wanted.size_bytes or 0) - _part_bytes(wanted)))
        for wanted, there in zip(files, done, strict=True)
        if there is None
    ]
    check_room(remaining)
    for number, wanted in enumerate(files):
        there = done[number]
        meter.begin(number)
        if there is None:
            there = _fetch_locked(wanted, meter, cancelled, patience)
            done[number] = there
        meter.end(there.size_bytes)
    return tuple(fetched for fetched in done if fetched is not None)


def fetch_bytes(url: str, most_bytes: int, cancelled: Cancelled, patience: Patience = _USUAL) -> bytes:
    """A small answer (a listing) as bytes. Raises ProblemError ``download_*`` (``download_too_long``)."""
    return fetch_answer(url, most_bytes, cancelled, patience).data


def fetch_answer(url: str, most_bytes: int, cancelled: Cancelled, patience: Patience = _USUAL) -> SmallAnswer:
    """The same with the answer's headers (the address of the next page). Raises as ``fetch_bytes`` does."""

    def once() -> SmallAnswer:
        data = bytearray()
        with Stream(url, {"Accept": "application/json"}, patience, cancelled) as stream:
            answer = stream.head()
            for chunk in stream.chunks():
                data += chunk
                if len(data) > most_bytes:
                    raise fail("download_too_long", host=answer.host, size=most_bytes)
        if answer.length is not None and len(data) < answer.length:
            raise BrokenOffError(fail("download_cut", host=answer.host).problem)
        return SmallAnswer(bytes(data), answer.headers)

    return _again(once, lambda: False, lambda attempt: None, cancelled, patience)


def fetch_start(
    url: str, begin: int, n_bytes: int, cancelled: Cancelled, patience: Patience = _USUAL
) -> tuple[bytes, int | None]:
    """``n_bytes`` of a file from ``begin`` (fewer where it ends), and the size of all of it when the server tells.

    The connection is shut as soon as they are there, so a server that knows no ranges costs no whole file. Raises
    ProblemError ``download_*``.
    """

    def once() -> tuple[bytes, int | None]:
        data = bytearray()
        with Stream(url, {"Range": f"bytes={begin}-{begin + n_bytes - 1}"}, patience, cancelled) as stream:
            answer = stream.head()
            found = _RANGE.fullmatch(answer.headers.get("content-range", "").strip())
            is_part = answer.status == 206 and found is not None and int(found[1]) == begin
            total = _total(found) if is_part else answer.length if answer.status == 200 else None
            skipped = 0 if is_part or answer.status == 416 else begin
            if answer.status != 416:
                for chunk in stream.chunks():
                    data += chunk
                    if len(data) >= skipped + n_bytes:
                        break
        wanted = bytes(data[skipped : skipped + n_bytes])
        is_cut = len(wanted) < n_bytes and total is not None and begin + len(wanted) < total
        if is_cut:
            raise BrokenOffError(fail("download_cut", host=answer.host).problem)
        return wanted, total

    return _again(once, lambda: False, lambda attempt: None, cancelled, patience)


def _total(found: re.Match[str] | None) -> int | None:
    return None if found is None or found[3] == "*" else int(found[3])


def sha256_of(path: Path, cancelled: Cancelled) -> str:
    """Hash a file. Raises ProblemError ``download_cancelled`` and OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            check_cancelled(cancelled)
            digest.update(block)
    return digest.hexdigest()


def _part_bytes(wanted: WantedFile) -> int:
    try:
        return wanted.part.stat().st_size
    except (OSError, ValueError):
        return 0


def _already_there(wanted: WantedFile, cancelled: Cancelled) -> FetchedFile | None:
    for url in wanted.urls:
        parse_address(url)
    try:
        if not wanted.path.exists():
            return None
        size = wanted.path.stat().st_size
        if wanted.sha256 is not None and size == (wanted.size_bytes or size):
            found = sha256_of(wanted.path, cancelled)
            if found == wanted.sha256:
                return FetchedFile(wanted.path, size, found, was_there=True)
    except (OSError, ValueError) as error:
        raise disk_problem(wanted, error) from error
    raise fail("download_exists", path=str(wanted.path))


def _fetch_locked(wanted: WantedFile, meter: Meter, cancelled: Cancelled, patience: Patience) -> FetchedFile:
    """Two programs must not write the same part."""
    lock_path = wanted.part.with_name(wanted.part.name + ".lock")
    with FileLock(lock_path) as lock:
        try:
            if not lock.try_acquire():
                raise fail("download_busy", name=wanted.name)
        except (OSError, ValueError) as error:
            raise disk_problem(wanted, error) from error
        try:
            return _from_any_address(wanted, meter, cancelled, patience)
        finally:
            lock.release()
            lock_path.unlink(missing_ok=True)


def _from_any_address(wanted: WantedFile, meter: Meter, cancelled: Cancelled, patience: Patience) -> FetchedFile:
    """Address after address; the first reason is the one that is told when all fail."""
    assert wanted.urls
    first: ProblemError | None = None
    with Part(wanted, cancelled, meter.check) as part:
        meter.check(part.size)
        for url in wanted.urls:
            try:
                return _from_address(wanted, url, part, meter, cancelled, patience)
            except ProblemError as error:
                if error.problem.code not in _OTHER_ADDRESS_MAY_HELP:
                    raise
                first = first or error
    assert first is not None
    raise first


def _from_address(
    wanted: WantedFile, url: str, part: Part, meter: Meter, cancelled: Cancelled, patience: Patience
) -> FetchedFile:
    """A part that was gone on with and comes out wrong may be of another version: once more, from the first byte."""
    for is_last in (False, True):
        transfer = _Transfer(wanted, url, part, meter, cancelled, patience)
        try:
            _again(transfer.go_on, transfer.has_moved, meter.retrying, cancelled, patience)
            return transfer.proven()
        except ProblemError as error:
            was_pieced = transfer.was_pieced and error.problem.code in ("download_damaged", "download_size_differs")
            if is_last or not was_pieced:
                raise
    raise AssertionError("the second round returns or raises")


def _again(
    work: Callable[[], T],
    has_moved: Callable[[], bool],
    on_retry: Callable[[int], None],
    cancelled: Cancelled,
    patience: Patience,
) -> T:
    """Do it until it succeeds, with growing pauses; an attempt that brought new bytes begins the count anew."""
    attempt = 0
    while True:
        try:
            return work()
        except BrokenOffError as error:
            attempt = 1 if has_moved() and not error.is_stall else attempt + 1
            asks_too_much = error.wait_s is not None and error.wait_s > 2 * patience.longest_wait_s
            if attempt >= patience.tries or asks_too_much:
                raise ProblemError(error.problem) from error
            on_retry(attempt)
            pause = patience.wait_s(attempt) if error.wait_s is None else min(error.wait_s, patience.longest_wait_s)
            _pause(pause, cancelled)


def _pause(seconds: float, cancelled: Cancelled) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        check_cancelled(cancelled)
        time.sleep(min(_LOOK_S, left))


class _Transfer:
    """Brings one part forward from one address."""

    def __init__(
        self, wanted: WantedFile, url: str, part: Part, meter: Meter, cancelled: Cancelled, patience: Patience
    ) -> None:
        self._wanted = wanted
        self._url = url
        self._part = part
        self._meter = meter
        self._cancelled = cancelled
        self._patience = patience
        self._host = parse_address(url).host
        self._size_at_start = part.size
        self.was_pieced = False

    def has_moved(self) -> bool:
        """Did the last attempt bring anything?"""
        moved = self._part.size > self._size_at_start
        self._size_at_start = self._part.size
        return moved

    def go_on(self) -> None:
        """One connection: from where the part ends to the end of the file. Raises BrokenOffError, ProblemError."""
        if self._wanted.size_bytes is not None and self._part.size == self._wanted.size_bytes:
            return
        self.was_pieced = self.was_pieced or self._part.size > 0
        with Stream(self._url, self._request(), self._patience, self._cancelled) as stream:
            answer = stream.head()
            self._host = answer.host
            total = self._begin(answer)
            if answer.status == 416:
                return
            self._refuse_page(answer)
            self._meter.total(total)
            for chunk in stream.chunks():
                if chunk:
                    self._part.append(chunk)
                self._meter.at(self._part.size)
                if self._part.size > (total if total is not None else self._most()):
                    raise fail("download_too_long", host=self._host, size=total or self._most())
        if total is not None and self._part.size < total:
            raise BrokenOffError(fail("download_cut", host=self._host).problem)

    def proven(self) -> FetchedFile:
        """The file under its name, when size and hash are what the source publishes. Raises ProblemError."""
        wanted, part = self._wanted, self._part
        if wanted.size_bytes is not None and part.size != wanted.size_bytes:
            found = part.size
            part.restart()
            raise fail("download_size_differs", name=wanted.name, host=self._host, size=wanted.size_bytes, found=found)
        if wanted.sha256 is not None and part.sha256 != wanted.sha256:
            found_hash = part.sha256
            part.restart()
            evidence = (f"SHA-256 published: {wanted.sha256}", f"SHA-256 received:  {found_hash}")
            raise fail("download_damaged", evidence, name=wanted.name, host=self._host)
        return part.finish()

    def _request(self) -> dict[str, str]:
        """Ask for the rest only, and only of the same version of the file."""
        if not self._part.size:
            return {}
        headers = {"Range": f"bytes={self._part.size}-"}
        if_range = self._part.validators.if_range
        if if_range is not None and self._wanted.sha256 is None:
            headers["If-Range"] = if_range
        return headers

    def _begin(self, answer: Answer) -> int | None:
        """Bring part and answer together; the size of the whole file, None when the server does not tell.

        With a published hash every server may go on with the part, since the end is proven; without one only the same
        version from the same server may.
        """
        if answer.status == 416:
            return self._unmet(answer)
        total = answer.length
        if answer.status == 206:
            found = _RANGE.fullmatch(answer.headers.get("content-range", "").strip())
            if found is None or int(found[1]) != self._part.size:
                self._part.restart()
                raise BrokenOffError(fail("download_odd_answer", host=self._host, why="Content-Range").problem)
            total = None if found[3] == "*" else int(found[3])
        elif self._part.size:
            self._part.restart()
            self._meter.at(0)
        self._check_size(total)
        etag, modified = answer.headers.get("etag", ""), answer.headers.get("last-modified", "")
        self._part.note(Validators(etag, modified, total))
        left = 0 if total is None else total - self._part.size
        check_room([(self._wanted.path.parent, left)])
        return total

    def _unmet(self, answer: Answer) -> int | None:
        """Nothing follows the part: it is whole, or it belongs to something else."""
        found = _UNMET.fullmatch(answer.headers.get("content-range", "").strip())
        total = int(found[1]) if found else None
        if total != self._part.size:
            self._part.restart()
            raise BrokenOffError(fail("download_odd_answer", host=self._host, why="416").problem)
        return total

    def _check_size(self, total: int | None) -> None:
        expected = self._wanted.size_bytes
        if total is not None and expected is not None and total != expected:
            name = self._wanted.name
            raise fail("download_size_differs", name=name, host=self._host, size=expected, found=total)
        if total is not None and total > self._most():
            raise fail("download_too_long", host=self._host, size=self._most())

    def _most(self) -> int:
        return self._wanted.size_bytes or self._wanted.most_bytes or _LARGEST

    def _refuse_page(self, answer: Answer) -> None:
        """A web page instead of the file: a login page of a hotel network, or a link to a page about the file."""
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in ("text/html", "application/xhtml+xml") and self._wanted.path.suffix.lower() not in (".html", ".htm"):
            raise fail("download_is_page", host=self._host, name=self._wanted.name)
