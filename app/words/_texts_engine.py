"""Texts of the engine: finding, building, launching, exit reasons. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {}
