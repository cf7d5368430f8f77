"""Unpacks a downloaded archive (zip or tar.gz) without trusting a single name or number in it.

Nothing is written outside the target folder; links stay inside it; devices, absolute paths, names that Windows cannot
keep, names that differ only in case, and archives that grow without end are refused before or while unpacking.
"""

from __future__ import annotations

import gzip
import lzma
import os
import posixpath
import shutil
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from app.common.problem import ProblemError, fail
from app.common.windows_names import is_device

MOST_BYTES = 12 << 30
MOST_ENTRIES = 20_000
_MOST_RATIO = 100
_RATIO_FREE_BYTES = 64 << 20
_LONGEST_NAME = 400
_BLOCK = 1 << 20
_NOT_ON_WINDOWS = frozenset('<>:"|?*\\')

Progress = Callable[[int], None]
"""Bytes written so far."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing in an archive. ``kind``: file, folder or link; ``target``: where a link points."""

    name: str
    kind: str
    size: int
    executable: bool = False
    target: str = ""


def unpack(archive: Path, to: Path, on_progress: Progress, cancelled: Callable[[], bool]) -> tuple[Path, ...]:
    """Unpack into the empty folder ``to``; one top folder that holds everything is left out. The files written.

    Raises ProblemError ``archive_unsafe`` (with the entry's name), ``archive_damaged``, ``archive_too_big``,
    ``archive_kind``, ``download_cancelled`` and ``archive_not_written`` (disk).
    """
    try:
        with _reader(archive) as reader:
            entries = reader.entries()
            top = _common_top(entries)
            plan = _checked(archive, entries, top)
            return _write_all(reader, plan, to, _Budget(archive, on_progress, cancelled))
    except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise fail("archive_damaged", name=archive.name, why=str(error)[:120]) from error
    except (NotImplementedError, RuntimeError, ValueError, KeyError, IndexError, UnicodeError) as error:
        raise fail("archive_damaged", name=archive.name, why=str(error)[:120]) from error
    except OSError as error:
        raise fail("archive_not_written", folder=str(to), why=error.strerror or str(error)) from error


class _Reader(Protocol):
    """The two kinds of archive as one."""

    def entries(self) -> list[Entry]:
        """All entries, one more than allowed at most."""

    def open(self, index: int) -> IO[bytes]:
        """The content of the entry with this index."""


class _Zip:
    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._infos = file.infolist()

    def entries(self) -> list[Entry]:
        return [self._entry(info) for info in self._infos[: MOST_ENTRIES + 1]]

    def _entry(self, info: zipfile.ZipInfo) -> Entry:
        mode = info.external_attr >> 16
        if info.is_dir():
            return Entry(info.filename, "folder", 0)
        if stat.S_ISLNK(mode):
            if info.file_size > _LONGEST_NAME:
                return Entry(info.filename, "other", 0)
            return Entry(info.filename, "link", 0, target=self._file.read(info).decode("utf-8"))
        kind = "file" if stat.S_IFMT(mode) in (0, stat.S_IFREG) else "other"
        return Entry(info.filename, kind, info.file_size, bool(mode & 0o111))

    def open(self, index: int) -> IO[bytes]:
        return self._file.open(self._infos[index])


class _Tar:
    def __init__(self, file: tarfile.TarFile, path: Path) -> None:
        self._file = file
        self._path = path
        self._members: list[tarfile.TarInfo] = []

    def entries(self) -> list[Entry]:
        limit = _largest(self._path)
        total = 0
        for member in self._file:
            self._members.append(member)
            total += max(0, member.size)
            if total > limit or len(self._members) > MOST_ENTRIES:
                break
        return [self._entry(member) for member in self._members]

    @staticmethod
    def _entry(member: tarfile.TarInfo) -> Entry:
        if member.isdir():
            return Entry(member.name, "folder", 0)
        if member.issym():
            return Entry(member.name, "link", 0, target=member.linkname)
        kind = "file" if member.isreg() and not member.issparse() else "other"
        return Entry(member.name, kind, member.size, bool(member.mode & 0o111))

    def open(self, index: int) -> IO[bytes]:
        file = self._file.extractfile(self._members[index])
        assert file is not None
        return file


@contextmanager
def _reader(archive: Path) -> Iterator[_Reader]:
    with archive.open("rb") as file:
        magic = file.read(4)
    if magic[:2] == b"PK":
        with zipfile.ZipFile(archive) as opened:
            yield _Zip(opened)
    elif magic[:2] == b"\x1f\x8b":
        with tarfile.open(archive, "r:gz") as opened_tar:
            yield _Tar(opened_tar, archive)
    else:
        raise fail("archive_kind", name=archive.name)


def _largest(archive: Path) -> int:
    """How large the content of this archive may be: libraries pack to a third, not to a hundredth."""
    return min(MOST_BYTES, archive.stat().st_size * _MOST_RATIO + _RATIO_FREE_BYTES)


def _common_top(entries: list[Entry]) -> str:
    """'llama-b11434' when all lies below it."""
    tops = {_clean(entry.name).partition("/")[0] for entry in entries if _clean(entry.name)}
    if len(tops) != 1:
        return ""
    top = tops.pop()
    return top if all(e.kind == "folder" or "/" in _clean(e.name) for e in entries if _clean(e.name)) else ""


