"""Qt's own words (file dialogs, context menus, dialog buttons) in the language of the window."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from app.words import Language, current_language

_installed: list[QTranslator] = []


def follow_language() -> None:
    """Install Qt's translation for the current language, or take it away; PySide6 ships it."""
    app = QCoreApplication.instance()
    if app is None:
        return
    while _installed:
        app.removeTranslator(_installed.pop())
    if current_language() is not Language.ZH_CN:
        return
    translator = QTranslator(app)
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    if translator.load(QLocale("zh_CN"), "qtbase", "_", folder):
        app.installTranslator(translator)
        _installed.append(translator)
