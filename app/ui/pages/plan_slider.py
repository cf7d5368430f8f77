"""The one slider: how many expert layers live in RAM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker, Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSlider, QWidget

from app.ui.theme.fonts import scaled, tabular
from app.ui.widgets.labels import DimLabel, set_look
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class ExpertSlider(QWidget):
    """A view of the plan, as the board is: dragging it moves expert layers, moving cards moves it."""

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._label = QLabel(say("plan.slider.label"))
        set_look(self._label, "dim")
        self._figure = QLabel()
        self._figure.setFont(tabular(scaled(self.font(), 1.0, bold=True)))
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName(say("plan.slider.label"))
        self.slider.setToolTip(say("plan.slider.tip"))
        self.slider.setPageStep(4)
        self._label.setBuddy(self.slider)
        self._ends = (DimLabel(say("plan.slider.faster")), DimLabel(say("plan.slider.free")))
        line = QHBoxLayout(self)
        line.setContentsMargins(2, 0, 2, 0)
        line.setSpacing(8)
        line.addWidget(self._label)
        line.addWidget(self._figure)
        line.addSpacing(6)
        line.addWidget(self._ends[0])
        line.addWidget(self.slider, 1)
        line.addWidget(self._ends[1])
        self.slider.valueChanged.connect(self._on_value)

    def refresh(self) -> None:
        """Follow the plan; hidden where there is nothing to slide (a dense model, no GPU)."""
        total, in_ram = self._session.expert_layers_total, self._session.expert_layers_in_ram
        plan = self._session.plan
        self.setVisible(total > 0 and plan is not None and bool(plan.devices.gpus))
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, total)
            self.slider.setValue(in_ram)
        text = say("plan.slider.figure", n=in_ram, total=total)
        self._figure.setText(text)
        # As wide as the widest text it will show, so that the slider does not jitter under the hand.
        widest = say("plan.slider.figure", n=total, total=total)
        self._figure.setMinimumWidth(self._figure.fontMetrics().horizontalAdvance(widest) + 2)
        self.slider.setAccessibleDescription(text)

    @Slot(int)
    def _on_value(self, value: int) -> None:
        self._session.set_expert_layers_in_ram(value)
