"""The text field of the paste dialog. A huge paste is kept, but only its beginning is drawn: laying out a megabyte in
one line would stop the window for minutes."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Signal, Slot
from PySide6.QtWidgets import QPlainTextEdit, QWidget
from typing_extensions import override

from app.planner.pasted import MOST_CHARACTERS
from app.ui.theme.fonts import mono_font
from app.words import say

MOST_DRAWN = 20_000
"""Characters that are drawn and edited; the longest command cmd takes has 8191."""

_PREVIEW = 2_000


class PasteBox(QPlainTextEdit):
    """``text_changed`` when ``text`` is another one."""

    text_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._kept: str | None = None
        self.setPlaceholderText(say("paste.prompt"))
        self.setAccessibleName(say("paste.box"))
        self.setFont(mono_font(self.font()))
        self.setTabChangesFocus(True)
        self.textChanged.connect(self._on_text)

    @property
    def text(self) -> str:
        """All that was pasted or typed."""
        return self.toPlainText() if self._kept is None else self._kept

    @property
    def is_kept_aside(self) -> bool:
        """Is only the beginning drawn, which cannot be edited?"""
        return self._kept is not None

    def set_text(self, text: str) -> None:
        """Replace the text; a long one is kept aside."""
        self._kept = None
        if len(text) > MOST_DRAWN:
            self._kept = text[: MOST_CHARACTERS + 1]  # one more than is read, so that it is told
            text = f"{text[:_PREVIEW]}…\n\n{say('paste.kept_aside', n=len(text))}"
        self.setReadOnly(self._kept is not None)
        self.setPlainText(text)

    @override
    def insertFromMimeData(self, source: QMimeData) -> None:
        text = source.text()
        if self._kept is not None or len(text) + self.document().characterCount() > MOST_DRAWN:
            self.set_text(text)
        else:
            super().insertFromMimeData(source)

    @override
    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasText()

    @Slot()
    def _on_text(self) -> None:
        self.text_changed.emit()
