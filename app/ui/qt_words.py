"""Qt's own words (file dialogs, context menus, dialog buttons) in the language of the window."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator
from typing_extensions import override

from app.words import Language, current_language, say

_LACKING = {
    ("QFileDialog", "&Look in:"): "qt.look_in",
    ("QFileDialog", "Files of &type:"): "qt.files_of_type",
    ("QAbstractFileIconProvider", "Drive"): "qt.drive",
    ("QAbstractFileIconProvider", "Folder"): "qt.folder",
    ("QAbstractFileIconProvider", "File"): "qt.file",
    ("QShortcut", "Control"): "qt.control",
}
"""What Qt's Chinese translation does not have: (context, text) -> our code."""

_installed: list[QTranslator] = []


class _Gaps(QTranslator):
    """The words that Qt's own translation lacks."""

    @override
    def translate(self, context: str, sourceText: str, /, disambiguation: str | None = None, n: int = -1) -> str | None:
        code = _LACKING.get((context, sourceText))
        return None if code is None else say(code)

    @override
    def isEmpty(self) -> bool:
        return False


def follow_language() -> None:
    """Install Qt's translation for the current language, or take it away; PySide6 ships it."""
    app = QCoreApplication.instance()
    if app is None:
        return
    while _installed:
        old = _installed.pop()
        app.removeTranslator(old)
        old.deleteLater()
    if current_language() is not Language.ZH_CN:
        return
    folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
    translator = QTranslator(app)
    if translator.load(QLocale("zh_CN"), "qtbase", "_", folder):
        _installed.append(translator)
    _installed.append(_Gaps(app))
    for one in _installed:
        app.installTranslator(one)
