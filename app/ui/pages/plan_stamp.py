"""The board's stamp: the last stress run of exactly this command with this engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from app.ui.pages.stress_words import details, stamp_told
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.labels import ElidedLabel, set_look

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class PlanStamp(QWidget):
    """One line; hidden while the plan on the board has no stamp, so that a change of the plan takes it away."""

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._icon = QLabel()
        self._text = ElidedLabel()
        self._text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self._icon)
        row.addWidget(self._text, 1)
        session.stress.changed.connect(self.refresh)
        session.plan_changed.connect(self.refresh)
        session.engine_changed.connect(self.refresh)
        ThemeManager.of_app().theme_changed.connect(self.refresh)
        self.refresh()

    @property
    def text(self) -> str:
        """The stamp in words; empty without one."""
        return self._text.text()

    @Slot()
    def refresh(self) -> None:
        """Show the stamp of the plan on the board."""
        stamp = self._session.stress.stamp_of(self._session.plan)
        self.setVisible(stamp is not None)
        if stamp is None:
            self._text.setText("")
            return
        told = stamp_told(stamp)
        self._text.setText(told.text)
        self._text.setToolTip(details(stamp))
        set_look(self._text, told.tone)
        icon = ThemeManager.of_app().icon("check" if stamp.is_safe else "error", told.tone, 16)
        self._icon.setPixmap(icon.pixmap(QSize(16, 16), self.devicePixelRatioF()))
