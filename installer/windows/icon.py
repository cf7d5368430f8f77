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
