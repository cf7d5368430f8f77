"""The end of the window's process: everything of Qt's is destroyed here, in order, on the main thread.

What is left when Python ends is destroyed by PySide at exit in the order of a hash table, while other threads may run:
a child before its parent, a slot after the object it belongs to. That has crashed in the interpreter itself.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget

if TYPE_CHECKING:
    from app.session.app_session import AppSession


def end_window(window: QWidget, session: AppSession | None) -> None:
    """Take the windows off the screen, join every worker, then destroy: the widgets first, since they show the session,
    then the session, then what was left in cycles. Automatic garbage collecting stays off (``MainThreadGarbage``): the
    few threads that may outlive this must not collect."""
    for widget in QApplication.topLevelWidgets():
        widget.hide()  # joining may take seconds, where a server does not end at once
    try:
        if session is not None:
            session.close()
    finally:
        _destroy(window)
        if session is not None:
            _destroy(session)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        gc.collect()


def _destroy(what: QObject) -> None:
    """With all its children; what is gone already is left alone."""
    if shiboken6.isValid(what):
        shiboken6.delete(what)
