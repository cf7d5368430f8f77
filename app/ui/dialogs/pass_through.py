"""Sampling, chat template and idle unloading: a small form over the plan's extra arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.planner.pass_through import Passed, PassedKind, offered, passed_problem, read_passed, with_passed
from app.ui.file_paths import ask_open
from app.ui.widgets.buttons import IconButton, PlainButton, PrimaryButton
from app.ui.widgets.labels import DimLabel, SectionTitle, set_look
from app.ui.widgets.tick_box import TickBox
from app.words import say, say_problem

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class PassThroughDialog(QDialog):
    """One row for each option that the engine lists; Apply writes them all as one step of undo."""

    def __init__(self, session: AppSession, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._session = session
        self.setWindowTitle(say("passed.title"))
        self.setModal(True)
        self._capabilities = session.capabilities
        self._options = offered(self._capabilities)
        plan = session.plan
        self._extra = plan.wishes.extra if plan is not None else ()
        self.fields: dict[str, QLineEdit | TickBox] = {}
        self.status = QLabel()
        self.status.setWordWrap(True)
        set_look(self.status, "error")
        self.apply = PrimaryButton(say("passed.apply"))
        self.cancel = PlainButton(say("passed.cancel"), look="large")
        self._lay_out(read_passed(self._extra, self._capabilities))
        self.apply.clicked.connect(self._on_apply)
        self.cancel.clicked.connect(self.reject)
        self._check()

    def _lay_out(self, values: object) -> None:
        assert isinstance(values, dict)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(SectionTitle(say("passed.title")))
        column.addWidget(DimLabel(say("passed.note"), wrap=True))
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        for row, option in enumerate(self._options):
            self._add_row(grid, row, option, str(values.get(option.name, "")))
        column.addLayout(grid)
        if not self._options:
            column.addWidget(DimLabel(say("passed.none"), wrap=True))
        column.addWidget(self.status)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.cancel)
        foot.addWidget(self.apply)
        column.addLayout(foot)
        self.setMinimumWidth(self.fontMetrics().horizontalAdvance("0") * 90)

    def _add_row(self, grid: QGridLayout, row: int, option: Passed, value: str) -> None:
        words = say(f"passed.{option.name}")
        caption = QLabel(words)
        flag = DimLabel(option.spellings[0])
        grid.addWidget(caption, row, 0)
        grid.addWidget(flag, row, 3)
        if option.kind is PassedKind.SWITCH:
            box = TickBox()
            box.setChecked(value == "on")
            self.fields[option.name] = box
            grid.addWidget(box, row, 1)
        else:
            line = QLineEdit(value)
            line.setPlaceholderText(say("passed.default"))
            line.textChanged.connect(self._check)
            self.fields[option.name] = line
            grid.addWidget(line, row, 1)
        field = self.fields[option.name]
        field.setAccessibleName(words)
        caption.setBuddy(field)
        if option.kind is PassedKind.FILE:
            choose = IconButton("open", say("passed.choose"))
            choose.clicked.connect(self._on_choose)
            grid.addWidget(choose, row, 2)

    @Slot()
    def _on_choose(self) -> None:
        path = ask_open(self, say("passed.chat_template_file"), "", "Jinja (*.jinja *.j2 *.txt);;(*)")
        line = self.fields["chat_template_file"]
        if path and isinstance(line, QLineEdit):
            line.setText(path)

    def _value(self, name: str) -> str:
        field = self.fields[name]
        return ("on" if field.isChecked() else "") if isinstance(field, TickBox) else field.text()

    @Slot()
    def _check(self) -> None:
        """The first value that the engine would not take, in words."""
        if len(self.fields) < len(self._options):
            return
        found = (passed_problem(option, self._value(option.name)) for option in self._options)
        problem = next((p for p in found if p is not None), None)
        self.status.setText("" if problem is None else say_problem(problem))
        self.status.setVisible(problem is not None)
        self.apply.setEnabled(problem is None and bool(self._options))

    @Slot()
    def _on_apply(self) -> None:
        values = {option.name: self._value(option.name) for option in self._options}
        extra = with_passed(self._extra, values, self._capabilities)
        if extra != self._extra:
            self._session.set_wishes(extra=extra)
        self.accept()
