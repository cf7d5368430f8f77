"""What happens after the first paint, when something that was asked for or saved is of no use."""

import json
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.common.problem import Severity
from app.common.start_options import WindowOptions
from app.settings import Settings, save_settings
from app.ui.dialogs.start_failed import StartFailed
from app.ui.start import Starter, start_settings

DATA = Path(__file__).parents[1] / "data" / "hardware"


class Window:
    """Stands in for the real one, which takes half a second to make: it hears what a session has to say."""

    def __init__(self):
        self.session = None
        self.messages = []

    def attach(self, session):
        self.session = session
        session.message_raised.connect(self.messages.append)


@pytest.fixture
def begin(qtbot, monkeypatch, tmp_path):
    """Start with some options; the messages, once all is quiet."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    window = Window()

    def start(**options):
        loaded = start_settings(WindowOptions(**options))  # as run_window does, for the first paint
        Starter(window, WindowOptions(**options), loaded.problem).begin()
        with qtbot.waitSignal(window.session.model_changed):
            pass
        qtbot.waitUntil(lambda: window.session.is_idle)
        return window

    yield start
    window.session.close()


def test_that_a_bug_in_the_start_is_shown_with_its_report_and_ends_the_program(qtbot, monkeypatch):
    window = QWidget()
    qtbot.addWidget(window)
    shown, told, codes = [], [], []
    monkeypatch.setattr("app.ui.start.make_session", lambda _: 1 // 0)
    monkeypatch.setattr("sys.excepthook", lambda *error: told.append(error[0]))
    monkeypatch.setattr("app.ui.start.QApplication.exit", codes.append)
    monkeypatch.setattr(StartFailed, "exec", lambda self: shown.append(self))
    Starter(window, WindowOptions()).begin()
    (dialog,) = shown
    dialog.copy.click()
    report = QGuiApplication.clipboard().text()
    assert "ZeroDivisionError" in report
    assert "lanewise" in report.lower()
    assert (told, codes) == ([ZeroDivisionError], [1])
    monkeypatch.setattr("app.ui.start.make_session", lambda _: 1 // 0)
    Starter(window, WindowOptions(smoke=True)).begin()
    assert len(shown) == 1


def test_that_a_start_in_the_tray_begins_once_also_when_the_window_is_painted_later(qtbot, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    window = Window()
    starter = Starter(window, WindowOptions(tray=True))
    starter.begin()
    session = window.session
    starter.begin()
    assert window.session is session
    qtbot.waitUntil(lambda: session.is_idle)
    session.close()


@pytest.mark.parametrize("name", ["gone.json", "damaged.json"])
def test_that_a_machine_that_cannot_be_read_is_told_and_this_one_is_shown(begin, tmp_path, name):
    (tmp_path / "damaged.json").write_text("{")
    window = begin(hardware=str(tmp_path / name))
    assert [m.code for m in window.messages] == ["snapshot_missing" if name == "gone.json" else "snapshot_unreadable"]
    assert window.session.plan is not None


def test_that_a_saved_machine_is_planned_for(begin):
    window = begin(hardware=str(DATA / "laptop-rtx4080-i7-13700h.json"))
    assert not window.messages
    assert [d.name for d in window.session.plan.devices.gpus] == ["CUDA0"]


@pytest.mark.parametrize("last", ["/" + "x" * 400, "/nowhere/m.gguf", "nul\0.gguf"])
def test_that_a_last_model_that_is_gone_gives_the_demo(begin, lanewise_home, last):
    save_settings(lanewise_home / "config" / "settings.json", Settings(last_model=last))
    window = begin()
    assert window.session.model.path == str(window.session.paths.demo_model)


def test_that_damaged_settings_are_told_to_the_window(begin, lanewise_home):
    (lanewise_home / "config").mkdir(parents=True)
    (lanewise_home / "config" / "settings.json").write_text("{")
    assert [(m.code, m.severity) for m in begin().messages] == [("settings_damaged", Severity.ERROR)]


def test_that_a_home_that_is_no_folder_is_told(qtbot, monkeypatch, tmp_path):
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("LANEWISE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    window = Window()
    Starter(window, WindowOptions()).begin()
    qtbot.waitUntil(lambda: window.session.is_idle)
    window.session.close()
    # To Windows, what should lie below a file is simply not there.
    unreadable = set() if sys.platform == "win32" else {"settings_unreadable"}
    assert {m.code for m in window.messages} == {"demo_not_made"} | unreadable


@pytest.mark.skipif(sys.platform == "win32", reason="names are Unicode on Windows")
def test_that_a_model_whose_name_is_no_unicode_opens_and_is_remembered(begin, lanewise_home, tmp_path):
    from app.model.demo import make_demo_model

    name = str(tmp_path / "\udcc4\udca3.gguf")
    make_demo_model(name)
    window = begin(model=name)
    assert not window.messages
    saved = json.loads((lanewise_home / "config" / "settings.json").read_text(encoding="utf-8"))
    assert saved["last_model"] == name
