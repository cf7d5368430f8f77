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

_ROWS = frozenset(
    {"--lora", "--lora-scaled", "--control-vector", "--control-vector-scaled", "--override-kv",
     "-ot", "--override-tensor", "-otd", "--override-tensor-draft", "--spec-draft-override-tensor"}
)  # fmt: skip
"""Each of them adds to those before it, and one value may hold several, with commas (common/arg.cpp parse_csv_row,
parse_tensor_buffer_overrides)."""
_ADDING = frozenset({"-l", "--logit-bias", "-r", "--reverse-prompt", "--dry-sequence-breaker", "--image"})
"""These add too, but one value is one value: the file holds a key once."""

_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
"""What the engine takes for a key (common/preset.cpp ``ident``)."""

_TAKEN = ("*", "default")
"""Sections that mean something else to the engine: settings of every model (common/preset.cpp:292, 339)."""


def section_name(text: str) -> str:
    """The name of a section, by which a request asks for the model: without brackets, comment signs, blanks, and
    colons: what follows one the engine writes in capitals (common/preset.cpp:292)."""
    name = re.sub(r"[\[\]#;:\s]+", "-", text).strip("-") or "model"
    return f"{name}-model" if name in _TAKEN else name


class PresetValueError(ValueError):
    """A value that the file cannot carry (``#``, ``;`` or a line break in it, two values); ``option`` says which."""

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
        said = given.words[1:]
        value = said[0] if said else "true"
        is_line = _KEY.fullmatch(key) and not re.search(r"[#;\n\r]", value) and value == value.strip()
        if len(said) > 1 or not is_line:
            raise PresetValueError(given.flag)
        before = values.pop(key, None)  # the last one counts
        if before is not None and given.flag in _ADDING:
            raise PresetValueError(given.flag)
        values[key] = value if before is None or given.flag not in _ROWS else f"{before},{value}"
    notes = [f"; {' '.join(comment.split())}" for comment in comments]
    return "\n".join([*notes, f"[{name}]", *(f"{key} = {value}" for key, value in values.items()), ""])


def _long_name(given: Given, capabilities: Capabilities) -> str:
    spellings = next((o.spellings for o in OPTIONS.values() if given.flag in o.spellings), (given.flag,))
    listed = [s for s in spellings if capabilities.has(s)] or [given.flag]
    return max(listed, key=len).lstrip("-")
