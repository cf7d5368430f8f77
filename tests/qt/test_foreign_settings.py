"""A settings file of another program that is opened in the window comes into the paste box as a command."""

import json

import pytest
from PySide6.QtCore import QMimeData, QObject, QUrl, Signal
from PySide6.QtWidgets import QWidget

from app.session.jobs import JobRunner
from app.session.open_file import open_file
from app.session.paste_controller import PasteController
from app.ui.dialogs.paste_command import PasteDialog
from app.ui.pages.plan_files import PlanFileActions
from app.ui.theme.manager import ThemeManager
from app.ui.window_drop import dropped_file
from tests.qt.fake_session import FakeSession


class Board(QObject):
    message_raised = Signal(object)
    model = None


@pytest.fixture
def paste(qapp):
    jobs, board = JobRunner(), Board()
    made = PasteController(jobs, board)
    made.board = board
    yield made
    jobs.close()


def test_that_a_file_is_offered_as_a_command_with_what_was_left_out_above(qtbot, paste, tmp_path):
    path = tmp_path / "我的 设置.kcpps"
    path.write_text(json.dumps({"contextsize": 4096, "smartcontext": True}), encoding="utf-8")
    with qtbot.waitSignal(paste.offered) as offered:
        paste.take_file(str(path))
    (text,) = offered.args
    assert text.startswith("# KoboldCpp: smartcontext = true has no counterpart here")
    assert text.endswith("-c 4096")


def test_that_a_file_that_is_none_is_told(qtbot, paste, tmp_path):
    with qtbot.waitSignal(paste.board.message_raised) as told:
        paste.take_file(str(tmp_path / "gone.kcpps"))
    assert told.args[0].code == "file_missing"


def test_that_the_window_takes_such_a_file_by_drop_and_by_name(tmp_path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "Modelfile"))])
    assert dropped_file(data) == str(tmp_path / "Modelfile")

    class Session:
        taken: list[str]

    session = Session()
    session.paste = session
    session.taken = []
    session.take_file = session.taken.append
    open_file(session, "C:/LM/Qwen.gguf.json")
    assert session.taken == ["C:/LM/Qwen.gguf.json"]


def test_that_an_offered_command_opens_the_paste_box(qtbot):
    ThemeManager.of_app()
    session, page = FakeSession(), QWidget()
    qtbot.addWidget(page)
    PlanFileActions(session, page)
    session.paste.offered.emit("llama-server -c 4096")
    (box,) = page.findChildren(PasteDialog)
    assert box.isVisible()
    assert box.box.text == "llama-server -c 4096"
    box.reject()
