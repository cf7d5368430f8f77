"""The line of the plan page that shows what the board does not model and keeps word for word."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.ui.secret import key_in, masked
from app.ui.theme.fonts import mono_font, scaled
from app.ui.widgets.buttons import LinkButton
from app.ui.widgets.labels import DimLabel, ElidedLabel
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession


_LONGEST = 1000


class KeptLine(QWidget):
    """Shown only when there is something to show; Remove takes the options out of the command (undo brings them
    back)."""

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._text = ElidedLabel()
        self._text.setFont(mono_font(scaled(self.font(), 0.93)))
        self._remove = LinkButton(say("kept.remove"))
        self._remove.setToolTip(say("kept.remove.tip"))
        self._remove.clicked.connect(self._on_remove)
        title = DimLabel(say("kept.title"))
        title.setToolTip(say("kept.tip"))
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(title)
        line.addWidget(self._text, 1)
        line.addWidget(self._remove)
        self.hide()

    @property
    def text(self) -> str:
        """The options that are shown; empty when there are none."""
        return "" if self.isHidden() else self._text.text()

    def refresh(self) -> None:
        """Follow the plan."""
        plan = self._session.plan
        words = plan.wishes.extra if plan is not None else ()
        self.setVisible(bool(words))
        text = masked(shlex.join(words), key_in(words))
        text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
        self._text.setText(text)
        self._text.setToolTip(say("kept.tip"))
        self.setAccessibleName(f"{say('kept.title')} {text}")

    @Slot()
    def _on_remove(self) -> None:
        self._session.set_wishes(extra=())
