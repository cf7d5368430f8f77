"""``python -m tests.shots.sheet FOLDER OUT.png [COLUMNS]``: the pictures of a folder, in their order, on one sheet.

The first run from nothing to the first answer, in Chinese::

    LANEWISE_ENGINE=FOLDER python -m benchmarks.first_answer --pictures OUT --lang zh_CN
    python -m tests.shots.sheet OUT docs/pictures/first-run-zh.png
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter

GAP = 12
WIDTH = 620


def sheet(pictures, columns):
    """All pictures as wide as each other, row after row."""
    smooth = Qt.TransformationMode.SmoothTransformation
    rows = [pictures[at : at + columns] for at in range(0, len(pictures), columns)]
    scaled = [[picture.scaledToWidth(WIDTH, smooth) for picture in row] for row in rows]
    heights = [max(picture.height() for picture in row) for row in scaled]
    whole = QImage(columns * (WIDTH + GAP) + GAP, sum(heights) + GAP * (len(rows) + 1), QImage.Format.Format_RGB32)
    whole.fill(QColor("#c8ccd2"))
    painter = QPainter(whole)
    top = GAP
    for row, height in zip(scaled, heights, strict=True):
        for column, picture in enumerate(row):
            painter.drawImage(GAP + column * (WIDTH + GAP), top, picture)
        top += height + GAP
    painter.end()
    return whole


def main(arguments):
    application = QGuiApplication.instance() or QGuiApplication([])
    pictures = [QImage(str(path)) for path in sorted(Path(arguments[0]).glob("*.png"))]
    whole = sheet(pictures, int(arguments[2]) if len(arguments) > 2 else 2)
    assert whole.save(arguments[1], "PNG", 0)
    del application


if __name__ == "__main__":
    main(sys.argv[1:])
