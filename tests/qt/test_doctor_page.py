"""The doctor page: findings as cards, their fixes as buttons, logs from elsewhere, the report."""

from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication
from PySide6.QtWidgets import QAbstractButton, QFileDialog, QLabel

from app.common.problem import Problem, Severity
from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.log_facts import read_log
from app.diagnose.doctor.types import Facts, Finding
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import Device, DeviceKind, DeviceSet, Wishes
from app.ui.dialogs.get_engine import GetEngineDialog
from app.ui.pages.doctor import DoctorPage
from app.ui.theme.manager import ThemeManager
from app.words import Language, set_language
from app.work.engines import capabilities_of
from tests.qt import page_fixtures as fx
from tests.qt.plan_models import qwen3_30b

MIB = 1 << 20
OOM = (
    "0.1 I load_tensors:        CUDA0 model buffer size =  8000.00 MiB",
    "E ggml_backend_buft_alloc_buffer_n_default: failed to allocate CUDA0 buffer of size 1610612736",
    "E llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache",
    "E common_init_: failed to create context with model '/home/jane/m.gguf'",
    "E llama_server: exiting due to model loading error",
)


@pytest.fixture
def session(qapp):
    ThemeManager.of_app()
    return fx.FakeSession()


@pytest.fixture
def page(qtbot, session):
    made = DoctorPage(session)
    qtbot.addWidget(made)
    made.resize(1282, 700)
    made.show()
    return made


def findings():
    gpu = Device("CUDA0", DeviceKind.GPU, 12282 * MIB, 11000 * MIB, "", "CUDA0", 300 * MIB, 256 * MIB)
    ram = Device("RAM", DeviceKind.RAM, 65536 * MIB, 48000 * MIB)
    inputs = PlanInputs(qwen3_30b(), DeviceSet((gpu,), ram), Wishes(n_ctx=16384), capabilities_of(None), 6)
    return examine(Facts(inputs=inputs, plan=make_plan(inputs), log=read_log(OOM)))


def shown(page):
    return "\n".join(label.text() for label in page.findChildren(QLabel) if label.isVisible())


def buttons(page):
    return {button.text(): button for button in page.findChildren(QAbstractButton) if button.isVisible()}


def test_that_a_page_without_findings_invites_a_log(page, session):
    assert "Nothing is wrong with this machine and plan" in shown(page)
    session.doctor.show(was_run=True)
    assert "Nothing is wrong with the last run" in shown(page)
    assert "Open a log…" in buttons(page)


def test_that_a_page_in_front_is_kept_up_to_date_and_a_hidden_one_is_not(page, session):
    assert session.doctor.wished == [("watch", True)]
    page.hide()
    assert session.doctor.wished[-1] == ("watch", False)


def test_that_a_failure_is_shown_with_evidence_check_and_fix(page, session):
    session.doctor.show(findings=findings(), was_run=True, may_launch_again=True)
    text = shown(page)
    assert "CUDA0 has too little room for the KV cache" in text
    assert "failed to allocate buffer for kv cache" in text
    assert "Check: " in text
    assert "jane" not in text
    assert "1 error, 0 warnings" in text
    names = buttons(page)
    fix = page.cards[0].finding.fix
    assert fix is not None
    assert any(name.startswith(("Keep ", "Shorten ", "Use ", "Change ")) for name in names)
    assert "Apply and launch again" in names
    assert "→" in text


def test_that_notes_alone_stand_under_a_sentence_that_all_is_well(page, session):
    note = Finding("virtual_machine", Severity.INFO)
    session.doctor.show(findings=(note,))
    assert "Nothing is wrong with this machine and plan" in shown(page)
    session.doctor.show(findings=(*findings(), note))
    assert "Nothing is wrong" not in shown(page)


def test_that_a_fix_is_applied_and_shown_on_the_plan_page(qtbot, page, session):
    session.doctor.show(findings=findings())
    asked = []
    page.page_requested.connect(asked.append)
    qtbot.mouseClick(page.cards[0].fix, Qt.MouseButton.LeftButton)
    assert session.doctor.wished[-1] == ("apply", 0)
    assert asked == ["plan"]


def test_that_apply_and_launch_is_offered_only_where_it_is_allowed(qtbot, page, session):
    session.doctor.show(findings=findings(), may_launch_again=True)
    qtbot.mouseClick(page.cards[0].again, Qt.MouseButton.LeftButton)
    assert session.doctor.wished[-1] == ("apply_and_launch", 0)
    session.doctor.show(may_launch_again=False)
    assert "Apply and launch again" not in buttons(page)


