"""The controllers around a launch, made for one session: how hard the plan works, and what stands in the way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from app.session.board_controller import BoardController
from app.session.effort_controller import EffortController
from app.session.jobs import JobRunner
from app.session.launch_controller import LaunchCalls, LaunchController
from app.session.run_controller import RunController

if TYPE_CHECKING:
    from app.session.app_session import AppSession


def launch_parts(
    session: AppSession, jobs: JobRunner, board: BoardController, run: RunController, calls: LaunchCalls
) -> tuple[EffortController, LaunchController]:
    """Both know the session's machine, board and server. Its machine has been made before."""
    machine = session.machine
    effort = EffortController(
        board, lambda: session.settings, lambda: None if machine.is_saved else machine.hardware, session
    )
    calls = replace(calls, ask_effort=effort.question, take_effort=effort.take)
    return effort, LaunchController(jobs, session.paths, board, machine, run, calls, session)
