"""End-to-end tests start the whole application; a window among them is drawn offscreen."""

import os

import pytest

from app.engine.ports import free_port

os.environ["QT_QPA_PLATFORM"] = "offscreen"


@pytest.fixture(autouse=True)
def own_port(monkeypatch):
    """The window's plans are for a port that nobody has: the usual one may be held by whatever else runs here."""
    port = free_port()
    monkeypatch.setattr("app.session.board_controller.DEFAULT_PORT", port)
    return port
