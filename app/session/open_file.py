"""A file that was dropped, double-clicked or handed over by another start: opened as what its name says."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.session.app_session import AppSession

PLAN_ENDING = ".json"


def open_file(session: AppSession, path: str) -> None:
    """A plan file as a plan, everything else as a model, which says itself what is wrong with it."""
    if path.lower().endswith(PLAN_ENDING):
        session.plan_files.open(path)
    else:
        session.open_model(path)
