"""argparse with our own sentences: bad usage is a ProblemError in the user's language, never argparse's English.

argparse cuts the arguments apart; values are checked by ``app.cli.values``, which names the option and an example.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from typing_extensions import override

from app.cli.values import (
    LARGEST_BATCH,
    LARGEST_CONTEXT,
    LARGEST_MIB,
    api_key,
    device,
    endpoint,
    language,
    one_of,
    slots,
    whole,
)
from app.common.problem import ProblemError, fail
from app.planner.wish_options import LOAD_MODES
from app.words import say

PROGRAM = "lanewise"
_TAKES_DASHES = frozenset({"--extra"})


class _HelpFormatter(argparse.HelpFormatter):
    """argparse's layout with our word for 'usage'."""

    @override
    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, say("cli.usage") if prefix is None else prefix)


class VerbParser(argparse.ArgumentParser):
    """The parser of one verb; "" is the window. ``flags``: every option -> its value's name, None for a switch.

    ``takes_command``: what follows ``--`` is somebody's command and is not looked at (``options.command``).
    """

    takes_command = False

    def __init__(self, verb: str) -> None:
        super().__init__(
            prog=f"{PROGRAM} {verb}" if verb else PROGRAM,
            description=_plain(say(f"cli.verb.{verb or 'window'}")),
            formatter_class=_HelpFormatter,
            add_help=False,
            allow_abbrev=False,
            exit_on_error=False,
        )
        self.flags: dict[str, str | None] = {}

    def group(self, code: str) -> OptionGroup:
        """A titled part of the help."""
        return OptionGroup(self, code)

    @override
    def error(self, message: str) -> NoReturn:
        """What is left to argparse: nothing that a user's arguments are known to cause, so its own words must do."""
        raise fail("cli_usage", text=message, verb=self.prog)


class OptionGroup:
    """Adds options whose help is the words' ``cli.help.<flag>``."""

    def __init__(self, parser: VerbParser, code: str) -> None:
        self._parser = parser
        self._group = parser.add_argument_group(say(f"cli.group.{code}"))

    def option(
        self,
        flag: str,
        metavar: str,
        convert: Callable[[str], object] = str,
        default: object = None,
        *,
        repeatable: bool = False,
    ) -> None:
        """An option with a value."""
        self._parser.flags[flag] = metavar
        self._group.add_argument(
            flag,
            metavar=metavar,
            type=convert,
            default=[] if repeatable else default,
            action="append" if repeatable else "store",
            help=_help(flag),
        )

    def optional_value(self, flag: str, metavar: str) -> None:
        """An option that may stand alone: None without it, "" without a value."""
        self._parser.flags[flag] = metavar
        self._group.add_argument(flag, metavar=metavar, nargs="?", const="", help=_help(flag))

    def switch(self, *flags: str) -> None:
        """An option without a value."""
        self._parser.flags.update(dict.fromkeys(flags))
        self._group.add_argument(*flags, action="store_true", help=_help(flags[-1]))

    def folders(self) -> None:
        """Folders, any number of them, without a dash."""
        self._group.add_argument("folders", metavar="FOLDER", nargs="*", help=_help("folders"))

    def link(self) -> None:
        """An address, without a dash."""
        self._group.add_argument("link", metavar="LINK", nargs="?", help=_help("link"))

    def model(self) -> None:
        """The model file, the one argument without a dash. That it was named is checked by ``model_path``."""
        self._group.add_argument("model", metavar="MODEL", nargs="?", help=_help("model"))


