"""The card "What next": offers of the plan, what each gains and costs; a click takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QSize, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSizePolicy, QWidget
from typing_extensions import override

from app.common.later import later
from app.common.units import MIB
from app.planner.second_gpu import SecondGpu, Worth
from app.planner.trades import Quality, Trade
from app.ui.theme.fonts import scaled, tabular
from app.ui.widgets.frames import CardFrame, Rule
from app.ui.widgets.labels import DimLabel, SectionTitle, set_look
from app.words import say

if TYPE_CHECKING:
    from app.work.card_answer import gain_text, prompt_text, second_gpu_text
else:
    gain_text = later("app.work.card_answer", "gain_text")
    prompt_text = later("app.work.card_answer", "prompt_text")
    second_gpu_text = later("app.work.card_answer", "second_gpu_text")

MOST_OFFERS = 5
_GAP = 2
_WORTH_A_WORD = 0.05
"""Expert layers and tok/s below this read as nothing."""


def what(trade: Trade) -> str:
    """The offer in two or three words."""
    code = f"trade.kv_home.{trade.value}" if trade.code == "kv_home" else f"trade.{trade.code}"
    return say(code, value=trade.value)


def gain(trade: Trade) -> str:
    """The figure that it is offered for: VRAM of a plan that does not fit, else tok/s, prompt speed, bytes from RAM."""
    if trade.relieves:
        return say("trade.gain.freed", size=trade.freed_bytes)
    if trade.code == "ubatch" and trade.prompt_factor is not None:
        return say("trade.gain.prompt", factor=round(trade.prompt_factor, 1))
    if trade.decode_gain_tps is not None and trade.decode_gain_tps >= _WORTH_A_WORD:
        return say("trade.gain.decode", tps=trade.decode_gain_tps)
    if trade.ram_read_saved_bytes >= MIB:
        return say("trade.gain.read", size=trade.ram_read_saved_bytes)
    return say("trade.gain.freed", size=max(0, trade.freed_bytes))


def how(trade: Trade) -> str:
    """What happens for it, and what it costs."""
    parts = []
    if abs(trade.freed_bytes) >= MIB and not trade.relieves and trade.code != "preset":
        parts.append(say("trade.frees" if trade.freed_bytes > 0 else "trade.takes", size=abs(trade.freed_bytes)))
    if abs(trade.expert_layers) >= _WORTH_A_WORD:
        code = "trade.layers" if trade.expert_layers > 0 else "trade.layers_less"
        parts.append(say(code, n=round(abs(trade.expert_layers), 1)))
    if trade.decode_gain_tps is not None and trade.decode_gain_tps <= -_WORTH_A_WORD:
        parts.append(say("trade.slower", tps=-trade.decode_gain_tps))
    if trade.quality not in (Quality.SAME, Quality.OTHERS):
        parts.append(say(f"trade.quality.{trade.quality.value}"))
    return say("cli.comma").join(parts)


class TradeRow(QPushButton):
    """One offer: what and its gain on one line, how on the next. An offer that only the user can take is no button."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("look", "bare")
        self.is_button = True
        self.setAutoDefault(False)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.what, self.gain, self.how = QLabel(), QLabel(), QLabel()
        for text in (self.what, self.how):
            text.setWordWrap(True)
        self.gain.setFont(tabular(self.gain.font()))
        self.gain.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        set_look(self.gain, "ok")
        self.how.setFont(tabular(scaled(self.how.font(), 0.93)))
        set_look(self.how, "dim")
        grid = QGridLayout(self)
        grid.setContentsMargins(4, 3, 4, 3)
        grid.setVerticalSpacing(0)
        grid.setHorizontalSpacing(8)
        grid.setColumnStretch(0, 1)
        self._grid = grid
        grid.addWidget(self.what, 0, 0)
        grid.addWidget(self.gain, 0, 1)
        grid.addWidget(self.how, 1, 0, 1, 2)
        for label in (self.what, self.gain, self.how):
            label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def show_trade(self, trade: Trade) -> None:
        """Show an offer."""
        self.what.setText(what(trade))
        self.gain.setText(gain(trade))
        set_look(self.gain, "ok")
        self.how.setText(how(trade))
        self.how.setVisible(bool(self.how.text()))
        self.setEnabled(True)
        can_apply = trade.can_apply
        self._set_button(can_apply)
        tip = say("trade.apply.tip") if can_apply else ""
        self.setToolTip(say("ui.sentences", first=f"{how(trade)}.", second=tip).strip())
        self.setAccessibleName(say("trade.apply", what=what(trade), gain=gain(trade), how=how(trade)))

    def show_second_gpu(self, answer: SecondGpu) -> None:
        """What the cards beside the best one gain: a fact, no offer."""
        self.what.setText(say("second_gpu.row", devices=say("cli.comma").join(answer.devices), alone=answer.alone))
        self.gain.setText(gain_text(answer))
        set_look(self.gain, "ok" if answer.decode in (Worth.FASTER, Worth.MORE_IN_VRAM) else "dim")
        self.how.setText(prompt_text(answer))
        self.how.setVisible(True)
        self.setEnabled(True)
        self._set_button(False)
        self.setToolTip(second_gpu_text(answer))
        self.setAccessibleName(second_gpu_text(answer))

    def _set_button(self, is_button: bool) -> None:
        """What is no button still gets the mouse, for its tooltip, but neither lights up nor can be pressed."""
        self.is_button = is_button
        set_look(self, "bare" if is_button else "fact")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if is_button else Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor if is_button else Qt.CursorShape.ArrowCursor)

    @override
    def hitButton(self, pos: QPoint) -> bool:
        return self.is_button and super().hitButton(pos)

    def height_in(self, width: int) -> int:
        """The height in which nothing is cut at this width."""
        return self._grid.totalHeightForWidth(max(width, 1))

    @override
    def sizeHint(self) -> QSize:
        return QSize(0, self.height_in(self.width()))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)


