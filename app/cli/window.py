"""The window's own options: ``lanewise [MODEL.gguf] [options]``. Starts no Qt itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from app.cli.arguments import PROGRAM, VerbParser, nearest, parse
from app.cli.console import prepare_streams, print_error, print_text
from app.cli.languages import choose_language
from app.cli.main import BAD_INPUT, DONE, overview
from app.cli.values import endpoint, language, one_of
from app.cli.verbs import VERBS
from app.common.problem import ProblemError, fail
from app.common.start_options import WindowOptions
from app.words import Language

_THEMES = ("light", "dark", "system")


def window_options(arguments: Sequence[str]) -> WindowOptions | int:
    """What to start the window with; an exit code when there is nothing to start (help, a mistake that was told)."""
    prepare_streams(json_output=False)
    choose_language(arguments)
    try:
        return _parsed(arguments)
    except ProblemError as error:
        print_error(error.problem)
        return BAD_INPUT


def _parsed(arguments: Sequence[str]) -> WindowOptions | int:
    parser = _parser()
    options = parse(parser, arguments)
    if options.help:
        print_text(f"{parser.format_help().rstrip()}\n\n{overview()}")
        return DONE
    if options.version:
        print_text(_version())
        return DONE
    if options.model is not None:
        _check_model(options.model)
    chosen: Language | None = options.lang
    return WindowOptions(
        model=options.model,
        language=None if chosen is None else chosen.value,
        theme=options.theme,
        hardware=options.hardware,
        engine=options.engine,
        rpc_servers=tuple(options.rpc),
        build_engine=options.build_engine,
        smoke=options.smoke,
        tour=options.tour,
        new_window=options.new_window,
        tray=options.tray,
        launch=options.launch,
    )


def _parser() -> VerbParser:
    parser = VerbParser("")
    parser.group("file").model()
    group = parser.group("common")
    group.option("--lang", "en|zh_CN", language)
    group.option("--theme", "|".join(_THEMES), one_of("--theme", _THEMES))
    group.option("--hardware", "FILE")
    group.option("--engine", "PATH")
    group.option("--rpc", "HOST:PORT", endpoint, repeatable=True)
    group.switch("--build-engine")
    group.switch("--new-window")
    group.switch("--tray")
    group.switch("--launch")
    group.switch("--smoke")
    group.option("--tour", "FOLDER")
    group.switch("--version")
    group.switch("-h", "--help")
    return parser


def _check_model(text: str) -> None:
    """A word that is neither a file nor a verb is a mistyped verb. Without a console nobody would read that, so the
    window opens and says itself that the file is missing."""
    if sys.stderr is None or os.path.exists(text):
        return
    if text.lower().endswith(".gguf") or "/" in text or "\\" in text:
        raise fail("file_missing", path=text)
    verbs = ", ".join(VERBS)
    near = nearest(text, VERBS)
    if near is None:
        raise fail("cli_unknown_verb", verb=text, verbs=verbs)
    raise fail("cli_unknown_verb_near", verb=text, verbs=verbs, near=near, program=PROGRAM)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"Lanewise {version('lanewise')}"
    except PackageNotFoundError:
        return "Lanewise"
