"""The growing file and what is known about it, so that a transfer can go on after a cut, a restart or a crash."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import BinaryIO

from app.common.patient import rename_patiently
from app.common.problem import ProblemError, fail
from app.work.downloads.space import no_room, room_problem, too_large
from app.work.downloads.types import Cancelled, FetchedFile, WantedFile, check_cancelled

_BLOCK = 4 << 20
_MOST_SIDECAR_BYTES = 65536
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Validators:
    """How the server names this version of the file; empty when it does not."""

    etag: str = ""
    last_modified: str = ""
    size_bytes: int | None = None

    @property
    def if_range(self) -> str | None:
        """What an ``If-Range`` header may carry: a strong tag or a date (RFC 9110, 13.1.5)."""
        if self.etag and not self.etag.startswith("W/"):
            return self.etag
        return self.last_modified or None


class Part:
    """The part of one file, open for writing. The hash is carried along, and read back once after a restart."""

    def __init__(self, wanted: WantedFile, cancelled: Cancelled, on_read: Callable[[int], None]) -> None:
        """Opens (and, where it may go on, hashes) the part; ``on_read``: bytes hashed so far, since that takes seconds
        for a large one. Raises ProblemError ``download_disk`` or cancelled."""
        self._wanted = wanted
        self.validators = _load(wanted)
        self.size = 0
        self._hash = hashlib.sha256()
        self._saved: Validators | None = None
        try:
            wanted.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = open(wanted.part, "a+b")  # noqa: SIM115  # closed by the owner's with block
        except (OSError, ValueError) as error:
            raise disk_problem(wanted, error) from error
        try:
            self._take_up(cancelled, on_read)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Part:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # a full disk: what is written counts, and is hashed anew next time
            self._file.close()

    def _take_up(self, cancelled: Cancelled, on_read: Callable[[int], None]) -> None:
        """Go on with what is there, unless nothing could prove that it belongs to the same file."""
        length = os.fstat(self._file.fileno()).st_size
        can_prove = self._wanted.sha256 is not None or self.validators.if_range is not None
        expected = self._wanted.size_bytes
        if not length or not can_prove or (expected is not None and length > expected):
            self.restart()
            return
        self._file.seek(0)
        while block := self._file.read(_BLOCK):
            check_cancelled(cancelled)
            self._hash.update(block)
            self.size += len(block)
            on_read(self.size)

    def restart(self) -> None:
        """From the first byte."""
        try:
            self._file.truncate(0)
        except OSError as error:
            raise disk_problem(self._wanted, error) from error
        self.size = 0
        self._hash = hashlib.sha256()
        self.validators = Validators()

    def append(self, chunk: bytes) -> None:
        """Write and hash. Raises ProblemError ``download_no_space`` or ``download_disk``."""
        try:
            self._file.write(chunk)
        except OSError as error:
            raise disk_problem(self._wanted, error) from error
        self._hash.update(chunk)
        self.size += len(chunk)

    def note(self, validators: Validators) -> None:
        """Remember which version of the file the part belongs to."""
        self.validators = validators
        if validators == self._saved:
            return
        data = {"format": _FORMAT, "sha256": self._wanted.sha256, "wanted_bytes": self._wanted.size_bytes}
        try:
            text = json.dumps({**data, **asdict(validators)})
            self._wanted.sidecar.write_text(text, encoding="utf-8")
        except OSError as error:
            raise disk_problem(self._wanted, error) from error
        self._saved = validators

    @property
    def sha256(self) -> str:
        """Of everything written so far."""
        return self._hash.hexdigest()

    def finish(self) -> FetchedFile:
        """Give the file its name. Raises ProblemError ``download_disk``."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            rename_patiently(self._wanted.part, self._wanted.path)
        except OSError as error:
            raise disk_problem(self._wanted, error) from error
        self._wanted.sidecar.unlink(missing_ok=True)
        return FetchedFile(self._wanted.path, self.size, self.sha256)


def disk_problem(wanted: WantedFile, error: OSError | ValueError) -> ProblemError:
    """What a failed write means."""
    if isinstance(error, OSError) and no_room(error):
        return room_problem(wanted.path.parent, None)
    if isinstance(error, OSError) and too_large(error):
        return fail("download_file_too_large", folder=str(wanted.path.parent), name=wanted.name)
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return fail("download_disk", path=str(wanted.path), why=why)


def _load(wanted: WantedFile) -> Validators:
    """What the sidecar says, when it is about the same file as is wanted now."""
    try:
        with wanted.sidecar.open("rb") as file:
            data: object = json.loads(file.read(_MOST_SIDECAR_BYTES))
    except (OSError, ValueError, RecursionError):
        return Validators()
    if not isinstance(data, Mapping) or data.get("sha256") != wanted.sha256:
        return Validators()
    etag, modified, size = (data.get(key) for key in ("etag", "last_modified", "size_bytes"))
    return Validators(
        etag if isinstance(etag, str) else "",
        modified if isinstance(modified, str) else "",
        size if isinstance(size, int) and not isinstance(size, bool) else None,
    )
