"""A bug that nobody caught while the window is open: told once at a time, with a report to copy and no upload."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from app.common.log import CrashReport
    from app.ui.dialogs.crash import CrashDialog


class CrashNotice(QObject):
    """Brings reports from any thread to the window's; one dialog at a time, since a bug may come with every redraw."""

    _came = Signal(object)

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._open: CrashDialog | None = None
        self._came.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def tell(self, report: CrashReport) -> None:
        """Show this report; from any thread."""
        self._came.emit(report)

    @Slot(object)
    def _show(self, report: object) -> None:
        if self._open is not None:
            return
        from app.ui.dialogs.crash import CrashDialog  # not for every start

        self._open = CrashDialog(cast("CrashReport", report), self._window)
        self._open.destroyed.connect(self._on_closed)
        self._open.show()

    @Slot()
    def _on_closed(self) -> None:
        self._open = None


_notices: list[CrashNotice] = []


def install_notice(window: QWidget) -> CrashNotice:
    """Tell of bugs over this window until it is destroyed."""
    notice = CrashNotice(window)
    _notices.append(notice)
    notice.destroyed.connect(_notices.clear)
    return notice


def tell(report: CrashReport) -> None:
    """Show a report over the window, if there is one."""
    for notice in _notices:
        notice.tell(report)
