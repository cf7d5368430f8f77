"""The first two steps of the first run: what each says, what its button does, how it is seen to be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import (
    QButtonGroup,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.common.units import size_text
from app.session.engine_getter import GetPhase
from app.session.first_run_controller import Step
from app.session.state import EnginePhase
from app.ui.dialogs.get_engine import package_title, progress_text
from app.ui.file_paths import ask_open
from app.ui.pages.plan_verdict import GOOD_TPS
from app.ui.widgets.buttons import LinkButton
from app.ui.widgets.frames import ScrollCard
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.ui.widgets.problem_lines import ProblemLines
from app.words import say
from app.work.library.suggest import Suggestion
from app.work.library.types import Entry
from app.work.library.words import size_class, speed_words, verdict_words

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_BAR_STEPS = 1000
_MOST_OWN = 4
_MOST_SUGGESTED = 4


class StepPage(QWidget):
    """One step. ``changed`` when the button's words or what can be done have changed."""

    changed = Signal()
    page_requested = Signal(str)

    def __init__(self, session: AppSession, step: Step) -> None:
        super().__init__()
        self._session = session
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(8)
        self.column.addWidget(SectionTitle(say(f"first_run.{step.value}.title"), factor=1.15))
        self.column.addWidget(DimLabel(say(f"first_run.{step.value}.text"), wrap=True))
        self.trouble = ProblemLines()

    def begin(self) -> None:
        """The step comes to the front."""

    def leave(self) -> None:
        """The step is skipped."""

    def action(self) -> tuple[str, bool]:
        """The button's words, and whether it can be used now."""
        raise NotImplementedError

    def act(self) -> None:
        """The button was used."""
        raise NotImplementedError


class EngineStep(StepPage):
    """Gets the package that fits this computer; says which and why before anything is downloaded."""

    def __init__(self, session: AppSession, *, for_windows: bool) -> None:
        super().__init__(session, Step.ENGINE)
        self._engines = session.engines
        self.package = QLabel()
        self.package.setWordWrap(True)
        self.reason = DimLabel(wrap=True)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(say("engines.get_title"))
        self.status = DimLabel(wrap=True)
        self.more = LinkButton(say("first_run.engine.more"))
        for widget in (self.package, self.reason, self.status, self.bar):
            self.column.addWidget(widget)
        self.column.addLayout(self.trouble)
        line = QHBoxLayout()
        line.addWidget(self.more)
        line.addStretch(1)
        self.column.addLayout(line)
        self.column.addStretch(1)
        if for_windows:
            self.column.addWidget(DimLabel(say("engines.windows"), wrap=True))
        self.more.clicked.connect(self._on_more)
        self._engines.get_changed.connect(self._refresh)
        session.engine_changed.connect(self._refresh)
        self._refresh()

    @Slot()
    def _refresh(self) -> None:
        get = self._engines.get
        offer = get.next_offer
        is_busy = get.phase in (GetPhase.LISTING, GetPhase.GETTING)
        self.package.setText("" if offer is None else package_title(offer))
        self.reason.setText("" if offer is None else say(f"engine.offer.{offer.reason}", **offer.params))
        self.bar.setVisible(is_busy)
        progress = get.progress
        fraction = progress.download.fraction if progress is not None and progress.download is not None else None
        self.bar.setRange(0, 0 if fraction is None else _BAR_STEPS)
        if fraction is not None:
            self.bar.setValue(round(fraction * _BAR_STEPS))
        text = "" if progress is None else progress_text(progress)
        self.status.setText(say("engine.get.listing") if get.phase is GetPhase.LISTING else text)
        self.trouble.show_problem(get.problem)
        for widget in (self.package, self.reason, self.status):
            widget.setVisible(bool(widget.text()))
        self.changed.emit()

    @override
    def action(self) -> tuple[str, bool]:
        """Ask, then download."""
        get = self._engines.get
        offer = get.next_offer
        is_free = get.phase not in (GetPhase.LISTING, GetPhase.GETTING)
        is_looking = self._session.engine.phase in (EnginePhase.LOOKING, EnginePhase.BUILDING)
        if offer is None:
            return say("first_run.engine.find"), is_free and not is_looking
        return say("first_run.engine.get", size=offer.package.size_bytes), is_free

    @override
    def act(self) -> None:
        """One click for the list, one for the download."""
        offer = self._engines.get.next_offer
        if offer is None:
            self._engines.load_packages()
        else:
            self._engines.get_package(offer)

    @override
    def leave(self) -> None:
        """What runs goes on; the engine will be there when it is done."""

    @Slot()
    def _on_more(self) -> None:
        from app.ui.dialogs.get_engine import show_get_engine

        show_get_engine(self._session, self)


