"""The machine page: facts with their sources, unknown ones with what would reveal them."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QFileDialog, QLabel

from app.hardware.snapshot_file import load_snapshot
from app.planner.types import MemoryEstimate
from app.ui.board.free_age import FreeAge
from app.ui.pages.machine import FindingRow, MachinePage
from app.ui.pages.machine_card import ConfidenceMark
from app.ui.plots.core_strip import CoreStrip
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.age import age_text
from app.words import Language, set_language
from app.work.machine_facts import machine_groups, source_text, taken_at_text
from tests.qt import page_fixtures as fx
from tests.tools.hardware_data import DATA


@pytest.fixture
def session(qapp):
    ThemeManager.of_app()
    return fx.FakeSession()


@pytest.fixture
def page(qtbot, session):
    made = MachinePage(session)
    qtbot.addWidget(made)
    made.resize(1282, 768)
    return made


def facts(snapshot, kind, index=0):
    groups = [group for group in machine_groups(snapshot) if group.kind == kind]
    return {fact.label: fact for fact in groups[index].facts}


def shown(page):
    return "\n".join(label.text() for label in page.findChildren(QLabel))


# Facts.


def test_that_each_fact_names_its_source_or_that_of_what_it_belongs_to():
    gpu = facts(fx.laptop(), "gpu")
    assert gpu["Free now"].source == "llama-server --list-devices"
    assert gpu["Driver"].source == "NVIDIA driver (NVML)"
    assert source_text({"gpus.0": "a new probe"}, "gpus.0.driver") == "a new probe"
    assert source_text({}, "gpus.0.driver") == ""


def test_that_an_idle_pcie_reading_is_marked_as_one():
    link = facts(fx.laptop(), "gpu")["PCIe link"]
    assert link.value == "PCIe 4.0 x8"
    assert link.hint == "now PCIe 1.0 x8: an idle reading, links slow down when nothing runs"


def test_that_a_link_at_full_speed_is_not_called_idle():
    snapshot = fx.laptop()
    busy = dataclasses.replace(snapshot.gpus[0], pcie_gen_now=4)
    link = facts(dataclasses.replace(snapshot, gpus=(busy,)), "gpu")["PCIe link"]
    assert link.hint == "the link runs at this speed now"


def test_that_channels_are_an_estimate_with_its_reason():
    channels = facts(fx.laptop(), "ram")["Channels"]
    assert (channels.value, channels.source, channels.confidence) == ("2", "from slot names", "estimated")


def test_that_the_engines_cores_come_with_the_reason():
    chosen = facts(fx.laptop(), "cpu")["For the engine"]
    assert chosen.value == "The engine gets CPUs 0-15 and 8 threads."
    assert chosen.hint == "One thread per P-core: E-cores would make the fast ones wait."


def test_that_unknown_facts_say_what_would_reveal_them_and_are_never_zero():
    ram = facts(fx.bare_machine(), "ram")
    assert all(fact.value is None and fact.hint and not fact.source for fact in ram.values())
    assert "Measure RAM speed" in ram["Measured read"].hint


def test_that_a_card_the_engine_does_not_list_is_called_unusable_only_after_asking():
    asked = facts(fx.laptop(), "engine")["Intel(R) UHD Graphics"]
    assert asked.value == "not usable by this engine"
    not_asked = facts(dataclasses.replace(fx.laptop(), engine_asked=False), "engine")["Intel(R) UHD Graphics"]
    assert not_asked.value is None
    assert not_asked.hint == "the engine has not been asked yet"


def test_that_a_strange_time_is_shown_as_it_is():
    assert taken_at_text(fx.laptop().taken_at) == "2026-11-29 14:00"
    assert taken_at_text("last week") == "last week"


def test_that_a_saved_machine_is_measured_where_it_stands():
    ram = next(group for group in machine_groups(fx.bare_machine(), is_here=False) if group.kind == "ram")
    assert ram.facts[-1].hint == "Measure it on that machine, then save its snapshot again."


# The page.


def test_that_the_verdict_names_the_limits_and_what_would_help(page, session):
    session.judge.is_on = True
    session.hardware = load_snapshot(DATA / "desktop-two-unequal-gpus.json")
    page.show()
    session.hardware_changed.emit()
    limit, help_ = page.verdict.splitlines()
    assert limit.startswith("Decode is limited by ")
    assert "RTX 4070 Ti" in help_
    assert "×" in help_
    assert "since no model is open" in shown(page)
    page.close()


def test_that_until_it_is_judged_the_page_says_what_the_machine_offers(page):
    assert page.verdict.splitlines() == [
        "NVIDIA GeForce RTX 4080 Laptop GPU: 11.7 GiB of 12.0 GiB VRAM are free.",
        "What stays in RAM is read at 71.2 GB/s (measured): that limits decode.",
    ]


def test_that_findings_and_failed_probes_are_told_with_their_severity(page, session):
    session.hardware = fx.bare_machine()
    session.hardware_changed.emit()
    spoken = [row.findChildren(QLabel)[1].accessibleName() for row in page.findChildren(FindingRow) if row.isEnabled()]
    assert any(text.startswith("Note: No GPU was found") for text in spoken)
    assert any(text.startswith("Warning: The firmware does not tell") for text in spoken)


def test_that_the_core_map_marks_what_the_engine_gets(page):
    (strip,) = page.findChildren(CoreStrip)
    assert strip.words == "P cores: 0-15; E cores: 16-31; the server runs on 0-15"


def test_that_a_page_without_hardware_says_that_it_is_looking(page, session):
    session.hardware = None
    session.hardware_changed.emit()
    assert page.verdict == "Looking at this computer."
    assert not page.measure_button.isEnabled()


def test_that_measuring_shows_at_once_and_ends_with_the_new_snapshot(page, session):
    assert page.measure_button.text() == "Measure RAM speed again"
    page.measure_button.click()
    assert session.calls == [("measure_ram",)]
    assert page.measure_button.text() == "Stop measuring"
    memory = dataclasses.replace(session.hardware.memory, measured_gbs=38.0, measured_at="2026-11-29T15:00:00+08:00")
    session.hardware = dataclasses.replace(session.hardware, memory=memory)
    session.hardware_changed.emit()
    session.machine.set_measuring(False)
    assert page.measure_button.text() == "Measure RAM speed again"
    assert "38 GB/s" in shown(page)
    assert "Measured 2026-11-29 15:00." in shown(page)


def test_that_a_second_click_stops_a_measurement(page, session):
    page.measure_button.click()
    page.measure_button.click()
    assert session.calls == [("measure_ram",), ("cancel_measuring",)]
    assert page.measure_button.text() == "Measure RAM speed again"


def test_that_the_age_of_free_memory_stands_beside_it_and_grows_without_asking_anybody(page, session):
    assert "12 s ago" in shown(page)
    before = page.cards
    session.machine.age_seconds = 190.0
    session.machine.freshness_changed.emit()
    assert "3 min ago" in shown(page)
    assert page.cards == before
    assert session.calls == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (0.4, "just now"), (119, "119 s ago"), (7300, "2 hours ago"), (1e6, "277 hours ago")],
)
def test_that_an_age_is_told_in_words(seconds, text):
    assert age_text(seconds) == text


def test_that_a_boards_tooltip_tells_how_much_is_free_and_since_when(qtbot, session):
    label = QLabel("fits")
    qtbot.addWidget(label)
    tip = FreeAge(session, "CUDA0", label)
    QApplication.sendEvent(label, QHelpEvent(QEvent.Type.ToolTip, QPoint(), QPoint()))
    assert label.toolTip() == "11.7 GiB free, 12 s ago"
    session.machine.age_seconds = None
    assert tip.text() == ""
    assert FreeAge(session, "CUDA7", label).text() == ""


def test_that_marks_tell_measured_and_estimated_and_unknown_facts(page, session):
    marks = [mark.text() for mark in page.findChildren(ConfidenceMark)]
    assert {"measured", "estimated", "unknown"} == set(marks)
    for mark in page.findChildren(ConfidenceMark):
        assert mark.toolTip()


def test_that_an_open_plan_too_large_for_this_machine_is_warned_of(page, session):
    ram = session.plan.estimate.get("RAM")
    full = dataclasses.replace(ram, free_bytes=ram.total_bytes - (1 << 30))
    session.plan = dataclasses.replace(session.plan, estimate=MemoryEstimate((full,)))
    session.hardware_changed.emit()
    assert "1 024 MiB are missing" in shown(page)


def test_that_a_snapshot_is_compared_side_by_side_with_marks_and_both_verdicts(page, session, monkeypatch, tmp_path):
    session.machine.other = load_snapshot(DATA / "desktop-single-channel.json")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(tmp_path / "office pc.json"), ""))
    next(b for b in page.findChildren(QAbstractButton) if b.text() == "Compare with snapshot…").click()
    window = page.comparison
    assert window.isVisible()
    text = shown(window)
    for part in ("This machine", "office pc.json", "≠", "21.3 GB/s", "89.6 GB/s"):
        assert part in text
    assert all(verdict.startswith(("Decode", "Qwen3")) for verdict in window.verdicts)
    same = next(row.label for row in window.rows if not row.differs)
    assert not [label for label in window.findChildren(QLabel) if label.text() == same and label.isVisible()]
    window.only_differences.setChecked(False)
    QApplication.processEvents()
    assert [label for label in window.findChildren(QLabel) if label.text() == same]
    window.close()
    assert page.comparison is None


def test_that_a_file_that_is_no_snapshot_opens_no_comparison(page, session, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("broken.json", ""))
    page._on_compare()
    assert page.comparison is None
    assert session.calls == [("read_other", "broken.json")]


def test_that_the_same_snapshot_does_not_rebuild_the_cards(page, session):
    before = page.cards
    session.hardware = dataclasses.replace(session.hardware)
    session.hardware_changed.emit()
    assert page.cards == before


def test_that_save_load_and_look_again_reach_the_session(page, session, monkeypatch, tmp_path):
    target = str(tmp_path / "machine.json")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (target, ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (target, ""))
    for button in page.findChildren(QAbstractButton):
        if button.text() in ("Save snapshot…", "Open snapshot…", "Look again"):
            button.click()
    assert sorted(call[0] for call in session.calls) == ["load_snapshot", "refresh_hardware", "save_snapshot"]


def test_that_a_cancelled_file_dialog_does_nothing(page, session, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: ("", ""))
    page._on_save()
    page._on_load()
    assert session.calls == []


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("machine", [fx.laptop, fx.bare_machine])
def test_that_no_words_are_cut_at_the_smallest_window(qtbot, language, machine):
    set_language(language)
    ThemeManager.of_app()
    session = fx.FakeSession()
    session.hardware = machine()
    page = MachinePage(session)
    qtbot.addWidget(page)
    page.resize(956, 640)
    page.show()
    QApplication.processEvents()
    assert page.minimumSizeHint().width() <= 956
    cut = [
        label.text()
        for label in page.findChildren(QLabel)
        if label.isVisible() and not label.wordWrap() and label.width() < label.sizeHint().width()
    ]
    assert cut == []
    right = max(card.mapTo(page, card.rect().topRight()).x() for card in page.cards)
    assert right < 956
    page.close()


def test_that_buttons_can_be_reached_by_keyboard(page):
    for button in page.findChildren(QAbstractButton):
        assert button.accessibleName() or button.text()
        assert button.focusPolicy() & Qt.FocusPolicy.TabFocus


def test_that_a_saved_machine_is_called_one_and_its_ram_is_not_measured_here(page, session):
    session.is_this_machine = False
    session.hardware_changed.emit()
    assert "Saved machine" in shown(page)
    assert not page.measure_button.isEnabled()
    assert "Back to this machine" in [button.text() for button in page.findChildren(QAbstractButton)]
    session.is_this_machine = True
    session.hardware_changed.emit()
    assert "This machine" in shown(page)
    assert page.measure_button.isEnabled()
