"""What a page shows before there is anything to show: an invitation, not a blank."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.theme.fonts import scaled
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.labels import DimLabel


class EmptyState(QWidget):
    """An icon, a headline, one quiet sentence and buttons, centred; with a dashed border where files can be dropped."""

    def __init__(self, icon: str, headline: str, note: str, parent: QWidget | None = None, *, drop: bool) -> None:
        super().__init__(parent)
        self._icon_name = icon
        self._drop = drop
        self._icon = QLabel()
        self._icon.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._headline = QLabel(headline)
        self._headline.setFont(scaled(self.font(), 1.5, bold=True))
        self._headline.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._headline.setWordWrap(True)
        self._note = DimLabel(note, wrap=True)
        self._note.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._foot = DimLabel(wrap=True)
        self._foot.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.busy = QProgressBar()
        self.busy.setRange(0, 0)
        self.busy.setTextVisible(False)
        self.busy.setFixedWidth(220)
        self.busy.hide()
        self.buttons = QHBoxLayout()
        self.buttons.setSpacing(10)
        self._build()
        self._refresh_icon()
        ThemeManager.of_app().theme_changed.connect(self._refresh_icon)

    def _build(self) -> None:
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addLayout(self.buttons)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(48, 32, 48, 32)
        column.setSpacing(12)
        column.addStretch(2)
        column.addWidget(self._icon)
        column.addWidget(self._headline)
        column.addWidget(self._note)
        column.addWidget(self.busy, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(6)
        column.addLayout(buttons)
        column.addStretch(2)
        column.addWidget(self._foot)

    def set_words(self, headline: str, note: str) -> None:
        """Change the words."""
        self._headline.setText(headline)
        self._note.setText(note)

    def set_foot(self, text: str) -> None:
        """A quiet line at the lower edge."""
        self._foot.setText(text)

    @property
    def words(self) -> tuple[str, str]:
        """Headline and note as they read now."""
        return self._headline.text(), self._note.text()

    @Slot()
    def _refresh_icon(self) -> None:
        icon = ThemeManager.of_app().icon(self._icon_name, "text_dim", 44)
        self._icon.setPixmap(icon.pixmap(QSize(44, 44), self.devicePixelRatioF()))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._drop:
            return
        tokens = ThemeManager.of_app().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(tokens.blend("text_dim", "line", 0.4), 1.5, Qt.PenStyle.DashLine))
        painter.setBrush(tokens.color("panel"))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 10, 10)
