"""Shows the conversation: questions, reasoning folded apart, answers as Markdown; grows at the end as they stream."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QUrl, Signal, Slot
from PySide6.QtGui import (
    QDesktopServices,
    QFont,
    QGuiApplication,
    QImage,
    QResizeEvent,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocumentFragment,
    QTextImageFormat,
)
from PySide6.QtWidgets import QTextBrowser, QWidget
from typing_extensions import override

from app.session.chat_pictures import Picture
from app.session.state import ChatPhase, ChatState
from app.ui.pages.run_chat_text import CodePiece, formatted, may_format, stable_end, web_address
from app.ui.pages.run_parts import make_flat
from app.ui.pages.run_words import answer_line, finish_sentence
from app.ui.theme.fonts import scaled
from app.ui.theme.manager import ThemeManager
from app.words import say, say_problem

_FOLD = "fold-reasoning"
_AGAIN = "again"
_COPY_ANSWER = "copy-answer:"
_COPY_CODE = "copy-code:"
_THUMBNAIL = 120
_LONGEST_TAIL = 2000
"""Characters of one paragraph while it streams: Qt lays the whole paragraph out anew for each that is added."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the exchange in front begins: in the text, among the blocks of code, among the pictures."""

    position: int = 0
    n_codes: int = 0
    n_images: int = 0


