"""The run page's further views: speed against depth, and every figure as a table."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QAbstractItemModelTester, QTest

from app.common.units import GIB
from app.monitor.sample import Sample
from app.ui.pages.run import RunPage
from app.ui.pages.run_series import all_figures, cpu_figures, vram_series
from app.ui.plots.depth_plot import deepest_shown
from app.ui.plots.numbers import RowsModel
from app.ui.theme.manager import ThemeManager
from app.work.run_history import RequestPoint
from tests.qt import page_fixtures as fx


def request(depth, tps, **more):
    told = {"seconds": 1.0, "prompt_tokens": 512, "prompt_tps": 400.25, "decode_tokens": 128, **more}
    return RequestPoint(decode_tps=tps, depth=depth, **told)


@pytest.fixture
def session(qapp):
    ThemeManager.of_app()
    made = fx.FakeSession()
    made.run = fx.ready_run()
    return made


@pytest.fixture
def page(qtbot, session):
    made = RunPage(session)
    qtbot.addWidget(made)
    made.resize(1282, 768)
    made.show()
    yield made
    made.hide()


def dots(plot):
    return [(point.x(), point.y()) for point in plot.chart._curves[0]._points]


def test_that_speed_against_depth_costs_nothing_until_it_is_chosen(page, session):
    plot = page.plots.by_depth
    session.runs.tell(request(640, 61.0), request(1280, 58.5))
    assert not plot.isVisible()
    assert dots(plot) == []
    page.plots.decode_views._titles[0].actions_of_menu[1].trigger()
    assert plot.isVisible()
    assert not page.plots.decode.isVisible()
    assert dots(plot) == [(640.0, 61.0), (1280.0, 58.5)]
    session.runs.tell(request(640, 61.0), request(1280, 58.5), request(2500, 52.0))
    assert dots(plot)[-1] == (2500.0, 52.0)
    assert plot._value.text() == "52 tok/s"
    assert plot.words == "at 2 500 tokens 52 tok/s · plan 60 tok/s"
    assert plot.accessibleDescription() == plot.words
    assert plot.chart._lines[0].value() == 60.0


def test_that_the_view_over_time_is_not_drawn_while_the_other_one_is_shown(page, session):
    asked = []
    page.plots.decode_views.show_view(1)
    page.plots.decode._reader = lambda key, _: (asked.append(key), (np.empty(0), np.empty(0)))[1]
    session.sample_added.emit(Sample(1.0, {"tok.decode": 60.0}))
    asked.clear()
    session.sample_added.emit(Sample(2.0, {"tok.decode": 60.0}))
    assert asked == []
    page.plots.decode_views.show_view(0)
    assert asked == ["tok.decode"]


def test_that_the_keyboard_changes_the_view_and_stays_on_its_title(page, qtbot):
    first, second = page.plots.decode_views._titles
    page.activateWindow()
    first.setFocus()
    qtbot.waitUntil(first.hasFocus)
    QTest.keyClick(first, Qt.Key.Key_Space)
    qtbot.waitUntil(first.menu.isVisible)
    QTest.keyClick(first.menu, Qt.Key.Key_Down)
    QTest.keyClick(first.menu, Qt.Key.Key_Down)
    QTest.keyClick(first.menu, Qt.Key.Key_Return)
    assert page.plots.decode_views.current == 1
    assert second.hasFocus()
    assert [action.isChecked() for action in first.actions_of_menu] == [True, False]
    assert [action.isChecked() for action in second.actions_of_menu] == [False, True]


def test_that_a_request_without_a_speed_is_no_point_and_no_request_says_what_comes(page, session):
    page.plots.decode_views.show_view(1)
    plot = page.plots.by_depth
    assert plot._empty.isVisible()
    plot.set_plan(None, 16384)
    assert plot.words == "", "no colour without a word beside it"
    session.runs.tell(request(100, None))
    assert dots(plot) == []
    session.runs.tell(request(100, 20.0))
    assert not plot._empty.isVisible()
    session.runs.tell()
    assert plot._empty.isVisible()
    assert plot._value.text() == "—"


def test_that_the_depth_axis_ends_at_a_round_number_or_at_the_context():
    assert deepest_shown([], 16384) == 256
    assert deepest_shown([300, 5000], 16384) == 8192
    assert deepest_shown([15000], 16000) == 16000
    assert deepest_shown([20000], 16000) == 20000
    assert deepest_shown([5000], None) == 8192


def test_that_depths_are_a_table_too_and_copied_as_plain_numbers(page, session):
    session.runs.tell(request(640, 61.0), request(12800, 48.5, prompt_tps=None, prompt_tokens=None))
    page.plots.by_depth._button.click()
    model = page.plots.by_depth._dialog.model
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    assert [model.headerData(i, Qt.Orientation.Horizontal) for i in range(2)] == ["Depth (tokens)", "Decode"]
    shown = [[model.data(model.index(row, column)) for column in range(5)] for row in range(2)]
    assert shown == [["12 800", "48.5 tok/s", "128", "—", "—"], ["640", "61 tok/s", "128", "400 tok/s", "512"]]
    page.plots.by_depth._dialog.copy()
    assert QGuiApplication.clipboard().text().splitlines()[1:] == ["12800\t48.5\t128\t\t", "640\t61\t128\t400.25\t512"]
    page.plots.by_depth._dialog.close()


def test_that_an_empty_table_of_rows_is_a_table():
    model = RowsModel(["a", "b"])
    assert (model.rowCount(), model.columnCount(), model.text()) == (0, 2, "a\tb\n")


def test_that_what_stands_in_the_line_of_figures_is_a_table_too(page, session):
    for at in (1.0, 2.0):
        values = {"gpu.CUDA0.util": 90.0 + at, "gpu.CUDA0.temperature": 64.0, "ctx.used": None, "swap.used": 1.0 * GIB}
        session.ring.append(Sample(at, values))
        session.sample_added.emit(Sample(at, values))
    page._reader.is_live = False
    page.live.button.click()
    model = page.live.table.dialog.model
    heads = [model.headerData(i, Qt.Orientation.Horizontal) for i in range(model.columnCount())]
    assert heads == ["Time", "CUDA0, load", "CUDA0, temperature", "Swap"]
    assert [model.data(model.index(0, i)) for i in range(4)] == ["0.0 s", "92 %", "64 °C", "1 024 MiB"]
    page.live.table.dialog.close()


def test_that_the_core_strip_is_a_table_too(page, session):
    values = {"server.cpu": 312.0, **{f"cpu.{i}": float(i) for i in range(32)}}
    session.ring.append(Sample(1.0, values))
    page._reader.is_live = False
    page.plots.cores.button.click()
    model = page.plots.cores.table.dialog.model
    heads = [model.headerData(i, Qt.Orientation.Horizontal) for i in range(model.columnCount())]
    assert heads[:3] == ["Time", "Server CPU", "CPU 0 (P)"]
    assert heads[-1] == "CPU 31 (E)"
    assert [model.data(model.index(0, i)) for i in (1, 2, 33)] == ["312 %", "0 %", "31 %"]
    page.plots.cores.table.dialog.close()


def test_that_every_measured_figure_has_a_column_and_no_other():
    keys = {
        "gpu.Vulkan0.dedicated",
        "gpu.Vulkan0.shared",
        "engine.RPC0.allocated",
        "tok.decode",
        "cpu.3",
        "server.read",
    }
    assert [one.key for one in all_figures(keys)] == [
        "gpu.Vulkan0.dedicated", "gpu.Vulkan0.shared", "engine.RPC0.allocated", "tok.decode",
    ]  # fmt: skip
    assert [one.key for one in cpu_figures(fx.laptop().cpu.cores)][:3] == ["server.cpu", "cpu.0", "cpu.1"]


def test_that_a_card_whose_driver_tells_only_the_servers_share_shows_that_beside_the_plans_own():
    plan, hardware = fx.plan(), fx.laptop()
    (curve,) = vram_series(plan, hardware, {"gpu.CUDA0.dedicated", "engine.CUDA0.allocated"})
    assert (curve.key, curve.note) == ("gpu.CUDA0.dedicated", "server's own")
    assert curve.predicted == plan.estimate.get("CUDA0").total_bytes
    (whole,) = vram_series(plan, hardware, {"gpu.CUDA0.dedicated", "gpu.CUDA0.used"})
    assert whole.key == "gpu.CUDA0.used"
