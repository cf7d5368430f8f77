"""Draws the pages offscreen into PNG files: ``python -m tests.qt.render_pages FOLDER [name...]``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication, QWidget

from app.ui.theme.manager import ThemeManager, ThemeMode
from app.words import Language, set_language
from tests.qt import page_scenes

SIZE = (1282, 768)


def draw(widget: QWidget, path: Path, size: tuple[int, int] = SIZE) -> None:
    """Show a page at a size, let it settle, and save it."""
    widget.resize(*size)
    widget.show()
    for _ in range(4):
        QApplication.processEvents()
    widget.grab().save(str(path))
    widget.close()
    widget.deleteLater()
    QApplication.processEvents()


def main() -> None:
    folder = Path(sys.argv[1])
    wanted = sys.argv[2:] or list(page_scenes.SCENES)
    folder.mkdir(parents=True, exist_ok=True)
    app = QApplication([])
    theme = ThemeManager(ThemeMode.LIGHT)
    theme.apply(app)
    for language in (Language.EN, Language.ZH_CN):
        set_language(language)
        for mode in (ThemeMode.LIGHT, ThemeMode.DARK):
            theme.set_mode(mode)
            for name in wanted:
                draw(page_scenes.SCENES[name](), folder / f"{name}-{mode.value}-{language.value}.png")


if __name__ == "__main__":
    main()
