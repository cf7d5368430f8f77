"""What was read of the library's files and how they were judged, in one small file beside the other caches.

A line is believed while size and time of every part are the same. A store that is damaged, of another version or
cannot be written is as good as none.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from app.common.problem import Problem, Severity
from app.common.whole_file import write_whole
from app.planner.file_verdict import FileVerdict, VerdictKind
from app.work.library.types import EntryRole, Summary

_FORMAT = 1
"""To be raised whenever the same file would now be summed up or judged otherwise."""
_MOST_BYTES = 64 << 20
_MOST_FILES = 20_000
_MOST_KEYS = 4

Stamps = tuple[tuple[int, int], ...]


class LibraryStore:
    """Summaries by path, verdicts by machine and signature. One thread reads and writes at a time per entry."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, tuple[Stamps, Summary]] = {}
        self._verdicts: dict[str, dict[str, FileVerdict | None]] = {}
        self._is_changed = False
        self._load()

    def summary(self, path: str) -> Summary | None:
        """What is known of the file as it is now; None when it has to be read."""
        kept = self._files.get(path)
        if kept is None or stamps_of(kept[1].files) != kept[0]:
            return None
        return kept[1]

    def keep_summary(self, path: str, summary: Summary, before: Stamps | None = None) -> None:
        """Remember; not for a file whose parts cannot be looked at, nor for one that was another ``before`` it was
        read (a download that went on meanwhile)."""
        stamps = stamps_of(summary.files)
        if stamps is not None and (before is None or before[0] in stamps):
            self._files[path] = (stamps, summary)
            self._is_changed = True

    def verdicts(self, key: str) -> dict[str, FileVerdict | None]:
        """The verdicts of a machine by signature; a dict to read from."""
        return self._verdicts.get(key, {})

    def keep_verdict(self, key: str, signature: str, verdict: FileVerdict | None) -> None:
        """Remember a verdict; the machines used last are kept."""
        known = self._verdicts.pop(key, {})
        known[signature] = verdict
        self._verdicts[key] = known
        while len(self._verdicts) > _MOST_KEYS:
            del self._verdicts[next(iter(self._verdicts))]
        self._is_changed = True

    def save(self) -> None:
        """Write what has changed; a cache that cannot be written is only slower the next time."""
        if not self._is_changed:
            return
        files = list(self._files.items())[-_MOST_FILES:]
        data = {
            "format": _FORMAT,
            "files": {path: [stamps, _packed(summary)] for path, (stamps, summary) in files},
            "verdicts": {
                key: {signature: None if v is None else _row(v) for signature, v in known.items()}
                for key, known in self._verdicts.items()
            },
        }
        with contextlib.suppress(OSError, ValueError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, json.dumps(data, separators=(",", ":")).encode("ascii"))
            self._is_changed = False

    def _load(self) -> None:
        try:
            if self._path.stat().st_size > _MOST_BYTES:
                return
            data = json.loads(self._path.read_bytes())
            if data["format"] != _FORMAT:
                return
            files = {
                path: (tuple((int(size), int(time)) for size, time in stamps), _unpacked(row))
                for path, (stamps, row) in data["files"].items()
            }
            verdicts = {
                key: {signature: None if row is None else _verdict(row) for signature, row in known.items()}
                for key, known in data["verdicts"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
            return
        self._files, self._verdicts = files, verdicts


def stamps_of(paths: tuple[str, ...]) -> Stamps | None:
    """Size and time of change of each part; None when one cannot be looked at."""
    found = []
    for path in paths:
        try:
            status = os.stat(path)
        except (OSError, ValueError):
            return None
        found.append((status.st_size, status.st_mtime_ns))
    return tuple(found)


_SUMMARY_FIELDS = tuple(field.name for field in fields(Summary))
_VERDICT_FIELDS = tuple(field.name for field in fields(FileVerdict) if field.name != "is_first")  # only plans are kept
_OTHERS = frozenset({"role", "files", "problem"})
_TEXTS = frozenset({"title", "architecture", "quant", "signature"})


def _packed(summary: Summary) -> list[object]:
    row: list[object] = [getattr(summary, name) for name in _SUMMARY_FIELDS]
    problem = summary.problem
    row[_SUMMARY_FIELDS.index("problem")] = (
        None if problem is None else [problem.code, problem.severity.value, dict(problem.params)]
    )
    return row


def _unpacked(row: list[Any]) -> Summary:  # Any: parsed JSON, checked field by field here
    values: dict[str, Any] = dict(zip(_SUMMARY_FIELDS, row, strict=True))
    values["role"] = EntryRole(values["role"])
    files = values["files"]
    if not files or not all(isinstance(file, str) for file in files):
        raise TypeError("files")
    values["files"] = tuple(files)
    for name, value in values.items():
        kind = str if name in _TEXTS else int
        if name not in _OTHERS and value is not None and type(value) is not kind:
            raise TypeError(name)
    if values["problem"] is not None:
        code, severity, params = values["problem"]
        if not isinstance(code, str) or not isinstance(params, Mapping):
            raise TypeError("problem")
        values["problem"] = Problem(code, Severity(severity), params)
    return Summary(**values)


def _row(verdict: FileVerdict) -> list[object]:
    return [getattr(verdict, name) for name in _VERDICT_FIELDS]


def _verdict(row: list[Any]) -> FileVerdict:  # Any: parsed JSON, checked field by field here
    kind, *figures = row
    if not all(figure is None or type(figure) in (int, float) for figure in figures):
        raise TypeError("verdict")
    return FileVerdict(VerdictKind(kind), *figures)
