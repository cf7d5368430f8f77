"""The right-hand panel of the plan page: predicted speed, notes, the selected cards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget
from typing_extensions import override

from app.common.problem import Problem, Severity
from app.common.units import MIB, size_text
from app.planner.types import Card, Plan, SpeedEstimate
from app.ui.board.board import Board
from app.ui.board.card_text import ModelFacts, side_note, title
from app.ui.board.column import device_title, in_sentence
from app.ui.pages.plan_trades import TradesCard
from app.ui.pages.plan_verdict import rounded_tps
from app.ui.theme.fonts import tabular
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import LinkButton, PlainButton
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import DimLabel, Figure, SectionTitle
from app.words import joined, say, say_problem
from app.words.catalogue import number_text

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_TOLD_ELSEWHERE = ("over_full_gpu", "over_full_ram", "dense_model")
_MAX_NOTES = 3
_MAX_MOVES = 4


class SpeedCard(CardFrame):
    """Decode and prompt speed with their kind; unknown is a dash with the reason. ``measure_requested`` for RAM."""

    measure_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=14, spacing=4)
        self.decode = Figure("—", factor=2.0)
        self.prompt = Figure("—", factor=1.45)
        self._decode_note = DimLabel()
        self._prompt_note = DimLabel()
        self._why = DimLabel(wrap=True)
        self._measure = LinkButton(say("plan.speed.measure"))
        self._measure.setToolTip(say("plan.speed.measure.tip"))
        self._measure.clicked.connect(self.measure_requested)
        grid = QGridLayout()
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(0)
        grid.setColumnStretch(1, 1)
        for row, (figure, note) in enumerate(((self.decode, self._decode_note), (self.prompt, self._prompt_note))):
            note.setWordWrap(True)
            grid.addWidget(figure, row, 0, Qt.AlignmentFlag.AlignBaseline)
            grid.addWidget(note, row, 1, Qt.AlignmentFlag.AlignBaseline)
        self.body.addLayout(grid)
        self.body.addWidget(self._why)
        self.body.addWidget(self._measure, 0, Qt.AlignmentFlag.AlignLeft)

    @property
    def reason(self) -> str:
        """The sentence under the figures."""
        return self._why.text()

    def show_plan(self, plan: Plan) -> None:
        """Show the speeds of a plan."""
        speed = plan.speed
        self.decode.setText(_speed_text(speed.decode_tps))
        self.prompt.setText(_speed_text(speed.prompt_tps))
        self._decode_note.setText(say("plan.speed.decode", kind=_kind(speed, speed.decode_tps)))
        self._prompt_note.setText(say("plan.speed.prompt", kind=_kind(speed, speed.prompt_tps)))
        ram_unknown = speed.decode_tps is None and plan.devices.ram.bandwidth_gbs is None
        read = speed.ram_read_bytes_per_token
        told = say("plan.speed.reads", size=read) if read >= MIB else say("plan.speed.reads_none")
        self._why.setText(say("ui.sentences", first=told, second=_why_unknown(plan, ram_unknown)).strip())
        self._measure.setVisible(ram_unknown)


def _speed_text(tps: float | None) -> str:
    return "—" if tps is None else number_text(rounded_tps(tps))


def _why_unknown(plan: Plan, ram_unknown: bool) -> str:
    """Why a figure is a dash; empty when none is. With every bandwidth known, only a tiny model is not predicted."""
    if ram_unknown:
        return say("plan.speed.why_ram")
    if plan.speed.decode_tps is None:
        gpu_unknown = any(gpu.bandwidth_gbs is None for gpu in plan.devices.gpus)
        return say("plan.speed.why_gpu" if gpu_unknown else "plan.speed.why_small")
    return say("plan.speed.why_prompt") if plan.speed.prompt_tps is None else ""


def _kind(speed: SpeedEstimate, value: float | None) -> str:
    if value is None:
        return say("plan.kind.unknown")
    if speed.n_runs:
        return say("plan.kind.calibrated_from", n=speed.n_runs)
    return say(f"plan.kind.{'estimated' if speed.kind == 'unknown' else speed.kind}")


class NotesCard(CardFrame):
    """What the plan has to say beyond its numbers: warnings and notes, worst first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=12, spacing=6)
        self._rows: list[tuple[QLabel, DimLabel]] = []
        self._problems: tuple[Problem, ...] = ()
        for _ in range(_MAX_NOTES):
            icon, text = QLabel(), DimLabel(wrap=True)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            line = QHBoxLayout()
            line.setSpacing(8)
            line.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
            line.addWidget(text, 1)
            self.body.addLayout(line)
            self._rows.append((icon, text))
        ThemeManager.of_app().theme_changed.connect(self._refresh_icons)

    @property
    def texts(self) -> tuple[str, ...]:
        """The notes as they read now."""
        return tuple(text.text() for _, text in self._rows if not text.isHidden())

    def show_problems(self, problems: tuple[Problem, ...]) -> None:
        """Show notes, without those that the verdict and the columns tell already."""
        order = list(Severity)
        told = [p for p in problems if p.code not in _TOLD_ELSEWHERE]
        self._problems = tuple(sorted(told, key=lambda p: order.index(p.severity)))[:_MAX_NOTES]
        for i, (icon, text) in enumerate(self._rows):
            shown = i < len(self._problems)
            icon.setVisible(shown)
            text.setVisible(shown)
            if shown:
                text.setText(say_problem(self._problems[i]))
        self._refresh_icons()
        self.setVisible(bool(self._problems))

    @Slot()
    def _refresh_icons(self) -> None:
        theme = ThemeManager.of_app()
        for (icon, _), problem in zip(self._rows, self._problems, strict=False):
            token = "accent" if problem.severity is Severity.INFO else problem.severity.value
            picture = theme.icon(problem.severity.value, token, 15)
            icon.setPixmap(picture.pixmap(QSize(15, 15), self.devicePixelRatioF()))
            icon.setAccessibleName(say(f"ui.severity.{problem.severity.value}"))


