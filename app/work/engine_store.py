"""The engines that this user has: what each is, where it came from, which one came before. One JSON file."""

from __future__ import annotations

import contextlib
import json
import os
import stat
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from app.common.jsonable import from_json, to_json
from app.common.paths import AppPaths
from app.common.problem import fail
from app.common.whole_file import write_whole
from app.engine.identity import EngineKind, FileStamp

VERSION = 1
_MOST_PREVIOUS = 8
_MOST_PLANS = 200
_MOST_BYTES = 8 << 20
_updating = threading.Lock()


class EngineSource(StrEnum):
    """Where an engine came from: an official archive, the source package, or the user."""

    DOWNLOADED = "downloaded"
    BUILT = "built"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class KnownEngine:
    """One llama-server. ``id`` belongs to the place, ``stamp`` to the content: an update in place keeps the id.

    ``build``: what the program says of itself. ``devices``: its own list ('CUDA0: NVIDIA ... (8188 MiB)'), None when it
    could not be asked. ``package``: the archive it came in.
    """

    id: str
    path: str
    kind: EngineKind
    build: str | None
    build_number: int | None
    commit: str | None
    backends: tuple[str, ...]
    devices: tuple[str, ...] | None
    stamp: FileStamp
    source: EngineSource
    package: str | None = None
    flags: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """'b11434', or what the program says of itself."""
        return f"b{self.build_number}" if self.build_number is not None else self.build or "—"

    @property
    def short_hash(self) -> str:
        """For people."""
        return self.stamp.sha256[:10]


@dataclass(frozen=True, slots=True)
class NotedPlan:
    """A saved plan and the engine that it was made with. ``sha256``: the engine's content at that time."""

    path: str
    engine_id: str
    sha256: str


@dataclass(frozen=True, slots=True)
class EngineStore:
    """All of it. ``previous``: ids of engines in use before, the latest first."""

    version: int = VERSION
    engines: tuple[KnownEngine, ...] = ()
    current: str | None = None
    previous: tuple[str, ...] = ()
    plans: tuple[NotedPlan, ...] = ()

    def find(self, engine_id: str | None) -> KnownEngine | None:
        """The engine with this id."""
        return next((engine for engine in self.engines if engine.id == engine_id), None)

    def at(self, path: str) -> KnownEngine | None:
        """The engine at this path."""
        return next((engine for engine in self.engines if _same(engine.path, path)), None)

    def with_engine(self, engine: KnownEngine) -> EngineStore:
        """Add or replace the one with this id."""
        others = tuple(e for e in self.engines if e.id != engine.id)
        return replace(self, engines=(*others, engine))

    def using(self, engine_id: str | None) -> EngineStore:
        """Another one is in use now; the one before can be gone back to."""
        if engine_id == self.current:
            return self
        before = (self.current,) if self.current is not None and self.find(self.current) else ()
        rest = tuple(i for i in self.previous if i not in (engine_id, self.current) and self.find(i))
        return replace(self, current=engine_id, previous=(*before, *rest)[:_MOST_PREVIOUS])

    def without(self, engine_id: str) -> EngineStore:
        """Forget one."""
        return replace(
            self,
            engines=tuple(e for e in self.engines if e.id != engine_id),
            current=None if self.current == engine_id else self.current,
            previous=tuple(i for i in self.previous if i != engine_id),
        )

    def noting(self, plan: NotedPlan) -> EngineStore:
        """A plan was saved or opened with an engine."""
        others = tuple(p for p in self.plans if not _same(p.path, plan.path))
        return replace(self, plans=(*others, plan)[-_MOST_PLANS:])

    @property
    def go_back_to(self) -> KnownEngine | None:
        """The engine of before that is still there."""
        found = (self.find(i) for i in self.previous)
        return next((engine for engine in found if engine and os.path.isfile(engine.path)), None)


def store_file(paths: AppPaths) -> Path:
    """Where it is kept."""
    return paths.data / "engines.json"


def load_store(paths: AppPaths) -> EngineStore:
    """Read it; never raises. A damaged file is set aside, since the engines themselves can be looked at again."""
    path = store_file(paths)
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for ever
            raise ValueError("no regular file")
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        return from_json(EngineStore, json.loads(data.decode("utf-8-sig")))
    except FileNotFoundError:
        return EngineStore()
    except OSError:
        return EngineStore()
    except (ValueError, TypeError, RecursionError):
        with contextlib.suppress(OSError):
            os.replace(path, path.with_name(path.name + ".bad"))
        return EngineStore()


def update_store(paths: AppPaths, change: Callable[[EngineStore], EngineStore]) -> EngineStore:
    """Read, change and write in one go: several jobs of the window do it. Raises ProblemError as ``save_store``."""
    with _updating:
        before = load_store(paths)
        after = change(before)
        if after != before:
            save_store(paths, after)
    return after


def save_store(paths: AppPaths, store: EngineStore) -> None:
    """Write it whole, or leave the old one. Raises ProblemError ``engine_list_not_saved``."""
    path = store_file(paths)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(to_json(store), ensure_ascii=True, indent=1).encode("ascii"))
    except OSError as error:
        raise fail("engine_list_not_saved", path=str(path), why=error.strerror or str(error)) from error


def in_order(engines: Iterable[KnownEngine]) -> tuple[KnownEngine, ...]:
    """For a list: newest build first, then by name."""
    return tuple(sorted(engines, key=lambda e: (-(e.build_number or 0), e.id)))


def _same(a: str, b: str) -> bool:
    return os.path.normcase(os.path.abspath(a)) == os.path.normcase(os.path.abspath(b))
