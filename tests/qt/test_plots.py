"""Live plots: what they draw, say and leave alone."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication, QWidget

from app.common.units import GIB, MIB
from app.hardware.types import CoreKind, CpuCore
from app.ui.plots.core_strip import CoreStrip, grouped
from app.ui.plots.curve import pieces, thinned
from app.ui.plots.data import Series, highest, newest
from app.ui.plots.live_plot import LivePlot
from app.ui.plots.numbers import NumbersModel
from app.ui.plots.scale import (
    PlotUnit,
    capacity_maximum,
    cpu_list_text,
    stepped_maximum,
    value_text,
    x_ticks,
    y_ticks,
)
from app.ui.theme.manager import ThemeManager, ThemeMode
from app.words import Language, set_language

AGES = np.arange(-60.0, 0.5, 0.5)


class Numbers:
    """A reader whose columns a test sets."""

    def __init__(self, **columns):
        self.columns = columns
        self.asked = []

    def __call__(self, key, seconds):
        self.asked.append((key, seconds))
        values = self.columns.get(key)
        if values is None:
            return np.empty(0), np.empty(0)
        values = np.asarray(values, float)
        return AGES[-values.size :], values


@pytest.fixture
def theme(qapp):
    manager = ThemeManager.of_app()
    yield manager
    manager.set_mode(ThemeMode.LIGHT)


@pytest.fixture
def plot(qtbot, theme):
    made = LivePlot("VRAM", PlotUnit.BYTES, Numbers(), theme)
    qtbot.addWidget(made)
    made.resize(300, 200)
    return made


def with_columns(plot, series, capacity=None, **columns):
    plot._reader.columns = columns
    plot.set_series(series, capacity)
    return plot


def drawn(plot, index=0):
    """The numbers that a curve holds."""
    return plot.chart._curves[index].xs, plot.chart._curves[index].ys


# The axes.


def test_that_a_range_grows_at_once_and_shrinks_only_when_mostly_empty():
    assert stepped_maximum(58, PlotUnit.SPEED) == 100
    assert stepped_maximum(97, PlotUnit.SPEED, 100) == 200
    assert stepped_maximum(95, PlotUnit.SPEED, 200) == 200
    assert stepped_maximum(70, PlotUnit.SPEED, 200) == 200
    assert stepped_maximum(40, PlotUnit.SPEED, 200) == 50


def test_that_percent_is_always_a_hundred():
    assert stepped_maximum(3, PlotUnit.PERCENT) == stepped_maximum(100, PlotUnit.PERCENT) == 100


def test_that_a_twelve_gib_card_gets_a_twelve_gib_axis():
    assert capacity_maximum(9 * GIB, 12282 * MIB) == 12 * GIB
    assert capacity_maximum(20 * GIB, 31.7 * GIB) == 32 * GIB
    assert capacity_maximum(13 * GIB, 12282 * MIB) == 16 * GIB


def test_that_a_small_model_on_a_large_card_still_shows_its_curve():
    assert capacity_maximum(58 * MIB, 24 * GIB) == 64 * MIB
    assert capacity_maximum(200 * MIB, 24 * GIB, 64 * MIB) == 256 * MIB


def test_that_an_axis_that_shows_the_whole_device_stays_so():
    assert capacity_maximum(0.3 * GIB, 12282 * MIB, 12 * GIB) == 12 * GIB


def test_that_ticks_are_words_with_the_unit_once():
    assert y_ticks(12 * GIB, PlotUnit.BYTES) == [(0, "0"), (6 * GIB, "6"), (12 * GIB, "12 GiB")]
    assert [text for _, text in y_ticks(16 * MIB, PlotUnit.BYTES)] == ["0", "8", "16 MiB"]
    assert x_ticks(120) == [(-120, "-2 min"), (-60, "-60 s"), (0, "now")]
    set_language(Language.ZH_CN)
    assert x_ticks(600) == [(-600, "10 分钟前"), (-300, "5 分钟前"), (0, "现在")]


def test_that_unknown_is_a_dash_and_never_zero():
    assert value_text(None, PlotUnit.BYTES) == value_text(float("nan"), PlotUnit.SPEED) == "—"
    assert value_text(0.0, PlotUnit.BYTES) == "0 MiB"
    assert value_text(61.34, PlotUnit.SPEED) == "61.3 tok/s"


@pytest.mark.parametrize(
    ("cpus", "text"), [((), "—"), ((3,), "3"), (range(12), "0-11"), ((5, 0, 1, 2, 8, 10, 11, 11), "0-2, 5, 8, 10-11")]
)
def test_that_cpu_numbers_are_shortened_to_ranges(cpus, text):
    assert cpu_list_text(cpus) == text


# The newest value.


def test_that_the_newest_value_knows_whether_it_is_of_now():
    values = np.array([1.0, 2.0, np.nan])
    assert newest(np.array([-2.0, -1.0, 0.0]), values).value == 2.0
    assert newest(np.array([-2.0, -1.0, 0.0]), values).age_s == 1.0
    assert not newest(np.array([-2.0, -1.0, 0.0]), values).is_current
    assert newest(np.empty(0), np.empty(0)).value is None
    assert highest(values) == 2.0
    assert highest(np.array([np.nan])) == 0.0


def test_that_a_level_nobody_reads_any_more_is_unknown(plot):
    with_columns(plot, [Series("v", "CUDA0", 0)], v=[1.0 * GIB, np.nan])
    assert plot.words == "CUDA0 —"


def test_that_a_speed_stays_true_of_its_moment(qtbot, theme):
    plot = LivePlot("Prompt", PlotUnit.SPEED, Numbers(), theme)
    qtbot.addWidget(plot)
    with_columns(plot, [Series("p", "now", 0)], p=[*[410.0] * 10, *[np.nan] * 20])
    assert plot.words == "10 s ago 410 tok/s"


# What is drawn.


def test_that_gaps_stay_gaps(plot):
    values = np.full(100, 5.0 * GIB)
    values[40:60] = np.nan
    with_columns(plot, [Series("v", "CUDA0", 0)], v=values)
    ages, y = drawn(plot)
    assert np.isnan(y).sum() == 20
    before, after = plot.chart._curves[0]._lines
    assert [before.count(), after.count()] == [40, 40]
    assert before.last().x() == ages[39]
    assert after.first().x() == ages[60]


def test_that_a_value_between_two_gaps_is_a_dot(plot):
    with_columns(plot, [Series("v", "CUDA0", 0)], v=[np.nan, GIB, np.nan, GIB, GIB])
    curve = plot.chart._curves[0]
    assert [line.count() for line in curve._lines] == [2]
    assert [(dot.x(), dot.y()) for dot in curve._points] == [(AGES[-4], GIB)]


def test_that_more_numbers_than_pixels_keep_their_peaks_and_their_gaps():
    xs, ys = np.arange(12_000.0), np.sin(np.arange(12_000.0) / 900)
    ys[7001] = 9.0
    ys[3000:6000] = np.nan
    thin_xs, thin_ys = thinned(xs, ys, 200)
    assert thin_xs.size == thin_ys.size == 400
    assert np.nanmax(thin_ys) == 9.0
    assert np.nanmin(thin_ys) == np.nanmin(ys)
    assert [x.size for x, _ in pieces(thin_xs, thin_ys)] == [100, 200]
    assert thinned(xs[:300], ys[:300], 200)[0].size == 300


def test_that_the_range_of_a_device_never_moves(plot):
    with_columns(plot, [Series("v", "CUDA0", 0, predicted=10.9 * GIB)], 12282 * MIB, v=[1.0 * GIB])
    assert plot.maximum == 12 * GIB
    plot._reader.columns["v"] = [11.9 * GIB]
    plot.redraw()
    assert plot.maximum == 12 * GIB


def test_that_the_plan_is_a_dashed_line_in_the_colour_of_its_curve(plot, theme):
    with_columns(plot, [Series("v", "CUDA0", 1, predicted=10.9 * GIB), Series("w", "CUDA1", 2)], v=[GIB], w=[GIB])
    first, second = plot.chart._lines
    assert first.isVisible()
    assert first.value() == 10.9 * GIB
    assert first.pen.style() is Qt.PenStyle.DashLine
    assert first.pen.color() == theme.tokens.series[1]
    assert not second.isVisible()


def test_that_pens_are_one_opaque_pixel(plot):
    with_columns(plot, [Series("v", "CUDA0", 0)], v=[GIB])
    pen = plot.chart._curves[0]._pen
    assert (pen.widthF(), pen.color().alpha()) == (1.0, 255)


def test_that_a_theme_change_reaches_curves_axes_and_background(plot, theme):
    with_columns(plot, [Series("v", "CUDA0", 3, predicted=GIB)], v=[GIB])
    for mode in (ThemeMode.DARK, ThemeMode.LIGHT):
        theme.set_mode(mode)
        tokens = theme.tokens
        assert plot.chart._curves[0]._pen.color() == tokens.series[3]
        assert plot.chart._lines[0].pen.color() == tokens.series[3]
        assert plot.chart._axes[0].textPen().color() == tokens.color("text_dim")
        assert plot.chart.backgroundBrush().color() == tokens.color("panel")


def test_that_curves_come_and_go_with_the_series(plot):
    with_columns(plot, [Series("v", "a", 0), Series("w", "b", 1)], v=[GIB], w=[GIB])
    assert len(plot.chart._curves) == 2
    with_columns(plot, [Series("v", "a", 0)], v=[GIB])
    assert len(plot.chart._curves) == len(plot.chart._lines) == 1


# Behaviour.


def test_that_the_wheel_belongs_to_the_page_and_zooms_nothing(plot):
    with_columns(plot, [Series("v", "CUDA0", 0)], v=[GIB])
    plot.show()
    before = plot.chart.getPlotItem().viewRange()
    center = QPointF(plot.chart.rect().center())
    wheel = QWheelEvent(
        center, plot.chart.mapToGlobal(center), QPoint(0, 0), QPoint(0, 240), Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(plot.chart.viewport(), wheel)
    assert plot.chart.getPlotItem().viewRange() == before
    assert not wheel.isAccepted()
    assert not plot.chart.getPlotItem().menuEnabled()
    plot.close()


def test_that_a_screen_reader_hears_values_and_plan(plot):
    with_columns(plot, [Series("v", "CUDA0", 0, predicted=11 * GIB, note="engine's sum")], v=[10.5 * GIB])
    assert plot.accessibleName() == "VRAM"
    assert plot.accessibleDescription() == "CUDA0 10.5 GiB engine's sum · plan 11.0 GiB"


def test_that_the_span_is_what_the_reader_is_asked_for(plot):
    with_columns(plot, [Series("v", "CUDA0", 0)], v=[GIB])
    plot.set_span(600.0)
    assert plot._reader.asked[-1] == ("v", 600.0)


# The table.


def test_that_the_table_joins_series_by_moment_and_copies_plain_numbers(qtbot):
    model = NumbersModel(PlotUnit.SPEED)
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    model.set_numbers(
        (
            (Series("a", "decode", 0), np.array([-2.0, -1.0]), np.array([60.0, 61.5])),
            (Series("b", "prompt", 1), np.array([-2.0, 0.0]), np.array([np.nan, 400.0])),
        )
    )
    assert model.rowCount() == 3
    assert model.text().splitlines() == ["Time\tdecode\tprompt", "0.0\t\t400", "-1.0\t61.5\t", "-2.0\t60\t"]
    assert model.data(model.index(0, 1)) == "—"
    assert model.data(model.index(0, 2), Qt.ItemDataRole.AccessibleTextRole) == "400 tok/s"


def test_that_the_button_opens_the_numbers_and_copy_takes_them(plot):
    with_columns(plot, [Series("v", "CUDA0", 0)], v=[GIB, 2.0 * GIB])
    plot.show()
    plot._button.click()
    dialog = plot._dialog
    assert dialog.isVisible()
    assert dialog.model.rowCount() == 2
    dialog.copy()
    assert QGuiApplication.clipboard().text().splitlines()[1] == f"0.0\t{2 * GIB}"
    dialog.close()
    plot.close()


# The core strip.


CORES = (
    *(CpuCore((2 * i, 2 * i + 1), CoreKind.P) for i in range(2)),
    *(CpuCore((4 + i,), CoreKind.E) for i in range(2)),
    CpuCore((6,), CoreKind.LP_E),
)


@pytest.fixture
def strip(qtbot, theme):
    made = CoreStrip(theme)
    qtbot.addWidget(made)
    made.set_cores(CORES)
    made.resize(240, 90)
    return made


def test_that_fast_cores_come_first():
    assert [kind for kind, _ in grouped(reversed(CORES))] == [CoreKind.P, CoreKind.E, CoreKind.LP_E]


def test_that_the_strip_says_what_it_draws(strip):
    strip.set_load({0: 100.0, 1: 50.0, 2: None, 4: 10.0})
    strip.set_marked({0, 1, 2, 3})
    assert strip.words == ("P cores 0-3: 75 %; E cores 4-5: 10 %; LP-E cores 6: —; the server runs on 0-3")
    assert strip.accessibleDescription() == strip.words


def test_that_a_busy_core_is_painted_higher_than_an_idle_one(strip, theme):
    strip.set_load({0: 100.0, 1: 0.0, 2: 0.0, 3: 0.0, 4: 0.0, 5: 0.0, 6: 0.0})
    strip.show()
    image = strip.grab().toImage()
    layout = strip._layout_now()
    busy, idle = (strip._cell_rect(layout, cell).center().toPoint() for cell in layout.cells[:2])
    assert image.pixelColor(busy) == theme.tokens.series[0]
    assert image.pixelColor(idle) == theme.tokens.color("chip")
    strip.close()


def test_that_many_cpus_wrap_instead_of_vanishing(qtbot, theme):
    strip = CoreStrip(theme)
    qtbot.addWidget(strip)
    strip.set_cores(tuple(CpuCore((i,), CoreKind.UNKNOWN) for i in range(256)))
    strip.resize(200, 120)
    layout = strip._layout_now()
    assert layout.rows > 1
    assert len(layout.cells) == 256
    inside = strip.rect().toRectF()
    assert all(inside.contains(strip._cell_rect(layout, cell)) for cell in layout.cells)


# The soak.


def test_that_six_minutes_of_redraws_lose_no_none_and_leave_no_widgets(qtbot, theme):
    """PySide6 6.12 dropped about 25 references to None a frame and aborted in seconds (docs/architecture.md)."""
    parent = QWidget()
    qtbot.addWidget(parent)
    numbers = Numbers(a=np.sin(AGES) + 2, b=np.cos(AGES) + 2)
    plot = LivePlot("Speed", PlotUnit.SPEED, numbers, theme, parent)
    plot.set_series([Series("a", "a", 0, predicted=2.0), Series("b", "b", 1)])
    parent.show()
    QApplication.processEvents()
    gc.collect()
    nones, widgets = sys.getrefcount(None), len(QApplication.allWidgets())
    for i in range(1500):  # six minutes at four a second
        numbers.columns["a"] = np.roll(numbers.columns["a"], 1)
        numbers.columns["b"][i % AGES.size] = np.nan
        plot.redraw()
        plot.chart.viewport().repaint()
    gc.collect()
    if sys.version_info < (3, 12):  # since then None is immortal and its count says nothing
        assert sys.getrefcount(None) > nones - 100
    assert len(QApplication.allWidgets()) == widgets
    parent.close()


def test_that_a_run_that_is_over_says_end_and_not_now(plot):
    with_columns(plot, [Series("a", "now", 0, is_moment=True)], a=[1.0, 2.0])
    assert plot.chart._axes[1]._tickLevels[0][-1] == (0.0, "now")
    assert "now" in plot.words
    plot.set_live(False)
    assert plot.chart._axes[1]._tickLevels[0][-1] == (0.0, "end")
    assert "at the end" in plot.words
    assert "now" not in plot.words
    plot.set_live(True)
    assert "now" in plot.words


def test_that_curves_wait_until_they_have_moved_by_a_pixel_and_the_figure_beside_them_does_not(plot):
    with_columns(plot, (Series("v", "CUDA0", 0),), v=[100 * MIB, 100 * MIB])
    plot.take_sample()
    before = list(drawn(plot)[1])
    plot._reader.columns = {"v": [100 * MIB, 100 * MIB, 300 * MIB]}
    plot.take_sample()
    assert list(drawn(plot)[1]) == before == [100 * MIB, 100 * MIB]
    assert plot._value.text() == "300 MiB"
    plot._moved.invalidate()
    plot.take_sample()
    assert list(drawn(plot)[1]) == [100 * MIB, 100 * MIB, 300 * MIB]


def test_that_the_first_values_are_drawn_at_once(plot):
    with_columns(plot, (Series("v", "CUDA0", 0),))
    plot.take_sample()
    plot._reader.columns = {"v": [100 * MIB]}
    plot.take_sample()
    assert list(drawn(plot)[1]) == [100 * MIB]
