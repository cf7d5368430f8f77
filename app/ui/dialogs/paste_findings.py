"""What the check of a pasted command found: its problems in words, its placement rules with their figures."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.common.problem import Problem, Severity
from app.diagnose.lint_rules import RuleReport
from app.planner.types import RAM
from app.ui.theme.fonts import mono_font, scaled
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.frames import Rule
from app.ui.widgets.labels import DimLabel, ElidedLabel, SectionTitle
from app.words import say, say_problem
from app.work.pasting import PasteCheck

MOST_PROBLEMS = 40
MOST_RULES = 40
"""Rows that are drawn; a person reads no more, and a paste may have thousands."""

_LONGEST_SENTENCE = 600
_LONGEST_RULE = 400


class Findings(QWidget):
    """A column of rows, made anew for each check."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(12, 10, 12, 10)
        self._column.setSpacing(7)
        self._shown: object = None
        self._sentences: list[str] = []
        self.show_check(None, None)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every text that is shown, in order."""
        return tuple(self._sentences)

    def show_check(self, check: PasteCheck | None, problem: Problem | None) -> None:
        """Show a result, or why there is none; neither: what will be shown here."""
        key = (id(check), problem)
        if key == self._shown:
            return
        self._shown = key
        self._clear()
        if problem is not None:
            self._add_problem(problem)
        elif check is None:
            self._add(DimLabel(say("paste.waiting"), wrap=True))
        else:
            self._show_result(check)
        self._column.addStretch(1)

    def _show_result(self, check: PasteCheck) -> None:
        if not check.problems:
            self._add(DimLabel(say("paste.clean"), wrap=True))
        for problem in check.problems[:MOST_PROBLEMS]:
            self._add_problem(problem)
        self._add_more("paste.more_problems", len(check.problems) - MOST_PROBLEMS)
        rules = check.report.rules
        if not rules:
            return
        self._column.addWidget(Rule())
        self._add(SectionTitle(say("paste.rules")))
        for report in rules[:MOST_RULES]:
            self._add_rule(report)
        self._add_more("paste.more_rules", len(rules) - MOST_RULES)

    def _clear(self) -> None:
        self._sentences.clear()
        while (item := self._column.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()

    def _add(self, label: QLabel) -> None:
        self._sentences.append(label.text())
        self._column.addWidget(label)

    def _add_more(self, code: str, n: int) -> None:
        if n > 0:
            self._add(DimLabel(say(code, n=n), wrap=True))

    def _add_problem(self, problem: Problem) -> None:
        row = QWidget()
        icon = QLabel()
        token = "accent" if problem.severity is Severity.INFO else problem.severity.value
        picture = ThemeManager.of_app().icon(problem.severity.value, token, 16)
        icon.setPixmap(picture.pixmap(QSize(16, 16), self.devicePixelRatioF()))
        icon.setAccessibleName(say(f"ui.severity.{problem.severity.value}"))
        sentence = say_problem(problem)
        text = QLabel(_shortened(sentence, _LONGEST_SENTENCE))
        text.setWordWrap(True)
        text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(9)
        line.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(text, 1)
        self._sentences.append(text.text())
        self._column.addWidget(row)

    def _add_rule(self, report: RuleReport) -> None:
        pattern = ElidedLabel(_shortened(report.rule.text, _LONGEST_RULE), mode=Qt.TextElideMode.ElideMiddle)
        pattern.setFont(mono_font(scaled(self.font(), 0.95)))
        facts = DimLabel(" · ".join(_facts(report)), wrap=True)
        row = QWidget()
        lines = QVBoxLayout(row)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(0)
        for label in (pattern, facts):
            lines.addWidget(label)
            self._sentences.append(label.text())
        self._column.addWidget(row)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _facts(report: RuleReport) -> Iterable[str]:
    """Where to, what it finds, and who comes before it."""
    if report.device is None:
        yield say("paste.rule_no_device", device=_shortened(report.rule.buffer, 60) or "—")
    else:
        yield say("paste.rule_device", device=say("board.ram") if report.device == RAM else report.device)
    if report.hits == 0:
        yield say("paste.rule_nothing")
    else:
        yield say("paste.rule", hits=report.hits, size=report.n_bytes, moved=report.moved)
    if report.shadowed_by is not None:
        yield say("paste.rule_shadowed", rule=_shortened(report.shadowed_by, _LONGEST_RULE))
