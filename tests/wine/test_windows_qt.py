"""The Windows build of Qt draws our window (offscreen)."""

import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(not os.environ.get("LANEWISE_WINE_QT"), reason="the stand-ins for Qt were not compiled")
def test_that_qt_and_the_plots_load_and_draw(tmp_path):
    code = (
        "import sys; from PySide6.QtWidgets import QApplication, QLabel; from PySide6.QtCore import qVersion;"
        "import pyqtgraph; app = QApplication(sys.argv); w = QLabel('显存 VRAM'); w.resize(200, 50); w.show();"
        "app.processEvents(); print(w.grab().save(sys.argv[1]), qVersion(), app.platformName())"
    )
    picture = tmp_path / "label.png"
    told = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code, str(picture)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    saved, version, platform = told.stdout.split()
    assert (saved, platform) == ("True", "offscreen")
    assert version.startswith("6.11")
    assert picture.stat().st_size > 200
