"""The machine page: what this computer is, who says so, how sure that is, and what it means for a plan."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget
from typing_extensions import override

from app.common.problem import Problem
from app.diagnose.machine import machine_findings, plan_findings
from app.hardware.types import HardwareSnapshot
from app.ui.file_paths import ask_open, ask_save
from app.ui.pages.machine_card import FactCard
from app.ui.pages.machine_compare import CompareMachines
from app.ui.pages.machine_head import MachineHead
from app.ui.plots.core_strip import CoreStrip
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.age import age_text
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.words import say, say_problem, with_words
from app.work.machine_facts import FactGroup, machine_groups
from app.work.vram_users import users_fact

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_ICONS = {"error": ("error", "error"), "warning": ("warning", "warning"), "info": ("info", "text_dim")}
_AGE_MS = 1000


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
        self._shown: tuple[HardwareSnapshot, tuple[Problem, ...]] | None = None
        self._cards: list[FactCard] = []
        self._compare: CompareMachines | None = None
        self._head = MachineHead(session)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setFrameShape(QFrame.Shape.NoFrame)
        self._scroll.setAccessibleName(say("page.machine"))
        self._scroll.setWidget(QWidget())
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._head)
        layout.addWidget(self._scroll, 1)
        self._clock = QTimer(self)
        self._clock.setInterval(_AGE_MS)
        self._clock.timeout.connect(self._show_age)
        self._head.load_requested.connect(self._on_load)
        self._head.save_requested.connect(self._on_save)
        self._head.compare_requested.connect(self._on_compare)
        session.hardware_changed.connect(self._on_hardware_changed)
        session.plan_changed.connect(self._on_plan_changed)
        session.machine.freshness_changed.connect(self._show_age)
        session.vram_users.changed.connect(self._show_users)
        self._on_hardware_changed()

    @property
    def verdict(self) -> str:
        """The verdict sentences."""
        return self._head.verdict

    @property
    def cards(self) -> tuple[FactCard, ...]:
        """The cards of facts."""
        return tuple(self._cards)

    @property
    def measure_button(self) -> PlainButton:
        """Measure RAM speed."""
        return self._head.measure_button

    @property
    def comparison(self) -> CompareMachines | None:
        """The window with two machines side by side, while it is open."""
        return self._compare

    @Slot()
    def _on_hardware_changed(self) -> None:
        snapshot = self._session.hardware
        self._head.show_buttons()
        if self.isVisible():
            self._session.judge.ask()
        self._head.show_verdict()
        if snapshot is None:
            return
        plan = self._session.plan
        short = plan_findings(plan.estimate) if plan is not None else ()
        if (snapshot, short) != self._shown:
            self._shown = (snapshot, short)
            self._fill(snapshot, short)
        self._show_age()
        self._show_users()
        if self.isVisible():
            self._session.vram_users.ask()

    @Slot()
    def _on_plan_changed(self) -> None:
        if self.isVisible():  # a drag on the board makes many plans; the next look at this page catches up
            self._on_hardware_changed()

    def _fill(self, snapshot: HardwareSnapshot, short: tuple[Problem, ...]) -> None:
        """Make the cards anew: a snapshot changes when there is a reason, not by itself."""
        position = self._scroll.verticalScrollBar().value()
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(16, 6, 16, 14)
        column.setSpacing(10)
        findings = (*short, *machine_findings(snapshot), *with_words(snapshot.problems))
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
            is_left = group.kind in ("cpu", "ram") or (group.kind == "system" and len(snapshot.gpus) > 1)
            (left if is_left else right).addWidget(card)
        if not snapshot.gpus:
            right.insertWidget(0, self._no_gpu_card(snapshot))
        columns = QHBoxLayout()
        columns.setSpacing(10)
        for column in (left, right):
            column.setSpacing(10)
            column.addStretch(1)
            columns.addLayout(column, 1)
        return columns

    def _card(self, group: FactGroup, snapshot: HardwareSnapshot) -> FactCard:
        if group.kind == "engine" and self._session.engine.build is not None and self._session.is_this_machine:
            group = dataclasses.replace(group, subtitle=f"llama-server {self._session.engine.build}")
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

    # What grows old.

    @Slot()
    def _show_users(self) -> None:
        """The programs on each card, as they were told last; asked only while the page is looked at."""
        snapshot, told = self._session.hardware, self._session.vram_users.result
        if snapshot is None or told is None:
            return
        cards = {card.group.key: card for card in self._cards}
        for index, (gpu, users) in enumerate(zip(snapshot.gpus, told, strict=True)):
            card = cards.get(f"gpus.{index}")
            if card is not None:
                card.set_extra(users_fact(index, gpu, users))

    @Slot()
    def _show_age(self) -> None:
        text = age_text(self._session.machine.age_seconds)
        for card in self._cards:
            card.set_age(text)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._clock.start()
        self._on_hardware_changed()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._clock.stop()

    # Files.

    @Slot()
    def _on_save(self) -> None:
        path = ask_save(self, say("machine.save"), "machine.json", say("machine_page.snapshot_files"))
        if path:
            self._session.save_snapshot(path)

    @Slot()
    def _on_load(self) -> None:
        path = ask_open(self, say("machine.load"), "", say("machine_page.snapshot_files"))
        if path:
            self._session.load_snapshot(path)

    @Slot()
    def _on_compare(self) -> None:
        title = say("machine_page.compare")
        path = ask_open(self, title, "", say("machine_page.snapshot_files"))
        other = self._session.machine.read_other(path) if path else None
        if other is not None:
            self.compare_with(other, path)

    def compare_with(self, other: HardwareSnapshot, path: str) -> None:
        """Open the window with the shown machine and this one side by side."""
        shown = self._session.hardware
        if shown is None:
            return
        if self._compare is not None:
            self._compare.close()
        self._compare = CompareMachines(shown, other, path, is_here=self._session.is_this_machine, parent=self)
        window = self._compare
        window.finished.connect(self._on_compare_closed)
        self._session.judge.judge_each((shown, other), window.show_verdicts)
        window.show()

    @Slot()
    def _on_compare_closed(self) -> None:
        self._compare = None
