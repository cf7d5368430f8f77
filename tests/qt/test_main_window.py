"""The window: pages, keys, files dropped on it, trouble in place, language and theme at once."""

import pytest
from PySide6.QtCore import QCoreApplication, QMimeData, QPoint, QPointF, QSize, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.common.problem import Problem, Severity
from app.planner.types import RAM
from app.session.state import RunPhase, RunState
from app.ui import main_window, page_builder
from app.ui.dialogs.ask_close import AskClose
from app.ui.dialogs.get_engine import GetEngineDialog
from app.ui.dialogs.paste_command import PasteDialog
from app.ui.main_window import MainWindow, fitted
from app.ui.theme.manager import ThemeManager, ThemeMode
from app.ui.widgets.shortcut_list import ShortcutList
from app.ui.window_pages import PAGES, PageKind
from tests.qt.fake_engines import CUDA
from tests.qt.fake_session import FakeSession
from tests.qt.plan_models import laptop, small_moe


class OtherPage(QWidget):
    """Stands for the pages that have tests of their own."""

    def __init__(self, session):
        super().__init__()
        self.session = session


@pytest.fixture
def session(qapp):
    return FakeSession(laptop(), small_moe())


@pytest.fixture
def window(session, qtbot, monkeypatch):
    kinds = tuple(PageKind(kind.name, kind.make if kind.name == "plan" else OtherPage, kind.bottom) for kind in PAGES)
    monkeypatch.setattr(main_window, "PAGES", kinds)
    monkeypatch.setattr(main_window, "_OTHER_PAGES_MS", 0)
    monkeypatch.setattr(page_builder, "_GAP_MS", 0)
    made = MainWindow(session, ThemeManager.of_app())
    qtbot.addWidget(made)
    with qtbot.waitSignal(made.first_painted, timeout=30_000):
        made.show()
    qtbot.waitActive(made)
    made.activateWindow()
    qtbot.waitUntil(lambda: len(made._pages) == len(kinds), timeout=30_000)
    yield made
    ThemeManager.of_app().set_mode(ThemeMode.LIGHT)


def drop(window, path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(path)])
    left, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(QPoint(300, 300), Qt.DropAction.CopyAction, data, left, none)
    QApplication.sendEvent(window, enter)
    if not enter.isAccepted():
        return False
    event = QDropEvent(QPointF(300, 300), Qt.DropAction.CopyAction, data, left, none)
    QApplication.sendEvent(window, event)
    return event.isAccepted()


def test_that_it_opens_on_the_plan_page_with_the_file_in_its_title(window):
    assert window.page_name == "plan"
    assert window.windowTitle() == "Small-MoE-Q4_K_M.gguf — Lanewise"


