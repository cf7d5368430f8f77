"""The tour: the whole main path in the real window without a display, with a picture of every step.

It uses a real llama-server. On a machine without a graphics card a ggml-rpc-server on the loopback address stands in
for one, and the tour says so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.common.paths import app_paths
from app.common.problem import ProblemError
from app.common.start_options import WindowOptions
from app.engine.rpc import RpcServer
from app.hardware.probe import probe
from app.model.types import Role
from app.planner.types import RAM
from app.session.app_session import AppSession
from app.session.state import ChatPhase, RunPhase
from app.ui.ending import end_window
from app.ui.garbage import MainThreadGarbage
from app.ui.main_window import MainWindow
from app.ui.start import make_application, make_session
from app.ui.theme.manager import ThemeManager, ThemeMode
from app.words import say, say_problem
from app.work.engines import open_engine

_WAIT_S = 60.0
_LIVE_S = 20.0
_SIZE = (1366, 768)
_PROMPT = "Tell me a story about a lane that leads to a small sea."
_GO_ON = "Go on."


class TourError(Exception):
    """A step that did not work; the text says which and what was seen."""


def wait_until(is_done: Callable[[], bool], timeout_s: float) -> bool:
    """Run the event loop until the condition holds; False when the time was too short."""
    loop = QEventLoop()
    deadline = time.monotonic() + timeout_s
    timer = QTimer()
    timer.setInterval(25)

    def look() -> None:
        if is_done() or time.monotonic() > deadline:
            loop.quit()

    timer.timeout.connect(look)
    timer.start()
    loop.exec()
    timer.stop()
    return is_done()


def run_tour(options: WindowOptions) -> int:
    """Walk the main path; 0 only if every step worked. Pictures lie in ``options.tour``."""
    assert options.tour is not None
    folder = Path(options.tour)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.png"):
        old.unlink()
    app = make_application()
    MainThreadGarbage(app)
    with ExitStack() as stack:
        session = make_session(options)
        window: MainWindow | None = None
        theme = ThemeManager(ThemeMode(session.settings.theme), app)
        theme.apply(app)
        try:
            _lend_device(session, options, stack)
            window = MainWindow(session, theme)
            window.resize(*_SIZE)
            window.show()
            tour = _Tour(app, session, window, folder)
            tour.run(options)
        except (TourError, ProblemError) as error:
            text = say_problem(error.problem) if isinstance(error, ProblemError) else str(error)
            print(say("tour.failed", why=text), file=sys.stderr, flush=True)
            return 1
        finally:
            if window is not None:
                end_window(window, session)
            else:
                session.close()
    print(say("tour.done", n=tour.n_steps, folder=str(folder)), flush=True)
    return 0


def _lend_device(session: AppSession, options: WindowOptions, stack: ExitStack) -> None:
    """A stand-in graphics card for a machine without one."""
    engine = open_engine(options.engine or session.settings.engine_path, app_paths())
    if engine is None:
        raise TourError(say("problem.engine_missing"))
    if options.rpc_servers or probe().gpus:
        return
    server = stack.enter_context(RpcServer(engine.binary, app_paths()))
    session.use_rpc_servers((server.endpoint,))
    print(say("tour.stand_in", endpoint=server.endpoint), flush=True)


class _Tour:
    """The steps, in order. Each one acts, waits for what must follow, and takes a picture."""

    def __init__(self, app: QApplication, session: AppSession, window: MainWindow, folder: Path) -> None:
        self._app = app
        self._session = session
        self._window = window
        self._folder = folder
        self.n_steps = 0

    def run(self, options: WindowOptions) -> None:
        """Every step."""
        self._open(options)
        self._machine()
        self._move_and_undo()
        self._slider()
        self._launch()
        self._prompt()
        self._stop()
        self._export()

    def _step(self, name: str, said: str) -> None:
        self.n_steps += 1
        wait_until(lambda: False, 0.15)  # let the last repaint and the curves' timer happen
        picture = self._folder / f"{self.n_steps:02d}-{name}.png"
        if not self._window.grab().save(str(picture)):
            raise TourError(say("tour.no_picture", path=str(picture)))
        print(f"{self.n_steps:2d}. {said}", flush=True)

    def _expect(self, is_done: Callable[[], bool], what: str, timeout_s: float = _WAIT_S) -> None:
        if not wait_until(is_done, timeout_s):
            raise TourError(say("tour.not_seen", what=say(f"tour.what.{what}")))

    def _open(self, options: WindowOptions) -> None:
        session = self._session
        session.start(options.engine)
        if options.model is not None:
            session.open_model(options.model)
        else:
            session.open_demo()
        self._expect(lambda: session.hardware is not None and session.hardware.engine_asked, "machine")
        self._expect(lambda: session.plan is not None and bool(session.plan.devices.gpus), "plan")
        self._expect(lambda: session.verification is not None, "checked")
        assert session.model is not None
        name = session.model.name
        self._step("plan", say("tour.open", name=name, n=len(session.model.tensors)))

    def _machine(self) -> None:
        self._window.show_page("machine")
        self._step("machine", say("tour.machine"))
        self._window.show_page("plan")

    def _move_and_undo(self) -> None:
        session = self._session
        plan = session.plan
        assert plan is not None
        gpu = plan.devices.gpus[0].name
        experts = next((c for c in session.cards(gpu) if c.role is Role.ROUTED_EXPERT), None)
        if experts is None:
            raise TourError(say("tour.not_seen", what=say("tour.what.card")))
        card = experts.children[-1] if experts.children else experts
        before = plan.placement
        session.move_cards((card.id,), RAM)
        assert session.plan is not None
        if session.plan.placement == before or not session.plan.overrides:
            raise TourError(say("tour.not_seen", what=say("tour.what.move")))
        self._step("move", say("tour.move", card=card.id, size=card.n_bytes, pattern=session.plan.overrides[0].pattern))
        session.undo_stack.undo()
        assert session.plan is not None
        if session.plan.placement != before:
            raise TourError(say("tour.not_seen", what=say("tour.what.undo")))
        self._step("undo", say("tour.undo"))

    def _slider(self) -> None:
        session = self._session
        wanted = max(1, session.expert_layers_total // 2)
        session.set_expert_layers_in_ram(wanted)
        if session.expert_layers_in_ram != wanted:
            raise TourError(say("tour.not_seen", what=say("tour.what.slider")))
        self._expect(lambda: session.verification is not None and session.verification.agrees, "checked")
        self._step("slider", say("tour.slider", n=wanted, total=session.expert_layers_total))

    def _launch(self) -> None:
        session = self._session

        def is_over() -> bool:
            return session.run.phase in (RunPhase.READY, RunPhase.FAILED)

        session.launch()
        self._expect(lambda: is_over() or session.launching.question is not None, "server")
        if session.launching.question is not None:
            self._take_another_port()
            self._expect(is_over, "server")
        run = session.run
        if run.phase is RunPhase.FAILED:
            raise TourError(say_problem(run.problem) if run.problem else session.log_text()[-500:])
        wrong = [row for row in run.buffers if row.agrees is False]
        judged = [row for row in run.buffers if row.agrees is not None]
        if wrong or not judged:
            raise TourError(say("tour.buffers_differ", n=len(wrong)))
        self._window.show_page("run")
        cpus = ", ".join(map(str, run.affinity or ()))
        self._step("launch", say("tour.launch", url=run.url, cpus=cpus, n=len(judged)))

    def _take_another_port(self) -> None:
        """Another program has the usual port, which is no reason to stop; whatever else is asked is told."""
        question = self._session.launching.question
        assert question is not None
        other = next((answer for answer in question.answers if answer.code == "other_port"), None)
        if other is None:
            raise TourError(say_problem(question.problem))
        self._session.launching.answer(other)

    def _prompt(self) -> None:
        session = self._session
        session.send_prompt(_PROMPT)
        self._expect(lambda: session.chat.phase is ChatPhase.ANSWERING, "answer")
        tokens = self._watch_curves()
        history = session.history()
        rates = [value for value in history.column("tok.decode") if value == value and value > 0]
        if not tokens or len(history) < _LIVE_S or not rates:
            raise TourError(say("tour.not_seen", what=say("tour.what.curves")))
        median = sorted(rates)[len(rates) // 2]
        self._step("prompt", say("tour.prompt", n=tokens, tps=median, samples=len(history)))
        session.stop_answer()
        self._expect(lambda: session.chat.phase is ChatPhase.IDLE, "answer_end")

    def _watch_curves(self) -> int:
        """Twenty seconds of live curves; the demo's answers are short, so it is asked to go on. The tokens seen."""
        session = self._session
        deadline = time.monotonic() + _LIVE_S
        finished = 0
        while time.monotonic() < deadline and session.run.phase is RunPhase.READY:
            wait_until(lambda: session.chat.phase is ChatPhase.IDLE, deadline - time.monotonic())
            if session.chat.phase is ChatPhase.IDLE and time.monotonic() < deadline - 1:
                finished += session.chat.decoded_tokens or 0
                session.send_prompt(_GO_ON)
        return finished + (session.chat.decoded_tokens or 0)

    def _stop(self) -> None:
        session = self._session
        session.stop()
        self._expect(lambda: session.run.phase is RunPhase.STOPPED, "stop")
        self._step("stop", say("tour.stop"))

    def _export(self) -> None:
        session = self._session
        self._window.show_page("plan")
        script = self._folder / "launch.sh"
        script.unlink(missing_ok=True)
        session.export_script(str(script), "bash")
        if not script.is_file() or "llama-server" not in script.read_text(encoding="utf-8"):
            raise TourError(say("tour.not_seen", what=say("tour.what.script")))
        self._step("export", say("tour.export", path=str(script)))
