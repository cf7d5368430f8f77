"""Texts of looking for a newer Lanewise and a newer llama.cpp, which happens only when the user asks."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {}
