"""The tooltip of a column's status line: how much is free and how long ago that was read, worked out when it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from app.ui.widgets.age import age_text
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class FreeAge(QObject):
    """Watches one label; it lives and goes with it. Nothing is asked of the hardware."""

    def __init__(self, session: AppSession, device: str, label: QWidget) -> None:
        super().__init__(label)
        self._session = session
        self._device = device
        label.installEventFilter(self)

    def text(self) -> str:
        """'7 270 MiB free, 12 s ago'; '' for a saved machine or unknown memory."""
        plan, age = self._session.plan, age_text(self._session.machine.age_seconds)
        device = next((d for d in plan.devices.all if d.name == self._device), None) if plan is not None else None
        if device is None or device.free_bytes is None or not age:
            return ""
        return say("machine_page.free_age", free=device.free_bytes, age=age)

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.ToolTip and isinstance(watched, QWidget):
            watched.setToolTip(self.text())
        return False
