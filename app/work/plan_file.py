"""Plans as files: JSON that a person can read, another version can open, and a hand may have edited.

The placement is kept as the layer runs of every device and as override rules (a pattern, the device, how many tensors
it moved), so that the same plan opens for another quantisation of the model. Loading never guesses silently: whatever
could not be used is a problem (``plan_file_*``). The command line is kept for the reader's eye and for its server part;
nothing of it is run.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path, PurePath
from typing import TypeVar, cast

from app.common.capabilities import Capabilities
from app.common.problem import ParamValue, Problem, Severity, fail
from app.model.types import ModelInfo
from app.planner.argv import redact
from app.planner.command_import import read_command
from app.planner.kv import CACHE_TYPES
from app.planner.presets import PRESETS
from app.planner.types import KvHome, Override, Plan, Wishes
from app.planner.wish_options import LOAD_MODES
from app.work.planning import alias_of
from app.work.reach import is_loopback
from app.work.stress_stamp import StressStamp, stamp_from, stamp_json

FORMAT = "lanewise-plan"
VERSION = 1
_LARGEST_BYTES = 8 << 20
_LARGEST = 1 << 30
_LONGEST_TEXT = 60
_LOOPBACK = "127.0.0.1"

Json = Mapping[str, object]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SavedModel:
    """How a plan recognises its model. 0 and empty: the file does not say."""

    name: str = ""
    architecture: str = ""
    file_name: str = ""
    file_bytes: int = 0
    tensors: int = 0
    blocks: int = 0


@dataclass(frozen=True, slots=True)
class SavedEngine:
    """The engine that the plan was made with: what it says of itself, and its hash. Empty: the file does not say."""

    build: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class SavedRule:
    """One override: ``tensors`` is what the pattern moved when the plan was saved."""

    pattern: str
    device: str
    tensors: int


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """A plan as its file says it. ``runs`` None: the file holds no placement, the preset decides."""

    path: str
    model: SavedModel
    wishes: Wishes
    runs: tuple[tuple[str, int], ...] | None = None
    rules: tuple[SavedRule, ...] = ()
    rpc_servers: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int | None = None
    alias: str | None = None
    problems: tuple[Problem, ...] = ()
    engine: SavedEngine = SavedEngine()
    stamp: StressStamp | None = None


def plan_text(
    plan: Plan,
    model: ModelInfo,
    capabilities: Capabilities,
    engine_sha256: str | None = None,
    stamp: StressStamp | None = None,
) -> str:
    """The file's content. Secrets are left out. ``engine_sha256``: of the engine in use, where it is known. ``stamp``:
    of this plan's stress run, if there was one."""
    server = read_command(plan.argv, capabilities)
    alias = None if server.alias == alias_of(model) else server.alias  # the file's own name is found again
    wishes = {f.name: getattr(plan.wishes, f.name) for f in fields(Wishes)}
    wishes.update(kv_home=plan.placement.kv_home.value, extra=list(redact(plan.wishes.extra)))
    content: dict[str, object] = {
        "format": FORMAT,
        "version": VERSION,
        "model": {
            "name": model.name,
            "architecture": model.architecture,
            "file_name": PurePath(model.path).name,
            "file_bytes": model.file_bytes,
            "tensors": len(model.tensors),
            "blocks": model.block_count,
        },
        "wishes": wishes,
        "devices": [{"name": d.name, "kind": d.kind.value, "description": d.description} for d in plan.devices.all],
        "rpc_servers": list(plan.devices.rpc_servers),
        "placement": {
            "runs": [[name, n] for name, n in plan.placement.runs],
            "rules": [_rule_json(rule) for rule in plan.overrides],
        },
        "server": {"host": server.host, "port": server.port, "alias": alias},
        "argv": list(redact(plan.argv)),
        "engine": {"build": capabilities.build, "sha256": engine_sha256},
    }
    if plan.wishes.preset == "fit":
        del content["placement"]
    if stamp is not None:
        content["stress"] = stamp_json(stamp)
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _rule_json(rule: Override) -> Json:
    return {"pattern": rule.pattern, "device": rule.device, "tensors": rule.n_tensors}


