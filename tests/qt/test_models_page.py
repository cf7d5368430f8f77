"""The models page and the download window: what they show, that a keyboard is enough, what they ask of the session."""

import dataclasses
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.common.problem import Problem, Severity
from app.planner.file_verdict import FileVerdict, VerdictKind
from app.session.hub_controller import HubPhase
from app.ui.dialogs.download import DownloadDialog, show_download
from app.ui.pages.models import ModelsPage
from app.ui.pages.models_side import SuggestionRow
from app.ui.pages.models_table import COLUMNS, Shown, _sort_key, _tone
from app.work.downloads.types import DownloadProgress
from app.work.hub.fetching import Downloaded, Space
from app.work.library.suggest import Suggestion
from tests.qt.fake_library import ENTRIES, GIB, choices
from tests.qt.fake_session import FakeSession
from tests.qt.plan_models import laptop, qwen3_30b


@pytest.fixture
def session(qapp):
    return FakeSession(laptop())


@pytest.fixture
def page(session, qtbot):
    made = ModelsPage(session)
    qtbot.addWidget(made)
    made.resize(1282, 768)
    made.show()
    session.library.show()
    return made


def cells(page, column):
    index = COLUMNS.index(column)
    model = page.table.model()
    return [model.index(row, index).data() for row in range(model.rowCount())]


def test_that_models_are_listed_with_the_best_verdict_first(page):
    assert cells(page, "name")[:2] == ["deepseek-v2:16b", "gpt-oss-20b-mxfp4.gguf"]
    verdicts = cells(page, "verdict")
    assert verdicts[0] == "● Fits on the GPU"
    assert "● Fits, 21 expert layers of 48 in RAM" in verdicts
    assert "✕ Too big, 96.0 GiB missing" in verdicts
    assert "5 models, 4 of them run here" in page.count.text()


def test_that_an_empty_list_offers_the_folder_of_the_file_that_is_open(qtbot, session):
    page = ModelsPage(session)
    qtbot.addWidget(page)
    page.show()
    session.library.show(())
    assert "folders that Lanewise knows" in page.empty.words[0]
    assert page.empty_add_open.isHidden()
    assert "LM Studio" in page.empty.words[1]
    session.model = replace(qwen3_30b(), path="/data/gguf/Qwen3-30B.gguf")
    session.change_settings(last_model="/data/gguf/Qwen3-30B.gguf")
    session.model_changed.emit()
    assert page.empty.words[1].startswith(f"Qwen3-30B.gguf was opened from {Path('/data/gguf')}")
    page.empty_add_open.click()
    assert session.settings.model_folders == (str(Path("/data/gguf")),)
    assert ("scan",) in session.wished
    assert page.empty_add_open.isHidden()
    session.model = replace(session.model, path="/own/demo.gguf")  # never the last model: nobody looks for it
    session.change_settings(model_folders=())
    assert page.empty_add_open.isHidden()


def test_that_the_fastest_comes_first_within_a_verdict_and_slow_is_amber_everywhere(qtbot):
    verdict = FileVerdict(VerdictKind.RAM, 4096)
    speeds = (3.0, 41.0, None, 9.0)
    dense, fast, unknown, slow = (replace(ENTRIES[0], verdict=replace(verdict, decode_tps=tps)) for tps in speeds)
    order = sorted((dense, fast, unknown, slow), key=lambda entry: _sort_key(entry, "verdict", ""))
    assert order == [fast, slow, dense, unknown]
    on_gpu = replace(dense, verdict=FileVerdict(VerdictKind.GPU, 4096, decode_tps=2.0))
    assert _sort_key(on_gpu, "verdict", "") < _sort_key(fast, "verdict", "")
    assert [_tone(entry) for entry in (dense, fast)] == ["warning", "ok"]
    for entry, look in ((dense, "warning"), (fast, "ok")):
        suggestion = Suggestion("M", "Q4_K_M", None, "qwen3moe", 1, 1, 1, entry.verdict)
        row = SuggestionRow(suggestion)
        qtbot.addWidget(row)
        label = row.findChildren(QLabel)[-1]
        assert label.property("look") == look == _tone(entry)


def test_that_it_looks_for_files_when_it_is_seen(page, session):
    assert ("ensure",) in session.wished


def test_that_columns_sort_by_their_values(page):
    page.table.sortByColumn(COLUMNS.index("size"), Qt.SortOrder.DescendingOrder)
    assert cells(page, "size")[0] == "132.0 GiB"
    page.table.sortByColumn(COLUMNS.index("speed"), Qt.SortOrder.DescendingOrder)
    assert cells(page, "name")[0] == "deepseek-v2:16b"


