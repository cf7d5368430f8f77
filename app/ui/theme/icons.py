"""Icons from ``resources/icons``: one SVG each, drawn in ``currentColor`` and recoloured from the tokens."""

from __future__ import annotations

from functools import lru_cache

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.common.resources import resource_text


@lru_cache(maxsize=256)
def _svg(name: str, color: str) -> bytes:
    text = resource_text(f"icons/{name}.svg")
    return text.replace("currentColor", color).encode("utf-8")


def icon_pixmap(name: str, color: QColor, size: int, ratio: float = 1.0) -> QPixmap:
    """An icon as a square picture of ``size`` layout units at a device pixel ratio."""
    return _cached_pixmap(name, color.name(), size, ratio)


@lru_cache(maxsize=512)
def _cached_pixmap(name: str, color: str, size: int, ratio: float) -> QPixmap:
    """Cached: parsing and drawing an SVG costs more than the rest of a card."""
    pixmap = QPixmap(round(size * ratio), round(size * ratio))
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    QSvgRenderer(QByteArray(_svg(name, color))).render(painter, QRectF(pixmap.rect()))
    painter.end()
    pixmap.setDevicePixelRatio(ratio)
    return pixmap


def draw_icon(painter: QPainter, name: str, rect: QRectF, color: QColor) -> None:
    """Draw an icon into a square of the painter's own coordinates, sharp on its device."""
    pixmap = icon_pixmap(name, color, round(rect.width()), painter.device().devicePixelRatioF())
    painter.drawPixmap(rect.topLeft(), pixmap)


def screen_ratios() -> tuple[float, ...]:
    """The device pixel ratios of the screens: 1.0, 1.5... Each costs a drawing of every icon."""
    return tuple(sorted({screen.devicePixelRatio() for screen in QGuiApplication.screens()})) or (1.0,)


def make_icon(name: str, color: QColor, size: int = 16, disabled: QColor | None = None) -> QIcon:
    """An icon for buttons and menus, sharp on every screen that is there now; ``ThemeManager`` tells of another one."""
    icon = QIcon()
    for ratio in screen_ratios():
        icon.addPixmap(icon_pixmap(name, color, size, ratio))
        if disabled is not None:
            icon.addPixmap(icon_pixmap(name, disabled, size, ratio), QIcon.Mode.Disabled)
    return icon
