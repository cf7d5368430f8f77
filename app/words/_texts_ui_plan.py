"""Texts of the window frame, the plan page, settings and dialogs. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    # The window's frame.
    "ui.message.close": ("Close this message", "关闭此消息"),
    "ui.message.evidence": ("Evidence", "依据"),
    "ui.severity.error": ("Error", "错误"),
    "ui.severity.warning": ("Warning", "警告"),
    "ui.severity.info": ("Note", "提示"),
}
