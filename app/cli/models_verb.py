"""``models``: the GGUF files of this computer with a verdict each; ``--suggest``: what could be downloaded."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence

from app.cli.arguments import VerbParser, add_devices
from app.cli.console import print_error, print_json, print_note, print_problems, print_text, table
from app.cli.inputs import chosen_engine, device_wishes_of, learned_here, machine_for
from app.cli.plan_json import Json, problem_json
from app.cli.values import LARGEST_CONTEXT, whole
from app.common.paths import app_paths
from app.common.problem import Severity, fail
from app.common.units import size_text
from app.planner.file_verdict import FileVerdict
from app.planner.types import Wishes
from app.settings.store import load_settings
from app.words import say
from app.work.engines import capabilities_of
from app.work.library.judge import STEP_BYTES, Judge
from app.work.library.places import all_places
from app.work.library.scan import scan_library
from app.work.library.store import LibraryStore
from app.work.library.suggest import Suggestion, suggestions
from app.work.library.types import Entry
from app.work.library.words import entry_words, size_class, speed_words, verdict_words

_HEADS = ("name", "size", "quant", "verdict", "speed", "source")
_NUMBERS = frozenset({1})


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    group = parser.group("library")
    group.folders()
    group.switch("--suggest")
    parser.group("wishes").option("--ctx", "N", whole("--ctx", 1, LARGEST_CONTEXT))
    add_devices(parser)


def run(options: Namespace) -> int:
    """List the files, or the suggestions. Exit code 0, also when there is none."""
    judge = judge_of(options)
    if options.suggest:
        _print_suggestions(suggestions(judge), as_json=options.json)
        return 0
    paths = app_paths()
    for folder in options.folders:
        if not os.path.isdir(folder):
            raise fail("library_folder_missing", folder=folder)
    if options.folders:
        places = all_places(options.folders, with_known=False)
    else:
        places = all_places(load_settings(paths.settings_file).model_folders, paths.models)
    found = scan_library(places, judge, LibraryStore(paths.library_file), lambda: False)
    print_problems((note.problem for note in found.notes), least=Severity.WARNING)
    if options.json:
        print_json([entry_json(entry) for entry in found.files])
    elif found.files:
        print_text("\n".join(_table([_row(entry) for entry in found.files])))
        print_note(say("cli.models.scanned", files=len(found.files), entries=found.entries))
    else:
        print_note(say("cli.models.none"))
    return 0


def entry_json(entry: Entry) -> Json:
    """One file (docs/cli.md)."""
    summary, verdict = entry.summary, entry.verdict
    return {
        "path": entry.path,
        "name": entry.name,
        "file_bytes": summary.file_bytes,
        "role": summary.role.value,
        **verdict_json(verdict),
        "source": entry.source.value,
        "place": entry.place,
        "title": summary.title or None,
        "architecture": summary.architecture,
        "quant": summary.quant,
        "parameters": summary.parameters,
        "active_parameters": summary.active_parameters,
        "files": list(summary.files),
        "beside": list(entry.beside),
        "problem": None if summary.problem is None else problem_json(summary.problem),
        "note": None if entry.note is None else problem_json(entry.note),
    }


def verdict_json(verdict: FileVerdict | None) -> Json:
    """The keys that tell a verdict."""
    return {
        "verdict": None if verdict is None else verdict.kind.value,
        "expert_layers_in_ram": None if verdict is None else verdict.expert_layers_in_ram,
        "expert_layers": None if verdict is None else verdict.expert_layers,
        "layers_in_ram": None if verdict is None else verdict.layers_in_ram,
        "decode": None if verdict is None else verdict.decode_tps,
        "context": None if verdict is None else verdict.n_ctx,
        "missing_bytes": None if verdict is None else verdict.missing_bytes,
    }


def judge_of(options: Namespace) -> Judge:
    """The machine and the wishes that the options name."""
    engine = chosen_engine(options)
    hardware = machine_for(options, engine)
    taught = learned_here(options)
    if taught.problem is not None:
        print_error(taught.problem)
    wishes = Wishes(n_ctx=options.ctx, reserve_mib=options.reserve_mib)
    is_named = options.hardware is not None or options.device or options.ram_mib is not None
    device_wishes = device_wishes_of(options, hardware)
    step = 1 if is_named else STEP_BYTES
    return Judge(hardware, capabilities_of(engine), wishes, device_wishes, taught.learned, step)


def _row(entry: Entry) -> tuple[str, ...]:
    summary = entry.summary
    where = say(f"library.source.{entry.source.value}")
    return (
        entry.name,
        size_text(summary.file_bytes),
        summary.quant or "—",
        entry_words(entry),
        speed_words(entry.verdict),
        where,
    )


def _print_suggestions(found: tuple[Suggestion, ...], *, as_json: bool) -> None:
    if as_json:
        print_json([_suggestion_json(each) for each in found])
        return
    rows = [
        (
            f"{each.name} ({size_class(each.parameters, each.active_parameters)})",
            size_text(each.file_bytes),
            each.quant,
            verdict_words(each.verdict),
            speed_words(each.verdict),
            each.repository or "—",
        )
        for each in found
    ]
    print_text("\n".join(_table(rows)))


def _suggestion_json(each: Suggestion) -> Json:
    return {
        "name": each.name,
        "quant": each.quant,
        "repository": each.repository,
        "architecture": each.architecture,
        "file_bytes": each.file_bytes,
        "parameters": each.parameters,
        "active_parameters": each.active_parameters,
        "is_example": each.is_example,
        "runs_well": each.runs_well,
        **verdict_json(each.verdict),
    }


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    head = tuple(say(f"cli.models.head.{name}") for name in _HEADS)
    return table([head, *rows], right=_NUMBERS)
