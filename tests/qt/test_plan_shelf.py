"""The window with the plans of a model: what each button wishes, and that a name outlives the next save."""

import json
import shutil
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog

from app.common.paths import app_paths
from app.session.app_session import AppSession
from app.ui.dialogs.plan_shelf import PlanShelfDialog
from app.ui.theme.manager import ThemeManager
from app.work.plan_shelf import Labels, ShelfPlan
from tests.qt import page_fixtures as fx
from tests.qt.fake_session import FakeSession

TINY = Path(__file__).parents[1] / "data" / "tiny-moe-2l.gguf"
PLANS = (
    ShelfPlan("/plans/fast.json", Labels("Fast", "for chat\n61 tok/s"), 1_790_000_000.0, 8192, ()),
    ShelfPlan("/plans/长文档.json", Labels(), 1_780_000_000.0, None, ()),
)


@pytest.fixture
def session(qapp):
    ThemeManager.of_app()
    made = FakeSession()
    made.plan = fx.plan()
    made.shelf.plans = PLANS
    return made


@pytest.fixture
def dialog(qtbot, session):
    made = PlanShelfDialog(session, None)
    qtbot.addWidget(made)
    return made


def mark(dialog, *rows):
    dialog.list.clearSelection()
    for row in rows:
        dialog.list.topLevelItem(row).setSelected(True)


def test_that_plans_are_listed_with_name_context_and_note(dialog):
    rows = [[dialog.list.topLevelItem(r).text(c) for c in (0, 2, 4)] for r in range(2)]
    assert dialog.list.isColumnHidden(1)
    assert rows == [["Fast", "8 192", "for chat 61 tok/s"], ["长文档", "—", ""]]
    assert dialog.empty.isHidden()
    assert not dialog.open_button.isEnabled()


def test_that_every_button_reaches_the_shelf(dialog, session, monkeypatch, tmp_path):
    mark(dialog, 0)
    assert (dialog.name.text(), dialog.note.toPlainText()) == ("Fast", "for chat\n61 tok/s")
    dialog.name.setText("Faster")
    dialog.rename.click()
    dialog.keep.click()
    mark(dialog, 0, 1)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "r.ini"), ""))
    dialog.router.click()
    dialog.delete.click()
    assert "2 plans" in dialog.delete.text()
    mark(dialog, 1)
    assert dialog.delete.text() == "Delete"
    dialog.delete.click()
    dialog.delete.click()
    mark(dialog, 1)
    dialog.open_button.click()
    labels = Labels("Faster", "for chat\n61 tok/s")
    assert session.wished == [
        ("shelf_relabel", "/plans/fast.json", labels),
        ("shelf_keep", labels),
        ("shelf_export_router", ("/plans/fast.json", "/plans/长文档.json"), str(tmp_path / "r.ini")),
        ("shelf_remove", "/plans/长文档.json"),
        ("shelf_open", "/plans/长文档.json"),
    ]


def test_that_a_kept_plan_is_listed_opened_and_keeps_its_name_when_saved_again(qtbot, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    session = AppSession()
    session.start()
    session.open_demo()
    qtbot.waitUntil(lambda: session.plan is not None, timeout=20_000)
    with qtbot.waitSignal(session.shelf.changed):
        session.shelf.keep(Labels("长文档", "小心"))
    (plan,) = session.shelf.plans
    assert plan.labels == Labels("长文档", "小心")
    assert Path(plan.path).parent == app_paths().data / "plans"
    assert session.plan_files.save()
    assert json.loads(Path(plan.path).read_text(encoding="utf-8"))["note"] == "小心"
    with qtbot.waitSignal(session.plan_files.file_used):
        session.shelf.open(plan.path)
    with qtbot.waitSignal(session.shelf.changed):
        session.shelf.remove(plan.path)
    assert session.shelf.plans == ()
    session.close()


def test_that_plans_of_all_models_become_one_preset_and_one_opens_with_its_own_model(qtbot, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    ThemeManager.of_app()
    second = tmp_path / "第二 model.gguf"
    shutil.copyfile(TINY, second)
    session = AppSession()
    told = []
    session.message_raised.connect(told.append)
    session.start()
    session.open_demo()
    qtbot.waitUntil(lambda: session.plan is not None, timeout=20_000)
    demo = session.model.path
    with qtbot.waitSignal(session.shelf.changed):
        session.shelf.keep(Labels("demo plan"))
    with qtbot.waitSignal(session.model_changed):
        session.open_model(str(second))
    with qtbot.waitSignal(session.shelf.changed):
        session.shelf.keep(Labels("小模型"))
    dialog = PlanShelfDialog(session, None)
    qtbot.addWidget(dialog)
    with qtbot.waitSignal(session.shelf.changed):
        dialog.all_models.click()
    assert not dialog.list.isColumnHidden(1)
    dialog.list.selectAll()
    target = tmp_path / "models.ini"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(target), ""))
    dialog.router.click()
    assert [line for line in target.read_text(encoding="utf-8").splitlines() if line.startswith("model = ")] == [
        f"model = {second}",
        f"model = {demo}",
    ]
    assert "demo-plan" in next(p for p in told if p.code == "router_exported").params["names"]
    plan = next(p for p in session.shelf.plans if p.labels.name == "demo plan")
    with qtbot.waitSignal(session.plan_files.file_used):
        session.shelf.open(plan.path)
    assert session.model.path == demo
    assert session.plan_files.path == plan.path
    qtbot.waitUntil(lambda: session.is_idle)
    session.close()
