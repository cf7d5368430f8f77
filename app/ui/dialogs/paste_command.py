"""The paste box: somebody's llama-server command on the left, what it does here on the right, and onto the board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from app.common.problem import Severity
from app.ui.dialogs.paste_box import PasteBox
from app.ui.dialogs.paste_findings import Findings
from app.ui.pages.plan_command import CommandView
from app.ui.secret import key_in, masked
from app.ui.widgets.buttons import LinkButton, PlainButton, PrimaryButton
from app.ui.widgets.frames import ScrollCard
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_SHARE = 0.92
_LARGEST = QSize(1280, 820)


class PasteDialog(QDialog):
    """Shows ``session.paste``; sends the text there at each change and asks it to load. Escape closes it."""

    def __init__(self, session: AppSession, parent: QWidget | None) -> None:
        super().__init__(parent)
        self._session = session
        self.setWindowTitle(say("paste.title"))
        self.setModal(True)
        self.box = PasteBox()
        self.clear = LinkButton(say("paste.clear"))
        self.findings = Findings()
        self.converted = CommandView()
        self.converted.setAccessibleName(say("paste.converted"))
        self.status = DimLabel()
        self.copy = PlainButton(say("paste.copy"))
        self.copy.set_icon("copy")
        self.close_button = PlainButton(say("ui.close"), look="large")
        self.load = PrimaryButton(say("paste.load"))
        self.load.setToolTip(say("paste.load.tip"))
        self._build()
        self.clear.hide()
        self.box.text_changed.connect(self._on_text)
        self.clear.clicked.connect(self._on_clear)
        self.copy.clicked.connect(self._on_copy)
        self.load.clicked.connect(self._on_load)
        self.close_button.clicked.connect(self.reject)
        session.paste.changed.connect(self.refresh)
        self.refresh()

    def _build(self) -> None:
        scroll = ScrollCard(say("paste.findings"))
        scroll.set_content(self.findings)
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(0, 9)
        grid.setColumnStretch(1, 11)
        left = QHBoxLayout()
        left.addWidget(SectionTitle(say("paste.box")), 1)
        left.addWidget(self.clear)
        grid.addLayout(left, 0, 0)
        grid.addWidget(SectionTitle(say("paste.findings")), 0, 1)
        grid.addWidget(self.box, 1, 0)
        grid.addWidget(scroll, 1, 1)
        grid.setRowStretch(1, 1)
        for widget in (self.box, scroll):
            widget.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
        head = QHBoxLayout()
        head.addWidget(SectionTitle(say("paste.converted")), 1)
        head.addWidget(self.copy)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.status, 1)
        foot.addWidget(self.close_button)
        foot.addWidget(self.load)
        column = QVBoxLayout(self)
        column.setContentsMargins(18, 14, 18, 16)
        column.setSpacing(8)
        column.addLayout(grid, 1)
        column.addLayout(head)
        column.addWidget(self.converted)
        column.addLayout(foot)

    def open_box(self) -> None:
        """Show the box over the window; a command on the clipboard is not taken without being asked."""
        parent = self.parentWidget()
        if parent is not None and not self.isVisible():
            size = parent.window().size()
            self.resize(QSize(round(size.width() * _SHARE), round(size.height() * _SHARE)).boundedTo(_LARGEST))
        self.show()
        self.raise_()
        self.activateWindow()
        self.box.setFocus()

    @Slot()
    def refresh(self) -> None:
        """Follow the session's check."""
        paste = self._session.paste
        result = paste.result
        is_there = result is not None and not paste.is_checking
        if paste.is_checking:
            self.status.setText(say("paste.checking"))
        elif result is None:
            self.status.setText("")
        else:
            counts = {s: sum(p.severity is s for p in result.problems) for s in Severity}
            errors, warnings, notes = (counts[s] for s in (Severity.ERROR, Severity.WARNING, Severity.INFO))
            self.status.setText(say("paste.counts", errors=errors, warnings=warnings, notes=notes))
        if not paste.is_checking:
            self.findings.show_check(result, paste.problem)
        text = ""
        if result is not None:
            argv = result.report.converted
            text = masked(self._session.plan_files.command_text(argv, self._session.settings.shell), key_in(argv))
        self.converted.show_command(text)
        self.load.setEnabled(is_there)
        self.copy.setEnabled(is_there)

    @Slot()
    def _on_text(self) -> None:
        self.clear.setVisible(bool(self.box.text))
        self._session.paste.check(self.box.text)

    @Slot()
    def _on_clear(self) -> None:
        self.box.set_text("")
        self.box.setFocus()

    @Slot()
    def _on_copy(self) -> None:
        result = self._session.paste.result
        if result is not None:
            text = self._session.plan_files.command_text(result.report.converted, self._session.settings.shell)
            QGuiApplication.clipboard().setText(text)
            self.status.setText(say("run.copied"))

    @Slot()
    def _on_load(self) -> None:
        if self._session.paste.load():
            self.accept()
