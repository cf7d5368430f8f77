"""The bar draws what the budget says, and says it too."""

from itertools import pairwise

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip

from app.common.units import GIB, MIB
from app.model.types import Role
from app.planner.types import DeviceEstimate, DeviceKind
from app.ui.board.budget import Part, make_budget
from app.ui.board.budget_bar import BudgetBar, Legend
from app.ui.theme.manager import ThemeManager, ThemeMode


def budget(experts_mib=6000):
    weights = {Role.ATTENTION: 784 * MIB, Role.ROUTED_EXPERT: experts_mib * MIB}
    return make_budget(
        DeviceEstimate(
            "CUDA0", DeviceKind.GPU, weights, 816 * MIB, 200 * MIB, 450 * MIB, 0, 600 * MIB, 12 * GIB, 11 * GIB
        )
    )


@pytest.fixture
def bar(qtbot):
    ThemeManager.of_app().set_mode(ThemeMode.LIGHT)
    made = BudgetBar()
    qtbot.addWidget(made)
    made.resize(480, 24)
    made.set_budget(budget(), "RTX 4080")
    return made


def color_at(bar, x):
    return bar.grab().toImage().pixelColor(x, bar.height() // 2)


def test_that_each_segment_has_its_colour_and_its_share_of_the_width(bar):
    tokens = ThemeManager.of_app().tokens
    by_part = {segment.part: rect for segment, rect in bar.stretches()}
    for part, token in ((Part.EXPERTS, "role_expert"), (Part.KV, "kv_cache"), (Part.DENSE, "role_dense")):
        assert color_at(bar, round(by_part[part].center().x())) == tokens.color(token)
    assert by_part[Part.EXPERTS].width() == pytest.approx(480 * 6000 / (12 * 1024), abs=2)
    assert by_part[Part.FREE].right() == 480


def test_that_the_segments_touch_without_gaps(bar):
    rects = [rect for _, rect in bar.stretches()]
    assert rects[0].left() == 0
    assert all(a.right() == b.left() for a, b in pairwise(rects))


def test_that_an_over_full_bar_has_a_red_mark_where_the_device_ends(bar):
    bar.set_budget(budget(12000), "RTX 4080")
    told = bar.budget
    mark = round(480 * (1 - told.over_bytes / told.scale_bytes))
    assert color_at(bar, mark) == ThemeManager.of_app().tokens.color("error")
    assert "too much" in bar.accessibleDescription()


def test_that_a_tooltip_names_the_segment_under_the_pointer(bar, qtbot):
    bar.show()
    qtbot.waitExposed(bar)
    x = round(next(rect.center().x() for segment, rect in bar.stretches() if segment.part is Part.EXPERTS))
    QApplication.sendEvent(bar, QHelpEvent(QHelpEvent.Type.ToolTip, QPoint(x, 8), bar.mapToGlobal(QPoint(x, 8))))
    assert QToolTip.text() == "experts: 6 000 MiB"
    QToolTip.hideText()
    assert bar.segment_at(500) is None


def test_that_the_legend_wraps_and_never_hides_a_number(qtbot):
    legend = Legend()
    qtbot.addWidget(legend)
    legend.resize(500, 20)
    legend.show()
    legend.set_budget(budget())
    one = legend.height()
    legend.resize(160, 20)
    assert legend.height() > one
    assert len(legend.texts) == len(budget().segments)
    assert "6 000" in legend.accessibleName()
