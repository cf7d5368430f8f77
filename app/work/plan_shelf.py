"""The plans kept for a model: files in Lanewise's own folder, each with a name and a note of the user's.

Name and note lie in the plan file itself, beside what ``plan_file`` writes there, so that a plan that is copied keeps
them, and a plan file from anywhere may have them.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from app.common.capabilities import Capabilities
from app.common.paths import AppPaths
from app.common.problem import fail
from app.common.whole_file import write_whole
from app.common.windows_names import is_device
from app.model.types import ModelInfo
from app.planner.router_preset import PresetValueError, router_preset, section_name
from app.planner.shells import Shell, quote_command
from app.settings.settings import default_shell
from app.words import say

LONGEST_NAME = 80
LONGEST_NOTE = 4000
_MOST_PLANS = 200
_LARGEST_BYTES = 8 << 20
_MOST_WORDS = 4096
_FORMAT = "lanewise-plan"


@dataclass(frozen=True, slots=True)
class Labels:
    """What the user calls a plan, and what they wrote about it."""

    name: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class ShelfPlan:
    """A kept plan. ``saved_at_s``: seconds since 1970. ``n_ctx`` None: the file does not say. ``model``: its name, or
    its file's."""

    path: str
    labels: Labels
    saved_at_s: float
    n_ctx: int | None
    argv: tuple[str, ...]
    model: str = ""

    @property
    def model_path(self) -> str | None:
        """The model's file, as the plan's command names it."""
        at = next((i for i, word in enumerate(self.argv[:-1]) if word in ("-m", "--model")), None)
        return None if at is None else self.argv[at + 1]

    def is_of(self, model: ModelInfo) -> bool:
        """Was it kept for this very file?"""
        return self.model_path == model.path


def shelf_folder(paths: AppPaths) -> Path:
    """Where kept plans lie."""
    return paths.data / "plans"


def new_plan_path(paths: AppPaths, name: str) -> Path:
    """A file for a new plan of this name that no plan has yet; safe on every file system."""
    stem = re.sub(r'[<>:"/\\|?*\x00-\x1f\ud800-\udfff]+', "-", name).strip(" .-")[:LONGEST_NAME].rstrip(" .") or "plan"
    if is_device(stem):
        head, point, rest = stem.partition(".")
        stem = f"{head.rstrip()}-plan{point}{rest}"
    folder = shelf_folder(paths)
    taken = {entry.lower() for entry in _names(folder)}
    candidates = (stem if n == 1 else f"{stem} {n}" for n in range(1, len(taken) + 2))
    return folder / f"{next(c for c in candidates if f'{c}.json'.lower() not in taken)}.json"


def plans_of(paths: AppPaths, model: ModelInfo | None) -> tuple[ShelfPlan, ...]:
    """The kept plans of a model (None: of all), the newest first; files that are no plan are passed over. Never
    raises."""
    folder = shelf_folder(paths)
    found = (_read(folder / name, model) for name in _names(folder)[:_MOST_PLANS])
    return tuple(sorted((p for p in found if p is not None), key=lambda plan: -plan.saved_at_s))


def labels_of(path: Path) -> Labels:
    """Name and note in a plan file; empty ones where there is no such file."""
    content = _content(path)
    return Labels() if content is None else _labels(content)


