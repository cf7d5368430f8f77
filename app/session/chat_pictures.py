"""A picture for a question: read within bounds, made small, and written anew as JPEG or PNG.

What the file carries besides the picture (place, camera) stays behind; the engine reads both kinds (stb_image, as in
tools/mtmd), while a WebP or a 40-megapixel photo would be refused or cost minutes of prompt.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from pathlib import PurePath

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize, Qt
from PySide6.QtGui import QImage, QImageReader

from app.common.problem import fail

LARGEST_SIDE = 1536
"""Pixels: projectors scale larger pictures down themselves, or cut them into ever more tiles."""
_MOST_SOURCE_PIXELS = 100_000_000
_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif")
PICTURE_FILTER = " ".join(f"*{ending}" for ending in _ENDINGS)


@dataclass(frozen=True, slots=True)
class Picture:
    """``data`` is a whole file of type ``mime``."""

    name: str
    mime: str
    data: bytes

    @property
    def part(self) -> dict[str, object]:
        """The picture as a part of a message, as OpenAI's clients send it."""
        text = base64.b64encode(self.data).decode("ascii")
        return {"type": "image_url", "image_url": {"url": f"data:{self.mime};base64,{text}"}}


def is_picture(path: str) -> bool:
    """Does the name look like a picture that can be read here?"""
    return path.lower().endswith(_ENDINGS)


def read_picture(path: str) -> Picture:
    """Read a file. Raises ``picture_unreadable``."""
    name = PurePath(path).name
    reader = QImageReader(path)
    reader.setAutoTransform(True)
    size = reader.size()
    if size.isValid() and size.width() * size.height() > _MOST_SOURCE_PIXELS:
        raise fail("picture_unreadable", name=name, why=f"{size.width()} x {size.height()}")
    image = reader.read()
    if image.isNull():
        raise fail("picture_unreadable", name=name, why=reader.errorString())
    return picture_of(name, image)


def picture_of(name: str, image: QImage) -> Picture:
    """A picture that was pasted or read, ready to be sent. Raises ``picture_unreadable``."""
    if image.isNull():
        raise fail("picture_unreadable", name=name, why="0 x 0")
    if max(image.width(), image.height()) > LARGEST_SIDE:
        room = QSize(LARGEST_SIDE, LARGEST_SIDE)
        image = image.scaled(room, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation)
    # Text on a screen stays sharp as PNG; a photo would be ten times larger than as JPEG.
    png, jpeg = _bytes(image, "PNG"), _bytes(image.convertToFormat(QImage.Format.Format_RGB32), "JPEG")
    if not jpeg or len(png) <= 2 * len(jpeg):
        return Picture(name, "image/png", png)
    return Picture(name, "image/jpeg", jpeg)


def _bytes(image: QImage, kind: str) -> bytes:
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, kind, 92 if kind == "JPEG" else -1)  # type: ignore[call-overload]  # the stub wants bytes here
    buffer.close()
    return bytes(data.data())
