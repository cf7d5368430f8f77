"""The program's icon for Windows: the SVG drawn at the sizes that Windows asks for, packed as an .ico file."""

from __future__ import annotations

import os
import struct
from pathlib import Path

SIZES = (16, 20, 24, 32, 40, 48, 64, 128, 256)
"""100 % to 250 % of the small and the large icon, and the largest one of the Explorer."""


def draw_icon(svg: Path, target: Path) -> None:
    """Write ``target`` (.ico; each picture inside is a PNG, which Windows reads since Vista)."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QBuffer, QIODevice, Qt
    from PySide6.QtGui import QGuiApplication, QImage, QPainter
    from PySide6.QtSvg import QSvgRenderer

    app = QGuiApplication.instance() or QGuiApplication([])
    renderer = QSvgRenderer(str(svg))
    pictures = []
    for size in SIZES:
        image = QImage(size, size, QImage.Format.Format_ARGB32)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        renderer.render(painter)
        painter.end()
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "PNG")
        pictures.append(bytes(buffer.data().data()))
    target.write_bytes(_ico(pictures))
    del app


BANNER = (164, 314)
"""Pixels of the picture on the installer's first and last page, at 100 %."""


def draw_banner(svg: Path, colour: str, target: Path) -> None:
    """Write ``target`` (.bmp): the icon on a calm ground in the accent colour, twice as large for sharp screens."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QRectF
    from PySide6.QtGui import QColor, QGuiApplication, QImage, QLinearGradient, QPainter
    from PySide6.QtSvg import QSvgRenderer

    app = QGuiApplication.instance() or QGuiApplication([])
    width, height = (2 * side for side in BANNER)
    image = QImage(width, height, QImage.Format.Format_RGB888)
    painter = QPainter(image)
    ground = QLinearGradient(0, 0, 0, height)
    ground.setColorAt(0, QColor(colour).darker(170))
    ground.setColorAt(1, QColor(colour).darker(115))
    painter.fillRect(image.rect(), ground)
    side = width * 0.46
    QSvgRenderer(str(svg)).render(painter, QRectF((width - side) / 2, height * 0.2, side, side))
    for lane in range(4):  # the lanes of the name, quietly
        left = width * (0.2 + 0.16 * lane)
        tall = height * (0.12 + 0.07 * (lane % 3))
        painter.fillRect(QRectF(left, height * 0.92 - tall, width * 0.1, tall), QColor(255, 255, 255, 34 + 12 * lane))
    painter.end()
    image.save(str(target), "BMP")
    del app


def _ico(pictures: list[bytes]) -> bytes:
    """ICONDIR, one ICONDIRENTRY each, then the PNGs; 256 is written as 0."""
    head = struct.pack("<HHH", 0, 1, len(pictures))
    offset = len(head) + 16 * len(pictures)
    entries, body = b"", b""
    for size, png in zip(SIZES, pictures, strict=True):
        side = size % 256
        entries += struct.pack("<BBBBHHII", side, side, 0, 0, 1, 32, len(png), offset + len(body))
        body += png
    return head + entries + body
