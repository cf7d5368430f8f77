"""The rail of pages at the left of the window."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QFrame, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from app.ui.theme.fonts import scaled
from app.ui.theme.icons import draw_icon
from app.ui.theme.manager import ThemeManager

_ICON = 20


class RailButton(QAbstractButton):
    """An icon above a word; the page in front has an edge and a tint."""

    def __init__(self, icon: str, text: str, shortcut: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon_name = icon
        self.setText(text)
        self.setFont(scaled(self.font(), 0.92))
        self.setToolTip(f"{text} ({shortcut})")
        self.setAccessibleName(text)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @override
    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(max(metrics.horizontalAdvance(self.text()) + 24, 76), _ICON + metrics.height() + 22)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = ThemeManager.of_app().tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.isChecked():
            painter.fillRect(self.rect(), tokens.color("selection"))
            painter.fillRect(QRectF(0, 0, 3, self.height()), tokens.color("accent"))
        elif self.underMouse():
            painter.fillRect(self.rect(), tokens.color("hover"))
        color = tokens.color("accent" if self.isChecked() else "text_dim")
        draw_icon(painter, self._icon_name, QRectF((self.width() - _ICON) / 2, 9, _ICON, _ICON), color)
        painter.setPen(color)
        text = QRectF(0, 9 + _ICON + 3, self.width(), self.fontMetrics().height())
        painter.drawText(text, int(Qt.AlignmentFlag.AlignCenter), self.text())
        if self.hasFocus():
            painter.setPen(QPen(tokens.color("focus"), 2))
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(3, 3, -3, -3), 5, 5)


class Rail(QFrame):
    """Buttons from the top, and some at the bottom. ``chosen(name)`` when the user picks a page."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._buttons: dict[str, RailButton] = {}
        self._group = QButtonGroup(self)
        self._group.buttonClicked.connect(self._on_clicked)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 8, 1, 8)
        self._column.setSpacing(0)
        self._column.addStretch(1)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    def add_page(self, name: str, icon: str, text: str, shortcut: str, *, bottom: bool) -> None:
        """Add a page's button, above or below the gap."""
        button = RailButton(icon, text, shortcut)
        button.setProperty("page", name)
        self._group.addButton(button)
        above = sum(1 for b in self._buttons.values() if not b.property("bottom"))
        button.setProperty("bottom", bottom)
        self._column.insertWidget(self._column.count() if bottom else above, button)
        self._buttons[name] = button

    def show_page(self, name: str) -> None:
        """Mark the page that is in front."""
        self._buttons[name].setChecked(True)

    @Slot(QAbstractButton)
    def _on_clicked(self, button: QAbstractButton) -> None:
        self.chosen.emit(str(button.property("page")))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        tokens = ThemeManager.of_app().tokens
        painter = QPainter(self)
        painter.fillRect(self.rect(), tokens.color("panel"))
        painter.fillRect(self.width() - 1, 0, 1, self.height(), tokens.color("line"))
