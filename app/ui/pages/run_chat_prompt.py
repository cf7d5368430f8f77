"""Where a question is written: the box, the pictures that go with it, and what every answer is told first."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QImage, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QWidget
from typing_extensions import override

from app.session.chat_pictures import is_picture
from app.ui.file_paths import dropped_paths
from app.ui.widgets.buttons import LinkButton
from app.words import say

_PROMPT_LINES = 3
_SYSTEM_LINES = 2
_LONGEST_NAME = 24


class PromptBox(QPlainTextEdit):
    """Enter sends, Shift+Enter makes a line, Escape stops the answer, Up in an empty box brings the last prompt.

    Signals: ``image_pasted(QImage)`` and ``picture_dropped(path)`` where pictures are taken (``takes_pictures``).
    """

    send_requested = Signal()
    stop_requested = Signal()
    image_pasted = Signal(object)
    picture_dropped = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._last = ""
        self.takes_pictures = False
        self.setTabChangesFocus(True)
        self.setPlaceholderText(say("chat.prompt_hint"))
        self.setAccessibleName(say("chat.prompt_name"))
        self.setAccessibleDescription(say("chat.prompt_hint"))
        self.setFixedHeight(_height_of(self, _PROMPT_LINES))

    def take(self) -> str:
        """The text, trimmed; the box is emptied and remembers it."""
        text = self.toPlainText().strip()
        if text:
            self._last = text
            self.clear()
        return text

    @override
    def keyPressEvent(self, e: QKeyEvent) -> None:
        is_enter = e.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if is_enter and not e.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.send_requested.emit()
        elif e.key() == Qt.Key.Key_Escape:
            self.stop_requested.emit()
        elif e.key() == Qt.Key.Key_Up and not self.toPlainText() and self._last:
            self.setPlainText(self._last)
            self.moveCursor(self.textCursor().MoveOperation.End)
        else:
            super().keyPressEvent(e)

    @override
    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return bool(self.takes_pictures and (source.hasImage() or _pictures(source))) or super().canInsertFromMimeData(
            source
        )

    @override
    def insertFromMimeData(self, source: QMimeData) -> None:
        paths = _pictures(source)
        if self.takes_pictures and paths:
            for path in paths:
                self.picture_dropped.emit(path)
        elif self.takes_pictures and source.hasImage():
            image = source.imageData()
            if isinstance(image, QImage):
                self.image_pasted.emit(image)
        else:
            super().insertFromMimeData(source)


class SystemPromptBox(QPlainTextEdit):
    """What every answer of this conversation is told first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)
        self.setPlaceholderText(say("chat.system_hint"))
        self.setAccessibleName(say("chat.system"))
        self.setFixedHeight(_height_of(self, _SYSTEM_LINES))


class PictureRow(QWidget):
    """The pictures that the next question takes along; each is taken out by a press. Signal ``drop_requested``."""

    drop_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(10)
        self._row.addStretch(1)
        self._buttons: list[LinkButton] = []
        self.hide()

    def set_names(self, names: Sequence[str]) -> None:
        """Show these pictures."""
        for button in self._buttons:
            self._row.removeWidget(button)
            button.deleteLater()
        self._buttons = []
        for index, name in enumerate(names):
            short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 9]}…{name[-8:]}"
            button = LinkButton(f"{short} ✕")
            button.setToolTip(name)
            button.setAccessibleName(say("chat.drop_picture", name=name))
            button.clicked.connect(lambda _=False, i=index: self.drop_requested.emit(i))
            self._row.insertWidget(index, button)
            self._buttons.append(button)
        self.setVisible(bool(names))


def _pictures(source: QMimeData) -> list[str]:
    """The local pictures that are dragged or copied."""
    paths = dropped_paths(source)
    return [path for path in paths if is_picture(path)]


def _height_of(box: QPlainTextEdit, lines: int) -> int:
    return box.fontMetrics().lineSpacing() * lines + 2 * int(box.document().documentMargin()) + 6
