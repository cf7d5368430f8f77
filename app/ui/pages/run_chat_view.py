"""Shows one question with its reasoning and its answer; grows at the end while they stream in."""

from __future__ import annotations

from PySide6.QtCore import QUrl, Signal, Slot
from PySide6.QtGui import QFont, QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextBrowser, QWidget

from app.session.state import ChatPhase, ChatState
from app.ui.pages.run_parts import make_flat
from app.ui.pages.run_words import finish_sentence
from app.ui.theme.fonts import scaled
from app.ui.theme.manager import ThemeManager
from app.words import say, say_problem

_FOLD = "fold-reasoning"


class ChatView(QTextBrowser):
    """A read-only text. Everything that came from the model or the user goes in as plain text, never as HTML.

    A state that only adds to the last part is appended; any other change writes the text anew. The view stays at the
    end unless the reader scrolled up.
    """

    fold_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = ThemeManager.of_app()
        self._state = ChatState(ChatPhase.IDLE)
        self._earlier: list[ChatState] = []
        self._reasoning_open = True
        self.setOpenLinks(False)
        make_flat(self)
        self.setAccessibleName(say("chat.view"))
        self.setUndoRedoEnabled(False)
        self.document().setDocumentMargin(2)
        self.anchorClicked.connect(self._on_link)
        self._theme.theme_changed.connect(self._write_all)

    @property
    def is_reasoning_open(self) -> bool:
        """Is the reasoning unfolded?"""
        return self._reasoning_open

    def set_state(self, state: ChatState) -> None:
        """Show a state; cheap when only text was added at the end."""
        old, self._state = self._state, state
        if _is_next_question(old, state):
            self._earlier.append(old)
        added = _added_at_end(old, state, reasoning_open=self._reasoning_open)
        if added is None:
            self._write_all()
        elif added:
            at_end = self._is_at_end()
            cursor = QTextCursor(self.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(added)
            if at_end:
                self._go_to_end()

    def forget(self) -> None:
        """A new server knows nothing of what was said: what came before the last question goes."""
        if self._earlier:
            self._earlier.clear()
            self._write_all()

    @Slot()
    def toggle_reasoning(self) -> None:
        """Fold or unfold the reasoning."""
        self._reasoning_open = not self._reasoning_open
        self._write_all()
        self.fold_changed.emit(self._reasoning_open)

    @Slot(QUrl)
    def _on_link(self, url: QUrl) -> None:
        if url.toString() == _FOLD:
            self.toggle_reasoning()

    def _is_at_end(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 4

    def _go_to_end(self) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())

    @Slot()
    def _write_all(self) -> None:
        at_end, place = self._is_at_end(), self.verticalScrollBar().value()
        self.clear()
        cursor = QTextCursor(self.document())
        for state in (*self._earlier, self._state):
            self._write_exchange(cursor, state)
        if at_end:
            self._go_to_end()
        else:
            self.verticalScrollBar().setValue(place)

    def _write_exchange(self, cursor: QTextCursor, state: ChatState) -> None:
        if state.question:
            gap = 0 if self.document().isEmpty() else 18
            self._block(cursor, say("chat.you"), "text_dim", small=True, gap=gap)
            self._block(cursor, state.question, "text", bold=True)
        if state.reasoning:
            self._write_reasoning(cursor, state.reasoning)
        if state.answer:
            self._block(cursor, say("chat.answer"), "text_dim", small=True, gap=10)
            self._block(cursor, state.answer, "text")
        ending = finish_sentence(state)
        if ending:
            self._block(cursor, ending, "warning", gap=8)
        if state.problem is not None:
            self._block(cursor, say_problem(state.problem), "error", bold=True, gap=8)
            for line in state.problem.evidence:
                self._block(cursor, line, "text_dim", small=True)

    def _write_reasoning(self, cursor: QTextCursor, reasoning: str) -> None:
        arrow = "▾" if self._reasoning_open else "▸"
        self._block(cursor, f"{arrow} {say('chat.reasoning')}", "accent", small=True, gap=10, link=_FOLD)
        if self._reasoning_open:
            self._block(cursor, reasoning, "text_dim", indent=True)

    def _block(
        self,
        cursor: QTextCursor,
        text: str,
        token: str,
        *,
        small: bool = False,
        bold: bool = False,
        gap: int = 0,
        indent: bool = False,
        link: str | None = None,
    ) -> None:
        """Start a paragraph and write into it; line breaks inside the text stay inside the paragraph's format."""
        layout = QTextBlockFormat()
        layout.setTopMargin(gap)
        layout.setLeftMargin(14 if indent else 0)
        style = QTextCharFormat()
        style.setFont(scaled(self.font(), 0.92 if small else 1.0, bold=False))
        style.setFontWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
        style.setForeground(self._theme.tokens.color(token))
        if link is not None:
            style.setAnchor(True)
            style.setAnchorHref(link)
        if self.document().isEmpty():
            cursor.setBlockFormat(layout)
            cursor.setBlockCharFormat(style)
        else:
            cursor.insertBlock(layout, style)
        cursor.insertText(text, style)


def _is_next_question(old: ChatState, new: ChatState) -> bool:
    """Another question was asked after one that is over."""
    is_new = new.phase is not ChatPhase.IDLE and not new.answer and not new.reasoning
    return is_new and old.phase is ChatPhase.IDLE and bool(old.question)


def _added_at_end(old: ChatState, new: ChatState, *, reasoning_open: bool) -> str | None:
    """The text to append, '' for nothing, None when the text must be written anew."""
    same = (old.question, old.problem, finish_sentence(old)) == (new.question, new.problem, finish_sentence(new))
    if not same or new.problem is not None or finish_sentence(new):
        return "" if same and (old.answer, old.reasoning) == (new.answer, new.reasoning) else None
    if old.answer and old.reasoning == new.reasoning and new.answer.startswith(old.answer):
        return new.answer[len(old.answer) :]
    if not new.answer and not old.answer and old.reasoning and new.reasoning.startswith(old.reasoning):
        return new.reasoning[len(old.reasoning) :] if reasoning_open else ""
    if (old.answer, old.reasoning) == (new.answer, new.reasoning):
        return ""
    return None