class ChatView(QTextBrowser):
    """A read-only text. What came from the model or the user never becomes HTML and loads nothing.

    While an answer streams, the part that is whole (up to the last blank line) is formatted, the rest is appended as it
    comes, a paragraph without end in pieces: what an addition costs does not grow with the answer. At its end the
    answer is formatted as a whole; what was said before it stays as it is. The view stays at the end unless the reader
    scrolled up.
    """

    fold_changed = Signal(bool)
    again_requested = Signal()
    copied = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = ThemeManager.of_app()
        self._turns: tuple[ChatState, ...] = ()
        self._state = ChatState(ChatPhase.IDLE)
        self._is_open: bool | None = None
        self._codes: list[CodePiece] = []
        self._images: dict[str, QImage] = {}
        self._tail_at = 0
        self._tail_length = 0
        self._formatted = 0
        self._last = _Place()
        self._foot_at: int | None = None
        self.setOpenLinks(False)
        make_flat(self)
        self.setAccessibleName(say("chat.view"))
        self.setUndoRedoEnabled(False)
        self.document().setDocumentMargin(2)
        self.anchorClicked.connect(self._on_link)
        self._end = 0
        self.verticalScrollBar().rangeChanged.connect(self._on_range)
        self._theme.theme_changed.connect(self._write_all)

    @property
    def is_reasoning_open(self) -> bool:
        """Is the reasoning unfolded? By itself it is while it is all there is."""
        return self._is_open if self._is_open is not None else not self._state.answer

    def set_chat(self, turns: tuple[ChatState, ...], state: ChatState) -> None:
        """Show a conversation and the exchange in front."""
        if turns == self._turns:
            self.set_state(state)
        elif turns == (*self._turns, self._state) and (self._state.answer or not self._state.reasoning):
            self._go_on(turns, state)
        else:
            self._turns = turns
            self._state = state
            self._write_all()

    def set_state(self, state: ChatState) -> None:
        """Show the exchange in front; cheap when only text was added at its end."""
        old, self._state = self._state, state
        added = _added_at_end(old, state, is_open=self.is_reasoning_open)
        if added is None:
            self._write_last()
        elif added:
            at_end = self.is_at_end()
            self._append(added, is_answer=bool(state.answer))
            if at_end:
                self._go_to_end()

    @Slot()
    def toggle_reasoning(self) -> None:
        """Fold or unfold the reasoning."""
        self._is_open = not self.is_reasoning_open
        self._write_all()
        self.fold_changed.emit(self.is_reasoning_open)

    @override
    def loadResource(self, type: int, name: QUrl | str) -> object:
        """Only the small pictures of the questions themselves: nothing is read from a disk or a network."""
        return self._images.get(name.toString() if isinstance(name, QUrl) else name)

    @override
    def resizeEvent(self, e: QResizeEvent) -> None:
        """A message over the page makes the view smaller: who read the end still reads it."""
        with _Kept(self):
            super().resizeEvent(e)

    @Slot(QUrl)
    def _on_link(self, url: QUrl) -> None:
        link = url.toString()
        if link == _FOLD:
            self.toggle_reasoning()
        elif link == _AGAIN:
            self.again_requested.emit()
        elif link.startswith(_COPY_CODE):
            self._copy(self._codes[int(link.removeprefix(_COPY_CODE))].text)
        elif link.startswith(_COPY_ANSWER):
            self._copy((*self._turns, self._state)[int(link.removeprefix(_COPY_ANSWER))].answer)
        elif (address := web_address(link)) is not None:
            QDesktopServices.openUrl(QUrl(address))

    def _copy(self, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self.copied.emit()

    def is_at_end(self) -> bool:
        """Does the reader see the end?"""
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 4

    @Slot(int, int)
    def _on_range(self, _: int, end: int) -> None:
        """Lines break anew when the scroll bar comes or goes, some time after the text has changed (another theme)."""
        before, self._end = self._end, end
        if self.verticalScrollBar().value() >= before - 4:
            self._go_to_end()

    def _go_to_end(self) -> None:
        bar = self.verticalScrollBar()
        bar.setValue(bar.maximum())

    # ---- writing -------------------------------------------------------------------------------------------------

    def _append(self, added: str, *, is_answer: bool) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        answer = self._state.answer
        end = stable_end(answer, self._formatted) if is_answer else 0
        if not is_answer or end <= self._formatted or not may_format(answer[self._formatted : end]):
            self._append_tail(cursor, added)
            return
        cursor.beginEditBlock()
        cursor.setPosition(self._tail_at, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        self._write_markdown(cursor, answer[self._formatted : end])
        self._formatted = end
        self._write_tail(cursor, answer[end:])
        cursor.endEditBlock()

    def _append_tail(self, cursor: QTextCursor, added: str) -> None:
        """Add to the paragraph that streams; a long one goes on in another, until the answer is formatted."""
        if self._tail_length > _LONGEST_TAIL:
            cursor.insertBlock()
            self._tail_length = 0
        cursor.insertText(added)
        self._tail_length += len(added)

    @Slot()
    def _write_all(self) -> None:
        with _Kept(self):
            self.clear()
            self._codes.clear()
            self._images.clear()
            exchanges = (*self._turns, self._state)
            with _Edit(self) as cursor:
                for number, state in enumerate(exchanges):
                    self._write_exchange(cursor, state, number, is_last=number == len(exchanges) - 1)

    def _write_last(self) -> None:
        """The exchange in front anew; what was said before it stays."""
        with _Kept(self), _Edit(self) as cursor:
            cursor.setPosition(self._last.position)
            cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            del self._codes[self._last.n_codes :]
            self._images = dict(list(self._images.items())[: self._last.n_images])
            self._write_exchange(cursor, self._state, len(self._turns), is_last=True)

    def _go_on(self, turns: tuple[ChatState, ...], state: ChatState) -> None:
        """The exchange that was in front is a turn now, and cannot be asked again any more."""
        with _Kept(self), _Edit(self) as cursor:
            if self._foot_at is not None:
                cursor.setPosition(self._foot_at)
                cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
                cursor.removeSelectedText()
                self._write_foot(cursor, self._state, len(self._turns), is_last=False)
            self._turns, self._state = turns, state
            self._write_exchange(cursor, state, len(turns), is_last=True)

    def _write_exchange(self, cursor: QTextCursor, state: ChatState, number: int, *, is_last: bool) -> None:
        cursor.movePosition(QTextCursor.MoveOperation.End)
        self._last = _Place(cursor.position(), len(self._codes), len(self._images))
        self._foot_at = None
        if state.question or state.pictures:
            gap = 0 if self.document().isEmpty() else 18
            self._block(cursor, say("chat.you"), "text_dim", small=True, gap=gap)
            for picture in state.pictures:
                self._write_picture(cursor, picture)
            if state.question:
                self._block(cursor, state.question, "text", bold=True)
        if state.reasoning:
            self._write_reasoning(cursor, state, is_last=is_last)
        if state.answer:
            self._block(cursor, say("chat.answer"), "text_dim", small=True, gap=10)
            self._write_answer(cursor, state)
        ending = finish_sentence(state)
        if ending:
            self._block(cursor, ending, "warning", gap=8)
        if state.problem is not None:
            self._block(cursor, say_problem(state.problem), "error", bold=True, gap=8)
            for line in state.problem.evidence:
                self._block(cursor, line, "text_dim", small=True)
        if state.phase is ChatPhase.IDLE and (state.answer or state.problem is not None):
            self._foot_at = cursor.position()
            self._write_foot(cursor, state, number, is_last=is_last)

    def _write_answer(self, cursor: QTextCursor, state: ChatState) -> None:
        is_whole = state.phase is ChatPhase.IDLE
        end = len(state.answer) if is_whole else stable_end(state.answer, 0)
        if not may_format(state.answer[:end]):
            end = 0
        if end:
            self._write_markdown(cursor, state.answer[:end])
        self._formatted = end
        if end < len(state.answer) or not is_whole:
            self._write_tail(cursor, state.answer[end:])

    def _write_tail(self, cursor: QTextCursor, text: str) -> None:
        """The part of an answer that is not whole yet, in a paragraph of its own."""
        cursor.movePosition(QTextCursor.MoveOperation.End)
        self._tail_at = cursor.position()
        self._tail_length = len(text)
        self._block(cursor, text, "text")

    def _write_markdown(self, cursor: QTextCursor, text: str) -> None:
        document, codes = formatted(text, self.font(), self._theme.tokens, len(self._codes))
        self._codes += codes
        self._block(cursor, "", "text")
        cursor.insertFragment(QTextDocumentFragment(document))
        cursor.movePosition(QTextCursor.MoveOperation.End)

    def _write_reasoning(self, cursor: QTextCursor, state: ChatState, *, is_last: bool) -> None:
        is_open = self.is_reasoning_open if is_last else bool(self._is_open)
        arrow = "▾" if is_open else "▸"
        self._block(cursor, f"{arrow} {say('chat.reasoning')}", "accent", small=True, gap=10, link=_FOLD)
        if is_open:
            self._block(cursor, state.reasoning, "text_dim", indent=True)

    def _write_picture(self, cursor: QTextCursor, picture: Picture) -> None:
        image = QImage.fromData(picture.data)
        name = f"lanewise:picture/{len(self._images)}"
        self._images[name] = image
        self._block(cursor, "", "text")
        shown = QTextImageFormat()
        shown.setName(name)
        shown.setHeight(min(_THUMBNAIL, image.height()))
        shown.setToolTip(picture.name)
        cursor.insertImage(shown)

    def _write_foot(self, cursor: QTextCursor, state: ChatState, number: int, *, is_last: bool) -> None:
        """The figures of an answer, and what can be done with it."""
        self._block(cursor, answer_line(state), "text_dim", small=True, gap=6)
        links = [(say("chat.copy"), f"{_COPY_ANSWER}{number}")] if state.answer else []
        links += [(say("chat.again"), _AGAIN)] if is_last else []
        for words, link in links:
            cursor.insertText("   ", self._style("text_dim", small=True))
            cursor.insertText(words, self._style("accent", small=True, link=link))

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
        style = self._style(token, small=small, bold=bold, link=link)
        if self.document().isEmpty():
            cursor.setBlockFormat(layout)
            cursor.setBlockCharFormat(style)
        else:
            cursor.insertBlock(layout, style)
        cursor.insertText(text, style)

    def _style(
        self, token: str, *, small: bool = False, bold: bool = False, link: str | None = None
    ) -> QTextCharFormat:
        style = QTextCharFormat()
        style.setFont(scaled(self.font(), 0.92 if small else 1.0, bold=False))
        style.setFontWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
        style.setForeground(self._theme.tokens.color(token))
        if link is not None:
            style.setAnchor(True)
            style.setAnchorHref(link)
        return style


class _Edit:
    """One change of the view's text: laid out once, at its end."""

    def __init__(self, view: ChatView) -> None:
        self._cursor = QTextCursor(view.document())

    def __enter__(self) -> QTextCursor:
        self._cursor.beginEditBlock()
        return self._cursor

    def __exit__(self, *_: object) -> None:
        self._cursor.endEditBlock()


class _Kept:
    """Who reads at the end stays there, who scrolled up stays where they were."""

    def __init__(self, view: ChatView) -> None:
        self._bar = view.verticalScrollBar()
        self._was_at_end, self._place = view.is_at_end(), self._bar.value()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._bar.setValue(self._bar.maximum() if self._was_at_end else self._place)


def _added_at_end(old: ChatState, new: ChatState, *, is_open: bool) -> str | None:
    """The text to append, '' for nothing, None when the text must be written anew."""
    if (old.number, old.question, old.pictures) != (new.number, new.question, new.pictures):
        return None
    if (old.answer, old.reasoning) == (new.answer, new.reasoning):
        same_end = (old.problem, finish_sentence(old)) == (new.problem, finish_sentence(new))
        return "" if same_end and (old.phase is ChatPhase.IDLE) == (new.phase is ChatPhase.IDLE) else None
    if new.phase is ChatPhase.IDLE or new.problem is not None or old.phase is ChatPhase.IDLE:
        return None
    if old.answer and old.reasoning == new.reasoning and new.answer.startswith(old.answer):
        return new.answer[len(old.answer) :]
    if not new.answer and not old.answer and old.reasoning and new.reasoning.startswith(old.reasoning):
        return new.reasoning[len(old.reasoning) :] if is_open else ""
    return None
