"""A picture through our chat into a real llama-server with a real (tiny) projector; without one there is no button."""

from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage

from app.engine.ports import free_port
from app.model._demo_shape import SHAPE
from app.planner.types import RAM, Segment
from app.session.app_session import AppSession
from app.session.state import ChatPhase, RunPhase
from app.ui.pages.run import RunPage
from app.ui.theme.manager import ThemeManager
from tests.tools.tiny_projector import TOKENS, write_tiny_projector

pytestmark = pytest.mark.engine

START_MS = 60_000


@pytest.fixture
def session(qtbot, engine):
    made = AppSession()
    made.start(engine.path)
    made.open_demo()
    qtbot.waitUntil(lambda: made.plan is not None and made.is_idle, timeout=START_MS)
    made.set_wishes(n_ctx=1024, extra=("--port", str(free_port()), "--predict", "12"))
    yield made
    made.close()


@pytest.fixture
def page(qtbot, session):
    ThemeManager.of_app()
    made = RunPage(session)
    qtbot.addWidget(made)
    yield made
    made.hide()


def launch(qtbot, session):
    session.launch()
    qtbot.waitUntil(lambda: session.run.phase in (RunPhase.READY, RunPhase.FAILED), timeout=START_MS)
    assert session.run.phase is RunPhase.READY, session.log_text()[-2000:]
    qtbot.waitUntil(lambda: session.talk.takes_pictures is not None, timeout=START_MS)


def test_that_a_picture_is_seen_by_the_engine_and_answered(qtbot, session, page, tmp_path):
    projector = tmp_path / "mmproj 图.gguf"
    write_tiny_projector(projector, SHAPE.embedding)
    before = session.plan.estimate.get(RAM)
    session.set_wishes(mmproj_path=str(projector))
    plan = session.plan
    placed = plan.estimate.get(RAM).segments[Segment.PROJECTOR]
    assert Segment.PROJECTOR not in before.segments
    assert placed >= plan.files.projector.tensor_bytes > 200_000
    assert plan.argv[plan.argv.index("-mm") + 1] == str(projector)
    launch(qtbot, session)
    assert session.talk.takes_pictures is True
    assert not page.chat.attach.isHidden()
    ask(qtbot, session, "What is it?")
    without = session.chat.context_used - session.chat.decoded_tokens
    session.talk.begin_anew()
    picture = tmp_path / "猫 1.png"
    image = QImage(200, 100, QImage.Format.Format_RGB32)
    image.fill(QColor("teal"))
    assert image.save(str(picture))
    session.talk.add_picture(str(picture))
    qtbot.waitUntil(lambda: bool(session.talk.pending), timeout=START_MS)
    ask(qtbot, session, "What is it?")
    assert session.chat.problem is None
    assert session.chat.answer.strip()
    assert [each.name for each in session.chat.pictures] == [picture.name]
    seen = session.chat.context_used - session.chat.decoded_tokens
    assert seen >= without + TOKENS, "the picture is in the context as tokens of its own"


def ask(qtbot, session, text):
    number = session.chat.number
    session.send_prompt(text)
    qtbot.waitUntil(lambda: session.chat.number > number and session.chat.phase is ChatPhase.IDLE, timeout=START_MS)


def test_that_there_is_no_way_to_add_a_picture_without_a_projector(qtbot, session, page):
    launch(qtbot, session)
    assert session.talk.takes_pictures is False
    assert page.chat.attach.isHidden()
    assert Path(session.plan.model_path).is_file()