class _Rows(QWidget):
    """Rows under each other with hairlines between them: as many of the first ones as the height has room for."""

    def __init__(self, rows: list[TradeRow], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self._rules = [Rule(self) for _ in rows]
        self._n_wanted = 0
        for row in rows:
            row.setParent(self)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    def show_first(self, n: int) -> None:
        """How many rows have something to show."""
        self._n_wanted = n
        self.updateGeometry()
        self._arrange()

    def _heights(self) -> list[int]:
        """Of the rows that have something to show, at the present width."""
        return [row.height_in(self.width()) for row in self._rows[: self._n_wanted]]

    def _arrange(self) -> None:
        y = 0
        room = self.height()
        heights = self._heights()
        for i, (row, rule) in enumerate(zip(self._rows, self._rules, strict=True)):
            gap = 2 * _GAP + 1 if i else 0
            fits = i < len(heights) and y + gap + heights[i] <= room
            row.setVisible(fits)
            rule.setVisible(fits and i > 0)
            if not fits:
                room = 0  # a later, smaller one must not stand in for a better one
                continue
            if i:
                rule.setGeometry(0, y + _GAP, self.width(), 1)
            row.setGeometry(0, y + gap, self.width(), heights[i])
            y += gap + heights[i]

    @override
    def sizeHint(self) -> QSize:
        heights = self._heights()
        return QSize(0, sum(heights) + max(0, len(heights) - 1) * (2 * _GAP + 1))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, next(iter(self._heights()), 0))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self.updateGeometry()  # other widths wrap elsewhere
        self._arrange()


