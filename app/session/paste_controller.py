"""The paste box behind the window: checks a pasted command in the background and puts it on the board."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.common.later import later
from app.common.problem import Problem
from app.planner.types import Wishes
from app.session.board_controller import BoardController
from app.session.errors import problem_of
from app.session.jobs import JobRunner
from app.words import say, say_problem

if TYPE_CHECKING:
    from app.work.foreign_settings import as_text, read_foreign_file
    from app.work.outside_settings import outside_settings
    from app.work.pasting import PasteCheck, check_paste
else:
    as_text = later("app.work.foreign_settings", "as_text")
    read_foreign_file = later("app.work.foreign_settings", "read_foreign_file")
    outside_settings = later("app.work.outside_settings", "outside_settings")
    check_paste = later("app.work.pasting", "check_paste")

_PAUSE_MS = 250
"""Typing goes on before a check begins."""


class PasteController(QObject):
    """Holds the text of the paste box and what was found in it; one check at a time, the newest text last.

    Signals: ``changed`` when ``result``, ``problem`` or ``is_checking`` is another one; ``offered(text)`` when a file
    of another program was read: the box should show it.
    """

    changed = Signal()
    offered = Signal(str)

    def __init__(self, jobs: JobRunner, board: BoardController, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._jobs = jobs
        self._board = board
        self.text = ""
        self.result: PasteCheck | None = None
        self.problem: Problem | None = None
        self.is_checking = False
        self._runs = False
        self._again = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._check)

    def check(self, text: str) -> None:
        """Check this text once the typing pauses; an empty one forgets the last result."""
        self.text = text
        if not text.strip():
            self._timer.stop()
            self._tell(None, None, is_checking=False)
            return
        self._timer.start()
        self._tell(self.result, self.problem, is_checking=True)

    def check_again(self) -> None:
        """Check the same text for another model, machine or engine."""
        if self.text.strip():
            self.check(self.text)

    def take_file(self, path: str) -> None:
        """Read another program's settings in the background and offer them as a command to the box."""
        model = self._board.model
        n_layers = None if model is None else model.block_count

        def read() -> str:
            found = read_foreign_file(Path(path), n_layers)
            return as_text(found, [say_problem(problem) for problem in found.problems])

        def on_read(text: str | None, error: Exception | None) -> None:
            if text is None:
                self._board.message_raised.emit(problem_of(error))
            else:
                self.offered.emit(text)

        self._jobs.run(read, on_read)

    def load(self) -> bool:
        """Put the checked command on the board as one step of undo; False while there is none."""
        if self.result is None or self.is_checking:
            return False
        meant = self.result.report.meant
        placement = None if meant.inputs.wishes.preset == "fit" else meant.plan.placement
        self._board.load(meant.inputs, placement, say("undo.paste"))
        return True

    @Slot()
    def _check(self) -> None:
        if self._runs:
            self._again = True  # the text or the board is another one by now
            return
        inputs = self._board.inputs_for(Wishes())
        if inputs is None:
            self._tell(None, Problem("paste_no_model"), is_checking=False)
            return
        text = self.text
        self._runs = True
        self._jobs.run(
            lambda: check_paste(text, inputs, outside_settings()),
            self._on_checked,
        )

    def _on_checked(self, result: PasteCheck | None, error: Exception | None) -> None:
        self._runs = False
        again, self._again = self._again, False
        if not self.text.strip() or self._timer.isActive():
            return
        if again:
            self._check()
            return
        self._tell(result, None if error is None else problem_of(error), is_checking=False)

    def _tell(self, result: PasteCheck | None, problem: Problem | None, *, is_checking: bool) -> None:
        self.result, self.problem, self.is_checking = result, problem, is_checking
        self.changed.emit()