class ModelStep(StepPage):
    """Models that are here already and run, else suggestions; a file of one's own; the demo to try."""

    def __init__(self, session: AppSession) -> None:
        super().__init__(session, Step.MODEL)
        self._library = session.library
        self._choices: list[tuple[QRadioButton, Entry | Suggestion]] = []
        self._shown: tuple[object, ...] | None = None
        self._group = QButtonGroup(self)
        self.list = ScrollCard(say("first_run.model.title"))
        self.column.addWidget(self.list, 1)
        line = QHBoxLayout()
        self.own = LinkButton(say("first_run.model.own"))
        self.link = LinkButton(say("first_run.model.link"))
        self.demo = LinkButton(say("first_run.model.demo"))
        for button in (self.own, self.link, self.demo):
            line.addWidget(button)
        line.addStretch(1)
        self.column.addLayout(line)
        self.own.clicked.connect(self._on_own)
        self.link.clicked.connect(self._on_link)
        self.demo.clicked.connect(self._on_demo)
        self._library.changed.connect(self._refresh)
        self._library.suggested.connect(self._refresh)
        session.hub.fetched.connect(self._on_fetched)
        session.hardware_changed.connect(self._on_hardware)
        self._refresh()

    @override
    def begin(self) -> None:
        """Look for models now."""
        self._library.ensure()

    @property
    def chosen(self) -> Entry | Suggestion | None:
        """The marked one."""
        return next((what for button, what in self._choices if button.isChecked()), None)

    @Slot()
    def _refresh(self) -> None:
        running = [e for e in self._library.entries if e.is_model and e.verdict is not None and e.verdict.runs]
        own = tuple(sorted(running, key=_preferred)[:_MOST_OWN])
        suggested = self._library.suggestions
        offered = tuple(s for s in suggested or () if s.runs_well and s.repository)[:_MOST_SUGGESTED]
        shown = (own, offered, suggested is None)
        if shown == self._shown:
            return
        self._shown = shown
        for button in self._group.buttons():
            self._group.removeButton(button)
        self._choices = []
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(10, 8, 10, 8)
        column.setSpacing(4)
        if own:
            column.addWidget(SectionTitle(say("first_run.model.here")))
        for entry in own:
            facts = f"{size_text(entry.summary.file_bytes)} · {say(f'library.source.{entry.source.value}')}"
            self._add(column, entry, entry.name, facts)
        if offered:
            column.addWidget(SectionTitle(say("models.suggestions")))
        for suggestion in offered:
            size = size_class(suggestion.parameters, suggestion.active_parameters)
            facts = f"{size} · {suggestion.quant} · {size_text(suggestion.file_bytes)}"
            self._add(column, suggestion, suggestion.name, facts)
        if suggested is None:
            column.addWidget(DimLabel(say("models.suggesting"), wrap=True))
        elif not own and not offered:
            column.addWidget(DimLabel(say("first_run.model.none"), wrap=True))
        column.addStretch(1)
        self.list.set_content(content)
        if self._choices:
            self._choices[0][0].setChecked(True)
        self.changed.emit()

    def _add(self, column: QVBoxLayout, what: Entry | Suggestion, name: str, facts: str) -> None:
        button = QRadioButton(name)
        speed = speed_words(what.verdict) if what.verdict is not None and what.verdict.decode_tps else None
        told = " · ".join(part for part in (verdict_words(what.verdict), speed, facts) if part)
        button.setAccessibleDescription(told)
        button.toggled.connect(self.changed)
        note = DimLabel(told, wrap=True)
        note.setIndent(24)
        column.addWidget(button)
        column.addWidget(note)
        self._group.addButton(button)
        self._choices.append((button, what))

    @override
    def action(self) -> tuple[str, bool]:
        """Open what is here, or get what is not."""
        chosen = self.chosen
        if isinstance(chosen, Suggestion):
            return say("first_run.model.get"), True
        return say("first_run.model.open"), chosen is not None

    @override
    def act(self) -> None:
        """Open it, or show its files with their verdicts."""
        chosen = self.chosen
        if isinstance(chosen, Suggestion):
            self.show_download(f"{chosen.repository}:{chosen.quant}")
        elif chosen is not None:
            self._session.open_model(chosen.path)

    def show_download(self, link: str) -> None:
        """The window that fetches a model."""
        from app.ui.dialogs.download import show_download

        show_download(self._session, self, link)

    @Slot()
    def _on_own(self) -> None:
        path = ask_open(self, say("first_run.model.own"), "", "GGUF (*.gguf)")
        if path:
            self._session.open_model(path)

    @Slot()
    def _on_link(self) -> None:
        self.show_download("")

    @Slot()
    def _on_demo(self) -> None:
        self._session.open_demo()
        self._session.first_run.finish(Step.MODEL)

    @Slot(str)
    def _on_fetched(self, path: str) -> None:
        if self._session.first_run.step is Step.MODEL:
            self._session.open_model(path)

    @Slot()
    def _on_hardware(self) -> None:
        if self.isVisible():
            self._library.ensure()


def _preferred(entry: Entry) -> tuple[bool, bool, int]:
    """Those that run well first, Mixtures of Experts before dense models, the largest first."""
    tps = entry.verdict.decode_tps if entry.verdict is not None else None
    is_slow = tps is not None and tps < GOOD_TPS
    return (is_slow, not entry.summary.expert_layers, -entry.summary.file_bytes)
