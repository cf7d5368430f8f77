"""Which theme is on, and how it reaches the application."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QIcon, QScreen
from PySide6.QtWidgets import QApplication, QStyleFactory

from app.ui.theme.fonts import ui_font
from app.ui.theme.icons import make_icon, screen_ratios
from app.ui.theme.palette import make_palette
from app.ui.theme.style_sheet import make_style_sheet
from app.ui.theme.tokens import Tokens, load_tokens


class ThemeMode(StrEnum):
    """What the user chose; SYSTEM follows the desktop."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class ThemeManager(QObject):
    """Owns the tokens in use and dresses the application in them.

    Qt's ``offscreen`` platform and many Linux desktops have no dark palette, so the palette is always set here.
    Signals: ``theme_changed`` after the application has been dressed anew, or a screen of another scale came: painters
    read ``tokens`` and icons again.
    """

    theme_changed = Signal()

    def __init__(self, mode: ThemeMode = ThemeMode.SYSTEM, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._themes = load_tokens()
        self._mode = mode
        self._app: QApplication | None = None
        self._tokens = self._themes[self._wanted()]
        self._ratios: tuple[float, ...] = ()

    @staticmethod
    def of_app() -> ThemeManager:
        """The manager of the running application; dresses it in the system's theme when there is none yet."""
        app = QApplication.instance()
        if not isinstance(app, QApplication):
            raise RuntimeError("no QApplication")
        found = app.findChild(ThemeManager)
        if isinstance(found, ThemeManager):
            return found
        manager = ThemeManager()
        manager.apply(app)
        return manager

    @property
    def mode(self) -> ThemeMode:
        """What the user chose."""
        return self._mode

    @property
    def tokens(self) -> Tokens:
        """The colours in use."""
        return self._tokens

    def apply(self, app: QApplication) -> None:
        """Dress the application: Fusion, font, palette, style sheet. The manager becomes the application's child."""
        self._app = app
        self.setParent(app)
        app.setStyle(QStyleFactory.create("Fusion"))
        app.setFont(ui_font(app.font()))
        app.styleHints().colorSchemeChanged.connect(self._on_system_changed)
        self._ratios = screen_ratios()
        app.screenAdded.connect(self._on_screen_added)
        for screen in app.screens():
            screen.geometryChanged.connect(self._on_screens)
        self._dress()

    def set_mode(self, mode: ThemeMode) -> None:
        """Choose light, dark or the system's; dresses the application anew when the colours differ."""
        self._mode = mode
        self._refresh()

    def icon(self, name: str, token: str = "text", size: int = 16) -> QIcon:
        """An icon of ``resources/icons`` in the colour of a token, faint where disabled."""
        return make_icon(name, self._tokens.color(token), size, self._tokens.blend("text_dim", "panel", 0.5))

    def _wanted(self) -> str:
        if self._mode is not ThemeMode.SYSTEM:
            return self._mode.value
        dark = QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
        return "dark" if dark else "light"

    def _refresh(self) -> None:
        tokens = self._themes[self._wanted()]
        if tokens is self._tokens:
            return
        self._tokens = tokens
        self._dress()
        self.theme_changed.emit()

    def _dress(self) -> None:
        if self._app is None:
            return
        self._app.setPalette(make_palette(self._tokens))
        self._app.setStyleSheet(make_style_sheet(self._tokens))

    @Slot(QScreen)
    def _on_screen_added(self, screen: QScreen) -> None:
        screen.geometryChanged.connect(self._on_screens)
        self._on_screens()

    @Slot()
    def _on_screens(self) -> None:
        """Icons are drawn for the scales that are in use."""
        ratios = screen_ratios()
        if ratios != self._ratios:
            self._ratios = ratios
            self.theme_changed.emit()

    @Slot()
    def _on_system_changed(self) -> None:
        if self._mode is ThemeMode.SYSTEM:
            self._refresh()
