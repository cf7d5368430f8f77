"""A plan as a section of llama-server's router preset file (``--models-preset``).

Keys are option names without dashes, one value each; a switch is ``true`` (common/preset.cpp:264-330). What belongs to
the router and not to one model (host, port, key, alias) is left out: the router sets it for the server it starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from app.common.capabilities import Capabilities
from app.planner.flag_table import Given, parse_argv
from app.planner.flags import OPTIONS

_OF_THE_ROUTER = frozenset(
    flag
    for name in ("host", "port", "api_key", "alias", "verbosity", "log_colors", "slots_endpoint", "metrics")
    for flag in OPTIONS[name].spellings
)


_TAKEN = ("*", "default")
"""Sections that mean something else to the engine: settings of every model (common/preset.cpp:292, 339)."""


def section_name(text: str) -> str:
    """The name of a section, by which a request asks for the model: without brackets, comment signs and blanks."""
    name = re.sub(r"[\[\]#;\s]+", "-", text).strip("-") or "model"
    return f"{name}-model" if name in _TAKEN else name


class PresetValueError(ValueError):
    """A value that the file cannot carry (``#``, ``;`` or a line break in it); ``option`` says which."""

    def __init__(self, option: str) -> None:
        super().__init__(option)
        self.option = option


def router_preset(argv: Sequence[str], section: str, capabilities: Capabilities, comments: Iterable[str] = ()) -> str:
    """The text of the file: one section that loads the model with exactly this placement.

    Raises PresetValueError.
    """
    name = section_name(section)
    values: dict[str, str] = {}
    for given in parse_argv(argv, capabilities):
        if not given.flag or given.flag in _OF_THE_ROUTER:
            continue
        key = _long_name(given, capabilities)
        value = " ".join(given.words[1:]) or "true"
        if re.search(r"[#;\n\r]", value) or value != value.strip():
            raise PresetValueError(given.flag)
        values.pop(key, None)  # the last one counts
        values[key] = value
    notes = [f"; {' '.join(comment.split())}" for comment in comments]
    return "\n".join([*notes, f"[{name}]", *(f"{key} = {value}" for key, value in values.items()), ""])


def _long_name(given: Given, capabilities: Capabilities) -> str:
    spellings = next((o.spellings for o in OPTIONS.values() if given.flag in o.spellings), (given.flag,))
    listed = [s for s in spellings if capabilities.has(s)] or [given.flag]
    return max(listed, key=len).lstrip("-")
