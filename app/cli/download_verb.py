"""``download``: a model from a hub, with a verdict before anything of it but a header has been fetched."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from app.cli.arguments import VerbParser, add_devices
from app.cli.console import print_error, print_json_line, print_note, print_text, table
from app.cli.models_verb import judge_of, verdict_json
from app.cli.plan_json import Json, problem_json
from app.cli.values import LARGEST_CONTEXT, whole
from app.common.paths import app_paths
from app.common.problem import ProblemError, fail
from app.common.units import size_text
from app.settings.store import load_settings
from app.words import say
from app.work.downloads.addresses import parse_address
from app.work.downloads.types import DownloadProgress
from app.work.hub.choices import Choice, Choices, judged
from app.work.hub.fetching import Downloaded, fetch_sets
from app.work.hub.links import HubLink, parse_link
from app.work.hub.listing import RemoteSet, list_sets
from app.work.hub.words import choice_words, set_title
from app.work.library.words import speed_words

_EVERY_PERCENT = 10
_HEADS = ("file", "size", "quant", "verdict", "speed")
_NO = ("download_", "hub_", "gguf_", "not_gguf")
_BAD_INPUT = ("hub_link_none", "hub_link_no_model", "hub_no_such_file", "download_address_bad")


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    group = parser.group("download")
    group.link()
    group.switch("--list")
    group.option("--pick", "NAME")
    group.option("--quant", "Q")
    group.switch("--with-projector")
    group.option("--into", "FOLDER")
    group.option("--mirror", "URL")
    parser.group("wishes").option("--ctx", "N", whole("--ctx", 1, LARGEST_CONTEXT))
    add_devices(parser)


def run(options: Namespace) -> int:
    """List, judge, fetch. Exit code 0 = it is there, 1 = it could not be got."""
    if not options.link:
        raise fail("cli_link_missing")
    settings = load_settings(app_paths().settings_file)
    if options.mirror is not None:
        parse_address(options.mirror)
    link = parse_link(options.link, options.mirror or settings.model_mirror)
    try:
        return _run(options, link, Path(options.into or settings.download_folder or app_paths().models))
    except ProblemError as error:
        code = error.problem.code
        if code in _BAD_INPUT or not code.startswith(_NO):
            raise
        print_error(error.problem)
        for line in error.problem.evidence:
            print_note(f"  {line}")
        return 1


def _run(options: Namespace, link: HubLink, folder: Path) -> int:
    found = judged(link, list_sets(link, lambda: False), judge_of(options), lambda: False)
    chosen = _chosen(options, found)
    if options.json:
        print_json_line(_files_json(found, chosen))
    else:
        print_text("\n".join(_table(found, chosen)))
    if options.list:
        return 0
    sets = [found.choices[chosen].set]
    projector = next((c.set for c in found.choices if c.set.is_projector), None)
    if options.with_projector and projector is not None:
        sets.append(projector)
    done = fetch_sets(link, sets, folder, _Teller(as_json=options.json), lambda: False)
    _tell_done(done, as_json=options.json)
    return 0


def _chosen(options: Namespace, found: Choices) -> int:
    """The choice that was named, else the best. Raises ProblemError ``hub_no_such_file``."""
    wanted = options.pick or options.quant
    if wanted is None:
        return found.best
    for index, choice in enumerate(found.choices):
        if _is_meant(options, choice.set):
            return index
    known = [choice.set.quant if options.quant else choice.set.name for choice in found.choices]
    listed = ", ".join(dict.fromkeys(name for name in known if name))
    raise fail("hub_no_such_file", repository=found.link.title, wanted=wanted, known=listed)


def _is_meant(options: Namespace, each: RemoteSet) -> bool:
    if options.pick is not None:
        names = {each.name, *(file.path for file in each.files), *(file.name for file in each.files)}
        return options.pick in names
    return not each.is_projector and (each.quant or "").lower() == options.quant.lower()


def _table(found: Choices, chosen: int) -> list[str]:
    head = ("", *(say(f"cli.download.head.{name}" if name == "file" else f"cli.models.head.{name}") for name in _HEADS))
    rows = [
        (
            "*" if index == chosen else " ",
            set_title(choice.set),
            "—" if choice.set.size_bytes is None else size_text(choice.set.size_bytes),
            choice.set.quant or "—",
            choice_words(choice),
            speed_words(choice.verdict),
        )
        for index, choice in enumerate(found.choices)
    ]
    return table([head, *rows], right=frozenset({2}))


def _files_json(found: Choices, chosen: int) -> Json:
    return {
        "event": "files",
        "repository": found.link.title,
        "files": [_choice_json(choice, is_chosen=i == chosen) for i, choice in enumerate(found.choices)],
        "problem": None if found.problem is None else problem_json(found.problem),
    }


def _choice_json(choice: Choice, *, is_chosen: bool) -> Json:
    each = choice.set
    return {
        "name": each.name,
        "bytes": each.size_bytes,
        "quant": each.quant,
        "role": "projector" if each.is_projector else "model",
        "parts": len(each.files),
        "missing_parts": each.missing_parts,
        **verdict_json(choice.verdict),
        "basis": choice.basis.value,
        "chosen": is_chosen,
    }


def _tell_done(done: Downloaded, *, as_json: bool) -> None:
    if as_json:
        files = list(done.files)
        print_json_line(
            {"event": "done", "path": done.path, "files": files, "bytes": done.n_bytes, "checked": done.is_checked}
        )
        return
    check = say("hub.checked" if done.is_checked else "hub.unchecked")
    print_text(say("cli.download.done", path=done.path, size=done.n_bytes, check=check))


class _Teller:
    """Tells a download every ten per cent."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._told = -1

    def __call__(self, progress: DownloadProgress) -> None:
        """Take a report."""
        percent = int((progress.fraction or 0.0) * 100) // _EVERY_PERCENT * _EVERY_PERCENT
        if percent == self._told:
            return
        self._told = percent
        if self._as_json:
            print_json_line(
                {
                    "event": "progress",
                    "name": progress.name,
                    "done_bytes": progress.done_bytes,
                    "total_bytes": progress.total_bytes,
                    "bytes_per_s": progress.bytes_per_s,
                }
            )
            return
        done = say("download.progress", done=progress.done_bytes, total=progress.total_bytes)
        print_note(f"{progress.name}  {percent} %  {done}  {say('download.speed', speed=progress.bytes_per_s)}")
