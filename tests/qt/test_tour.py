"""The tour's launch where something stands in its way."""

from types import SimpleNamespace

import pytest

from app.common.problem import Problem, Severity
from app.session.state import RunPhase
from app.ui.tour import TourError, _Tour
from app.work.before_launch import LaunchAnswer, LaunchQuestion

PORT_TAKEN = Problem("port_in_use_by", Severity.ERROR, {"host": "127.0.0.1", "port": 8080, "pid": 7, "name": "x"})
TOO_LITTLE = Problem("engine_missing", Severity.WARNING, {})


class Session:
    """Asks a question at the launch, and is ready with the answer."""

    def __init__(self, question):
        self.run = SimpleNamespace(phase=RunPhase.STOPPED, buffers=(), problem=None)
        self.launching = SimpleNamespace(question=None, answer=self.take)
        self.asked, self.answers = question, []

    def launch(self):
        self.launching.question = self.asked

    def take(self, answer):
        self.answers.append(answer.code)
        self.launching.question = None
        self.run.phase = RunPhase.READY


def tour(session, tmp_path):
    return _Tour(None, session, None, tmp_path)


def test_that_the_tour_takes_another_port_when_its_own_is_taken(qapp, tmp_path):
    session = Session(LaunchQuestion(PORT_TAKEN, (LaunchAnswer("other_port", {"port": 8081}),)))
    with pytest.raises(TourError):  # nothing ran, so no buffer agrees with the plan
        tour(session, tmp_path)._launch()
    assert session.answers == ["other_port"]


def test_that_the_tour_tells_what_else_is_in_the_way(qapp, tmp_path):
    session = Session(LaunchQuestion(TOO_LITTLE, (LaunchAnswer("anyway", {}),)))
    with pytest.raises(TourError, match="no llama-server"):
        tour(session, tmp_path)._launch()
    assert session.answers == []
