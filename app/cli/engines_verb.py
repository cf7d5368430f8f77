"""``engines``: the llama-servers of this user; with ``--get`` an official one is fetched, which nothing else does."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from app.cli.arguments import VerbParser
from app.cli.console import print_error, print_json, print_note, print_text
from app.cli.engines_text import EngineRow, GetTeller, engine_json, engines_text, offer_json, offers_text, used_text
from app.common.paths import AppPaths, app_paths
from app.common.problem import ProblemError, fail
from app.engine.capabilities import DOES_NOT_RUN
from app.engine.release_choice import Offer
from app.hardware.types import GpuInfo
from app.settings.settings import changed
from app.settings.store import load_settings, save_settings
from app.words import say
from app.work.engine_archives import install_archives, look_at_archive, look_with_runtime
from app.work.engine_getting import check_mirror, get_package, load_releases, offers_here
from app.work.engine_knowing import engine_warnings
from app.work.engine_registry import add_engine, forget_engine, look_at_engines, remember, use_engine
from app.work.engine_store import KnownEngine, in_order, load_store

_TRY_NEXT = ("engine_sees_no_card", *DOES_NOT_RUN)
"""After these another package may work."""
_BAD_INPUT = ("archive_missing", "archive_kind", "download_address_bad", "release_no_package", "archive_no_server")
_ACTIONS = ("get", "packages", "from", "use", "back", "forget", "add")


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    group = parser.group("engines")
    group.optional_value("--get", "PACKAGE")
    group.switch("--packages")
    group.option("--from", "ARCHIVE", repeatable=True)
    group.option("--confirm", "SHA256", repeatable=True)
    group.option("--mirror", "URL")
    group.option("--use", "ID")
    group.switch("--back")
    group.option("--forget", "ID")
    group.option("--add", "PATH")


def run(options: Namespace) -> int:
    """Do the one thing that was asked for; without any, list the engines."""
    asked = [name for name in _ACTIONS if getattr(options, name) not in (None, False, [])]
    if len(asked) > 1 and set(asked) != {"get", "from"}:
        raise fail("cli_engines_one", options=", ".join(f"--{name}" for name in asked))
    paths = app_paths()
    if options.use is not None:
        return _show_used(options, paths, use_engine(options.use, paths))
    if options.back:
        return _back(options, paths)
    if options.forget is not None:
        forget_engine(options.forget, paths)
        return _list(options, paths)
    if options.add is not None:
        known = add_engine(options.add, paths)
        remember(known, paths)
        return _list(options, paths)
    if options.packages:
        return _packages(options, paths)
    if options.get is not None or _archives(options):
        return _get(options, paths)
    return _list(options, paths)


def _chosen(options: Namespace, paths: AppPaths) -> str | None:
    named: str | None = options.engine
    return named if named is not None else load_settings(paths.settings_file).engine_path


def _gpus(options: Namespace) -> tuple[GpuInfo, ...]:
    if options.hardware is not None:
        from app.hardware.snapshot_file import load_snapshot

        return load_snapshot(Path(options.hardware)).gpus
    from app.hardware.probe import probe

    return probe().gpus


def _list(options: Namespace, paths: AppPaths) -> int:
    gpus = _gpus(options)
    listed = look_at_engines(paths, _chosen(options, paths))
    store = listed.store
    rows = [
        EngineRow(engine, engine.id == store.current, engine_warnings(engine, gpus, store=store))
        for engine in in_order(store.engines)
    ]
    previous = store.go_back_to
    changed_ones = [
        {"id": c.after.id, "before": c.before.stamp.sha256, "after": c.after.stamp.sha256} for c in listed.changed
    ]
    if options.json:
        print_json(
            {
                "current": store.current,
                "previous": None if previous is None else previous.id,
                "engines": [engine_json(row) for row in rows],
                "changed": changed_ones,
            }
        )
    else:
        print_text(engines_text(rows, previous))
    for problem in listed.problems:
        print_error(problem)
    return 0


def _show_used(options: Namespace, paths: AppPaths, known: KnownEngine) -> int:
    settings = load_settings(paths.settings_file)
    save_settings(paths.settings_file, changed(settings, engine_path=known.path))
    row = EngineRow(known, True, engine_warnings(known, _gpus(options), store=load_store(paths)))
    if options.json:
        print_json({"engine": engine_json(row)})
    else:
        print_text(used_text(row))
    return 0


def _back(options: Namespace, paths: AppPaths) -> int:
    known = load_store(paths).go_back_to
    if known is None:
        print_error(fail("engine_none_before").problem)
        return 1
    return _show_used(options, paths, use_engine(known.id, paths))


def _mirror(options: Namespace, paths: AppPaths) -> str | None:
    named: str | None = options.mirror
    if named is not None:
        check_mirror(named)
        return named
    return load_settings(paths.settings_file).engine_mirror


def _packages(options: Namespace, paths: AppPaths) -> int:
    try:
        releases = load_releases(paths, _mirror(options, paths), lambda: False)
        found = offers_here(releases, _gpus(options))
    except ProblemError as error:
        return _failed(error)
    if options.json:
        print_json({"packages": [offer_json(offer) for offer in found]})
    else:
        print_text(offers_text(found))
    return 0


def _get(options: Namespace, paths: AppPaths) -> int:
    try:
        known = _from_archives(options, paths) if _archives(options) else _from_network(options, paths)
    except ProblemError as error:
        return _failed(error)
    remember(known, paths)
    return _show_used(options, paths, use_engine(known.id, paths))


def _failed(error: ProblemError) -> int:
    if error.problem.code in _BAD_INPUT:
        raise error
    print_error(error.problem)
    for line in error.problem.evidence:
        print_note(f"  {line}")
    return 1


def _archives(options: Namespace) -> list[str]:
    """``--from``; the name is a word of Python."""
    return list(getattr(options, "from"))


def _from_archives(options: Namespace, paths: AppPaths) -> KnownEngine:
    named = [Path(name) for name in _archives(options)]
    if len(named) == 1:
        archives = look_with_runtime(named[0], paths, lambda: False)
    else:
        archives = tuple(look_at_archive(path, paths, lambda: False) for path in named)
    confirmed = tuple(text.lower().removeprefix("sha256:") for text in options.confirm)
    return install_archives(archives, confirmed, paths, _gpus(options), GetTeller(), lambda: False)


def _from_network(options: Namespace, paths: AppPaths) -> KnownEngine:
    """The named package, or one after the other of those that suit until one works here."""
    mirror, gpus = _mirror(options, paths), _gpus(options)
    print_note(say("engine.get.listing"))
    found = offers_here(load_releases(paths, mirror, lambda: False), gpus)
    wanted = _wanted(options.get, found)
    for number, offer in enumerate(wanted):
        print_note(f"{offer.package.id}: {say(f'engine.offer.{offer.reason}', **offer.params)}")
        try:
            return get_package(offer.package, paths, gpus, GetTeller(), lambda: False, mirror)
        except ProblemError as error:
            if error.problem.code not in _TRY_NEXT or number + 1 == len(wanted):
                raise
            print_error(error.problem)
            print_note(say("engine.get.next", package=wanted[number + 1].package.key))
    raise AssertionError("the last package returns or raises")


def _wanted(name: str, found: tuple[Offer, ...]) -> tuple[Offer, ...]:
    if not name:
        return tuple(offer for offer in found if offer.suits)
    named = tuple(offer for offer in found if name in (offer.package.key, offer.package.id, offer.package.backend))
    if not named:
        raise fail("release_no_package", name=name, known=", ".join(offer.package.key for offer in found))
    return named[:1]
