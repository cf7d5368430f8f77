"""Buttons: one filled kind, everything else flat. The look is a property that the style sheet reads."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QPushButton, QWidget

from app.ui.theme.manager import ThemeManager


class PlainButton(QPushButton):
    """A flat, outlined button with words."""

    def __init__(self, text: str, parent: QWidget | None = None, *, look: str | None = None) -> None:
        super().__init__(text, parent)
        self.setAutoDefault(False)
        self._icon_name: str | None = None
        self._icon_token = "text"
        if look is not None:
            self.setProperty("look", look)

    def set_icon(self, name: str, token: str = "text", size: int = 16) -> None:
        """Show an icon of ``resources/icons``; it follows the theme."""
        if (name, token, QSize(size, size)) == (self._icon_name, self._icon_token, self.iconSize()):
            return
        first = self._icon_name is None
        self._icon_name, self._icon_token = name, token
        self.setIconSize(QSize(size, size))
        self._refresh_icon()
        if first:
            ThemeManager.of_app().theme_changed.connect(self._refresh_icon)

    @Slot()
    def _refresh_icon(self) -> None:
        if self._icon_name is not None:
            size = self.iconSize().width()
            self.setIcon(ThemeManager.of_app().icon(self._icon_name, self._icon_token, size))


class PrimaryButton(PlainButton):
    """The only filled button of a page."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent, look="primary")


class LinkButton(PlainButton):
    """A button that reads as a link inside a text."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(text, parent, look="link")
        self.setCursor(Qt.CursorShape.PointingHandCursor)


class IconButton(PlainButton):
    """A button with an icon only; ``name`` is what a screen reader and the tooltip say."""

    def __init__(self, icon: str, name: str, parent: QWidget | None = None, *, bare: bool = False) -> None:
        super().__init__("", parent, look="bare" if bare else "icon")
        self.set_icon(icon)
        self.set_name(name)

    def set_name(self, name: str) -> None:
        """The words for screen readers and the tooltip."""
        self.setAccessibleName(name)
        self.setToolTip(name)
