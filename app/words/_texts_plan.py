"""Texts of plans, placement, moves and memory. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {}