def test_that_only_one_button_of_the_page_is_filled(page, session):
    session.doctor.show(findings=(*findings(), *findings()))
    filled = [b for b in page.findChildren(QAbstractButton) if b.property("look") == "primary" and b.isVisible()]
    assert len(filled) == 1


def test_that_more_evidence_opens_on_demand(qtbot, page, session):
    many = Finding("unknown_failure", Severity.ERROR, {"code": "3"}, tuple(f"line {i}" for i in range(9)))
    session.doctor.show(findings=(many,))
    assert "line 2" in shown(page)
    assert "line 8" not in shown(page)
    qtbot.mouseClick(buttons(page)["6 more lines"], Qt.MouseButton.LeftButton)
    assert "line 8" in shown(page)


def test_that_a_log_is_chosen_pasted_or_dropped(qtbot, page, session, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("/logs/a.log", ""))
    qtbot.mouseClick(page.open_button, Qt.MouseButton.LeftButton)
    assert session.doctor.wished[-1] == ("open_log", str(Path("/logs/a.log")))
    QGuiApplication.clipboard().setText("E error loading model: x")
    qtbot.mouseClick(page.paste_button, Qt.MouseButton.LeftButton)
    assert session.doctor.wished[-1] == ("read_text", "E error loading model: x")
    page.dropEvent(_drop("/logs/b.txt"))
    assert session.doctor.wished[-1] == ("open_log", str(Path("/logs/b.txt")))
    page.dropEvent(_drop("/models/b.gguf"))
    assert session.doctor.wished[-1] == ("open_log", str(Path("/logs/b.txt")))


def _drop(path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(path)])
    _drop.kept = data  # the event does not own it
    no_keys = Qt.KeyboardModifier.NoModifier
    return QDropEvent(QPointF(5, 5), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton, no_keys)


def test_that_one_change_is_offered_once_by_the_first_of_two_findings(page, session):
    (fixed,) = (f for f in findings() if f.fix is not None)
    too_large = Finding("over_full_ram", Severity.ERROR, {"device": "RAM", "missing_bytes": MIB}, fix=fixed.fix)
    session.doctor.show(findings=(fixed, too_large))
    assert len(page.cards) == 2
    first, second = page.cards
    assert len([b for b in first.findChildren(QAbstractButton) if b.text().startswith("Keep ")]) == 1
    assert not [b for b in second.findChildren(QAbstractButton) if b.text().startswith("Keep ")]


@pytest.mark.parametrize("code", ["engine_lacks_architecture", "engine_broken", "unknown_arch"])
def test_that_an_engine_that_cannot_run_the_model_is_replaced_from_its_card(page, session, code):
    params = {"build": "b9000", "architecture": "qwen9", "path": "engine", "why": "no answer"}
    session.doctor.show(findings=(Finding(code, Severity.ERROR, params), Finding("no_gpu", Severity.INFO)))
    assert "Get an engine…" in buttons(page)
    assert not [b for b in page.cards[1].findChildren(QAbstractButton) if b.text() == "Get an engine…"]
    buttons(page)["Get an engine…"].click()
    (opened,) = page.findChildren(GetEngineDialog)
    assert opened.isVisible()
    opened.close()


def test_that_the_report_is_copied(qtbot, page, session):
    assert not page.copy_button.isEnabled()
    session.doctor.show(findings=findings())
    qtbot.mouseClick(page.copy_button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "the report"
    assert page.copy_button.text() == "Copied"


def test_that_a_log_from_elsewhere_names_itself_and_can_be_left(qtbot, page, session):
    session.doctor.show(findings=findings(), log_name="server.log")
    assert "Log: server.log" in shown(page)
    closer = next(
        b for b in page.findChildren(QAbstractButton) if b.accessibleName() == "Back to this machine and plan"
    )
    qtbot.mouseClick(closer, Qt.MouseButton.LeftButton)
    assert session.doctor.wished[-1] == ("close_log",)


def test_that_a_log_that_cannot_be_read_is_told(page, session):
    session.doctor.show(problem=Problem("doctor_log_missing", params={"path": "x.log"}))
    assert "There is no log x.log" in shown(page)


def test_that_the_page_speaks_chinese(qtbot, session):
    set_language(Language.ZH_CN)
    page = DoctorPage(session)
    qtbot.addWidget(page)
    session.doctor.show(findings=findings())
    page.show()
    assert "KV 缓存" in page.cards[0].text
    set_language(Language.EN)


def test_that_a_screen_reader_hears_severity_and_sentence(page, session):
    session.doctor.show(findings=findings())
    assert page.cards[0].accessibleName().startswith("Error: CUDA0 has too little room")
