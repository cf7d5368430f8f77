"""End-to-end tests start the whole application; a window among them is drawn offscreen."""

import gc
import os

import pytest

os.environ["QT_QPA_PLATFORM"] = "offscreen"


@pytest.fixture(autouse=True)
def garbage_is_collected_on_the_main_thread():
    """As the window does (app/ui/garbage.py): a session that ended as a cycle holds Qt objects, and a worker thread
    that destroyed them would bring the whole run down. What this test leaves is collected after the next one, never by
    itself, so it stays off for good."""
    gc.disable()
    gc.collect()
    yield
    gc.collect()
