"""The card of the settings page about what launches and dry runs have taught, and how to forget it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QLabel, QWidget

from app.planner.learned import RECENT_LAUNCHES, Learned
from app.ui.pages.settings_form import FormCard
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.labels import DimLabel
from app.words import say

if TYPE_CHECKING:
    from app.session.learning_controller import LearningController


def learned_text(learned: Learned) -> str:
    """What there is, in one sentence a kind."""
    if learned.is_empty:
        return say("settings.learned_nothing")
    parts = []
    if learned.overheads:
        cards = {card for card, _ in learned.overheads}
        launches = sum(min(len(runs), RECENT_LAUNCHES) for runs in learned.overheads.values())
        parts.append(say("settings.learned_overheads", cards=len(cards), launches=launches))
    if learned.corrections:
        n_corrections = sum(len(found) for found in learned.corrections.values())
        parts.append(say("settings.learned_corrections", n=n_corrections))
    if learned.speeds:
        parts.append(say("settings.learned_speeds", n=len(learned.speeds)))
    return "\n".join(parts)


class LearnedCard(FormCard):
    """Shows what was learned; the button forgets all of it."""

    def __init__(self, learning: LearningController, parent: QWidget | None = None) -> None:
        super().__init__(say("settings.learned"), parent)
        self._learning = learning
        self.text = QLabel()
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.forget = PlainButton(say("settings.learned_forget"))
        self.forget.setToolTip(say("settings.learned_forget_tip"))
        self.add_wide(self.text)
        self.add_wide(DimLabel(say("settings.learned_note"), wrap=True))
        self.body.addWidget(self.forget, 0, Qt.AlignmentFlag.AlignLeft)
        self.forget.clicked.connect(learning.forget)
        learning.changed.connect(self._refresh)
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        self.text.setText(learned_text(self._learning.learned))
        self.forget.setEnabled(not self._learning.learned.is_empty)
