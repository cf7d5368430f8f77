"""The engines of the settings page and the window that gets one: what they show, and which wishes they pass on."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel

from app.common.problem import Problem
from app.session.engine_getter import GetPhase
from app.ui.dialogs.get_engine import GetEngineDialog, progress_text
from app.ui.pages.plan_header import PlanHeader
from app.ui.pages.settings import SettingsPage
from app.ui.pages.settings_engines import EnginesCard
from app.ui.theme.manager import ThemeManager
from app.words import Language, set_language
from app.work.downloads.types import DownloadProgress
from app.work.engine_archives import BroughtArchive, Verdict
from app.work.engine_getting import GetProgress, GetStep
from tests.qt import fake_engines as fake
from tests.qt import page_fixtures as fx
from tests.qt.fake_session import FakeSession


@pytest.fixture
def session(qapp):
    ThemeManager.of_app()
    return fx.FakeSession()


@pytest.fixture
def card(qtbot, session):
    made = EnginesCard(session.engines)
    qtbot.addWidget(made)
    return made


@pytest.fixture
def dialog(qtbot, session):
    made = GetEngineDialog(session, None, for_windows=True)
    qtbot.addWidget(made)
    return made


def shown(widget):
    return "\n".join(label.text() for label in widget.findChildren(QLabel) if not label.isHidden())


def test_that_engines_are_listed_with_the_one_in_use_and_its_facts(card, session):
    assert "No engine is known yet" in shown(card)
    session.engines.show(fake.VULKAN, fake.CUDA, current=fake.CUDA.id)
    first, second = card.rows
    assert (first.engine, second.engine) == (fake.CUDA, fake.VULKAN)
    assert "in use" in shown(first)
    assert first.use.isHidden()
    for fact in ("b11434 · CUDA + CPU", "official build", fake.CUDA.short_hash, fake.CUDA.path, fake.CUDA.devices[0]):
        assert fact in shown(first)
    assert "mostly faster" in shown(second)


def test_that_using_forgetting_and_going_back_are_one_click_each(card, session):
    session.engines.show(fake.VULKAN, fake.CUDA, current=fake.CUDA.id, previous=(fake.VULKAN.id,))
    assert card.back_button.text() == "Go back to b10809"
    card.rows[1].use.click()
    card.rows[1].forget.click()
    card.back_button.click()
    assert session.engines.wished == [("use", fake.VULKAN.id), ("forget", fake.VULKAN.id), ("go_back",)]


def test_that_a_folder_is_added_unless_the_choice_is_cancelled(card, session, monkeypatch):
    answers = iter(["", "/opt/my engine"])
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: next(answers))
    card.add_button.click()
    card.add_button.click()
    assert session.engines.wished == [("add", str(Path("/opt/my engine")))]


def test_that_the_keyboard_reaches_every_engine(card, session, qtbot):
    session.engines.show(fake.VULKAN, fake.CUDA, current=fake.CUDA.id)
    card.show()
    button = card.rows[1].use
    button.setFocus()
    QTest.keyClick(button, Qt.Key.Key_Space)
    assert session.engines.wished == [("use", fake.VULKAN.id)]
    assert button.accessibleName() == "Use b10809 · Vulkan + CPU"


def test_that_opening_the_window_asks_nobody(qtbot, session):
    page = SettingsPage(session, build_problem=lambda: None)
    qtbot.addWidget(page)
    page.show()
    page.engines.get_button.click()
    page.get_engine()
    assert session.engines.wished == []
    (opened,) = page.findChildren(GetEngineDialog)
    assert opened.isVisible()
    QTest.keyClick(opened, Qt.Key.Key_Escape)
    assert not opened.isVisible()


def test_that_the_list_is_loaded_by_the_users_click(dialog, session):
    assert "Show the builds" in shown(dialog)
    dialog.go.click()
    assert session.engines.wished == [("load_packages",)]


def test_that_the_recommended_package_is_marked_and_got(dialog, session):
    session.engines.show_get(phase=GetPhase.CHOOSING, offers=fake.windows_offers())
    assert dialog.chosen.package.key == "cuda-12.4"
    assert shown(dialog).count("recommended") == 1
    assert "CUDA 13.4 needs driver 580 or newer" in shown(dialog)
    dialog.go.click()
    vulkan = next(choice for choice in dialog.choices if choice.offer.package.key == "vulkan")
    vulkan.button.click()
    dialog.go.click()
    assert session.engines.wished == [("get_package", "cuda-12.4"), ("get_package", "vulkan")]


def test_that_enter_gets_the_recommended_package_once_the_list_is_there(dialog, session):
    dialog.show()
    session.engines.show_get(phase=GetPhase.LISTING)
    assert dialog.focusWidget() is dialog.cancel
    session.engines.show_get(phase=GetPhase.CHOOSING, offers=fake.windows_offers())
    assert dialog.focusWidget() is dialog.go
    QTest.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
    assert dialog.isVisible()
    assert session.engines.wished == [("get_package", "cuda-12.4")]


def test_that_after_a_failure_the_next_one_is_offered_with_the_reason(dialog, session):
    problem = Problem("engine_sees_no_card", params={"package": "cuda-12.4", "gpu": fake.NAME}, evidence=("(none)",))
    offers = fake.windows_offers()
    session.engines.show_get(phase=GetPhase.CHOOSING, offers=offers, failed=("cuda-12.4",), problem=problem)
    assert dialog.chosen.package.key == "vulkan"
    assert "does not see" in shown(dialog)
    assert "Tried: it does not work here." in shown(dialog)


def test_that_progress_is_told_and_cancel_is_at_hand(dialog, session):
    download = DownloadProgress("llama.zip", 1, 2, 50 << 20, 100 << 20, 50 << 20, 200 << 20, 10 << 20, 120.0)
    progress = GetProgress(GetStep.DOWNLOADING, "x", download)
    session.engines.show_get(phase=GetPhase.GETTING, offers=fake.windows_offers(), progress=progress)
    assert dialog.status.text() == "Downloading llama.zip  ·  50 MiB of 200 MiB  ·  10 MiB/s  ·  2 minutes left"
    assert (dialog.bar.value(), dialog.bar.maximum()) == (250, 1000)
    assert not dialog.go.isEnabled()
    dialog.cancel.click()
    assert session.engines.wished == [("cancel_get",)]


@pytest.mark.parametrize("language", list(Language))
def test_that_every_step_has_its_words(qapp, language):
    set_language(language)
    for step in GetStep:
        assert progress_text(GetProgress(step, "b1", unpacked_bytes=5)).strip()
    lost = DownloadProgress("a.zip", 1, 1, 0, None, 0, None, None, None, retry=2)
    assert "2" in progress_text(GetProgress(GetStep.DOWNLOADING, "b1", lost))


def test_that_the_end_says_what_is_in_use_and_what_it_sees(dialog, session):
    session.engines.show_get(phase=GetPhase.DONE, engine=fake.CUDA)
    for text in ("b11434 is installed and in use now.", fake.CUDA.devices[0], fake.CUDA.path):
        assert text in shown(dialog)
    assert dialog.go.isHidden()
    dialog.cancel.click()
    assert session.engines.wished == [("cancel_get",)]


def test_that_an_unknown_archive_shows_its_hash_before_it_is_installed(dialog, session, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("/dl/x.zip", ""))
    dialog.archive.click()
    brought = BroughtArchive(Path("/dl/x.zip"), 5, "ab" * 32, Verdict.UNKNOWN)
    session.engines.show_get(phase=GetPhase.CONFIRMING, archives=(brought,))
    assert dialog.hash.text() == "ab" * 32
    assert "x.zip" in dialog.status.text()
    dialog.go.click()
    assert session.engines.wished == [("bring_archive", str(Path("/dl/x.zip"))), ("install_brought",)]


def test_that_a_mirror_is_kept_and_one_that_is_none_is_told(dialog, session):
    dialog.mirror.setText("ftp://x")
    dialog.go.click()
    assert "is no web address" in shown(dialog)
    assert session.engines.wished == []
    dialog.mirror.setText("https://mirror.example")
    dialog.go.click()
    assert ("change_settings", {"engine_mirror": "https://mirror.example"}) in session.calls
    assert session.engines.wished == [("forget_offers",), ("load_packages",)]


def test_that_windows_own_questions_are_explained_on_windows(qtbot, session, dialog):
    assert "SmartScreen" in shown(dialog)
    other = GetEngineDialog(session, None, for_windows=False)
    qtbot.addWidget(other)
    assert "SmartScreen" not in shown(other)


def test_that_a_finished_transfer_does_not_greet_the_next_one(qtbot, session):
    session.engines.show_get(phase=GetPhase.DONE, engine=fake.CUDA)
    made = GetEngineDialog(session, None)
    qtbot.addWidget(made)
    assert session.engines.wished == [("forget_offers",)]


def test_that_the_plan_page_goes_back_and_gets_one_from_its_menu(qtbot):
    session = FakeSession()
    header = PlanHeader(session)
    qtbot.addWidget(header)
    menu = {action.data(): action for action in header._engine_menu.actions()}
    assert not menu["back"].isVisible()
    session.engines.show(fake.VULKAN, fake.CUDA, current=fake.CUDA.id, previous=(fake.VULKAN.id,))
    assert menu["back"].text() == "Go back to b10809"
    menu["back"].trigger()
    assert session.engines.wished == [("go_back",)]
    menu["get"].trigger()
    (opened,) = header.findChildren(GetEngineDialog)
    opened.close()
