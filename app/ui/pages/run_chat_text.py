"""What a model wrote, as formatted text: Markdown without HTML, without pictures, and with nothing but web links.

The text is hostile: it may ask for local or remote files (pictures), carry HTML, or imitate our own links. Qt's
Markdown reader runs with HTML switched off, on a document that hands out no resource; what it made of the text is then
looked through fragment by fragment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from PySide6.QtCore import QUrl
from PySide6.QtGui import (
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFrameFormat,
    QTextTable,
)
from typing_extensions import override

from app.ui.theme.fonts import mono_font
from app.ui.theme.tokens import Tokens
from app.words import say

LONGEST_MARKDOWN = 100_000
"""Characters of one answer that are formatted; more is shown as it came."""
_DEEPEST = 12
"""Levels of quotes and lists that are formatted: Qt draws each inside the other."""
_MOST_COLUMNS = 64
_MOST_ROWS = 400
"""Lines of tables in one answer: Qt's layout of a table of thousands takes seconds."""
_MOST_ITEMS = 2000
_MOST_TICKS = 8000
_MOST_BOLD = 10_000
"""Lines of lists, marks of code and of bold text in one answer: each takes the longer, the more there are before it."""
_ITEM = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]", re.MULTILINE)
_NUMBER_MARK = re.compile(r"\d[.)]")
_LONGEST_LINK = 2000
_FEATURES = QTextDocument.MarkdownFeature.MarkdownDialectGitHub | QTextDocument.MarkdownFeature.MarkdownNoHTML


@dataclass(frozen=True, slots=True)
class CodePiece:
    """A block of code: its language as the model named it, and its text."""

    language: str
    text: str


class SealedDocument(QTextDocument):
    """A document that loads nothing, wherever it is said to lie."""

    @override
    def loadResource(self, type: int, name: QUrl | str) -> object:
        return None


def may_format(text: str) -> bool:
    """Is this Markdown that can be laid out in reasonable time?"""
    if len(text) > LONGEST_MARKDOWN:
        return False
    if text.count("`") > _MOST_TICKS or text.count("**") > _MOST_BOLD or len(_ITEM.findall(text)) > _MOST_ITEMS:
        return False
    lines = text.split("\n")
    if sum("|" in line for line in lines) > _MOST_ROWS:
        return False
    return all(_depth(line) <= _DEEPEST and line.count("|") <= _MOST_COLUMNS for line in lines)


def _depth(line: str) -> int:
    """How many marks of quotes and lists a line begins with."""
    head = line[:200]
    marks = len(head) - len(head.lstrip("> \t-*+0123456789.)"))
    return sum(head[:marks].count(mark) for mark in ">-*+") + len(_NUMBER_MARK.findall(head, 0, marks))


def stable_end(text: str, start: int) -> int:
    """Where the last whole part of a text that is still being written ends: after a blank line that is not inside a
    block of code. ``start`` is such a place, or 0."""
    end, at, fence = start, start, ""
    for line in text[start:].split("\n")[:-1]:
        at += len(line) + 1
        mark = line.lstrip(" ")[:3]
        if fence:
            fence = "" if mark == fence and not line.strip().strip(fence[0]) else fence
            if not fence:
                end = at
        elif mark in ("```", "~~~"):
            fence = mark
        elif not line.strip():
            end = at
    return end


def formatted(text: str, font: QFont, tokens: Tokens, first_code: int) -> tuple[QTextDocument, tuple[CodePiece, ...]]:
    """The text as a document to copy from, and its blocks of code; the links of these are numbered from
    ``first_code`` on (``copy-code:N``)."""
    document = SealedDocument()
    document.setDefaultFont(font)
    document.setMarkdown(text, _FEATURES)
    edit = QTextCursor(document)
    edit.beginEditBlock()  # else the document is laid out anew after each of thousands of changes
    _disarm(document, tokens)
    _dress_tables(document, tokens)
    codes = _mark_code(document, font, tokens, first_code)
    edit.endEditBlock()
    return document, codes


def _disarm(document: QTextDocument, tokens: Tokens) -> None:
    """Pictures become their address; links that lead anywhere but to the web become text."""
    changes: list[tuple[int, int, QTextCharFormat, str | None]] = []
    block = document.begin()
    while block.isValid():
        iterator = block.begin()
        while not iterator.atEnd():
            piece = iterator.fragment()
            style = piece.charFormat()
            if style.isImageFormat():
                target = style.toImageFormat().name()[:_LONGEST_LINK]
                changes.append((piece.position(), piece.length(), QTextCharFormat(), say("chat.picture", name=target)))
            elif style.isAnchor():
                changes.append((piece.position(), piece.length(), _link_style(style, tokens), None))
            iterator += 1
        block = block.next()
    cursor = QTextCursor(document)
    for position, length, style, words in reversed(changes):
        cursor.setPosition(position)
        cursor.setPosition(position + length, QTextCursor.MoveMode.KeepAnchor)
        if words is None:
            cursor.setCharFormat(style)
        else:
            cursor.insertText(words, style)


