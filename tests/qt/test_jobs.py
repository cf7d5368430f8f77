"""Background jobs of the window: what takes long never keeps a launch waiting."""

from __future__ import annotations

from threading import Event

from pytestqt.qtbot import QtBot

from app.session.jobs import JobRunner


def test_that_a_job_runs_while_downloads_a_build_a_search_and_a_stress_run_take_their_time(qtbot: QtBot) -> None:
    jobs, are_over, answers = JobRunner(), Event(), []
    for _ in range(8):
        jobs.run(lambda: are_over.wait(60), lambda _result, _error: None)
    try:
        jobs.run(lambda: "launched", lambda result, _error: answers.append(result))
        qtbot.waitUntil(lambda: answers == ["launched"])
        assert not jobs.is_idle
    finally:
        are_over.set()
        jobs.close()
