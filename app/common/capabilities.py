"""What one llama-server binary understands; read from its ``--help``, never guessed from a version.

Lives in ``common`` because the engine reads it and the planner writes commands for it, and those two do not know
each other.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The options of one binary.

    ``flags``: every spelling that ``--help`` lists, with its dashes (``-ngl``, ``--n-gpu-layers``).
    ``build``: what ``--version`` says, for display only.
    """

    flags: frozenset[str]
    build: str | None = None

    def has(self, flag: str) -> bool:
        """Is this exact spelling listed?"""
        return flag in self.flags

    def first(self, *spellings: str) -> str | None:
        """The first of these spellings that the binary lists, or None."""
        return next((s for s in spellings if s in self.flags), None)
