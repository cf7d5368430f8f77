"""The machine page: what this computer is, who says so, what is unknown, and what it means for a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.common.problem import Problem
from app.diagnose.machine import machine_findings, machine_verdict
from app.hardware.types import HardwareSnapshot
from app.ui.pages.machine_card import FactCard
from app.ui.pages.machine_facts import FactGroup, machine_groups
from app.ui.plots.core_strip import CoreStrip
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import Chip, DimLabel, SectionTitle, set_look
from app.words import say, say_problem, with_words

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_ICONS = {"error": ("error", "error"), "warning": ("warning", "warning"), "info": ("info", "text_dim")}


class FindingRow(QWidget):
    """One finding: its severity as icon and word, and the sentence."""

    def __init__(self, problem: Problem, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = ThemeManager.of_app()
        self._look = _ICONS[problem.severity.value]
        self._icon = QLabel()
        text = QLabel(say_problem(problem))
        text.setWordWrap(True)
        severity = say(f"ui.severity.{problem.severity.value}")
        text.setAccessibleName(f"{severity}: {text.text()}")
        self._icon.setToolTip(severity)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(text, 1)
        self._theme.theme_changed.connect(self._refresh_icon)
        self._refresh_icon()

    @Slot()
    def _refresh_icon(self) -> None:
        name, token = self._look
        icon = self._theme.icon(name, token, 16)
        self._icon.setPixmap(icon.pixmap(QSize(16, 16), self.devicePixelRatioF()))


class MachinePage(QWidget):
    """Facts in two columns of cards under the verdict; nothing is asked of the hardware while it is only looked at."""

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._shown: HardwareSnapshot | None = None
        self._measuring_since: HardwareSnapshot | None = None
        self._cards: list[FactCard] = []
        self._make_head()
        self._body = QWidget()
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setWidget(self._body)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._head)
        layout.addWidget(self._scroll, 1)
        session.hardware_changed.connect(self._on_hardware_changed)
        session.message_raised.connect(self._on_message)
        self._on_hardware_changed()

    def _make_head(self) -> None:
        self._head = QWidget()
        self._title = SectionTitle(say("machine.title"), factor=1.3)
        self._os = Chip()
        self._refresh = PlainButton(say("machine.refresh"))
        self._refresh.clicked.connect(self._session.refresh_hardware)
        self._measure = PlainButton(say("machine.measure"))
        self._measure.clicked.connect(self._on_measure)
        self._load = PlainButton(say("machine.load"))
        self._load.clicked.connect(self._on_load)
        self._save = PlainButton(say("machine.save"))
        self._save.clicked.connect(self._on_save)
        self._verdict = SectionTitle(factor=1.05)
        self._verdict.setWordWrap(True)
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self._title)
        top.addWidget(self._os)
        top.addStretch(1)
        for button in (self._load, self._save, self._refresh, self._measure):
            top.addWidget(button)
        column = QVBoxLayout(self._head)
        column.setContentsMargins(16, 10, 16, 4)
        column.setSpacing(6)
        column.addLayout(top)
        column.addWidget(self._verdict)

    @property
    def verdict(self) -> str:
        """The verdict sentences."""
        return self._verdict.text()

    @property
    def cards(self) -> tuple[FactCard, ...]:
        """The cards of facts."""
        return tuple(self._cards)

    @property
    def measure_button(self) -> PlainButton:
        """Measure RAM speed."""
        return self._measure

    @Slot()
    def _on_hardware_changed(self) -> None:
        snapshot = self._session.hardware
        if self._measuring_since is None or self._measuring_since is not snapshot:
            self._set_measuring(None)
        self._save.setEnabled(snapshot is not None)
        self._show_whose()
        if snapshot is None:
            self._verdict.setText(say("machine_page.looking"))
            self._os.hide()
            return
        if snapshot == self._shown:
            return
        self._shown = snapshot
        self._os.setText(snapshot.os)
        self._os.show()
        self._verdict.setText("\n".join(say(s.code, **s.params) for s in machine_verdict(snapshot)))
        self._fill(snapshot)

    def _fill(self, snapshot: HardwareSnapshot) -> None:
        """Make the cards anew: a snapshot changes when the user asks, not by itself."""
        position = self._scroll.verticalScrollBar().value()
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(16, 6, 16, 14)
        column.setSpacing(10)
        findings = (*machine_findings(snapshot), *with_words(snapshot.problems))
        if findings:
            card = CardFrame(spacing=6)
            card.body.addWidget(SectionTitle(say("machine_page.findings")))
            for problem in findings:
                card.body.addWidget(FindingRow(problem))
            column.addWidget(card)
        column.addLayout(self._columns(snapshot))
        column.addWidget(DimLabel(say("machine_page.private"), wrap=True))
        column.addStretch(1)
        self._scroll.setWidget(body)  # Qt deletes the old one
        self._scroll.verticalScrollBar().setValue(position)

    def _columns(self, snapshot: HardwareSnapshot) -> QHBoxLayout:
        left, right = QVBoxLayout(), QVBoxLayout()
        self._cards = []
        for group in machine_groups(snapshot, is_here=self._session.is_this_machine):
            card = self._card(group, snapshot)
            self._cards.append(card)
            (left if group.kind in ("cpu", "ram") else right).addWidget(card)
        if not snapshot.gpus:
            right.insertWidget(0, self._no_gpu_card(snapshot))
        columns = QHBoxLayout()
        columns.setSpacing(10)
        for column in (left, right):
            column.setSpacing(10)
            column.addStretch(1)
            columns.addLayout(column, 1)
        return columns

    @staticmethod
    def _card(group: FactGroup, snapshot: HardwareSnapshot) -> FactCard:
        card = FactCard(group)
        if group.kind == "cpu":
            strip = CoreStrip(ThemeManager.of_app(), show_load=False)
            strip.set_cores(snapshot.cpu.cores)
            strip.set_marked(snapshot.cpu.recommended_cpus)
            strip.setMinimumHeight(strip.height_for(card.width()))
            card.body.addWidget(strip)
            card.body.addWidget(DimLabel(say("machine_page.map_note"), wrap=True))
        return card

    @staticmethod
    def _no_gpu_card(snapshot: HardwareSnapshot) -> CardFrame:
        card = CardFrame(spacing=6)
        card.body.addWidget(SectionTitle(say("machine.group.gpu")))
        code = "machine_page.no_gpu" if snapshot.engine_asked else "machine_page.no_gpu_yet"
        card.body.addWidget(DimLabel(say(code), wrap=True))
        return card

    def _show_whose(self) -> None:
        """This machine or a saved one: the second has no RAM that could be measured here."""
        is_here = self._session.is_this_machine
        self._title.setText(say("machine.title" if is_here else "machine.title_saved"))
        self._refresh.setText(say("machine.refresh" if is_here else "machine.back"))
        self._measure.setToolTip("" if is_here else say("problem.saved_machine_not_measured"))

    def _set_measuring(self, since: HardwareSnapshot | None) -> None:
        self._measuring_since = since
        snapshot = self._session.hardware
        is_known = snapshot is not None and snapshot.memory.measured_gbs is not None
        code = "machine_page.measure_again" if is_known else "machine.measure"
        self._measure.setText(say(code if since is None else "machine.measuring"))
        self._measure.setEnabled(since is None and snapshot is not None and self._session.is_this_machine)
        set_look(self._measure, "plain" if is_known else "primary")

    @Slot()
    def _on_measure(self) -> None:
        self._set_measuring(self._session.hardware)
        self._session.measure_ram()

    @Slot(object)
    def _on_message(self, problem: Problem) -> None:
        """A measurement that failed ends with a message instead of a new snapshot."""
        if self._measuring_since is not None and problem.code.startswith("bandwidth"):
            self._set_measuring(None)

    @Slot()
    def _on_save(self) -> None:
        path, _ = QFileDialog.getSaveFileName(
            self, say("machine.save"), "machine.json", say("machine_page.snapshot_files")
        )
        if path:
            self._session.save_snapshot(path)

    @Slot()
    def _on_load(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, say("machine.load"), "", say("machine_page.snapshot_files"))
        if path:
            self._session.load_snapshot(path)