def parse(parser: VerbParser, arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a verb, ``given`` (the options that were named) and ``command`` (the words after ``--``, None
    without). Raises ProblemError (``cli_*``)."""
    joined = _joined(arguments)
    command: tuple[str, ...] | None = None
    if parser.takes_command and "--" in joined:
        cut = joined.index("--")
        joined, command = joined[:cut], tuple(joined[cut + 1 :])
    _refuse_bare_dashes(parser, joined)
    try:
        options, rest = parser.parse_known_args(joined)
    except argparse.ArgumentError as error:
        raise _explained(parser, error) from error
    unknown = next((text for text in rest if text.startswith("-") and text not in ("-", "--")), None)
    if unknown is not None:
        raise _unknown_option(parser, unknown.partition("=")[0])
    if rest:
        raise fail("cli_too_many", text=rest[0], verb=parser.prog)
    options.command = command
    options.given = frozenset(text.partition("=")[0] for text in joined if text.startswith("--"))
    return options


def model_path(options: argparse.Namespace, verb: str) -> str:
    """The model that was named. Raises ProblemError ``cli_model_missing``."""
    path: str | None = options.model
    if not path:
        raise fail("cli_model_missing", verb=f"{PROGRAM} {verb}")
    return path


def add_common(parser: VerbParser) -> None:
    """What every verb takes."""
    group = parser.group("common")
    group.switch("--json")
    group.option("--lang", "en|zh_CN", language)
    group.option("--hardware", "FILE")
    group.option("--engine", "PATH")
    group.switch("-h", "--help")


def add_wishes(parser: VerbParser) -> None:
    """The model and what ``plan`` and its kin are asked for (docs/cli.md, "Wishes")."""
    parser.group("file").model()
    group = parser.group("wishes")
    group.option("--plan", "FILE")
    group.option("--preset", "NAME", default="fill")
    group.option("--place", "ID=DEVICE", repeatable=True)
    group.option("--ngl", "N", whole("--ngl", 0, 100_000))
    group.option("--kv", "home|ram", one_of("--kv", ("home", "ram")), "home")
    group.option("--ctx", "N", whole("--ctx", 1, LARGEST_CONTEXT))
    group.option("--ctk", "TYPE", default="f16")
    group.option("--ctv", "TYPE", default="f16")
    group.option("--flash-attn", "on|off|auto", one_of("--flash-attn", ("on", "off", "auto")), "auto")
    group.option("--batch", "N", whole("--batch", 1, LARGEST_BATCH), 2048)
    group.option("--ubatch", "N", whole("--ubatch", 1, LARGEST_BATCH), 512)
    group.option("--slots", "N|auto", slots, 1)
    group.option("--threads", "N", whole("--threads", 1, 1024))
    group.switch("--quiet")
    group.option("--prompt-cache-mib", "N", whole("--prompt-cache-mib", 0, LARGEST_MIB))
    group.option("--load-mode", "|".join(LOAD_MODES), one_of("--load-mode", LOAD_MODES))
    group.option("--extra", "'ARGS'", default="")
    files = parser.group("files")
    files.option("--mmproj", "FILE")
    files.switch("--mmproj-in-ram")
    files.option("--draft", "FILE")
    files.option("--draft-ngl", "N", whole("--draft-ngl", 0, 100_000))
    files.option("--draft-max", "N", whole("--draft-max", 1, 1024))
    files.switch("--mtp")
    files.option("--lora", "FILE", repeatable=True)
    add_devices(parser)
    server = parser.group("server")
    server.option("--port", "N", whole("--port", 0, 65535))
    server.option("--api-key", "KEY", api_key)


def add_devices(parser: VerbParser) -> None:
    """What to plan with instead of what was detected."""
    devices = parser.group("devices")
    devices.option("--device", "NAME=MIB", device, repeatable=True)
    devices.option("--off", "NAME", repeatable=True)
    devices.option("--ram-mib", "N", whole("--ram-mib", 0, LARGEST_MIB))
    devices.option("--keep-ram-mib", "N", whole("--keep-ram-mib", 0, LARGEST_MIB))
    devices.option("--reserve-mib", "N", whole("--reserve-mib", 0, LARGEST_MIB))
    devices.option("--rpc", "HOST:PORT", endpoint, repeatable=True)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that this was probably meant to be."""
    import difflib

    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return found[0] if found else None


def _joined(arguments: Sequence[str]) -> list[str]:
    """``--extra '--mlock'`` as one argument: argparse would take the value for an option of its own."""
    joined: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            return [*joined, argument, *rest]
        value = next(rest, None) if argument in _TAKES_DASHES else None
        joined.append(argument if value is None else f"{argument}={value}")
    return joined


def _refuse_bare_dashes(parser: VerbParser, joined: Sequence[str]) -> None:
    """``--ctx=--``: argparse before Python 3.13 takes the dashes away and makes the value an empty list."""
    for argument in joined:
        option, _, value = argument.partition("=")
        if argument == "--":
            return
        if value == "--" and (metavar := parser.flags.get(option)) is not None:
            raise fail("cli_value_missing", option=option, example=f"{option} {metavar}")


def _explained(parser: VerbParser, error: argparse.ArgumentError) -> ProblemError:
    """The two mistakes that argparse finds itself: a value that is missing, or one where none belongs."""
    option = (error.argument_name or "").split("/")[-1]
    metavar = parser.flags.get(option)
    if metavar is None:
        return fail("cli_value_unwanted", option=option)
    return fail("cli_value_missing", option=option, example=f"{option} {metavar}")


def _unknown_option(parser: VerbParser, option: str) -> ProblemError:
    near = nearest(option, parser.flags)
    if near is None:
        return fail("cli_unknown_option", option=option, verb=parser.prog)
    return fail("cli_unknown_option_near", option=option, verb=parser.prog, near=near)


def _help(name: str) -> str:
    return _plain(say(f"cli.help.{name.lstrip('-')}"))


def _plain(text: str) -> str:
    """argparse formats help with ``%``."""
    return text.replace("%", "%%")
