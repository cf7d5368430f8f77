"""The key that a server of ours asks for: without one, any web page in the user's browser could use it."""

from __future__ import annotations

import secrets

_PREFIX = "lw-"


def new_api_key() -> str:
    """A new random key (192 bits), safe to paste anywhere: letters, digits, ``-`` and ``_`` only."""
    return _PREFIX + secrets.token_urlsafe(24)
