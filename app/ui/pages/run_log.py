"""The tail of the engine's log: follows the end until the reader scrolls up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QGuiApplication, QSyntaxHighlighter, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QWidget
from typing_extensions import override

from app.ui.pages.run_parts import make_flat
from app.ui.theme.fonts import mono_font
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import IconButton, PlainButton
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.words import say

MOST_LINES = 5000
_FLUSH_MS = 100
_ERROR = re.compile(r"\b(error|failed|fatal|abort|out of memory|unable to)\b", re.IGNORECASE)
_WARNING = re.compile(r"\bwarn(ing)?\b", re.IGNORECASE)


class _LogColors(QSyntaxHighlighter):
    """Errors and warnings stand out; the words themselves say what they are."""

    def __init__(self, document: QTextDocument, theme: ThemeManager) -> None:
        super().__init__(document)
        self._theme = theme
        theme.theme_changed.connect(self.rehighlight)

    @override
    def highlightBlock(self, text: str) -> None:
        token = "error" if _ERROR.search(text) else "warning" if _WARNING.search(text) else None
        if token is not None:
            style = QTextCharFormat()
            style.setForeground(self._theme.tokens.color(token))
            self.setFormat(0, len(text), style)


class LogPane(CardFrame):
    """Lines are gathered and shown ten times a second at most: a flood of output must not freeze the window."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=10, spacing=4)
        self._waiting: list[str] = []
        self._view = QPlainTextEdit()
        self._view.setReadOnly(True)
        self._view.setMaximumBlockCount(MOST_LINES)
        self._view.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._view.setFont(mono_font(self.font()))
        make_flat(self._view)
        self._view.setAccessibleName(say("run.log"))
        self._view.setPlaceholderText(say("run.log_empty"))
        self._view.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._view.setTabChangesFocus(True)
        self._colors = _LogColors(self._view.document(), ThemeManager.of_app())
        self._note = DimLabel()
        self._follow = PlainButton(say("run.follow"), look="tab")
        self._follow.setCheckable(True)
        self._follow.setChecked(True)
        self._follow.setToolTip(say("run.follow_tip"))
        self._follow.toggled.connect(self._on_follow)
        self._copy = IconButton("copy", say("run.copy_log"), bare=True)
        self._copy.clicked.connect(self.copy)
        head = QHBoxLayout()
        head.addWidget(SectionTitle(say("run.log")))
        head.addWidget(self._note, 1)
        head.addWidget(self._follow)
        head.addWidget(self._copy)
        self.body.addLayout(head)
        self.body.addWidget(self._view, 1)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_FLUSH_MS)
        self._timer.timeout.connect(self.flush)
        self._view.verticalScrollBar().actionTriggered.connect(self._on_scrolled)

    @property
    def text(self) -> str:
        """What is shown."""
        return self._view.toPlainText()

    @property
    def follows(self) -> bool:
        """Does the view stay at the end?"""
        return self._follow.isChecked()

    def set_text(self, text: str) -> None:
        """Show a whole log (a new run, or the page was made anew)."""
        self._waiting.clear()
        lines = text.splitlines()[-MOST_LINES:]
        self._view.setPlainText("\n".join(lines))
        self._to_end()

    @Slot(list)
    def add(self, lines: Sequence[str]) -> None:
        """Append lines soon."""
        self._waiting.extend(line.rstrip("\r\n") for line in lines)
        del self._waiting[:-MOST_LINES]
        if not self._timer.isActive():
            self._timer.start()

    @Slot()
    def flush(self) -> None:
        """Show what is waiting."""
        if self._waiting:
            self._view.appendPlainText("\n".join(self._waiting))
            self._waiting.clear()
        if self.follows:
            self._to_end()

    @Slot()
    def copy(self) -> None:
        """Put the selection, else the whole log, on the clipboard."""
        self.flush()
        selected = self._view.textCursor().selectedText().replace("\u2029", "\n")
        QGuiApplication.clipboard().setText(selected or self.text)
        self._note.setText(say("run.copied"))

    def _to_end(self) -> None:
        bar = self._view.verticalScrollBar()
        bar.setValue(bar.maximum())
        if not self._view.textCursor().hasSelection():
            self._view.moveCursor(QTextCursor.MoveOperation.End)
            self._view.moveCursor(QTextCursor.MoveOperation.StartOfLine)

    @Slot(bool)
    def _on_follow(self, follow: bool) -> None:
        if follow:
            self._to_end()

    @Slot()
    def _on_scrolled(self) -> None:
        """The reader scrolls up: stop following; back at the end: follow again."""
        bar = self._view.verticalScrollBar()
        self._follow.setChecked(bar.sliderPosition() >= bar.maximum() - 1)
