"""A problem where somebody is busy: its icon and sentence in a line, below it what the other side said."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.common.problem import Problem, Severity
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.labels import DimLabel
from app.words import say_problem

_ICON = QSize(16, 16)
_EVIDENCE_LINES = 4


class ToneLine(QWidget):
    """A problem in a line: its icon and its sentence."""

    def __init__(self, problem: Problem, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._token = {Severity.ERROR: "error", Severity.WARNING: "warning"}.get(problem.severity, "accent")
        self._name = {Severity.ERROR: "error", Severity.WARNING: "warning"}.get(problem.severity, "info")
        self._icon = QLabel()
        text = QLabel(say_problem(problem))
        text.setWordWrap(True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(text, 1)
        self._theme = ThemeManager.of_app()
        self._theme.theme_changed.connect(self._refresh_icon)
        self._refresh_icon()

    @Slot()
    def _refresh_icon(self) -> None:
        icon = self._theme.icon(self._name, self._token, _ICON.width())
        self._icon.setPixmap(icon.pixmap(_ICON, self.devicePixelRatioF()))


class ProblemLines(QVBoxLayout):
    """Shows one problem or none; ``with_evidence``: also the last lines of its evidence, to select and copy."""

    def __init__(self, *, with_evidence: bool = False) -> None:
        super().__init__()
        self._with_evidence = with_evidence
        self._shown: Problem | None = None

    def show_problem(self, problem: Problem | None) -> None:
        """Show this one in place of the last; the same one stays as it is, with what is selected in it."""
        if problem is self._shown:
            return
        self._shown = problem
        while (item := self.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        if problem is None:
            return
        self.addWidget(ToneLine(problem))
        if self._with_evidence and problem.evidence:
            evidence = DimLabel("\n".join(problem.evidence[-_EVIDENCE_LINES:]), wrap=True)
            evidence.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self.addWidget(evidence)
