"""The API key on the screen: dots until somebody asks to see it. What is copied or run always holds the real one."""

from __future__ import annotations

from collections.abc import Sequence

DOTS = "••••••••"


def key_in(argv: Sequence[str]) -> str | None:
    """The value of ``--api-key`` in a command."""
    words = list(argv)
    at = words.index("--api-key") + 1 if "--api-key" in words else len(words)
    return words[at] if at < len(words) else None


def masked(text: str, key: str | None) -> str:
    """The text with dots in place of the key."""
    return text.replace(key, DOTS) if key else text
