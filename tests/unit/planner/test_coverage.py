"""Which architectures' compute buffers are the engine's own, and what is said and kept in reserve for the others."""

from dataclasses import replace

import pytest

from app.engine.capabilities import FALLBACK
from app.model.types import TensorInfo
from app.planner.compute import is_verified, unread_names
from app.planner.graph.coverage import VERIFIED
from app.planner.kv import KvSettings
from app.planner.learned import Correction, MemoryFigures, situation_of
from app.planner.memory import RunSettings, estimate
from app.planner.placement import all_on_gpu
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import Wishes
from tests.tools.dry_run_cases import MODEL_NAMES, dry_runs
from tests.unit.planner.synthetic_boards import ONE_GPU
from tests.unit.planner.test_memory import ESTIMATED

SETTINGS = RunSettings(KvSettings(8192, 512))


def _compute(model):
    return estimate(model, all_on_gpu(model, ONE_GPU), ONE_GPU, SETTINGS).get("CUDA0").compute_bytes


def _codes(model, devices=ONE_GPU):
    plan = make_plan(PlanInputs(model, devices, Wishes(n_ctx=8192), FALLBACK, 4))
    return {problem.code for problem in plan.problems}


@pytest.mark.slow
def test_that_the_architectures_called_verified_are_those_whose_dry_runs_are_recorded(real_headers):
    recorded = {run.model for run in dry_runs()}
    assert recorded == set(MODEL_NAMES)
    assert {real_headers[name].architecture for name in recorded - ESTIMATED} == VERIFIED
    for name in recorded:
        assert bool(unread_names(real_headers[name])) == (name in ESTIMATED)


def test_that_a_verified_model_carries_no_remark(real_headers):
    assert is_verified(real_headers["dots1"])
    assert "compute_estimated" not in _codes(real_headers["dots1"])


def test_that_an_architecture_nobody_checked_is_estimated_higher_and_told(real_headers):
    known = real_headers["olmoe-7b"]
    unknown = replace(known, architecture="brandnew", metadata={})
    assert not is_verified(unknown)
    assert "compute_estimated" in _codes(unknown)
    assert _compute(unknown) >= _compute(known) + (16 << 20)


def test_that_a_matrix_the_mirror_leaves_out_makes_the_figure_an_estimate(real_headers):
    known = real_headers["olmoe-7b"]
    shape = (known.embedding_length, 8192)
    odd = TensorInfo(
        "blk.3.attn_surprise.weight", shape, 0, "F16", shape[0] * shape[1] * 2, 0, known.tensors[5].role, 3
    )
    model = replace(known, tensors=(*known.tensors, odd))
    assert unread_names(model) == ("blk.3.attn_surprise.weight",)
    assert _compute(model) >= _compute(known) + 8192 * 512 * 4


def test_that_an_indexer_the_mirror_does_not_know_counts_for_every_cell(real_headers):
    known = real_headers["olmoe-7b"]
    odd = TensorInfo("blk.3.indexer.proj.weight", (2048, 8), 0, "F16", 32768, 0, known.tensors[5].role, 3)
    model = replace(known, tensors=(*known.tensors, odd))
    far = replace(SETTINGS, kv=KvSettings(65536, 512))

    def at(settings):
        return estimate(model, all_on_gpu(model, ONE_GPU), ONE_GPU, settings).get("CUDA0").compute_bytes

    assert at(far) - at(SETTINGS) >= (65536 - 8192) * 512 * 4 * 4


def test_that_the_remark_goes_once_the_engine_has_been_asked(real_headers):
    unknown = replace(real_headers["olmoe-7b"], architecture="brandnew", metadata={})
    asked = replace(ONE_GPU.gpus[0], corrections=(_correction(),))
    assert "compute_estimated" not in _codes(unknown, replace(ONE_GPU, gpus=(asked,)))


def _correction():
    figures = MemoryFigures(0, 0, 100 << 20)
    return Correction(situation_of(SETTINGS.kv, True, False), "another file", figures, figures)