def read_plan_file(path: Path) -> SavedPlan:
    """Read a plan file. Raises ProblemError ``plan_file_missing``, ``plan_file_too_large``,
    ``plan_file_not_json`` or ``plan_file_other``; less
    than that is a problem of the result."""
    content = _content(path)
    if content.get("format") != FORMAT:
        raise fail("plan_file_other", path=str(path))
    reader = _Reader()
    version = content.get("version")
    if not isinstance(version, int) or version > VERSION:
        known: dict[str, ParamValue] = {"version": _shown(version), "known": VERSION}
        reader.problems.append(Problem("plan_file_newer", Severity.WARNING, known))
    server = reader.mapping(content, "server")
    host = reader.value(server, "server.host", _text, _LOOPBACK)
    if not is_loopback(host):
        reader.problems.append(Problem("plan_file_opens_network", Severity.WARNING, {"host": host[:_LONGEST_TEXT]}))
    saved = SavedPlan(
        path=str(path),
        model=_saved_model(reader, reader.mapping(content, "model")),
        wishes=_saved_wishes(reader, reader.mapping(content, "wishes")),
        rpc_servers=tuple(t for t in reader.items(content, "rpc_servers") if isinstance(t, str)),
        host=host,
        port=reader.value(server, "server.port", _number(0, 65535), None),
        alias=reader.value(server, "server.alias", _optional(_text), None),
    )
    engine = content.get("engine")
    if isinstance(engine, dict):
        build, sha256 = engine.get("build"), engine.get("sha256")
        saved = replace(saved, engine=SavedEngine(_plain(build), _plain(sha256)))
    saved = replace(saved, stamp=stamp_from(content.get("stress")))
    if "placement" in content:
        placement = reader.mapping(content, "placement")
        saved = replace(saved, runs=_saved_runs(reader, placement), rules=_saved_rules(reader, placement))
    return replace(saved, problems=tuple(reader.problems))


