"""A plan that does not fit: the doctor offers what the launch offers, and nothing that this machine does not have."""

import pytest

from app.common.problem import Problem, Severity
from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.types import Facts
from app.engine.capabilities import FALLBACK
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from app.words import Language, say_in
from app.work.before_launch import memory_question
from app.work.doctor_text import fix_sentence, words_of
from tests.unit.doctor.doctor_cases import GIB, MIB, card, replace, snapshot


def too_large(model, gpu_gib, ram_gib, **wishes):
    gpu = Device("CUDA0", DeviceKind.GPU, gpu_gib * GIB, gpu_gib * GIB, "", "CUDA0")
    ram = Device(RAM, DeviceKind.RAM, 32 * GIB, ram_gib * GIB)
    inputs = PlanInputs(model, DeviceSet((gpu,), ram), Wishes(n_ctx=8192, **wishes), FALLBACK, 6)
    plan = make_plan(inputs)
    assert plan.estimate.fits is False
    return Facts(inputs=inputs, plan=plan)


def answer_of(told):
    question = memory_question(told.plan, told.inputs, snapshot(), lambda: ())
    return next((answer.fix for answer in question.answers if answer.fix is not None), None)


def test_that_a_model_too_large_beside_its_prompt_cache_gets_the_launchs_fix(q3_header):
    told = too_large(q3_header, 8, 12, prompt_cache_mib=8192)
    found = examine(told)
    assert found[0].code == "does_not_fit_memory"
    assert found[0].fix.plan.estimate.fits
    assert found[0].fix.plan.argv == answer_of(told).plan.argv
    assert all(f.fix == found[0].fix for f in found if f.code.startswith("over_full"))


@pytest.mark.slow
def test_that_a_shorter_context_is_offered_only_where_that_alone_fits(q3_header):
    told = too_large(q3_header, 8, 12, preset="all-gpu")
    found = {f.code: f for f in examine(told)}
    assert found["context_too_long"].fix.plan.estimate.fits
    assert found["over_full_gpu"].fix.plan.argv == answer_of(told).plan.argv


@pytest.mark.slow
def test_that_ram_too_full_beside_an_empty_card_is_cured_by_the_best_placement(q3_header):
    told = too_large(q3_header, 8, 12, preset="experts-cpu")
    fix = next(f.fix for f in examine(told) if f.code == "over_full_ram")
    assert fix.plan.estimate.fits
    assert fix.changes["--preset"] == "fill"
    assert fix_sentence(fix) == "Take the best placement for this machine"


def test_that_an_engine_that_does_not_suit_is_a_finding_and_what_follows_from_it_is_none():
    dark = replace(card(), engine_name=None)
    lacks = Problem("engine_cpu_only", Severity.WARNING, {"gpu": dark.name})
    remark = Problem("engine_vulkan_but_cuda", Severity.INFO, {})
    around = snapshot(dark, engine_asked=True)
    assert "engine_does_not_see_gpu" in {f.code for f in examine(Facts(snapshot=around))}
    found = {f.code: f for f in examine(Facts(snapshot=around, engine_problems=(lacks, remark)))}
    assert found["engine_cpu_only"].is_cured_by_engine
    assert not {"engine_does_not_see_gpu", "engine_vulkan_but_cuda"} & set(found)


@pytest.mark.parametrize("language", list(Language))
def test_that_no_sentence_names_a_gpu_where_there_is_none(q3_header, language):
    missing = {"device": "RAM", "missing_bytes": 500 * MIB}
    assert "GPU" not in say_in(language, "problem.over_full_ram", **missing)


@pytest.mark.slow
def test_that_a_fix_never_tells_a_negative_number_of_layers(q3_header):
    told = too_large(q3_header, 4, 14)
    said = [words_of(f).fix for f in examine(told) if f.fix is not None]
    assert said
    assert all("-1 " not in text and "more" not in text for text in said)