def _clean(name: str) -> str:
    while name.startswith("./"):
        name = name[2:]
    return name.rstrip("/") if name != "." else ""


def _checked(archive: Path, entries: list[Entry], top: str) -> list[tuple[int, Entry, str]]:
    """(index, entry, path below the folder) of all that is to be written. Raises ProblemError."""
    if len(entries) > MOST_ENTRIES or sum(entry.size for entry in entries) > _largest(archive):
        raise fail("archive_too_big", name=archive.name)
    plan: list[tuple[int, Entry, str]] = []
    seen: dict[str, str] = {}
    for index, entry in enumerate(entries):
        _refuse_name(archive, entry)
        path = _clean(entry.name)
        path = path.removeprefix(top).lstrip("/") if top else path
        if not path:
            continue
        _refuse_twin(archive, entry, path, seen)
        if entry.kind == "link":
            _refuse_link(archive, entry, path)
        plan.append((index, entry, path))
    _refuse_below_links(archive, plan)
    return plan


def _unsafe(archive: Path, entry: Entry, why: str) -> ProblemError:
    shown = entry.name.encode("unicode_escape").decode("ascii")[:120]
    return fail("archive_unsafe", name=archive.name, entry=shown, why=why)


def _refuse_name(archive: Path, entry: Entry) -> None:
    name = entry.name
    if entry.kind == "other":
        raise _unsafe(archive, entry, "no plain file")
    if len(name) > _LONGEST_NAME or any(c < " " or c == "\x7f" for c in name) or not _is_unicode(name):
        raise _unsafe(archive, entry, "strange name")
    if name.startswith("/") or set(name) & _NOT_ON_WINDOWS:
        raise _unsafe(archive, entry, "absolute or not a name on Windows")
    for word in _clean(name).split("/"):
        if word == ".." or (word in ("", ".") and _clean(name)):
            raise _unsafe(archive, entry, "leads out of the folder")
        if is_device(word) or word != word.rstrip(". "):
            raise _unsafe(archive, entry, "not a name on Windows")


def _is_unicode(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _refuse_twin(archive: Path, entry: Entry, path: str, seen: dict[str, str]) -> None:
    """Two names for one file on Windows and macOS; a file where another entry needs a folder."""
    folded = path.casefold()
    if folded in seen and not (seen[folded] == "folder" == entry.kind):
        raise _unsafe(archive, entry, "the same name twice")
    seen[folded] = entry.kind


def _refuse_link(archive: Path, entry: Entry, path: str) -> None:
    target = entry.target
    if not target or target.startswith("/") or set(target) & _NOT_ON_WINDOWS or any(c < " " for c in target):
        raise _unsafe(archive, entry, "link out of the folder")
    landed = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if landed.startswith("..") or landed == ".":
        raise _unsafe(archive, entry, "link out of the folder")


def _refuse_below_links(archive: Path, plan: list[tuple[int, Entry, str]]) -> None:
    """Nothing may be written through a link, or through a file."""
    not_folders = {path.casefold() for _, entry, path in plan if entry.kind != "folder"}
    for _, entry, path in plan:
        parent = posixpath.dirname(path.casefold())
        while parent:
            if parent in not_folders:
                raise _unsafe(archive, entry, "below something that is no folder")
            parent = posixpath.dirname(parent)


class _Budget:
    """Counts what is written, since sizes in headers lie."""

    def __init__(self, archive: Path, on_progress: Progress, cancelled: Callable[[], bool]) -> None:
        self._archive = archive
        self._left = _largest(archive)
        self._done = 0
        self._on_progress = on_progress
        self._cancelled = cancelled

    def spend(self, n_bytes: int) -> None:
        """Raise ProblemError when it is too much or the user has had enough."""
        if self._cancelled():
            raise fail("download_cancelled")
        self._left -= n_bytes
        self._done += n_bytes
        if self._left < 0:
            raise fail("archive_too_big", name=self._archive.name)
        self._on_progress(self._done)


def _write_all(reader: _Reader, plan: list[tuple[int, Entry, str]], to: Path, budget: _Budget) -> tuple[Path, ...]:
    written: list[Path] = []
    links: dict[str, str] = {}
    for index, entry, path in plan:
        place = to / path
        budget.spend(0)
        if entry.kind == "folder":
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.kind == "link":
            links[path] = posixpath.normpath(posixpath.join(posixpath.dirname(path), entry.target))
            continue
        with reader.open(index) as source, place.open("xb") as target:
            while block := source.read(_BLOCK):
                budget.spend(len(block))
                target.write(block)
        place.chmod(0o755 if entry.executable else 0o644)
        written.append(place)
    return (*written, *_make_links(to, links))


def _make_links(to: Path, links: dict[str, str]) -> tuple[Path, ...]:
    """Links last, when all files are there; on Windows, where making one needs rights, a copy of the file.

    A link whose file is not in the archive is left out: nothing can use it.
    """
    made = []
    for path in links:
        target, steps = links[path], 0
        while target in links and steps <= len(links):
            target, steps = links[target], steps + 1
        source = to / target
        if not source.is_file() or source.is_symlink():
            continue
        place = to / path
        if sys.platform == "win32":
            shutil.copyfile(source, place)
        else:
            os.symlink(os.path.relpath(source, place.parent), place)
        made.append(place)
    return tuple(made)
