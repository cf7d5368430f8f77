"""A file that was dropped, double-clicked or handed over by another start: opened as what its name says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.common.file_endings import PLAN_ENDING, is_foreign

if TYPE_CHECKING:
    from app.session.app_session import AppSession


def open_file(session: AppSession, path: str) -> None:
    """A plan file as a plan, another program's settings in the paste box, everything else as a model, which says itself
    what is wrong with it."""
    if is_foreign(path):
        session.paste.take_file(path)
    elif path.lower().endswith(PLAN_ENDING):
        session.plan_files.open(path)
    else:
        session.open_model(path)