def test_that_words_filter_and_enter_opens_the_first_that_is_left(page, session):
    QTest.keyClicks(page.words, "qwen q4_k_m folder")
    QTest.keyClick(page.words, Qt.Key.Key_Return)
    assert cells(page, "name") == ["Qwen3-30B-A3B-Q4_K_M.gguf"]
    assert ("open_model", ENTRIES[0].path) in session.wished


def test_that_what_is_shown_can_be_chosen(page):
    page.shown.setCurrentIndex(list(Shown).index(Shown.RUNNING))
    assert "Qwen3-Next-80B.gguf.part" not in cells(page, "name")
    assert len(cells(page, "name")) == 4
    page.shown.setCurrentIndex(list(Shown).index(Shown.ALL))
    assert "mmproj-F16.gguf" in cells(page, "name")


def test_that_enter_and_a_double_click_open_a_model_but_no_other_file(page, session):
    page.table.setFocus()
    page.table.selectRow(0)
    QTest.keyClick(page.table, Qt.Key.Key_Return)
    page.table.selectRow(cells(page, "name").index("Qwen3-Next-80B.gguf.part"))
    assert not page.open.isEnabled() or page.table.current.is_model
    page.table.doubleClicked.emit(page.table.model().index(1, 0))
    opened = [wish for wish in session.wished if wish[0] == "open_model"]
    assert opened[0] == ("open_model", "D:\\models\\deepseek-v2:16b")


def test_that_a_file_whose_name_is_no_text_is_opened_under_its_own_name(page, session):
    odd = dataclasses.replace(ENTRIES[0].summary, files=("/models/caf\udce9.gguf",))
    session.library.show([dataclasses.replace(ENTRIES[0], name="caf\udce9.gguf", summary=odd)])
    page.table.selectRow(0)
    assert (page.table.filter.rowCount(), page.table.entries.rowCount()) == (1, 1)
    assert page.open.isEnabled()
    page.open.click()
    assert ("open_model", "/models/caf\udce9.gguf") in session.wished


def test_that_rows_that_come_in_leave_the_selection_where_it_is(page, session):
    session.library.show(ENTRIES[:2])
    page.table.selectRow(1)
    chosen = page.table.current
    session.library.show(ENTRIES[:4], scanning=True)
    assert page.table.current == chosen
    assert page.busy.isVisible()
    page.scan.click()
    assert ("cancel_scan",) in session.wished


def test_that_verdicts_that_come_later_leave_the_selection_and_the_file_under_it(page, session):
    first = [dataclasses.replace(each, waits=each.is_model) for each in ENTRIES]
    session.library.show(first, scanning=True)
    page.table.selectRow(2)
    chosen = page.table.current.path
    assert "…" in cells(page, "speed")
    resets = []
    page.table.entries.modelReset.connect(lambda: resets.append(1))
    session.library.show(ENTRIES, scanning=True)
    assert page.table.current.path == chosen
    assert "…" not in cells(page, "speed")
    assert not resets


def test_that_columns_are_as_wide_as_what_comes_in(page, session):
    session.library.show((), scanning=True)
    session.library.show(ENTRIES, scanning=True)
    for name in ("verdict", "speed", "size"):
        column = COLUMNS.index(name)
        assert page.table.columnWidth(column) >= page.table.sizeHintForColumn(column), name


def test_that_drawing_sorting_and_filtering_never_wait_for_python(page, session):
    """Beside a search every call into Python waits for its turn; a thousand of them would stop the window."""
    session.library.show([dataclasses.replace(each, name=f"{n} {each.name}") for n, each in enumerate(ENTRIES * 20)])
    page.table.tell_seen = lambda: None  # once for each scrolling, not for each cell
    called = []

    def note(frame, event, _):
        if event == "call":
            called.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        page.table.sortByColumn(COLUMNS.index("size"), Qt.SortOrder.DescendingOrder)
        page.table.filter.setFilterRegularExpression("qwen")
        page.table.viewport().repaint()
    finally:
        sys.setprofile(None)
    assert page.table.filter.rowCount() > 20
    assert len(called) < 40, called  # a few for the row that is chosen, none for the hundred rows of seven cells


def test_that_the_search_is_told_which_files_can_be_seen(page, session):
    many = [dataclasses.replace(ENTRIES[0], summary=dataclasses.replace(ENTRIES[0].summary, files=(f"/m/{n:03}",)))
            for n in range(200)]  # fmt: skip
    session.library.show(many, scanning=True)
    assert 5 < len(session.library.looked_at) < 100
    top = session.library.looked_at[0]
    page.table.verticalScrollBar().setValue(page.table.verticalScrollBar().maximum())
    assert top not in session.library.looked_at
    assert session.library.looked_at