def _link_style(style: QTextCharFormat, tokens: Tokens) -> QTextCharFormat:
    target = web_address(style.anchorHref())
    plain = QTextCharFormat(style)
    plain.clearForeground()
    if target is None:
        for field in (
            QTextFormat.Property.IsAnchor,
            QTextFormat.Property.AnchorHref,
            QTextFormat.Property.AnchorName,
            QTextFormat.Property.TextToolTip,
        ):
            plain.clearProperty(field)
        plain.setFontUnderline(False)
        return plain
    plain.setToolTip(target)
    plain.setForeground(tokens.color("accent"))
    return plain


def web_address(text: str) -> str | None:
    """A link that a browser may be given: http or https with a host, or None."""
    url = QUrl(text, QUrl.ParsingMode.StrictMode)
    is_web = url.isValid() and url.scheme().lower() in ("http", "https") and bool(url.host()) and not url.userInfo()
    return url.toString() if is_web and len(text) <= _LONGEST_LINK else None


def _dress_tables(document: QTextDocument, tokens: Tokens) -> None:
    """Thin lines of the theme. Qt leaves an empty paragraph in the first cell of a table that follows code, and that
    cell then misses the head's weight."""
    for frame in document.rootFrame().childFrames():
        if not isinstance(frame, QTextTable):
            continue
        look = frame.format().toTableFormat()
        look.setBorder(1)
        look.setBorderBrush(tokens.color("line"))
        look.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        look.setBorderCollapse(True)
        look.setCellPadding(4)
        look.setTopMargin(6)
        frame.setFormat(look)
        first = frame.cellAt(0, 0)
        cursor = first.firstCursorPosition()
        if not cursor.block().text() and cursor.block() != first.lastCursorPosition().block():
            cursor.deleteChar()
        cursor = first.firstCursorPosition()
        cursor.setPosition(first.lastCursorPosition().position(), QTextCursor.MoveMode.KeepAnchor)
        bold = QTextCharFormat()
        bold.setFontWeight(QFont.Weight.Bold)
        cursor.mergeCharFormat(bold)


def _is_code(block: QTextBlock) -> bool:
    style = block.blockFormat()
    return style.hasProperty(QTextFormat.Property.BlockCodeFence) or style.hasProperty(
        QTextFormat.Property.BlockCodeLanguage
    )


def _mark_code(document: QTextDocument, font: QFont, tokens: Tokens, first_code: int) -> tuple[CodePiece, ...]:
    """Give the blocks of code their look, and a line above each to copy it with."""
    pieces: list[tuple[int, CodePiece]] = []
    mono = mono_font(font)
    block = document.begin()
    while block.isValid():
        if _is_code(block):
            start, language = (
                block.position(),
                str(block.blockFormat().stringProperty(QTextFormat.Property.BlockCodeLanguage) or ""),
            )
            lines: list[str] = []
            while block.isValid() and _is_code(block):
                lines.append(block.text())
                _look_like_code(block, mono, tokens)
                block = block.next()
            pieces.append((start, CodePiece(language[:40], "\n".join(lines))))
        else:
            block = block.next()
    cursor = QTextCursor(document)
    for number, (start, piece) in reversed(list(enumerate(pieces))):
        _insert_code_head(cursor, start, piece, first_code + number, font, tokens)
    return tuple(piece for _, piece in pieces)


def _look_like_code(block: QTextBlock, mono: QFont, tokens: Tokens) -> None:
    cursor = QTextCursor(block)
    layout = QTextBlockFormat()
    layout.setBackground(tokens.color("chip"))
    layout.setLeftMargin(8)
    cursor.mergeBlockFormat(layout)
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
    style = QTextCharFormat()
    style.setFont(mono)
    style.setForeground(tokens.color("text"))
    cursor.setCharFormat(style)


def _insert_code_head(
    cursor: QTextCursor, start: int, piece: CodePiece, number: int, font: QFont, tokens: Tokens
) -> None:
    cursor.setPosition(start)
    cursor.insertBlock()
    cursor.setPosition(start)
    layout = QTextBlockFormat()
    layout.setTopMargin(6)
    layout.setLeftMargin(8)
    layout.setBackground(tokens.color("chip"))
    cursor.setBlockFormat(layout)
    dim = QTextCharFormat()
    dim.setFont(font)
    dim.setProperty(QTextFormat.Property.FontSizeAdjustment, -1)
    dim.setForeground(tokens.color("text_dim"))
    cursor.insertText(f"{piece.language or say('chat.code')} · ", dim)
    link = QTextCharFormat(dim)
    link.setForeground(tokens.color("accent"))
    link.setAnchor(True)
    link.setAnchorHref(f"copy-code:{number}")
    cursor.insertText(say("chat.copy"), link)
