"""Two plans side by side: speed, bytes per device, cards that moved, options that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDialog, QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget
from typing_extensions import override

from app.common.ranges import ranges_text
from app.common.units import MIB, size_text
from app.planner.compare import DeviceChange, Moved, OptionChange
from app.planner.types import RAM
from app.session.plan_files_controller import Comparison
from app.ui.pages.plan_verdict import rounded_tps
from app.ui.secret import DOTS
from app.ui.theme.fonts import mono_font, scaled, tabular
from app.ui.widgets.buttons import PlainButton
from app.ui.widgets.frames import Rule, ScrollCard
from app.ui.widgets.labels import DimLabel, SectionTitle, set_look
from app.words import joined, say
from app.words.catalogue import number_text

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_SIZE = QSize(980, 620)
_MOST_MOVED = 60
_LONGEST_OPTION = 400


class CompareDialog(QDialog):
    """Follows ``session.plan_files.comparison`` while it is open; the board can be changed beside it.

    ``file_requested``: compare with a saved plan instead.
    """

    file_requested = Signal()

    def __init__(self, session: AppSession, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self.setWindowTitle(say("compare.title"))
        self.setModal(False)
        self.resize(_SIZE.boundedTo(parent.window().size() - QSize(60, 60)))
        self._card = ScrollCard(say("compare.title"))
        self.table: DifferenceTable | None = None
        self.before_button = PlainButton(say("compare.before"))
        self.file_button = PlainButton(say("compare.file"))
        self.close_button = PlainButton(say("ui.close"))
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(DimLabel(say("compare.against")))
        top.addWidget(self.before_button)
        top.addWidget(self.file_button)
        top.addStretch(1)
        top.addWidget(self.close_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 12, 16, 16)
        column.setSpacing(8)
        column.addLayout(top)
        column.addWidget(self._card, 1)
        self.before_button.clicked.connect(session.plan_files.compare_with_before)
        self.file_button.clicked.connect(self.file_requested)
        self.close_button.clicked.connect(self.close)
        session.plan_files.comparison_changed.connect(self.show_comparison)

    @Slot()
    def show_comparison(self) -> None:
        """Show the session's comparison; without one the window goes."""
        comparison = self._session.plan_files.comparison
        if comparison is None:
            self.hide()
            return
        bar = self._card.area.verticalScrollBar()
        place = bar.value()
        self.table = DifferenceTable(comparison)
        self._card.set_content(self.table)
        bar.setValue(place)

    @override
    def reject(self) -> None:
        self.close()

    @override
    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self._session.plan_files.stop_comparing()


