"""What this computer has taught us, kept in one small SQLite file: observations of any kind, newest first.

The store knows nothing of what it keeps. Whoever learns something chooses a ``kind`` (``verify``, ``overhead``,
``speed``...), a ``key`` within it (what makes two observations comparable: engine build, card, architecture...) and a
JSON object. The rules that turn observations into figures are pure and live in the planner.

    store = LearnedStore(paths.learned_file)
    store.add("speed", key, {"decode_tps": 31.2}, keep=5)      # the newest five of this key stay
    loaded = store.load("speed")                               # every key; loaded.problem tells a damaged file

Each call opens and closes the file, so that several threads, windows and command lines may share it. A call takes a
few milliseconds, or up to two seconds while another process writes: not for the window's thread.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from app.common.problem import Problem, ProblemError, Severity, fail

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

FORMAT = 1
"""``PRAGMA user_version`` of the file; a file of a newer Lanewise is left alone."""
MOST_ROWS_PER_KIND = 2000
"""The oldest observations of a kind go when there are more: the file stays below a few MiB."""
LARGEST_VALUE = 65536
"""Characters of one observation's JSON."""

_WAIT_S = 2.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS observations (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, at REAL NOT NULL, value TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS by_key ON observations (kind, key, id);
"""
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing seen. ``at``: seconds since 1970, UTC. ``value``: as it was given to ``add``."""

    kind: str
    key: str
    at: float
    value: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class LoadedObservations:
    """Newest first. ``problem``: why nothing could be read although a file is there (``learned_damaged``,
    ``learned_unreadable``); everything then works without what was learned."""

    observations: tuple[Observation, ...] = ()
    problem: Problem | None = None


class LearnedStore:
    """The observations in ``path``; the file is made with the first one. ``clock`` gives seconds since 1970."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock

    def load(self, kind: str, key: str | None = None) -> LoadedObservations:
        """Everything of a kind, or of one key of it; never raises. A damaged file is set aside as ``.bad``."""
        if not os.path.lexists(self.path):
            return LoadedObservations()
        where, values = ("kind = ?", (kind,)) if key is None else ("kind = ? AND key = ?", (kind, key))
        try:
            with self._open() as db:
                rows = db.execute(
                    f"SELECT kind, key, at, value FROM observations WHERE {where} ORDER BY id DESC", values
                ).fetchall()
        except (sqlite3.Error, OSError) as error:
            return LoadedObservations((), self._trouble(error))
        return LoadedObservations(tuple(found for row in rows if (found := _observation(row)) is not None))

    def add(self, kind: str, key: str, value: Mapping[str, Json], keep: int = 1) -> None:
        """Keep an observation, and of its key only the newest ``keep``.

        A damaged file is set aside and a new one begun. Raises ProblemError ``learned_not_saved`` (full disk, no right
        to write, a file of a newer version), ValueError for a value that is no JSON or too large (a bug of the caller).
        """
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        if len(text) > LARGEST_VALUE:
            raise ValueError(f"{kind}: an observation of {len(text)} characters")

        def write(db: sqlite3.Connection) -> None:
            db.execute(
                "INSERT INTO observations (kind, key, at, value) VALUES (?, ?, ?, ?)", (kind, key, self._clock(), text)
            )
            for where, values, n in (
                ("kind = ? AND key = ?", (kind, key), max(1, keep)),
                ("kind = ?", (kind,), MOST_ROWS_PER_KIND),
            ):
                newest = f"SELECT id FROM observations WHERE {where} ORDER BY id DESC LIMIT ?"
                db.execute(f"DELETE FROM observations WHERE {where} AND id NOT IN ({newest})", (*values, *values, n))

        self._write(write)

    def remove(self, kind: str, key: str) -> None:
        """Forget one key. Raises as ``add`` does."""
        if os.path.lexists(self.path):
            self._write(lambda db: db.execute("DELETE FROM observations WHERE kind = ? AND key = ?", (kind, key)))

    def forget(self, *kinds: str) -> None:
        """Forget everything, or everything of these kinds. Raises as ``add`` does."""
        if not os.path.lexists(self.path):
            return

        def write(db: sqlite3.Connection) -> None:
            if kinds:
                db.executemany("DELETE FROM observations WHERE kind = ?", [(kind,) for kind in kinds])
            else:
                db.execute("DELETE FROM observations")

        self._write(write)

    def _write(self, change: Callable[[sqlite3.Connection], object]) -> None:
        try:
            try:
                self._change(change)
            except sqlite3.DatabaseError as error:
                if not _is_damaged(error):
                    raise
                os.replace(self.path, _bad(self.path))
                self._change(change)
        except (sqlite3.Error, OSError) as error:
            raise fail("learned_not_saved", path=str(self.path), reason=_reason(error)) from error

    def _change(self, change: Callable[[sqlite3.Connection], object]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._open() as db, db:
            change(db)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        if os.path.lexists(self.path) and not stat.S_ISREG(self.path.stat().st_mode):
            raise OSError("no regular file")  # SQLite would make a pipe's reader wait
        with contextlib.closing(sqlite3.connect(self.path, timeout=_WAIT_S)) as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
            if version > FORMAT:
                raise OSError(f"format {version}")
            if version < FORMAT:
                db.executescript(_SCHEMA + f"PRAGMA user_version = {FORMAT};")
            yield db

    def _trouble(self, error: Exception) -> Problem:
        if _is_damaged(error):
            with contextlib.suppress(OSError):
                os.replace(self.path, _bad(self.path))
                return Problem(
                    "learned_damaged", Severity.WARNING, {"path": str(self.path), "kept": str(_bad(self.path))}
                )
        return Problem("learned_unreadable", Severity.WARNING, {"path": str(self.path), "reason": _reason(error)})


def try_add(store: LearnedStore, kind: str, key: str, value: Mapping[str, Json], keep: int = 1) -> Problem | None:
    """``add``, with the trouble as a value: for learning by the way, which must not end what it learns from."""
    try:
        store.add(kind, key, value, keep)
    except ProblemError as error:
        return error.problem
    return None


def _observation(row: tuple[str, str, float, str]) -> Observation | None:
    """None for a row that somebody else wrote and that is no JSON object."""
    kind, key, at, text = row
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None
    return Observation(kind, key, float(at), value) if isinstance(value, dict) else None


def _is_damaged(error: Exception) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF in _DAMAGED


def _bad(path: Path) -> Path:
    return path.with_name(path.name + ".bad")


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
