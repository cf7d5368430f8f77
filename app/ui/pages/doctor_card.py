"""One finding as a card: what happened, the evidence, how to check, and the fix with what it changes."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.common.problem import Severity
from app.diagnose.doctor.redact import redacted
from app.diagnose.doctor.types import Finding
from app.ui.theme.fonts import mono_font, scaled
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.buttons import LinkButton, PlainButton, PrimaryButton
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import DimLabel, set_look
from app.words import say
from app.work.doctor_text import words_of

_ICONS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "info"}
_TOKENS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "accent"}
_SHOWN_LINES = 3
_SELECTABLE = Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard


class FindingCard(CardFrame):
    """Signals: ``fix_requested`` and ``launch_requested`` with the number of the finding; ``engine_requested`` another
    engine would cure it."""

    engine_requested = Signal()
    fix_requested = Signal(int)
    launch_requested = Signal(int)

    def __init__(
        self, index: int, finding: Finding, *, is_first: bool, may_launch: bool, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent, spacing=8)
        self._index = index
        self._finding = finding
        self._words = words_of(finding)
        self._is_first = is_first
        self._icon = QLabel()
        self._icon.setFixedWidth(20)
        self._evidence = QLabel()
        self._more = LinkButton("")
        self._make_text()
        self._make_evidence()
        self._make_fix(may_launch)
        self.setAccessibleName(f"{say(f'ui.severity.{finding.severity.value}')}: {redacted(self._words.sentence)}")
        self._refresh_icon()
        ThemeManager.of_app().theme_changed.connect(self._refresh_icon)

    @property
    def finding(self) -> Finding:
        """What the card shows."""
        return self._finding

    @property
    def text(self) -> str:
        """The sentence as it reads."""
        return self._sentence.text()

    def _make_text(self) -> None:
        self._sentence = QLabel(redacted(self._words.sentence))
        self._sentence.setTextFormat(Qt.TextFormat.PlainText)
        self._sentence.setWordWrap(True)
        self._sentence.setTextInteractionFlags(_SELECTABLE)
        self._sentence.setFont(scaled(self.font(), 1.05, bold=self._finding.severity is Severity.ERROR))
        if self._finding.severity is Severity.ERROR:
            set_look(self._sentence, "error")
        column = QVBoxLayout()
        column.setSpacing(3)
        column.addWidget(self._sentence)
        for detail in self._words.details:
            column.addWidget(_wrapped(detail))
        if self._words.check is not None:
            column.addWidget(DimLabel(say("doctor_page.check", text=self._words.check), wrap=True))
        line = QHBoxLayout()
        line.setSpacing(10)
        line.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(column, 1)
        self.body.addLayout(line)

    def _make_evidence(self) -> None:
        lines = [redacted(line) for line in self._finding.evidence]
        if not lines:
            return
        self._lines = lines
        self._evidence.setTextFormat(Qt.TextFormat.PlainText)
        self._evidence.setFont(mono_font(self.font()))
        self._evidence.setProperty("look", "dim")
        self._evidence.setWordWrap(True)
        self._evidence.setTextInteractionFlags(_SELECTABLE)
        self._evidence.setAccessibleName(say("ui.message.evidence"))
        self._evidence.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._more.setCheckable(True)
        self._more.toggled.connect(self._on_more)
        self._more.setVisible(len(lines) > _SHOWN_LINES)
        row = QVBoxLayout()
        row.setContentsMargins(30, 0, 0, 0)
        row.setSpacing(2)
        row.addWidget(self._evidence)
        row.addWidget(self._more, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addLayout(row)
        self._on_more(is_open=False)

    def _make_fix(self, may_launch: bool) -> None:
        if self._finding.is_cured_by_engine:
            self._make_engine_button()
        if self._words.fix is None:
            return
        self.fix = (PrimaryButton if self._is_first else PlainButton)(self._words.fix)
        self.fix.setToolTip(say("doctor_page.fix_tip"))
        self.fix.clicked.connect(self._on_fix)
        row = QHBoxLayout()
        row.setContentsMargins(30, 2, 0, 0)
        row.setSpacing(10)
        row.addWidget(self.fix)
        if may_launch:
            self.again = PlainButton(say("doctor_page.launch_again"))
            self.again.set_icon("play")
            self.again.clicked.connect(self._on_again)
            row.addWidget(self.again)
        row.addStretch(1)
        self.body.addLayout(row)
        if self._words.changes:
            changes = DimLabel("     ".join(self._words.changes), wrap=True)
            changes.setContentsMargins(30, 0, 0, 0)
            self.body.addWidget(changes)

    def _make_engine_button(self) -> None:
        self.engine = PlainButton(say("engines.get"))
        self.engine.clicked.connect(self.engine_requested)
        row = QHBoxLayout()
        row.setContentsMargins(30, 2, 0, 0)
        row.addWidget(self.engine)
        row.addStretch(1)
        self.body.addLayout(row)

    @Slot(bool)
    def _on_more(self, is_open: bool) -> None:
        shown = self._lines if is_open else self._lines[:_SHOWN_LINES]
        self._evidence.setText("\n".join(shown))
        hidden = len(self._lines) - _SHOWN_LINES
        self._more.setText(say("doctor_page.less") if is_open else say("doctor_page.more", n=hidden))

    @Slot()
    def _on_fix(self) -> None:
        self.fix_requested.emit(self._index)

    @Slot()
    def _on_again(self) -> None:
        self.launch_requested.emit(self._index)

    @Slot()
    def _refresh_icon(self) -> None:
        severity = self._finding.severity
        icon = ThemeManager.of_app().icon(_ICONS[severity], _TOKENS[severity], 18)
        self._icon.setPixmap(icon.pixmap(QSize(18, 18), self.devicePixelRatioF()))


class FineCard(CardFrame):
    """Said above the notes when there is neither an error nor a warning."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent, spacing=8)
        self._icon = QLabel()
        self._icon.setFixedWidth(20)
        sentence = QLabel(text)
        sentence.setWordWrap(True)
        sentence.setFont(scaled(self.font(), 1.05, bold=True))
        line = QHBoxLayout()
        line.setSpacing(10)
        line.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(sentence, 1)
        self.body.addLayout(line)
        self.setAccessibleName(text)
        self._refresh_icon()
        ThemeManager.of_app().theme_changed.connect(self._refresh_icon)

    @Slot()
    def _refresh_icon(self) -> None:
        icon = ThemeManager.of_app().icon("check", "ok", 18)
        self._icon.setPixmap(icon.pixmap(QSize(18, 18), self.devicePixelRatioF()))


def _wrapped(text: str) -> QLabel:
    label = QLabel(text)
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(_SELECTABLE)
    return label