def test_that_folders_are_added_and_removed_but_not_those_of_other_programs(page, session):
    page.add_folder("E:/more")
    assert session.settings.model_folders == ("E:/more",)
    assert ("scan",) in session.wished
    (button,) = page.places.remove_buttons
    assert "D:" in button.accessibleName()
    page.remove_folder("E:/more")
    assert session.settings.model_folders == ()


def test_that_an_empty_computer_is_told_what_to_do(page, session):
    session.library.show(())
    assert page.stack.currentWidget() is page.empty
    assert "No model" in page.empty.words[0]


def test_that_what_could_not_be_read_is_said_below_the_table(page, session):
    session.library.told = (Problem("library_folder_missing", Severity.WARNING, {"folder": "X:/gone"}),)
    session.library.show()
    assert "X:/gone is not there" in page.notes.text()


def test_that_a_suggestion_leads_to_the_download_window(page, session):
    first = page.suggestions.rows[0]
    assert first.suggestion.is_example
    first.get.click()
    (dialog,) = page.window().findChildren(DownloadDialog)
    assert session.wished[-1] == ("look", "bartowski/DeepSeek-Coder-V2-Lite-Instruct-GGUF:Q4_K_M")
    assert show_download(session, page) is dialog, "one window at a time"
    dialog.reject()
    assert not page.suggestions.rows[3].get.isVisible(), "nobody has checked where it is"


@pytest.fixture
def dialog(session, qtbot):
    made = DownloadDialog(session, None)
    qtbot.addWidget(made)
    made.show()
    return made


def test_that_files_are_listed_with_verdicts_and_the_best_is_marked(dialog, session):
    session.hub.show(phase=HubPhase.CHOOSING, choices=choices())
    assert dialog.chosen == 0
    assert dialog.files.item(0, 3).text() == "Fits, 21 expert layers of 48 in RAM"
    assert "Too big" in dialog.files.item(1, 3).text()
    assert "own header" in dialog.basis.text()
    dialog.projector.setChecked(True)
    dialog.go.click()
    assert session.wished[-1] == ("fetch", 0, True)


def test_that_a_full_disk_is_said_before_the_download(dialog, session):
    session.hub.room = Space(17 * GIB, 3 * GIB)
    session.hub.show(phase=HubPhase.CHOOSING, choices=choices())
    assert "Not enough room" in dialog.space.text()


def test_that_enter_in_the_link_asks_for_the_list_and_a_bad_mirror_is_told(dialog, session):
    QTest.keyClicks(dialog.link, "a/b")
    QTest.keyClick(dialog.link, Qt.Key.Key_Return)
    assert session.wished[-1] == ("look", "a/b")
    dialog.mirror.setText("not an address")
    n_wished = len(session.wished)
    dialog.look_button.click()
    assert len(session.wished) == n_wished
    assert dialog.trouble.count() == 1
    dialog.mirror.setText("https://hf-mirror.com")
    dialog.look_button.click()
    assert session.settings.model_mirror == "https://hf-mirror.com"


def test_that_a_transfer_shows_progress_and_escape_ends_it(dialog, session):
    progress = DownloadProgress("m.gguf", 1, 1, GIB, 4 * GIB, GIB, 4 * GIB, 8e6, 400.0)
    session.hub.show(phase=HubPhase.FETCHING, choices=choices(), progress=progress)
    assert dialog.bar.value() == 250
    assert not dialog.files.isEnabled()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    assert ("cancel_hub",) in session.wished


def test_that_what_arrived_is_opened_with_one_click(dialog, session):
    done = Downloaded("D:/models/m.gguf", ("D:/models/m.gguf",), GIB, True)
    session.hub.show(phase=HubPhase.DONE, choices=choices(), done=done)
    assert "SHA-256" in dialog.status.text()
    dialog.go.click()
    assert session.wished[-1] == ("open_model", "D:/models/m.gguf")


def test_that_a_failure_is_a_sentence_and_the_list_stays(dialog, session):
    problem = Problem("download_damaged", Severity.ERROR, {"name": "m", "host": "h"}, ("SHA-256 published: 1",))
    session.hub.show(phase=HubPhase.CHOOSING, choices=choices(), problem=problem)
    assert dialog.trouble.count() == 2
    assert dialog.files.rowCount() == 3
    session.hub.show(problem=None)
    assert dialog.trouble.count() == 0


def test_that_ollama_files_are_named_by_their_source(page):
    shown = dict(zip(cells(page, "name"), cells(page, "source"), strict=True))
    assert shown["deepseek-v2:16b"] == "Ollama"
