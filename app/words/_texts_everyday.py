"""Texts of every day: one window, the tray, the start with the system, saved plans, other programs' settings."""

from __future__ import annotations

from app.words.catalogue import Entries

_WINDOW: Entries = {
    "problem.window_silent": (
        "Another Lanewise window of yours is running but does not answer, so this one was opened beside it. If it is "
        "not on the screen, end it in the Task Manager.",
        "你的另一个 Lanewise 窗口正在运行但没有响应，因此另开了这个窗口。如果屏幕上看不到它，请在任务管理器中结束它。",
    ),
    "cli.help.new-window": (
        "open another window although one is running",
        "已有窗口在运行时仍另开一个窗口",
    ),
    "cli.handed_over": (
        "Handed over to the Lanewise window that is already running. With --new-window another one is opened.",
        "已交给正在运行的 Lanewise 窗口。使用 --new-window 可另开一个窗口。",
    ),
}

ENTRIES: Entries = {**_WINDOW}
