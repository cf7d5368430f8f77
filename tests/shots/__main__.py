"""``python -m tests.shots OUTDIR``: the plan page in both themes and languages, its empty and over-full states, and the
models page."""

import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from app.session.state import EnginePhase, EngineState
from app.ui.main_window import MainWindow
from app.ui.theme.manager import ThemeManager
from tests.qt.fake_library import ENTRIES, SUGGESTIONS
from tests.qt.fake_session import FakeSession
from tests.qt.plan_models import dense_model, laptop, qwen3_30b

SIZE = (1366, 768)


def _session(language, theme, *, model=None, hardware=None, **changes):
    session = FakeSession(hardware or laptop(), model, details_open=True)
    session.change_settings(language=language, theme=theme, **changes)
    return session


def planned(language, theme):
    """The main picture: a good plan at 16k context with some experts moved by hand."""
    session = _session(language, theme, model=qwen3_30b())
    session.set_wishes(n_ctx=16384, cache_type_k="q8_0", cache_type_v="q8_0", reserve_mib=600)
    return session


def over_full(language, theme):
    session = planned(language, theme)
    session.set_expert_layers_in_ram(8)
    return session


def folded(language, theme):
    session = planned(language, theme)
    session.change_settings(details_open=False)
    return session


def dense(language, theme):
    return _session(language, theme, model=dense_model())


def no_gpu(language, theme):
    return _session(language, theme, model=qwen3_30b(), hardware=laptop(gpus=False, ram_gbs=None))


def empty(language, theme):
    session = _session(language, theme)
    session.engine = EngineState(EnginePhase.BUILDING, progress=0.43)
    return session


def models(language, theme):
    session = _session(language, theme)
    session.library.show(ENTRIES, SUGGESTIONS)
    return session


SCENES = {
    "plan": planned,
    "over": over_full,
    "folded": folded,
    "dense": dense,
    "no-gpu": no_gpu,
    "empty": empty,
    "models": models,
}


def take(name, make, language, theme_name, folder, size=SIZE):
    """One picture; returns its path."""
    session = make(language, theme_name)
    window = MainWindow(session, ThemeManager.of_app())
    window.resize(*size)
    window.show()
    _settle()
    if name == "plan":
        _open_cards(window)
    if name == "models":
        window.show_page("models")
        _settle()
    path = folder / f"{name}-{theme_name}-{language}.png"
    window.grab().save(str(path))
    window.hide()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return path


def _open_cards(window):
    """Open the experts in RAM and select the experts on the GPU, as in the sketch."""
    columns = window.plan_page.board.columns
    ram, gpu = columns[-1], columns[0]
    for row in range(ram.model.rowCount()):
        index = ram.model.index(row, 0)
        if ram.model.card(index).id.startswith("experts:") and ram.model.rowCount(index) > 3:
            ram.view.expand(index)
            break
    for row in range(gpu.model.rowCount()):
        index = gpu.model.index(row, 0)
        if gpu.model.card(index).id.startswith("experts:"):
            gpu.view.select_only(index)
            break
    _settle()


def _settle():
    for _ in range(5):
        QCoreApplication.processEvents()


def main(arguments):
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    application = QApplication.instance() or QApplication([])
    wanted = arguments[1:] or list(SCENES)
    for name in wanted:
        for language in ("en", "zh_CN"):
            for theme in ("light", "dark"):
                print(take(name, SCENES[name], language, theme, folder))
    del application


if __name__ == "__main__":
    main(sys.argv[1:])
