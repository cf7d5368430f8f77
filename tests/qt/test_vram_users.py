"""The programs in VRAM on the machine page and in the bar's tip: asked only when somebody looks."""

import dataclasses

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QLabel

from app.hardware.gpu_users import GpuUser
from app.session.jobs import JobRunner
from app.session.vram_users_controller import VramUsersController
from app.ui.board.board import Board
from app.ui.board.budget import Part
from app.ui.pages.machine import MachinePage
from app.work.vram_users import CardUsers
from tests.qt.fake_session import FakeSession
from tests.qt.plan_models import laptop, qwen3_30b

CHROME = CardUsers((GpuUser(0, 7, "chrome.exe", 310 * 1024**2),))
NOBODY = CardUsers((), "untold")


@pytest.fixture
def session():
    return FakeSession(laptop(), qwen3_30b())


def texts(page):
    QApplication.processEvents()  # a new line is shown with the next round
    return [label.text() for label in page.findChildren(QLabel) if label.isVisibleTo(page)]


def test_that_the_machine_page_asks_when_it_is_shown_and_names_the_programs(qtbot, session):
    page = MachinePage(session)
    qtbot.addWidget(page)
    assert session.vram_users.asked == 0
    page.show()
    assert session.vram_users.asked > 0
    session.vram_users.tell(CHROME, NOBODY)
    assert "chrome.exe 310 MiB" in texts(page)
    assert "The system does not tell which programs use this card." in texts(page)
    session.vram_users.tell(CardUsers((), "asleep"), NOBODY)
    assert "chrome.exe 310 MiB" not in texts(page)
    assert any("not woken" in text for text in texts(page))
    page.hide()
    asked = session.vram_users.asked
    session.hardware_changed.emit()
    assert session.vram_users.asked == asked, "nobody looks"


def test_that_the_tip_of_the_other_programs_names_them(qtbot, session):
    board = Board(session)
    qtbot.addWidget(board)
    board.resize(900, 500)
    board.refresh()
    board.show()
    bar = board.column("CUDA0").bar
    others, place = next((s, r) for s, r in bar.stretches() if s.part is Part.OTHERS)
    assert session.vram_users.asked == 0
    at = QPoint(round(place.center().x()), 3)
    QApplication.sendEvent(bar, QHelpEvent(QHelpEvent.Type.ToolTip, at, bar.mapToGlobal(at)))
    assert session.vram_users.asked == 1
    assert bar.tip_of(others) == f"{others.sentence}\nAsking who…"
    session.vram_users.tell(CHROME, NOBODY)
    assert bar.tip_of(others) == f"{others.sentence}\nchrome.exe 310 MiB"
    ram = board.column("RAM").bar
    assert all("chrome" not in ram.tip_of(segment) for segment, _ in ram.stretches())


@pytest.fixture
def jobs():
    runner = JobRunner()
    yield runner
    runner.close()


def test_that_a_fresh_answer_is_not_asked_for_again_and_other_cards_forget_it(qtbot, jobs):
    machines = [laptop()]
    controller = VramUsersController(jobs, lambda: machines[-1])
    looked = []
    controller.look = lambda snapshot: looked.append(snapshot) or (CHROME, NOBODY)
    with qtbot.waitSignal(controller.changed):
        controller.ask()
    assert controller.of("CUDA0") == CHROME
    assert controller.of("RAM") is None
    controller.ask()
    assert not controller.is_asking
    assert len(looked) == 1
    card = dataclasses.replace(machines[0].gpus[0], name="another", uuid="GPU-other")
    machines.append(dataclasses.replace(machines[0], gpus=(card,)))
    assert controller.result is None
    machines.append(None)
    controller.ask()
    assert not controller.is_asking, "a saved machine is nobody to ask"
