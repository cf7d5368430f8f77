"""Reads the files that a plan names beside its model: projector, draft model, LoRA adapters."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from app.common.problem import Problem, ProblemError, Severity
from app.model._file_role import FileRole
from app.model._files import extended_path
from app.model.side_files import NO_FILES, SideFile, SideFiles, read_side_file
from app.model.types import ModelInfo
from app.planner.plan import PlanInputs
from app.planner.types import Wishes
from app.work.models import open_model

if TYPE_CHECKING:
    from app.planner.command_import import ImportedCommand

_KEPT = 16
File = TypeVar("File", SideFile, ModelInfo)
_side_files: dict[str, tuple[tuple[int, int], SideFile]] = {}
_drafts: dict[str, tuple[tuple[int, int], ModelInfo]] = {}


def read_companions(wishes: Wishes, model: ModelInfo) -> SideFiles:
    """What the planner must know of the files. One that cannot be read, or is of another kind, is a problem of the
    result: the engine would refuse to start with it."""
    if wishes.mmproj_path is None and wishes.draft_path is None and not wishes.lora_paths:
        return NO_FILES
    problems: list[Problem] = []
    adapters = [
        adapter
        for path in wishes.lora_paths
        if (adapter := _side_file("lora", path, FileRole.ADAPTER, problems)) is not None
    ]
    for adapter in adapters:
        if adapter.architecture and adapter.architecture != model.architecture:
            params = {"path": adapter.path, "adapter": adapter.architecture, "model": model.architecture}
            problems.append(Problem("lora_other_architecture", Severity.ERROR, params))
    projector = None
    if wishes.mmproj_path is not None:
        projector = _side_file("mmproj", wishes.mmproj_path, FileRole.PROJECTOR, problems)
    draft = None
    if wishes.draft_path is not None:
        draft = _read("draft", wishes.draft_path, _drafts, open_model, problems)
    return SideFiles(projector, draft, tuple(adapters), tuple(problems))


def with_whole_paths(wishes: Wishes) -> Wishes:
    """The same files by paths that name them from any folder."""
    mmproj, draft = wishes.mmproj_path, wishes.draft_path
    return replace(
        wishes,
        mmproj_path=None if mmproj is None else os.path.abspath(mmproj),
        draft_path=None if draft is None else os.path.abspath(draft),
        lora_paths=tuple(os.path.abspath(path) for path in wishes.lora_paths),
    )


def with_problems(files: SideFiles, problems: tuple[Problem, ...]) -> SideFiles:
    """The files with further remarks on what the plan reads."""
    return replace(files, problems=(*problems, *files.problems)) if problems else files


_FIELDS: Mapping[str, str] = {"mmproj": "mmproj_path", "draft_model": "draft_path", "lora": "lora_paths"}
_UNREAD = frozenset({"file_missing", "file_unreadable", "file_is_folder"})


def with_companions(command: ImportedCommand, inputs: PlanInputs) -> tuple[ImportedCommand, PlanInputs]:
    """The command with the files it names read. One that is not here (the command may come from another machine) is
    kept in the command word for word, its memory not counted, and that is said."""
    asked = command.wishes
    files = read_companions(asked, inputs.model)
    absent = {_plain(str(p.params.get("path"))) for p in files.problems if p.code in _UNREAD}
    unread = [g for g in command.given if g.setting in _FIELDS and _plain(g.value) in absent]
    if not unread:
        return command, replace(inputs, files=files)
    kept = (*command.kept, *unread)
    wishes = replace(
        asked,
        mmproj_path=_unless(absent, asked.mmproj_path),
        draft_path=_unless(absent, asked.draft_path),
        lora_paths=tuple(path for path in asked.lora_paths if _plain(path) not in absent),
    )
    if wishes.draft_path is None and asked.draft_path is not None:  # what belongs to the draft stays with it
        kept = (*kept, *(g for g in command.given if (g.setting or "").startswith("draft_") and g not in unread))
        kept = (*kept, *(g for g in command.given if g.setting == "spec_type" and g not in command.kept))
        plain = Wishes()
        wishes = replace(
            wishes,
            draft_gpu_layers=None,
            draft_device=None,
            draft_cache_type_k=plain.draft_cache_type_k,
            draft_cache_type_v=plain.draft_cache_type_v,
            draft_max=None,
            mtp=False,
        )
    words = tuple(word for option in kept for word in option.words)
    told = tuple(
        Problem("import_companion_unread", Severity.WARNING, {"flag": g.flag, "path": g.value}) for g in unread
    )
    changed = replace(command, kept=kept, wishes=replace(wishes, extra=words), problems=(*command.problems, *told))
    return changed, replace(inputs, files=read_companions(changed.wishes, inputs.model))


def _plain(path: str) -> str:
    """One spelling of a path: commands write "/" on Windows too, and the reader tells the whole path."""
    return os.path.normcase(os.path.abspath(path))


def _unless(absent: set[str], path: str | None) -> str | None:
    return None if path is None or _plain(path) in absent else path


def _side_file(kind: str, path: str, role: FileRole, problems: list[Problem]) -> SideFile | None:
    found = _read(kind, path, _side_files, read_side_file, problems)
    if found is not None and found.role is not role:
        params = {"path": path, "kind": kind, "role": found.role.value}
        problems.append(Problem("companion_other_kind", Severity.ERROR, params))
        return None
    return found


def _read(
    kind: str,
    path: str,
    known: dict[str, tuple[tuple[int, int], File]],
    read: Callable[[str], File],
    problems: list[Problem],
) -> File | None:
    """Read once, kept while size and time stay the same: plans are made many times a second."""
    try:
        stamp = _stamp(path)
        before = known.get(path)
        if before is not None and before[0] == stamp:
            return before[1]
        found = read(path)
    except ProblemError as error:
        problems.append(replace(error.problem, severity=Severity.ERROR))
        return None
    if len(known) >= _KEPT:
        known.clear()
    known[path] = (stamp, found)
    return found


def _stamp(path: str) -> tuple[int, int]:
    """Size and time of change; zeros for a file that is not there, which the reader then tells."""
    try:
        status = os.stat(extended_path(path, sys.platform == "win32"))
    except (OSError, ValueError):
        return (0, 0)
    return status.st_size, status.st_mtime_ns