def write_labels(path: Path, labels: Labels) -> None:
    """Put name and note into a plan file, which keeps everything else. Raises ``export_failed``."""
    content = _content(path)
    if content is None:
        raise fail("export_failed", path=str(path), why="no plan file")
    content.pop("name", None)
    content.pop("note", None)
    told = {"name": labels.name[:LONGEST_NAME], "note": labels.note[:LONGEST_NOTE]}
    text = json.dumps({**content, **{k: v for k, v in told.items() if v}}, ensure_ascii=False, indent=2) + "\n"
    try:
        _write(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise fail("export_failed", path=str(path), why=error.strerror or type(error).__name__) from error


def remove_plan(path: Path) -> None:
    """Delete a kept plan. Raises ``export_failed``."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise fail("export_failed", path=str(path), why=error.strerror or type(error).__name__) from error


def export_router(path: Path, plans: Sequence[ShelfPlan], capabilities: Capabilities) -> tuple[str, ...]:
    """Write one preset file for the engine's router with a section for each plan, named as the plans are; of different
    models, if they are. The names that a request asks for, in their order.

    Raises ``preset_no_command`` (a plan whose file holds none), ``preset_cannot_carry`` or ``export_failed``.
    """
    notes = (say("shelf.router_run", command=router_command(path)), say("shelf.router_one"))
    sections = ["".join("; " + re.sub(r"[\r\n]+", " ", note) + "\n" for note in notes)]
    used: list[str] = []
    for plan in plans:
        name = section_name(plan.labels.name or PurePath(plan.path).stem)
        unique = next(n for n in (name, *(f"{name}-{i}" for i in range(2, len(plans) + 2))) if n not in used)
        used.append(unique)
        if plan.model_path is None:
            raise fail("preset_no_command", name=name)
        try:
            sections.append(router_preset(plan.argv, unique, capabilities))
        except PresetValueError as error:
            raise fail("preset_cannot_carry", option=error.option) from error
    try:
        _write(path, "\n".join(sections).encode("utf-8"))
    except (OSError, UnicodeEncodeError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        raise fail("export_failed", path=str(path), why=why) from error
    return tuple(used)


def router_command(path: Path) -> str:
    """What starts the router, for this system's shell. One model at a time: every plan was made for the whole
    machine."""
    words = ("--models-preset", str(path), "--models-max", "1")
    return quote_command("llama-server", words, Shell(default_shell()))


def lost_models(plans: Sequence[ShelfPlan]) -> tuple[str, ...]:
    """Models of these plans that are not where the plans say, each once."""
    lost = (plan.model_path for plan in plans if plan.model_path and not Path(plan.model_path).is_file())
    return tuple(dict.fromkeys(lost))


def _names(folder: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.lower().endswith(".json"))
    except OSError:
        return []


def _read(path: Path, model: ModelInfo | None) -> ShelfPlan | None:
    content = _content(path)
    if content is None or (model is not None and not _is_of(content.get("model"), model)):
        return None
    wishes, argv = content.get("wishes"), content.get("argv")
    n_ctx = wishes.get("n_ctx") if isinstance(wishes, dict) else None
    words = argv[:_MOST_WORDS] if isinstance(argv, list) and all(isinstance(word, str) for word in argv) else []
    try:
        saved_at_s = path.stat().st_mtime
    except OSError:
        return None
    n_ctx = n_ctx if isinstance(n_ctx, int) and n_ctx > 0 else None
    return ShelfPlan(str(path), _labels(content), saved_at_s, n_ctx, tuple(words), _model_name(content.get("model")))


def _model_name(saved: object) -> str:
    told = [saved.get("name"), saved.get("file_name")] if isinstance(saved, dict) else []
    name = next((text for text in told if isinstance(text, str) and text), "")
    return " ".join(name[:LONGEST_NAME].split())


def _is_of(saved: object, model: ModelInfo) -> bool:
    """The same shape, and the same name or file: another quantisation of a model has its plans too."""
    if not isinstance(saved, dict):
        return False
    shape = (saved.get("architecture"), saved.get("blocks")) == (model.architecture, model.block_count)
    named = bool(model.name) and saved.get("name") == model.name
    return shape and (named or saved.get("file_name") == PurePath(model.path).name)


def _content(path: Path) -> dict[str, object] | None:
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST_BYTES:
            return None
        data = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and data.get("format") == _FORMAT else None


def _labels(content: dict[str, object]) -> Labels:
    name, note = content.get("name"), content.get("note")
    return Labels(
        " ".join(name[:LONGEST_NAME].split()) if isinstance(name, str) else "",
        note[:LONGEST_NOTE] if isinstance(note, str) else "",
    )


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data, is_lasting=True)
