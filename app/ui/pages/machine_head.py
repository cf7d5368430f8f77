"""The head of the machine page: whose machine it is, what can be done with it, and the verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.diagnose.machine import Sentence, judgement_sentences, machine_verdict
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.labels import DimLabel, SectionTitle, set_look
from app.words import say
from app.words import sentences as in_a_row

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class MachineHead(QWidget):
    """Buttons become the session's wishes; files are the page's to ask for: ``load_requested``, ``save_requested``,
    ``compare_requested``."""

    load_requested = Signal()
    save_requested = Signal()
    compare_requested = Signal()

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._title = SectionTitle(say("machine.title"), factor=1.3)
        self._refresh = PlainButton(say("machine.refresh"))
        self.measure_button = PlainButton(say("machine.measure"))
        self.load_button = PlainButton(say("machine.load"))
        self.save_button = PlainButton(say("machine.save"))
        self.compare_button = PlainButton(say("machine_page.compare"))
        self._verdict = SectionTitle(factor=1.05)
        self._help = SectionTitle(factor=1.05)
        self._with = DimLabel(wrap=True)
        for label in (self._verdict, self._help):
            label.setWordWrap(True)
        self._lay_out()
        self._refresh.clicked.connect(session.refresh_hardware)
        self.measure_button.clicked.connect(self._on_measure)
        self.load_button.clicked.connect(self.load_requested)
        self.save_button.clicked.connect(self.save_requested)
        self.compare_button.clicked.connect(self.compare_requested)
        session.machine.measuring_changed.connect(self.show_buttons)
        session.run_changed.connect(self.show_buttons)
        session.judge.changed.connect(self.show_verdict)

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self._title)
        top.addStretch(1)
        for button in (
            self.load_button,
            self.save_button,
            self.compare_button,
            self._refresh,
            self.measure_button,
        ):
            top.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 10, 16, 4)
        column.setSpacing(4)
        column.addLayout(top)
        column.addSpacing(2)
        column.addWidget(self._verdict)
        column.addWidget(self._help)
        column.addWidget(self._with)

    @property
    def verdict(self) -> str:
        """The verdict's lines."""
        return "\n".join(text for label in (self._verdict, self._help) if (text := label.text()))

    @Slot()
    def show_verdict(self) -> None:
        """What limits this machine and what would help; until that is worked out, what it offers."""
        snapshot, judgement = self._session.hardware, self._session.judge.result
        first: tuple[Sentence, ...] = ()
        second: tuple[Sentence, ...] = ()
        if snapshot is None:
            self._verdict.setText(say("machine_page.looking"))
        elif judgement is None:
            offers, reads = machine_verdict(snapshot)
            first, second = (offers,), (reads,)
        else:
            sentences = judgement_sentences(snapshot, judgement)
            first = tuple(s for s in sentences if s.code.startswith("machine.judge."))
            second = sentences[len(first) :]
        if snapshot is not None:
            self._verdict.setText(_said(first))
        self._help.setText(_said(second))
        self._help.setVisible(bool(second))
        is_example = snapshot is not None and judgement is not None and judgement.is_reference
        self._with.setText(say("machine_page.judged_with", model=judgement.model) if is_example and judgement else "")
        self._with.setVisible(is_example)

    @Slot()
    def show_buttons(self) -> None:
        """This machine or a saved one: the second has no RAM that could be measured here."""
        is_here, snapshot = self._session.is_this_machine, self._session.hardware
        is_measuring = self._session.machine.is_measuring
        self._title.setText(say("machine.title" if is_here else "machine.title_saved"))
        self._refresh.setText(say("machine.refresh" if is_here else "machine.back"))
        self.save_button.setEnabled(snapshot is not None)
        self.compare_button.setEnabled(snapshot is not None)
        is_known = snapshot is not None and snapshot.memory.measured_gbs is not None
        code = "machine_page.measure_again" if is_known else "machine.measure"
        self.measure_button.setText(say("machine_page.cancel_measure" if is_measuring else code))
        self.measure_button.setEnabled(snapshot is not None and is_here)
        self.measure_button.setToolTip("" if is_here else say("problem.saved_machine_not_measured"))
        set_look(self.measure_button, "plain" if is_known or is_measuring or not is_here else "primary")

    @Slot()
    def _on_measure(self) -> None:
        if self._session.machine.is_measuring:
            self._session.machine.cancel_measuring()
        else:
            self._session.measure_ram()


def _said(sentences: tuple[Sentence, ...]) -> str:
    return in_a_row(say(s.code, **s.params) for s in sentences)
