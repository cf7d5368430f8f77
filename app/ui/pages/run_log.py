"""The tail of the engine's log: follows the end until the reader scrolls up."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterator, Sequence

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QAccessible,
    QFocusEvent,
    QGuiApplication,
    QHideEvent,
    QResizeEvent,
    QShowEvent,
    QTextCharFormat,
    QTextCursor,
)
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
_SLACK = 500
"""So many more lines may stand: taking them off a few hundred at a time costs a third of taking off each one."""
_FLUSH_MS = 100
_FLOOD_FLUSH_MS = 500
_FLOOD_LINES = 15
"""More at once than anybody reads: then the view moves twice a second, which costs a fifth."""
_GLIMPSE_LINES = 60
"""In a flood the view holds no more than this: laying out each line costs more than everything else here."""
_ERRORS = ("error", "failed", "fatal", "abort", "out of memory", "unable to")
_WORDS = re.compile(rf"\b(?:(?P<error>{'|'.join(_ERRORS)})|warn(?:ing)?)\b")


def _token_of(line: str) -> str | None:
    """Errors and warnings stand out; the words themselves say what they are."""
    small = line.lower()
    if "warn" not in small and not any(word in small for word in _ERRORS):
        return None  # nearly every line: a tenth of the time that the pattern takes
    found = [match["error"] for match in _WORDS.finditer(small)]
    return "error" if any(found) else "warning" if found else None


def _runs(lines: Sequence[str]) -> Iterator[tuple[str | None, str]]:
    """Neighbouring lines of one look together: most of the time that is all of them, found with two searches."""
    text = "\n".join(lines)
    if _token_of(text) is None:
        yield None, text
        return
    for token, group in itertools.groupby(lines, _token_of):
        yield token, "\n".join(group)


class _LogView(QPlainTextEdit):
    """Says when the keyboard comes, and when its size is another."""

    focused = Signal()
    resized = Signal()

    @override
    def resizeEvent(self, e: QResizeEvent) -> None:
        super().resizeEvent(e)
        self.resized.emit()

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit()


class LogPane(CardFrame):
    """Lines are gathered and shown ten times a second at most, twice a second in a flood, and not at all while nobody
    sees the pane: output must not freeze the window, nor cost what the server could use. In a flood the view holds the
    newest lines only, until the reader wants more: scrolls, clicks, or stops following.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=10, spacing=4)
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._waiting: list[str] = []
        self._is_glimpse = False
        self._view = _LogView()
        self._view.setReadOnly(True)
        self._view.setUndoRedoEnabled(False)
        self._view.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._view.setFont(mono_font(self.font()))
        make_flat(self._view)
        self._view.setAccessibleName(say("run.log"))
        self._view.setPlaceholderText(say("run.log_empty"))
        self._view.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._view.setTabChangesFocus(True)
        self._view.focused.connect(self._on_focus)
        self._view.resized.connect(self._on_resized)
        ThemeManager.of_app().theme_changed.connect(self._on_theme)
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
        bar = self._view.verticalScrollBar()
        bar.sliderPressed.connect(self._show_all)
        bar.actionTriggered.connect(self._on_scrolled)

    @property
    def text(self) -> str:
        """The lines so far, those in waiting excepted."""
        return "\n".join(self._lines)

    @property
    def follows(self) -> bool:
        """Does the view stay at the end?"""
        return self._follow.isChecked()

    def set_text(self, text: str) -> None:
        """Show a whole log (a new run, or the page was made anew)."""
        self._waiting.clear()
        self._lines.clear()
        self._lines.extend(text.splitlines())
        self._view.clear()
        self._append(self._lines)
        self._to_end()

    @Slot(list)
    def add(self, lines: Sequence[str]) -> None:
        """Append lines soon; those that come while the pane is hidden, once it is shown."""
        self._waiting.extend(line.rstrip("\r\n") for line in lines)
        del self._waiting[:-MOST_LINES]
        if self.isVisible() and not self._timer.isActive():
            self._timer.start()

    @Slot()
    def flush(self) -> None:
        """Show what is waiting."""
        self._timer.setInterval(_FLOOD_FLUSH_MS if len(self._waiting) > _FLOOD_LINES else _FLUSH_MS)
        if self._waiting:
            self._lines.extend(self._waiting)
            self._append(self._waiting)
            self._waiting.clear()
        if self.follows:
            self._to_end()

    def _is_only_seen(self) -> bool:
        """Nobody reads back: no keyboard in it, nothing selected, no screen reader."""
        is_used = self._view.hasFocus() or self._view.textCursor().hasSelection() or QAccessible.isActive()
        return self.follows and not is_used

    def _append(self, lines: Sequence[str]) -> None:
        if len(lines) > _FLOOD_LINES and len(self._lines) > _GLIMPSE_LINES and self._is_only_seen():
            self._is_glimpse = True
            self._write(list(self._lines)[-_GLIMPSE_LINES:], anew=True)
        else:
            self._write(lines)

    @Slot()
    def _show_all(self, *, anew: bool = False) -> None:
        """Every line, with what is seen staying where it is, counted from the end."""
        if not self._is_glimpse and not anew:
            return
        self._is_glimpse = False
        bar = self._view.verticalScrollBar()
        below = bar.maximum() - bar.sliderPosition()  # where a scroll that is under way will end
        self._write(self._lines, anew=True)
        bar.setValue(bar.maximum() - below)

    def _write(self, lines: Sequence[str], *, anew: bool = False) -> None:
        document = self._view.document()
        cursor = QTextCursor(document)
        cursor.beginEditBlock()
        if anew:
            cursor.select(QTextCursor.SelectionType.Document)
            cursor.removeSelectedText()
        cursor.movePosition(QTextCursor.MoveOperation.End)
        own = self._view.textCursor()
        if own.hasSelection():
            own.setKeepPositionOnInsert(True)  # a selection up to the end would grow with every line
            self._view.setTextCursor(own)
        for token, text in _runs(lines) if lines else ():
            cursor.insertText(text if document.isEmpty() else "\n" + text, self._format(token))
        surplus = document.blockCount() - MOST_LINES
        if surplus > _SLACK:
            cursor.movePosition(QTextCursor.MoveOperation.Start)
            cursor.movePosition(QTextCursor.MoveOperation.NextBlock, QTextCursor.MoveMode.KeepAnchor, surplus)
            cursor.removeSelectedText()
        cursor.endEditBlock()

    @staticmethod
    def _format(token: str | None) -> QTextCharFormat:
        style = QTextCharFormat()
        if token is not None:
            style.setForeground(ThemeManager.of_app().tokens.color(token))
        return style

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
        if self._view.hasFocus():
            self._on_focus()

    @Slot()
    def _on_resized(self) -> None:
        """A message over the page, or a splitter, leaves less room: the newest line stays in sight."""
        if self.follows:
            bar = self._view.verticalScrollBar()
            bar.setValue(bar.maximum())

    @Slot()
    def _on_focus(self) -> None:
        """The keyboard begins at the newest line, where the eye is; a selection is left alone."""
        self._show_all()
        if self.follows and not self._view.textCursor().hasSelection():
            self._view.moveCursor(QTextCursor.MoveOperation.End)
            self._view.moveCursor(QTextCursor.MoveOperation.StartOfLine)

    @Slot()
    def _on_theme(self) -> None:
        """Errors and warnings in the new theme's colours."""
        self._show_all(anew=True)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.flush()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    @Slot(bool)
    def _on_follow(self, follow: bool) -> None:
        if follow:
            self._to_end()
        else:
            self._show_all()

    @Slot()
    def _on_scrolled(self) -> None:
        """The reader scrolls up: stop following; back at the end: follow again."""
        bar = self._view.verticalScrollBar()
        self._follow.setChecked(bar.sliderPosition() >= bar.maximum() - 1)
