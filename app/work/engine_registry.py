"""All engines of this user side by side: looked at, added, used, gone back from, forgotten."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from app.common.later import later
from app.common.paths import AppPaths
from app.common.problem import Problem, ProblemError, fail
from app.work.engine_store import EngineStore, KnownEngine, NotedPlan, load_store, update_store

if TYPE_CHECKING:
    from app.engine.identity import quick_look
    from app.engine.locate import EngineBinary, engine_at, find_engine, installed_engines
    from app.work.engine_knowing import know_engine
else:
    quick_look = later("app.engine.identity", "quick_look")
    engine_at = later("app.engine.locate", "engine_at")
    find_engine = later("app.engine.locate", "find_engine")
    installed_engines = later("app.engine.locate", "installed_engines")
    know_engine = later("app.work.engine_knowing", "know_engine")


@dataclass(frozen=True, slots=True)
class ChangedEngine:
    """An engine that is another program than when it was last looked at."""

    before: KnownEngine
    after: KnownEngine


@dataclass(frozen=True, slots=True)
class EngineList:
    """``problems``: engines that are there but do not answer. ``changed``: rebuilt or updated in place."""

    store: EngineStore
    problems: tuple[Problem, ...] = ()
    changed: tuple[ChangedEngine, ...] = ()

    @property
    def current(self) -> KnownEngine | None:
        """The one in use."""
        return self.store.find(self.store.current)


def look_at_engines(paths: AppPaths, chosen: str | None) -> EngineList:
    """Every engine that is known or found here; those that have not changed are not started.

    ``chosen``: the path in the settings, None = the one that is found. Takes seconds for engines seen for the first
    time; call it on a worker thread. A list that cannot be kept (a full disk) is told and a problem of it.
    """
    before = load_store(paths)
    found, problems, changed = list[KnownEngine](), list[Problem](), list[ChangedEngine]()
    current, problem = _current(paths, chosen)
    if problem is not None:
        problems.append(problem)
    for binary in _binaries(before, paths, current):
        old = before.at(binary.path)
        if old is not None and quick_look(Path(old.path)) == (old.stamp.size_bytes, old.stamp.mtime_ns):
            continue
        try:
            new = _known(binary, old, paths)
        except ProblemError as error:
            problems.append(error.problem)
            continue
        if old is not None and old.stamp.sha256 != new.stamp.sha256:
            changed.append(ChangedEngine(old, new))
        found.append(new)

    def change(latest: EngineStore) -> EngineStore:
        for engine in found:
            latest = latest.with_engine(engine)
        here = None if current is None else latest.at(current.path)
        return latest.using(None if here is None else here.id)

    try:
        store = update_store(paths, change)
    except ProblemError as error:
        problems.append(error.problem)
        store = change(load_store(paths))
    return EngineList(store, tuple(problems), tuple(changed))


def _current(paths: AppPaths, chosen: str | None) -> tuple[EngineBinary | None, Problem | None]:
    try:
        return find_engine(chosen, paths), None
    except ProblemError as error:
        return None, error.problem


def _binaries(store: EngineStore, paths: AppPaths, current: EngineBinary | None) -> Iterator[EngineBinary]:
    """Installed ones, known ones, the one in use; each once."""
    places = [*installed_engines(paths), *(Path(engine.path) for engine in store.engines)]
    seen: set[str] = set()
    found = [current] if current is not None else []
    for place in places:
        try:
            found.append(engine_at(place))
        except ProblemError:
            continue  # a known engine that is gone stays in the list, with a warning
    for binary in found:
        name = os.path.normcase(os.path.abspath(binary.path))
        if name not in seen:
            seen.add(name)
            yield binary


def _known(binary: EngineBinary, old: KnownEngine | None, paths: AppPaths) -> KnownEngine:
    new = know_engine(binary, paths, engine_id=old.id if old else None)
    return new if old is None else replace(new, source=old.source, package=old.package)


def add_engine(place: str, paths: AppPaths) -> KnownEngine:
    """Know the engine at this place (the program, or a folder with it). Raises ProblemError ``engine_*``."""
    known = know_engine(engine_at(Path(os.path.expanduser(place))), paths)
    remember(known, paths)
    return known


def remember(known: KnownEngine, paths: AppPaths) -> None:
    """Keep it in the list. Raises ProblemError ``engine_list_not_saved``."""
    update_store(paths, lambda store: store.with_engine(known))


def use_engine(engine_id: str, paths: AppPaths) -> KnownEngine:
    """Make it the one in use; the caller puts its path into the settings. Raises ProblemError ``engine_unknown_id``
    or ``engine_missing_file``."""
    store = load_store(paths)
    known = store.find(engine_id)
    if known is None:
        raise fail("engine_unknown_id", id=engine_id)
    if not os.path.isfile(known.path):
        raise fail("engine_missing_file", path=known.path)
    update_store(paths, lambda store: store.using(engine_id))
    return known


def forget_engine(engine_id: str, paths: AppPaths) -> None:
    """Take it off the list; what Lanewise itself downloaded or built is deleted, the user's own files never are.

    Raises ProblemError ``engine_unknown_id`` or ``engine_not_forgotten``.
    """
    store = load_store(paths)
    known = store.find(engine_id)
    if known is None:
        raise fail("engine_unknown_id", id=engine_id)
    folder = _own_folder(known, paths)
    if folder is not None:
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            pass  # it is gone already
        except OSError as error:
            raise fail("engine_not_forgotten", path=str(folder), why=error.strerror or str(error)) from error
    update_store(paths, lambda store: store.without(engine_id))


def _own_folder(known: KnownEngine, paths: AppPaths) -> Path | None:
    """The folder right below our cache that holds it; a link that leads elsewhere is none of ours."""
    try:
        first = Path(known.path).relative_to(paths.engines).parts[0]
    except (ValueError, IndexError):
        return None
    folder = paths.engines / first
    return folder if folder.is_dir() and not folder.is_symlink() and first not in ("", ".", "..") else None


def note_plan(path: str, engine_path: str | None, paths: AppPaths) -> None:
    """Remember with which engine a plan was saved or opened. Raises ProblemError ``engine_list_not_saved``."""

    def change(store: EngineStore) -> EngineStore:
        known = store.at(engine_path) if engine_path else None
        return store if known is None else store.noting(NotedPlan(path, known.id, known.stamp.sha256))

    update_store(paths, change)