def test_that_ctrl_and_a_number_choose_a_page(window):
    QTest.keyClick(window, Qt.Key.Key_3, Qt.KeyboardModifier.ControlModifier)
    assert window.page_name == "machine"
    QTest.keyClick(window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert window.page_name == "plan"


def test_that_the_rail_chooses_a_page(window):
    window.rail._buttons["settings"].click()
    assert window.page_name == "settings"


def test_that_undo_and_redo_have_keys_on_every_page(window, session):
    session.move_cards(("output",), RAM)
    window.show_page("machine")
    control = Qt.KeyboardModifier.ControlModifier
    QTest.keyClick(window, Qt.Key.Key_Z, control)
    assert not session.undo_stack.canUndo()
    QTest.keyClick(window, Qt.Key.Key_Z, control | Qt.KeyboardModifier.ShiftModifier)
    assert session.undo_stack.canUndo()


def test_that_ctrl_l_launches_and_a_starting_server_brings_the_run_page(window, session):
    QTest.keyClick(window, Qt.Key.Key_L, Qt.KeyboardModifier.ControlModifier)
    assert session.wished == [("launch",)]
    session.set_run(RunState(RunPhase.STARTING))
    assert window.page_name == "run"
    window.show_page("plan")
    session.set_run(RunState(RunPhase.STARTING, loaded_bytes=5))
    assert window.page_name == "plan"


def test_that_a_model_file_dropped_on_the_window_is_opened(window, session, tmp_path):
    path = str(tmp_path / "大 模型.gguf")
    assert drop(window, path)
    assert session.wished == [("open_model", path)]
    assert not window._veil.isVisible()


def test_that_a_plan_file_dropped_on_the_window_is_opened(window, session, tmp_path):
    path = str(tmp_path / "方案.json")
    assert drop(window, path)
    assert session.wished == [("open", path)]


def test_that_the_title_names_the_plan_and_marks_what_is_not_saved(window, session):
    session.plan_files.path = "/plans/mine.json"
    session.plan_files.changed.emit()
    assert window.windowTitle() == "mine.json[*] — Small-MoE-Q4_K_M.gguf — Lanewise"
    assert not window.isWindowModified()
    session.plan_files.is_modified = True
    session.plan_files.changed.emit()
    assert window.isWindowModified()


def test_that_plan_files_and_the_paste_box_have_keys_on_every_page(window, session):
    session.plan_files.path = "/plans/mine.json"
    window.show_page("machine")
    control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(window, Qt.Key.Key_S, control)
    QTest.keyClick(window, Qt.Key.Key_D, control)
    assert session.wished == [("save",), ("compare_with_before",)]
    QTest.keyClick(window, Qt.Key.Key_V, control | shift)
    (box,) = window.findChildren(PasteDialog)
    assert box.isVisible()
    box.reject()


def test_that_closing_over_a_running_server_asks_and_may_keep_the_window(window, session):
    session.change_settings(close_with_server="ask")
    session.set_run(RunState(RunPhase.READY))
    window.close()
    assert window.isVisible()
    (question,) = window.findChildren(AskClose)
    question.keep.click()
    assert window.isVisible()
    window.close()
    question = next(q for q in window.findChildren(AskClose) if q.isVisible())
    question.remember.setChecked(True)
    question.stop.click()
    assert not window.isVisible()
    assert session.settings.close_with_server == "stop"


def test_that_closing_without_a_server_asks_nothing(window, session):
    session.change_settings(close_with_server="ask")
    window.close()
    assert not window.isVisible()
    assert not window.findChildren(AskClose)


def test_that_qts_own_words_follow_the_language(window, session, qtbot):
    def cancel():
        return QCoreApplication.translate("QPlatformTheme", "Cancel")

    assert cancel() == "Cancel"
    session.change_settings(language="zh_CN")
    assert cancel() == "取消"
    assert QCoreApplication.translate("QFileDialog", "Files of &type:") == "文件类型(&T)："
    session.change_settings(language="en")
    assert cancel() == "Cancel"


def test_that_a_model_waits_for_the_machine_and_is_in_the_title_once_it_is_on_the_board(window, session):
    plan, machine = session.plan, session.hardware
    session.plan = session.hardware = None
    session.model_changed.emit()
    session.plan_changed.emit()
    assert window.windowTitle() == "Lanewise"
    assert window.plan_page.empty.words[0] == "Looking at this machine…"
    assert not window.plan_page.open_button.isVisible()
    session.plan, session.hardware = plan, machine
    session.plan_changed.emit()
    assert window.windowTitle() == "Small-MoE-Q4_K_M.gguf — Lanewise"


def test_that_other_files_are_not_taken(window, session, tmp_path):
    assert not drop(window, str(tmp_path / "notes.txt"))
    assert session.wished == []


def test_that_trouble_is_shown_in_place_and_can_be_closed(window, session):
    session.message_raised.emit(Problem("exported", Severity.INFO, {"path": "x.sh"}, ("line one",)))
    assert window.strip.isVisible()
    assert "x.sh" in window.strip.text
    window.strip._close.click()
    assert not window.strip.isVisible()


def test_that_the_next_step_takes_a_remark_away_but_not_an_error(window, session):
    session.message_raised.emit(Problem("exported", Severity.INFO, {"path": "x.sh"}))
    session.move_cards(("output",), RAM)
    assert not window.strip.isVisible()
    session.message_raised.emit(Problem("export_failed", Severity.ERROR, {"path": "x.sh", "why": "full"}))
    session.undo_stack.undo()
    assert window.strip.isVisible()


def test_that_what_is_true_of_the_engine_stays_and_leads_to_another_one(window, session, monkeypatch):
    problem = Problem("engine_cpu_only", Severity.WARNING, {"gpu": "RTX"})
    found = [problem]
    monkeypatch.setattr(session.engines, "warnings", lambda engine: tuple(found))
    session.engines.show(CUDA, current=CUDA.id)
    session.message_raised.emit(problem)
    session.move_cards(("output",), RAM)
    assert window.strip.problem is problem
    window.strip.action.click()
    assert window.strip.action.text() == "Get an engine…"
    (dialog,) = window.findChildren(GetEngineDialog)
    dialog.reject()
    session.message_raised.emit(Problem("exported", Severity.INFO, {"path": "x.sh"}))
    assert not window.strip.action.isVisible()
    session.undo_stack.undo()
    assert window.strip.problem is problem
    found.clear()
    session.engines.changed.emit()
    assert not window.strip.isVisible()


def test_that_what_is_true_of_the_engine_is_told_no_more_once_it_was_closed(window, session, monkeypatch):
    problem = Problem("engine_cpu_only", Severity.WARNING, {"gpu": "RTX"})
    monkeypatch.setattr(session.engines, "warnings", lambda engine: (problem,))
    session.engines.show(CUDA, current=CUDA.id)
    session.message_raised.emit(problem)
    window.strip._close.click()
    session.message_raised.emit(Problem("exported", Severity.INFO, {"path": "x.sh"}))
    session.move_cards(("output",), RAM)
    assert not window.strip.isVisible()


def test_that_another_language_rebuilds_the_pages_and_keeps_the_plan(window, session, qtbot):
    session.move_cards(("output",), RAM)
    session.change_settings(language="zh_CN")
    qtbot.waitUntil(lambda: window.plan_page.command.launch.text() == "启动", timeout=30_000)
    assert window.plan_page.board.column(RAM).model.find("output").isValid()
    assert session.undo_stack.canUndo()


def test_that_another_theme_is_on_at_once(window, session):
    session.change_settings(theme="dark")
    assert ThemeManager.of_app().tokens.is_dark
    assert window.plan_page.header.verdict_text


def test_that_f1_lists_the_keys_without_blocking(window):
    QTest.keyClick(window, Qt.Key.Key_F1)
    found = window.findChildren(ShortcutList)
    assert len(found) == 1
    assert not found[0].isModal()
    found[0].close()


def test_that_the_window_remembers_its_place(window, session):
    window.close()
    assert session.settings.window_geometry


def test_that_it_works_at_the_smallest_size_we_promise(window):
    window.resize(1100, 680)
    assert (window.width(), window.height()) == (1100, 680)
    assert window.minimumSizeHint().width() <= 1100


def test_that_a_window_is_never_larger_than_the_screen_it_opens_on():
    least = QSize(1040, 640)
    assert fitted(QSize(1366, 768), QSize(1920, 1032), least) == QSize(1366, 768)
    assert fitted(QSize(1366, 768), QSize(1280, 680), least) == QSize(1280, 644)
    assert fitted(QSize(2500, 1300), QSize(1366, 720), least) == QSize(1366, 684)
    assert fitted(QSize(1366, 768), QSize(800, 600), least) == least


def test_that_ctrl_q_closes_the_window(window):
    QTest.keyClick(window, Qt.Key.Key_Q, Qt.KeyboardModifier.ControlModifier)
    assert not window.isVisible()