class SelectionCard(CardFrame):
    """The selected cards: what they are, and buttons that move them without dragging.

    ``move_requested(device)``.
    """

    move_requested = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=14, spacing=6)
        self._title = SectionTitle()
        self._title.setWordWrap(True)
        self._hint = DimLabel(say("plan.selection.hint"), wrap=True)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(10)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)
        self._facts: list[tuple[DimLabel, QLabel]] = []
        self._buttons: list[PlainButton] = []
        self._notes: list[DimLabel] = []
        self.body.addWidget(self._title)
        self.body.addWidget(self._hint)
        self.body.addLayout(self._grid)
        self.body.addSpacing(2)
        moves = QVBoxLayout()
        moves.setSpacing(3)
        for _ in range(_MAX_MOVES):
            button, note = PlainButton(""), DimLabel(wrap=True)
            button.set_icon("move", "accent")
            button.clicked.connect(self._on_clicked)
            moves.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
            moves.addWidget(note)
            self._buttons.append(button)
            self._notes.append(note)
        self.body.addLayout(moves)
        self.body.addStretch(1)

    @property
    def buttons(self) -> tuple[PlainButton, ...]:
        """The buttons that are offered now."""
        return tuple(button for button in self._buttons if not button.isHidden())

    def show_cards(self, cards: tuple[Card, ...], plan: Plan | None, facts: ModelFacts, board: Board) -> None:
        """Show the selected cards; none shows how to select and move."""
        self._hint.setVisible(not cards)
        self._title.setText(say("plan.selection.title") if not cards else _selection_title(cards))
        self._show_facts(_selection_facts(cards, facts) if cards else [])
        ids = tuple(card.id for card in cards if card.movable)
        targets = [d for d in plan.devices.all if cards and d.name != cards[0].device] if plan is not None else []
        for i, (button, note) in enumerate(zip(self._buttons, self._notes, strict=True)):
            shown = bool(ids) and i < len(targets)
            button.setVisible(shown)
            note.setVisible(False)
            if shown:
                name = device_title(targets[i])
                text, allowed = board.move_words(ids, targets[i].name, name)
                button.setText(say("board.move.to", device=in_sentence(name)))
                button.setEnabled(allowed)
                button.setProperty("device", targets[i].name)
                note.setVisible(text != button.text())
                note.setText(text.removeprefix(button.text()).lstrip(" :：,，()（）").rstrip("()（）"))
        if cards and not ids:
            self._notes[0].setText(say("board.fixed"))
            self._notes[0].setVisible(True)

    def _show_facts(self, facts: list[tuple[str, str]]) -> None:
        while len(self._facts) < len(facts):
            name, value = DimLabel(), QLabel()
            value.setFont(tabular(value.font()))
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
            value.setWordWrap(True)
            row = len(self._facts)
            self._grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(value, row, 1)
            self._facts.append((name, value))
        for i, (name, value) in enumerate(self._facts):
            shown = i < len(facts)
            name.setVisible(shown)
            value.setVisible(shown)
            if shown:
                name.setText(facts[i][0])
                value.setText(joined(facts[i][1]))

    @Slot()
    def _on_clicked(self) -> None:
        button = self.sender()
        if isinstance(button, PlainButton):
            self.move_requested.emit(str(button.property("device")))


def _selection_title(cards: tuple[Card, ...]) -> str:
    return title(cards[0]) if len(cards) == 1 else say("board.drag.many", n=len(cards))