class DifferenceTable(QWidget):
    """Four columns: what, the other plan, the board, the change."""

    def __init__(self, comparison: Comparison, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(14, 10, 14, 14)
        self._grid.setHorizontalSpacing(18)
        self._grid.setVerticalSpacing(4)
        for column, share in enumerate((5, 4, 4, 3)):
            self._grid.setColumnStretch(column, share)
        self._row = 0
        self.rows: list[tuple[str, ...]] = []
        self._add_head(comparison)
        if comparison.difference.is_same:
            self._add_wide(say("compare.same"))
        self._add_speed(comparison)
        self._add_memory(comparison)
        self._add_moved(comparison.difference.moved)
        self._add_options(comparison.difference.options)
        self._grid.setRowStretch(self._row, 1)

    def _add_head(self, comparison: Comparison) -> None:
        names = ("", comparison.name or say("compare.before"), say("compare.board"), say("compare.change"))
        self._add_row(names, is_head=True)

    def _add_title(self, code: str) -> None:
        self._grid.addWidget(Rule(), self._row, 0, 1, 4)
        self._grid.addWidget(SectionTitle(say(code)), self._row + 1, 0, 1, 4)
        self._row += 2

    def _add_wide(self, text: str) -> None:
        self._grid.addWidget(DimLabel(text, wrap=True), self._row, 0, 1, 4)
        self.rows.append((text,))
        self._row += 1

    def _add_row(self, texts: tuple[str, ...], look: str = "", *, is_head: bool = False, mono: bool = False) -> None:
        self.rows.append(texts)
        for column, text in enumerate(texts):
            label: QLabel = SectionTitle(text) if is_head else QLabel(joined(text))
            label.setWordWrap(True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            if not is_head:
                label.setFont(mono_font(scaled(label.font(), 0.92)) if mono else tabular(label.font()))
            if column == 3 and look:
                set_look(label, look)
            self._grid.addWidget(label, self._row, column, Qt.AlignmentFlag.AlignTop)
        self._row += 1

    def _add_speed(self, comparison: Comparison) -> None:
        self._add_title("compare.speed")
        before, after = comparison.before.speed, comparison.after.speed
        self._add_tps("compare.decode", before.decode_tps, after.decode_tps)
        self._add_tps("compare.prompt", before.prompt_tps, after.prompt_tps)
        change = after.ram_read_bytes_per_token - before.ram_read_bytes_per_token
        self._add_row(
            (
                say("compare.read"),
                size_text(before.ram_read_bytes_per_token),
                size_text(after.ram_read_bytes_per_token),
                _size_change(change),
            ),
            _look(-change),
        )

    def _add_tps(self, code: str, before: float | None, after: float | None) -> None:
        texts = ["—" if tps is None else number_text(rounded_tps(tps)) for tps in (before, after)]
        change, look = "—", ""
        if before is not None and after is not None and before > 0:
            percent = 100 * (after - before) / before
            change = "=" if abs(percent) < 0.5 else f"{percent:+.0f} %".replace("-", "−")
            look = _look(percent) if abs(percent) >= 0.5 else ""
        self._add_row((say(code), *texts, change), look)

    def _add_memory(self, comparison: Comparison) -> None:
        self._add_title("compare.memory")
        for device in comparison.difference.devices:
            self._add_device(device)

    def _add_device(self, change: DeviceChange) -> None:
        name = _device(change.device)
        sides = (change.before, change.after)
        used = [size_text(None if side is None else side.total_bytes) for side in sides]
        self._add_row((name, *used, _size_change(change.total_bytes)))
        left = [None if side is None else side.left_bytes for side in sides]
        if any(value is not None for value in left):
            texts = [_left_text(value) for value in left]
            look = "error" if left[1] is not None and left[1] < 0 else ""
            moved = "—" if None in left else _size_change((left[1] or 0) - (left[0] or 0))
            self._add_row((say("compare.left", device=name), *texts, moved), look)

    def _add_moved(self, moved: tuple[Moved, ...]) -> None:
        self._add_title("compare.moved")
        if not moved:
            self._add_wide(say("compare.nothing_moved"))
        for one in moved[:_MOST_MOVED]:
            where = say("compare.layers", blocks=ranges_text(one.blocks).replace("-", "–")) if one.blocks else ""
            name = say(f"role.{one.role.value}")
            self._add_row(
                (
                    f"{name} · {where}" if where else name,
                    _device(one.before),
                    _device(one.after),
                    size_text(one.n_bytes),
                )
            )

    def _add_options(self, options: tuple[OptionChange, ...]) -> None:
        self._add_title("compare.options")
        if not options:
            self._add_wide(say("compare.same_options"))
        for option in options:
            name = (option.before or option.after)[0]
            self._add_row((name, _option_text(option.before), _option_text(option.after), ""), mono=True)


def _device(name: str) -> str:
    return say("board.ram") if name == RAM else name


def _left_text(n_bytes: int | None) -> str:
    if n_bytes is None:
        return "—"
    return size_text(n_bytes).replace("-", "−")


def _size_change(n_bytes: int) -> str:
    if abs(n_bytes) < MIB:
        return "="
    return f"{'+' if n_bytes > 0 else '−'}{size_text(abs(n_bytes))}"


def _look(gain: float) -> str:
    """Green for what got better, amber for what got worse."""
    if abs(gain) < 1e-9:
        return ""
    return "ok" if gain > 0 else "warning"


def _option_text(words: tuple[str, ...]) -> str:
    """The values of an option; an API key stays hidden."""
    if not words:
        return "—"
    text = DOTS if words[0] == "--api-key" else " ".join(words[1:]) or words[0]
    return text if len(text) <= _LONGEST_OPTION else f"{text[: _LONGEST_OPTION - 1]}…"
