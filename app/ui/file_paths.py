"""Paths that Qt hands over, from file dialogs and drags, in the system's own writing.

Qt writes "/" on every system. On Windows the same file would then have two names, "C:/models/a.gguf" from a dialog and
"C:\\models\\a.gguf" from a searched folder or the command line, and be listed, remembered and learned twice.
"""

from __future__ import annotations

from PySide6.QtCore import QDir, QMimeData
from PySide6.QtWidgets import QFileDialog, QWidget


def native(path: str) -> str:
    """As this system writes it; empty stays empty."""
    return QDir.toNativeSeparators(path)


def dropped_paths(data: QMimeData) -> list[str]:
    """The local files of a drag or of the clipboard, network shares included."""
    return [native(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]


def ask_open(parent: QWidget, title: str, start: str, kinds: str = "") -> str:
    """Ask for a file that is there; empty when the user thought better of it. ``kinds``: Qt's filter."""
    return native(QFileDialog.getOpenFileName(parent, title, start, kinds)[0])


def ask_open_many(parent: QWidget, title: str, start: str, kinds: str = "") -> list[str]:
    """Ask for files that are there."""
    return [native(path) for path in QFileDialog.getOpenFileNames(parent, title, start, kinds)[0]]


def ask_save(parent: QWidget, title: str, start: str, kinds: str = "") -> str:
    """Ask where to write a file; empty when the user thought better of it."""
    return native(QFileDialog.getSaveFileName(parent, title, start, kinds)[0])


def ask_folder(parent: QWidget, title: str, start: str = "") -> str:
    """Ask for a folder; empty when the user thought better of it."""
    return native(QFileDialog.getExistingDirectory(parent, title, start))
