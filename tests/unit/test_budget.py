"""The budget bar's numbers and words."""

from dataclasses import replace

import pytest

from app.common.units import GIB, MIB
from app.model.types import Role
from app.planner.learned import MemoryFigures
from app.planner.types import DeviceEstimate, DeviceKind
from app.ui.board.budget import Part, legend_number, make_budget

WEIGHTS = {Role.ATTENTION: 500 * MIB, Role.OUTPUT: 243 * MIB, Role.ROUTED_EXPERT: 9000 * MIB}


def estimate(*, free=11 * GIB, total=12 * GIB, reserve=512 * MIB, weights=WEIGHTS, kv=816 * MIB):
    return DeviceEstimate("CUDA0", DeviceKind.GPU, weights, kv, 200 * MIB, 400 * MIB, 0, reserve, total, free)


def parts(budget):
    return {segment.part: segment.n_bytes for segment in budget.segments}


def test_that_roles_are_stacked_by_what_they_mean():
    told = parts(make_budget(estimate()))
    assert told[Part.DENSE] == 743 * MIB
    assert told[Part.EXPERTS] == 9000 * MIB
    assert told[Part.OTHERS] == 1 * GIB
    assert Part.PROMPT_CACHE not in told


def test_that_the_segments_of_a_plan_that_fits_fill_exactly_the_capacity():
    budget = make_budget(estimate(free=12 * GIB - 300 * MIB))
    assert budget.left_bytes == 317 * MIB
    assert budget.scale_bytes == 12 * GIB


def test_that_an_over_full_bar_grows_by_the_missing_bytes():
    budget = make_budget(estimate(weights={Role.ROUTED_EXPERT: 12 * GIB}))
    assert budget.over_bytes > 0
    assert budget.scale_bytes == 12 * GIB + budget.over_bytes
    assert "too much" in budget.status
    assert budget.status_look == "error"


def test_that_a_plan_that_only_cuts_into_the_reserve_says_so():
    budget = make_budget(estimate(free=11 * GIB + 200 * MIB, weights={Role.ROUTED_EXPERT: 9800 * MIB}))
    assert 0 < budget.over_bytes < 512 * MIB
    assert "to keep free" in budget.status


def test_that_unknown_free_memory_is_said_and_not_drawn_as_free():
    budget = make_budget(estimate(free=None))
    assert Part.FREE not in parts(budget)
    assert budget.left_bytes is None
    assert budget.over_bytes == 0
    assert "unknown" in budget.status


def test_that_the_description_holds_every_number():
    description = make_budget(estimate()).description
    for text in ("743 MiB", "9 000 MiB", "816 MiB", "512 MiB"):
        assert text in description


@pytest.mark.parametrize(
    ("n_bytes", "with_unit", "text"),
    [
        (784 * MIB, True, "784 MiB"),
        (9100 * MIB, False, "9 100"),
        (20000 * MIB, True, "20 000 MiB"),
        (MIB, False, "1.0"),
    ],
)
def test_that_only_the_first_number_of_a_legend_carries_the_unit(n_bytes, with_unit, text):
    assert legend_number(n_bytes, with_unit=with_unit) == text


def _sentence(budget, part):
    return next(segment.sentence for segment in budget.segments if segment.part is part)


def test_that_the_overhead_tells_whether_it_is_estimated_or_learned():
    assert _sentence(make_budget(estimate()), Part.OVERHEAD) == "fixed: 400 MiB (estimated)"
    learned = replace(estimate(), overhead_kind="calibrated", overhead_launches=3)
    told = _sentence(make_budget(learned), Part.OVERHEAD)
    assert told == "fixed: 400 MiB (learned from 3 launches on this card)"


def test_that_a_corrected_figure_names_the_formulas_own():
    corrected = replace(estimate(), formula=MemoryFigures(9743 * MIB, 816 * MIB, 150 * MIB))
    budget = make_budget(corrected)
    assert "calibrated: our formula says 150 MiB" in _sentence(budget, Part.COMPUTE)
    assert _sentence(budget, Part.KV) == "KV: 816 MiB"