def _selection_facts(cards: tuple[Card, ...], facts: ModelFacts) -> list[tuple[str, str]]:
    rows = [(say("plan.fact.size"), size_text(sum(card.n_bytes for card in cards)))]
    kv = sum(card.kv_bytes for card in cards)
    if kv:
        rows.append((say("plan.fact.kv"), size_text(kv)))
    rows.append((say("plan.fact.tensors"), number_text(sum(card.n_tensors for card in cards))))
    types = list(dict.fromkeys(name for card in cards for name in card.types))
    rows.append((say("plan.fact.types"), ", ".join(types)))
    notes = {side_note(card, facts) for card in cards} - {""}
    if len(notes) == 1:
        rows.append((say("plan.fact.share"), notes.pop()))
    return rows


class _Content(QWidget):
    """The cards one under the other. The offers give way first, down to the best one; where cards of the board are
    selected and there is no room for that one either, they are not there at all, and leave no gap."""

    def __init__(self, trades: TradesCard) -> None:
        super().__init__()
        self._trades = trades
        self._has_offers = True
        self._may_leave_out = False
        self._room = 0
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(10)

    def set_offers(self, has_offers: bool) -> None:
        """Does the plan have offers at all?"""
        self._has_offers = has_offers
        self._fit()

    def set_selected(self, is_selected: bool) -> None:
        """Are cards selected? Then what they are comes before the offers."""
        self._may_leave_out = is_selected
        self._fit()

    def set_room(self, height: int) -> None:
        """The height of the panel, in pixels."""
        self._room = height
        self._fit()

    def _fit(self) -> None:
        offers = self.column.spacing() + self._trades.minimumSizeHint().height()
        others = self.column.minimumHeightForWidth(self.width()) - (0 if self._trades.isHidden() else offers)
        fits = not self._may_leave_out or others + offers <= self._room
        if self._trades.isHidden() == (self._has_offers and fits):
            self._trades.setVisible(self._has_offers and fits)

    @override
    def event(self, event: QEvent) -> bool:
        handled = bool(super().event(event))
        if event.type() is QEvent.Type.LayoutRequest:
            self._fit()
        return handled

    @override
    def heightForWidth(self, width: int) -> int:
        return self.column.minimumHeightForWidth(width)


class SidePanel(QScrollArea):
    """The panel as a whole. In a window that is too low for all of it, it scrolls, also with the keyboard."""

    def __init__(self, session: AppSession, board: Board, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._board = board
        self.speed = SpeedCard()
        self.notes = NotesCard()
        self.trades = TradesCard()
        self.selection = SelectionCard()
        self._lay_out()
        self.speed.measure_requested.connect(session.measure_ram)
        self.selection.move_requested.connect(self._on_move)
        self.trades.apply_requested.connect(session.apply_trade)
        session.trades_changed.connect(self.refresh_trades)
        board.selection_changed.connect(self.refresh_selection)

    def _lay_out(self) -> None:
        content = self._content = _Content(self.trades)
        column = content.column
        column.addWidget(self.speed)
        column.addWidget(self.notes)
        column.addWidget(self.trades)
        column.addWidget(self.selection, 1)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAccessibleName(say("plan.side"))
        self.setWidget(content)
        content.setAutoFillBackground(False)  # setWidget switches it on
        self.viewport().setAutoFillBackground(False)
        self._on_range(0, 0)
        self.verticalScrollBar().rangeChanged.connect(self._on_range)

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._content.set_room(self.viewport().height())

    @Slot(int, int)
    def _on_range(self, least: int, most: int) -> None:
        """A stop for the Tab key only where there is something to scroll."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if most > least else Qt.FocusPolicy.NoFocus)

    def refresh(self) -> None:
        """Follow the plan."""
        plan = self._session.plan
        if plan is None:
            return
        self.speed.show_plan(plan)
        self.notes.show_problems(plan.problems)
        self._content.set_offers(bool(plan.devices.gpus))
        self.refresh_trades()
        self.refresh_selection()

    @Slot()
    def refresh_trades(self) -> None:
        """Follow the offers."""
        self.trades.show_trades(self._session.trades, self._session.second_gpu)

    @Slot()
    def refresh_selection(self) -> None:
        """Follow the board's selection."""
        facts = ModelFacts.of(self._session.model)
        cards = self._board.selected_cards()
        self.selection.show_cards(cards, self._session.plan, facts, self._board)
        self._content.set_selected(bool(cards))

    @Slot(str)
    def _on_move(self, device: str) -> None:
        ids = tuple(card.id for card in self._board.selected_cards() if card.movable)
        if ids:
            self._board.request_move(ids, device)
