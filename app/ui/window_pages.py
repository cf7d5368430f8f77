"""The pages of the window, in the order of the rail. Each is imported late: the first paint waits for no more than the
rail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

if TYPE_CHECKING:
    from app.session.app_session import AppSession


def _plan_page(session: AppSession) -> QWidget:
    from app.ui.pages import plan

    return plan.PlanPage(session)


def _run_page(session: AppSession) -> QWidget:
    # pyqtgraph and numpy alone cost 0.3 s.
    from app.ui.pages.run import RunPage

    return RunPage(session)


def _machine_page(session: AppSession) -> QWidget:
    from app.ui.pages.machine import MachinePage

    return MachinePage(session)


def _doctor_page(session: AppSession) -> QWidget:
    from app.ui.pages.doctor import DoctorPage

    return DoctorPage(session)


def _models_page(session: AppSession) -> QWidget:
    from app.ui.pages.models import ModelsPage

    return ModelsPage(session)


def _settings_page(session: AppSession) -> QWidget:
    from app.ui.pages.settings import SettingsPage

    return SettingsPage(session)


@dataclass(frozen=True, slots=True)
class PageKind:
    """One entry of the rail and how its page is made."""

    name: str
    make: Callable[[AppSession], QWidget]
    bottom: bool = False


PAGES = (
    PageKind("plan", _plan_page),
    PageKind("run", _run_page),
    PageKind("machine", _machine_page),
    PageKind("doctor", _doctor_page),
    PageKind("models", _models_page),
    PageKind("settings", _settings_page, bottom=True),
)
