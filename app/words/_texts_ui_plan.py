"""Texts of the window frame, the plan page, settings and dialogs. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {}
