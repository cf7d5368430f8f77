"""From nothing to a first answer, through the first steps' own window: real engine, demo model, a local mirror."""

import sys
from contextlib import ExitStack

import pytest

from app.common.paths import app_paths
from app.session.app_session import AppSession
from app.settings.store import load_settings
from app.ui.pages.first_run import FirstRunDialog
from benchmarks.first_answer import serve, walk

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the archive holds this system's engine"),
]


def test_that_a_fresh_profile_comes_to_an_answer_in_seven_steps_and_is_guided_only_once(qapp, engine, monkeypatch):
    monkeypatch.setattr("app.engine.locate._on_path", lambda: iter(()))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    with ExitStack() as stack:
        base = serve(stack, engine)
        session = AppSession()
        session.change_settings(engine_mirror=base, model_mirror=base)
        session.start(None)
        guide = FirstRunDialog(session, None)
        guide.show()
        try:
            rows = walk(session, guide, None)
        finally:
            guide.close()
            session.stop()
            session.close()
    done = [what for what, *_ in rows if not what.startswith(("(", "answer"))]
    assert len(done) == 7, "an answer is only asked for where another program holds the port"
    assert load_settings(app_paths().settings_file).first_run[-1] == "done"
    assert list(app_paths().models.rglob("*.gguf"))