class TradesCard(CardFrame):
    """The best offers, as many as there is room for. ``apply_requested(index)`` when the user takes one."""

    apply_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, margin=12, spacing=2)
        self._note = DimLabel(wrap=True)
        self._all = [TradeRow() for _ in range(MOST_OFFERS)]
        self._box = _Rows(self._all)
        self._n_shown = self._n_facts = 0
        self._focused_row = 0
        self.setAccessibleName(say("trade.title"))
        self._title = SectionTitle(say("trade.title"))
        self.body.addWidget(self._title)
        self.body.addWidget(self._note)
        self.body.addWidget(self._box, 1)
        for i, row in enumerate(self._all):
            row.setProperty("index", i)
            row.clicked.connect(self._on_clicked)

    @property
    def rows(self) -> tuple[TradeRow, ...]:
        """The offers that are shown now."""
        return tuple(row for row in self._all[: self._n_shown] if not row.isHidden())

    @property
    def note(self) -> str:
        """The line that stands where there is no offer; empty when there is one."""
        return "" if self._note.isHidden() else self._note.text()

    def show_trades(self, trades: tuple[Trade, ...] | None, answer: SecondGpu | None = None) -> None:
        """Show the best offers; None while they are being worked out keeps the old ones, greyed. ``answer``: what a
        second GPU gains, as the first row."""
        self._hold_focus()
        if trades is None:
            for row in self._all:
                row.setEnabled(False)
            self._note.setText(say("trade.waiting"))
            self._follow_height()
            return
        rows = self._all
        self._n_facts = 0 if answer is None else 1
        if answer is not None:
            rows[0].show_second_gpu(answer)
        shown = trades[: MOST_OFFERS - self._n_facts]
        self._n_shown = self._n_facts + len(shown)
        self._note.setText(say("trade.none"))
        for row, trade in zip(rows[self._n_facts :], shown, strict=False):
            row.show_trade(trade)
        self._box.show_first(self._n_shown)
        self.updateGeometry()
        self._follow_height()
        self._give_focus()

    def _hold_focus(self) -> None:
        """A row that is greyed or hidden would hand the focus to whatever comes next on the page: keep it here."""
        focused = self.window().focusWidget()
        if isinstance(focused, TradeRow) and focused in self._all:
            self._focused_row = self._all.index(focused)
            self.setFocus()

    def _give_focus(self) -> None:
        """To the offer that is now where the taken one was, else to the nearest before it, else to any."""
        if self.window().focusWidget() is not self:
            return
        offers = [(i, row) for i, row in enumerate(self._all) if row.is_button and not row.isHidden()]
        at = next((row for i, row in reversed(offers) if i <= self._focused_row), offers[0][1] if offers else None)
        if at is not None:
            at.setFocus()

    def _height_with(self, content: int) -> int:
        """The card's height around this much content, whether or not its parts are shown now."""
        margins = self.body.contentsMargins()
        title = self._title.sizeHint().height()
        return margins.top() + title + self.body.spacing() + content + margins.bottom() + 2 * self.frameWidth()

    @override
    def sizeHint(self) -> QSize:
        content = self._box.sizeHint().height() if self._n_shown else self._note.sizeHint().height()
        return QSize(super().sizeHint().width(), self._height_with(content))

    @override
    def hasHeightForWidth(self) -> bool:
        return False  # else the note that wraps would make the layout insist on a height

    @override
    def minimumSizeHint(self) -> QSize:
        """Room for the best offer, or for the line that there is none."""
        content = self._box.minimumSizeHint().height() if self._n_shown else self._note.sizeHint().height()
        return QSize(0, self._height_with(content))

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._follow_height()

    def _follow_height(self) -> None:
        has_room = self.height() >= self._height_with(self._box.minimumSizeHint().height())
        set_look(self, "card" if has_room else "none")
        self._title.setVisible(has_room)
        self._box.setVisible(has_room and self._n_shown > 0)
        self._note.setVisible(has_room and not self._n_shown)

    @Slot()
    def _on_clicked(self) -> None:
        row = self.sender()
        if isinstance(row, TradeRow) and row.is_button:
            self.apply_requested.emit(int(row.property("index")) - self._n_facts)
