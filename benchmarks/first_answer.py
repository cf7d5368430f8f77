"""From a fresh profile to the first token: steps and seconds, through the first steps' own window.

    LANEWISE_ENGINE=FOLDER python -m benchmarks.first_answer [--pictures FOLDER] [--lang zh_CN]

A mirror on this computer serves the real engine as an official archive and the demo model in the layout of Hugging
Face. Nothing else is installed in the profile. A step is something the user does: a click, or a link that is pasted.
"""

import argparse
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from app.common.paths import app_paths
from app.engine.locate import find_engine
from app.words import Language, join_figures, set_language
from tests.tools.file_server import FileServer
from tests.tools.hub_pages import Hub
from tests.tools.releases import Mirror, folder_tar_gz, name_of

REPOSITORY = "lanewise/demo-moe-GGUF"
PATIENCE_S = 120.0


class Way:
    """Walks through the guide; ``rows`` holds what was done, when it was done and how long the user then waited."""

    def __init__(self, session, guide, pictures):
        from app.ui.tour import wait_until

        self.session, self.guide = session, guide
        self._wait_until = wait_until
        self._pictures = pictures
        self._started = time.perf_counter()
        self.rows = []

    def picture(self, name, widget=None):
        if self._pictures is not None:
            self._wait_until(lambda: False, 0.15)  # let the last layout happen
            number = len(list(self._pictures.glob("*.png"))) + 1
            (widget or self.guide).grab().save(str(self._pictures / f"{number:02d}-{name}.png"))

    def act(self, what, do, is_done):
        begun = time.perf_counter()
        do()
        if not self._wait_until(is_done, PATIENCE_S):
            raise SystemExit(
                f"{what}: nothing came of it; engine {self.session.engine}, run {self.session.run.problem}"
            )
        self.rows.append((what, time.perf_counter() - begun, time.perf_counter() - self._started))


def walk(session, guide, pictures):
    from app.session.engine_getter import GetPhase
    from app.session.first_run_controller import Step
    from app.session.hub_controller import HubPhase
    from app.session.state import EnginePhase, RunPhase
    from app.ui.dialogs.download import DownloadDialog

    way = Way(session, guide, pictures)
    way.act("(window, machine)", lambda: None, lambda: session.engine.phase is EnginePhase.MISSING and session.hardware)
    way.picture("engine")
    way.act("find the package", guide.go.click, lambda: session.engines.get.phase is GetPhase.CHOOSING)
    way.picture("package")
    way.act("download and install it", guide.go.click, lambda: guide.step is Step.MODEL)
    way.act("(suggestions planned)", lambda: None, lambda: session.library.suggestions is not None)
    way.picture("model")
    page = guide.pages[Step.MODEL]
    way.act("choose “a link”", page.link.click, lambda: bool(dialogs()))
    dialog = dialogs()[0]

    def paste():
        dialog.link.setText(REPOSITORY)
        dialog.look_button.click()

    way.act("paste it, show the files", paste, lambda: session.hub.state.phase is HubPhase.CHOOSING)
    way.picture("files", dialog)
    way.act("download", dialog.go.click, lambda: session.hub.state.phase is HubPhase.DONE)
    way.picture("downloaded", dialog)
    dialog.accept()
    way.act("(planned)", lambda: None, lambda: guide.step is Step.PLAN and guide.go.isEnabled())
    way.picture("plan")
    run, launching = session.run, session.launching
    way.act("launch", guide.go.click, lambda: session.run.phase is not run.phase or launching.question)
    if launching.question is not None:  # another program holds the port, or memory has become less
        answer = guide.pages[Step.PLAN].hindrance.buttons[0]
        way.act(f"answer “{answer.text()}”", answer.click, lambda: session.run.phase is not run.phase)
    way.act("(loaded)", lambda: None, lambda: session.run.phase in (RunPhase.READY, RunPhase.FAILED))
    way.act("(ready)", lambda: None, lambda: guide.step is Step.CHAT and guide.go.isEnabled())
    way.picture("chat")
    way.act("ask: first token", guide.go.click, lambda: bool(session.chat.answer or session.chat.reasoning))
    way.act("(some words more)", lambda: None, lambda: len(guide.pages[Step.CHAT].text) > 80 or guide.go.isEnabled())
    way.picture("answer")
    assert isinstance(dialog, DownloadDialog)
    return way.rows


def dialogs():
    from PySide6.QtWidgets import QApplication

    from app.ui.dialogs.download import DownloadDialog

    return [w for w in QApplication.topLevelWidgets() if isinstance(w, DownloadDialog) and w.isVisible()]


def serve(stack, engine):
    """The mirror; everything that is served is made before the clock runs."""
    from app.model.demo import make_demo_model

    server = stack.enter_context(FileServer())
    releases = Mirror(server)
    releases.put(name_of(""), folder_tar_gz(Path(engine.path).resolve().parent))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "demo-moe-F16.gguf"
        make_demo_model(path)
        Hub(server).hugging_face(REPOSITORY, {path.name: path.read_bytes()})
    return server.base


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--lang", default="en")
    options = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    engine = find_engine(os.environ.pop("LANEWISE_ENGINE", None), app_paths())
    if engine is None:
        print("No llama-server here: python3 dev.py engine-build, or LANEWISE_ENGINE=FOLDER", file=sys.stderr)
        return 1
    if options.pictures is not None:
        options.pictures.mkdir(parents=True, exist_ok=True)
    from app.session.app_session import AppSession
    from app.ui.pages.first_run import FirstRunDialog
    from app.ui.start import make_application
    from app.ui.theme.manager import ThemeManager, ThemeMode

    with ExitStack() as stack:
        os.environ["LANEWISE_HOME"] = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(patch("app.engine.locate._on_path", lambda: iter(())))
        stack.enter_context(patch("app.engine.locate.usual_folders", tuple))
        base = serve(stack, engine)
        app = make_application()
        join_figures(on=True)
        set_language(Language(options.lang))
        ThemeManager(ThemeMode.LIGHT, app).apply(app)
        session = AppSession()
        try:
            session.change_settings(engine_mirror=base, model_mirror=base, language=options.lang)
            session.start(None)
            guide = FirstRunDialog(session, None)
            guide.show()
            rows = walk(session, guide, options.pictures)
            guide.close()
        finally:
            session.stop()
            session.close()
    steps = sum(not what.startswith("(") for what, *_ in rows)
    print(f"{'what':28}{'seconds':>9}{'since start':>13}")
    for what, seconds, since in rows:
        print(f"{what:28}{seconds:9.2f}{since:13.2f}")
    first = next(since for what, _, since in rows if "first token" in what)
    print(f"{steps} steps, {first:.1f} s to the first token (engine and model from a mirror on this computer)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
