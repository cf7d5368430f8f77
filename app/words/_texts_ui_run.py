"""Texts of the run page and the machine page. Each entry is code: (English, Chinese)."""

from __future__ import annotations

from app.words.catalogue import Entries

ENTRIES: Entries = {
    "problem.settings_damaged": (
        "The settings file could not be understood, so the defaults are used. The old file is kept as {kept}.",
        "设置文件无法识别，已使用默认设置。原文件保留为 {kept}。",
    ),
    "problem.settings_unreadable": (
        "The settings file {path} cannot be read ({reason}), so the defaults are used. Check its permissions.",
        "无法读取设置文件 {path}（{reason}），已使用默认设置。请检查该文件的权限。",
    ),
    "problem.settings_not_saved": (
        "The settings could not be saved to {path} ({reason}). Check the free space and the permissions of the folder.",
        "设置无法保存到 {path}（{reason}）。请检查磁盘空间和文件夹权限。",
    ),
}
