"""Takes out of a text what must not leave the machine: keys, tokens, and the user's name in paths. Pure."""

from __future__ import annotations

import re

_HIDDEN = "***"
_KEYS = re.compile(
    r"(?P<lead>(?:--?api[-_]?key(?:-file)?[ =:\"',]+|(?:LLAMA_)?API_?KEY[ =:\"']+|Bearer +|--hf-token[ =]+|-hft +"
    r"|\"?api_key\"?[ =:]+\"?))(?P<secret>(?!error:|expected |invalid )[^\s\"',]{3,})",
    re.IGNORECASE,
)
_TOKENS = re.compile(r"\b(?:sk-[A-Za-z0-9_-]{8,}|hf_[A-Za-z0-9]{8,}|ghp_[A-Za-z0-9]{8,})\b")
_HOMES = re.compile(r"(?P<lead>(?:/home/|/Users/|[A-Za-z]:[\\/]{1,2}(?:Users|用户)[\\/]{1,2}))(?P<name>[^\\/\s\"':]+)")


def redacted(text: str, user_names: tuple[str, ...] = ()) -> str:
    """The text without secrets. ``user_names``: names that are hidden wherever they stand as a word."""
    text = _KEYS.sub(lambda found: found["lead"] + _HIDDEN, text)
    text = _TOKENS.sub(_HIDDEN, text)
    text = _HOMES.sub(lambda found: found["lead"] + "user", text)
    for name in user_names:
        if len(name) > 2 and name not in ("root", "user"):
            text = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "user", text)
    return text
