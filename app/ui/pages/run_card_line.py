"""What the cards and the memory do now, beside the curves: one line of figures that are known, in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from PySide6.QtCore import Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget
from typing_extensions import override

from app.common.units import MIB, size_text
from app.monitor.held_back import reasons_of
from app.ui.pages.run_series import all_figures
from app.ui.pages.run_words import Told
from app.ui.plots.data import SeriesReader
from app.ui.plots.figures_table import FiguresTable
from app.ui.plots.numbers_button import NumbersButton
from app.ui.theme.fonts import scaled, tabular
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.labels import ElidedLabel, set_look
from app.words import say
from app.words.catalogue import number_text

_SPILL = 64 * MIB
"""Less than this in shared memory is what every program has there."""

Values = Mapping[str, float | None]


def live_told(values: Values, names: Collection[str]) -> Told:
    """'CUDA0 97 % · 71 °C · 142 W · 2 505 MHz · server 10.9 GiB   swap 0 MiB'; only what is known. ``names``: the
    cards as the samples name them, in the order of the plan."""
    parts = [text for name in names if (text := _card(values, name))]
    memory = _memory(values)
    spilled = any((values.get(f"gpu.{name}.shared") or 0) > _SPILL for name in names)
    return Told("    ".join([*parts, *([memory] if memory else [])]), "warning" if spilled else "dim")


def _card(values: Values, name: str) -> str:
    def value(what: str) -> float | None:
        return values.get(f"gpu.{name}.{what}")

    facts: list[tuple[str, float | None, Callable[[float], str]]] = [
        ("load", value("util"), lambda v: f"{v:.0f}"),
        ("temperature", value("temperature"), lambda v: f"{v:.0f}"),
        ("power", value("power_w"), lambda v: f"{v:.0f}"),
        ("power_percent", value("power_percent"), lambda v: f"{v:.0f}"),
        ("clock", value("clock"), lambda v: number_text(round(v))),
        ("own", value("process") if value("process") is not None else value("dedicated"), size_text),
    ]
    told = [say(f"live.{code}", x=text(known)) for code, known, text in facts if known is not None]
    why = [say(f"held_back.{reason}") for reason in reasons_of(value("held_back"))]
    if why:
        told.append(say("live.held_back", why=" + ".join(why)))
    shared = value("shared")
    if shared is not None and shared > _SPILL:
        told.append(say("live.spilled", x=size_text(shared)))
    return f"{name}  {' · '.join(told)}" if told else ""


def _memory(values: Values) -> str:
    told = []
    swap, commit = values.get("swap.used"), values.get("ram.commit_free")
    if swap:
        told.append(say("live.swap", x=size_text(swap)))
    if commit is not None:
        told.append(say("live.commit", x=size_text(commit)))
    return " · ".join(told)


class LiveLine(QWidget):
    """Keeps the newest sample and shows it while it is visible. Its height is fixed."""

    def __init__(self, reader: SeriesReader, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keys: frozenset[str] = frozenset()
        self.table = FiguresTable(say("run.all_figures"), lambda: all_figures(self._keys), reader, self)
        self.button = NumbersButton(ThemeManager.of_app(), say("plot.numbers_of", title=say("run.all_figures")))
        self.button.clicked.connect(self.table.show)
        self._values: Values = {}
        self._names: tuple[str, ...] = ()
        self._text = ElidedLabel()
        self._text.setFont(tabular(scaled(self.font(), 0.92)))
        self._text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(4, 2, 4, 0)
        row.addWidget(self._text, 1)
        row.addWidget(self.button)
        self.hide()

    @property
    def text(self) -> str:
        """What is said now."""
        return self._text.text()

    def set_names(self, names: Collection[str], keys: Collection[str]) -> None:
        """The cards of the plan, as the samples name them; ``keys``: every figure that is measured."""
        self._names, self._keys = tuple(names), frozenset(keys)
        self.redraw()

    def take(self, values: Values) -> None:
        """Keep the newest sample; the first one that has something to say shows the line."""
        self._values = values
        if self.isVisible():
            self.redraw()
        elif self.isHidden() and live_told(values, self._names).text:
            self.show()

    def clear(self) -> None:
        """The run is over: nothing is now any more."""
        self._values = {}
        self._text.setText("")
        self.hide()

    @Slot()
    def redraw(self) -> None:
        """Show the newest figures."""
        told = live_told(self._values, self._names)
        if told.text != self._text.text():
            self._text.setText(told.text)
            self._text.setAccessibleName(told.text)
            self._text.setToolTip(say("live.spill_tip") if told.tone == "warning" else told.text)
            set_look(self._text, told.tone)

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.redraw()