def _content(path: Path) -> Json:
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for ever
            raise fail("plan_file_no_file", path=str(path))
        with path.open("rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise fail("plan_file_missing", path=str(path), why=why) from error
    if len(data) > _LARGEST_BYTES:
        raise fail("plan_file_too_large", path=str(path), most=_LARGEST_BYTES)
    try:
        content: object = json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise fail("plan_file_not_json", path=str(path), line=error.lineno) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise fail("plan_file_not_json", path=str(path), line=1) from error
    if not isinstance(content, dict):
        raise fail("plan_file_other", path=str(path))
    return content


def _plain(value: object) -> str:
    return value[: _LONGEST_TEXT * 2] if isinstance(value, str) else ""


class _BadValueError(ValueError):
    """A value of the file that cannot be used."""


Check = Callable[[object], object]


def _text(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise _BadValueError
    return value


def _number(low: int, high: int = _LARGEST) -> Check:
    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _BadValueError
        return value

    return check


def _one_of(*choices: str) -> Check:
    def check(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            raise _BadValueError
        return value

    return check


def _optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def _yes_no(value: object) -> bool:
    if not isinstance(value, bool):
        raise _BadValueError
    return value


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _BadValueError
    return tuple(_text(word) for word in value)


def _kv_home(value: object) -> KvHome:
    return KvHome(cast("str", _one_of(*(home.value for home in KvHome))(value)))


_WISHES: Mapping[str, Check] = {
    "n_ctx": _optional(_number(1)),
    "cache_type_k": _one_of(*CACHE_TYPES),
    "cache_type_v": _one_of(*CACHE_TYPES),
    "n_batch": _number(1),
    "n_ubatch": _number(1),
    "flash_attn": _one_of("on", "off", "auto"),
    "n_slots": _optional(_number(1, 4096)),
    "n_threads": _optional(_number(-1, 4096)),
    "prompt_cache_mib": _optional(_number(0)),
    "reserve_mib": _optional(_number(0)),
    "kv_home": _kv_home,
    "n_gpu_layers": _optional(_number(0)),
    "preset": _one_of(*PRESETS),
    "extra": _words,
    "load_mode": _optional(_one_of(*LOAD_MODES)),
    "kv_unified": _optional(_yes_no),
    "mmproj_path": _optional(_text),
    "mmproj_offload": _yes_no,
    "draft_path": _optional(_text),
    "draft_gpu_layers": _optional(_number(0)),
    "draft_device": _optional(_text),
    "draft_cache_type_k": _one_of(*CACHE_TYPES),
    "draft_cache_type_v": _one_of(*CACHE_TYPES),
    "draft_max": _optional(_number(1, 1024)),
    "mtp": _yes_no,
    "lora_paths": _words,
    "keep_ram_mib": _optional(_number(0)),
    "is_quiet": _yes_no,
}
"""How each wish is checked; one that is not here (of a later version) is dropped and told."""


@dataclass(slots=True)
class _Reader:
    """Takes values out of the JSON and notes those that are unusable."""

    problems: list[Problem] = field(default_factory=list)

    def drop(self, key: str, value: object) -> None:
        """Note that a value was not used."""
        params: dict[str, ParamValue] = {"key": key, "value": _shown(value)}
        self.problems.append(Problem("plan_file_dropped", Severity.WARNING, params))

    def mapping(self, content: Json, key: str) -> Json:
        """A part of the file; empty (and noted) when it is missing or no object."""
        value = content.get(key)
        if isinstance(value, dict):
            return value
        self.drop(key, value)
        return {}

    def items(self, content: Json, key: str) -> Sequence[object]:
        """A list of the file; a missing one is empty."""
        value = content.get(key, [])
        if isinstance(value, list):
            return value
        self.drop(key, value)
        return []

    def value(self, content: Json, key: str, check: Check, default: T) -> T:
        """One checked value; ``key`` may carry the part's name in front, for the note."""
        name = key.rpartition(".")[2]
        if name not in content:
            return default
        try:
            return cast("T", check(content[name]))
        except _BadValueError:
            self.drop(key, content[name])
            return default


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"


def _saved_model(reader: _Reader, part: Json) -> SavedModel:
    return SavedModel(
        name=reader.value(part, "model.name", _text, ""),
        architecture=reader.value(part, "model.architecture", _text, ""),
        file_name=reader.value(part, "model.file_name", _text, ""),
        file_bytes=reader.value(part, "model.file_bytes", _number(0, 1 << 60), 0),
        tensors=reader.value(part, "model.tensors", _number(0), 0),
        blocks=reader.value(part, "model.blocks", _number(0), 0),
    )


def _saved_wishes(reader: _Reader, part: Json) -> Wishes:
    known = {f.name for f in fields(Wishes)}
    found: dict[str, object] = {}
    for key in part:
        if key not in known or key not in _WISHES:
            reader.drop(f"wishes.{key}", part[key])
            continue
        default = getattr(Wishes(), key)
        found[key] = reader.value(part, f"wishes.{key}", _WISHES[key], default)
    return replace(Wishes(), **found)  # type: ignore[arg-type]  # every value went through its own check


def _saved_runs(reader: _Reader, placement: Json) -> tuple[tuple[str, int], ...]:
    runs = []
    for item in reader.items(placement, "runs"):
        try:
            name, n_units = cast("list[object]", item) if isinstance(item, list) and len(item) == 2 else (None, None)
            runs.append((_text(name), cast("int", _number(0, 1 << 16)(n_units))))
        except _BadValueError:
            reader.drop("placement.runs", item)
    return tuple(runs)


def _saved_rules(reader: _Reader, placement: Json) -> tuple[SavedRule, ...]:
    rules = []
    for item in reader.items(placement, "rules"):
        part: Json = item if isinstance(item, dict) else {}
        try:
            count = cast("int", _number(0)(part.get("tensors", 0)))
            rules.append(SavedRule(_text(part.get("pattern")), _text(part.get("device")), count))
        except _BadValueError:
            reader.drop("placement.rules", item)
    return tuple(rules)
