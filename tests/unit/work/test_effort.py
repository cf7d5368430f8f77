"""Quiet or full speed: what the engine is told, when a launch asks, and that a held-back run teaches nothing."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.common.capabilities import Capabilities
from app.common.paths import app_paths
from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.log_facts import read_log
from app.diagnose.doctor.types import Facts
from app.engine.capabilities import FALLBACK
from app.engine.locate import EngineBinary
from app.hardware.free_now import FreeNow, with_free
from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import PowerInfo
from app.model.demo import ensure_demo_model
from app.model.reader import read_model
from app.planner.command_import import read_command
from app.planner.devices import DeviceWishes
from app.planner.plan import make_plan
from app.planner.router_preset import router_preset
from app.planner.types import Wishes
from app.settings import Settings
from app.words import Language, say_problem, set_language
from app.work.effort import MAKE_FULL, MAKE_QUIET, STAY, asks_for, changes_text, effort_question, wants_quiet
from app.work.launching import launch_spec
from app.work.plan_file import plan_text, read_plan_file
from app.work.planning import plan_inputs
from app.work.speed_history import learn_speeds

LAPTOP = Path(__file__).parents[2] / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json"
MAINS, BATTERY, UNKNOWN = PowerInfo(False), PowerInfo(True), PowerInfo()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return read_model(str(ensure_demo_model(tmp_path_factory.mktemp("demo") / "demo.gguf")))


@pytest.fixture(scope="module")
def laptop():
    return load_snapshot(LAPTOP)


def inputs_for(model, laptop, capabilities=FALLBACK, **wishes):
    return plan_inputs(model, laptop, Wishes(**wishes), DeviceWishes(), capabilities)


def value(argv, flag):
    return argv[argv.index(flag) + 1] if flag in argv else None


def test_that_a_quiet_plan_says_so_in_its_own_command_and_in_words(model, laptop):
    full = make_plan(inputs_for(model, laptop))
    quiet = make_plan(inputs_for(model, laptop, is_quiet=True))
    assert [value(full.argv, flag) for flag in ("-t", "--prio", "--poll")] == ["6", None, None]
    assert [value(quiet.argv, flag) for flag in ("-t", "--prio", "--poll")] == ["3", "-1", "0"]
    assert quiet.placement == full.placement
    remark = next(p for p in quiet.problems if p.code == "plan_is_quiet")
    assert remark.params == {"threads": 3, "usual": 6}
    assert "3 threads instead of 6" in say_problem(remark)
    assert changes_text(full, quiet, FALLBACK) == "-t 6 → -t 3, + --prio -1, + --poll 0"
    assert changes_text(quiet, full, FALLBACK) == "-t 3 → -t 6, - --prio -1, - --poll 0"


def test_that_chosen_threads_stay_chosen(model, laptop):
    plan = make_plan(inputs_for(model, laptop, is_quiet=True, n_threads=5))
    assert value(plan.argv, "-t") == "5"
    remark = next(p for p in plan.problems if p.code.startswith("plan_is_quiet"))
    assert "with 5 threads as chosen" in say_problem(remark)


def test_that_a_quiet_plans_command_is_read_as_quiet_and_another_priority_is_left_alone(model, laptop):
    quiet = make_plan(inputs_for(model, laptop, is_quiet=True))
    read = read_command(quiet.argv, FALLBACK)
    assert read.wishes.is_quiet
    assert not {"--prio", "--poll"} & set(read.wishes.extra)
    again = make_plan(inputs_for(model, laptop, is_quiet=True, n_threads=read.wishes.n_threads))
    assert [value(again.argv, flag) for flag in ("-t", "--prio", "--poll")] == ["3", "-1", "0"]
    for others in (
        ("-t", "3", "--prio", "2", "--poll", "0"),
        ("--prio", "-1", "--poll", "0"),
        ("-t", "3", "--prio", "-1"),
    ):
        kept = read_command(("-m", "x.gguf", *others), FALLBACK)
        assert not kept.wishes.is_quiet
        assert "--prio" in kept.wishes.extra


def test_that_an_engine_that_would_refuse_the_low_priority_is_not_told_it(model, laptop):
    young = ("-cram", "-ctxcp", "-fit", "-lm", "--cache-ram", "--ctx-checkpoints", "--fit", "--load-mode")
    old = Capabilities(FALLBACK.flags - set(young))
    plan = make_plan(inputs_for(model, laptop, old, is_quiet=True))
    assert "--prio" not in plan.argv
    assert value(plan.argv, "--poll") == "0"
    lacking = [p.params["setting"] for p in plan.problems if p.code == "engine_lacks_flag"]
    assert "--prio -1" in lacking


@pytest.mark.parametrize(
    ("mains", "battery", "power", "quiet"),
    [
        ("full", "full", BATTERY, False),
        ("full", "quiet", BATTERY, True),
        ("full", "quiet", MAINS, False),
        ("full", "quiet", UNKNOWN, False),
        ("quiet", "full", MAINS, True),
        ("quiet", "full", BATTERY, False),
        ("quiet", "ask", BATTERY, True),
        ("full", "ask", BATTERY, False),
        ("quiet", "quiet", None, True),
    ],
)
def test_that_a_new_plan_begins_as_the_user_chose_for_where_the_power_comes_from(mains, battery, power, quiet):
    settings = Settings(effort_on_mains=mains, effort_on_battery=battery)
    assert wants_quiet(settings, power) is quiet


@pytest.mark.parametrize(
    ("mains", "battery", "power", "is_quiet", "was_for_battery", "answer"),
    [
        ("full", "full", BATTERY, False, False, None),
        ("full", "quiet", BATTERY, False, False, MAKE_QUIET),
        ("full", "ask", BATTERY, False, False, MAKE_QUIET),
        ("full", "ask", BATTERY, True, True, None),
        ("full", "quiet", MAINS, True, True, MAKE_FULL),
        ("full", "quiet", MAINS, True, False, None),
        ("quiet", "quiet", MAINS, True, True, None),
        ("full", "quiet", UNKNOWN, True, True, None),
        ("full", "quiet", UNKNOWN, False, False, None),
    ],
)
def test_that_a_launch_asks_only_when_the_plug_was_pulled_or_put_back(
    mains, battery, power, is_quiet, was_for_battery, answer
):
    settings = Settings(effort_on_mains=mains, effort_on_battery=battery)
    assert asks_for(settings, power, is_quiet=is_quiet, was_for_battery=was_for_battery) == answer


@pytest.mark.parametrize("language", list(Language))
def test_that_the_question_shows_the_words_that_would_change(model, laptop, language):
    full = make_plan(inputs_for(model, laptop))
    quiet = make_plan(inputs_for(model, laptop, is_quiet=True))
    question = effort_question(MAKE_QUIET, full, quiet, FALLBACK)
    assert [answer.code for answer in question.answers] == [MAKE_QUIET, STAY]
    set_language(language)
    assert "-t 6 → -t 3, + --prio -1, + --poll 0" in say_problem(question.problem)
    assert effort_question(MAKE_FULL, quiet, full, FALLBACK).problem.code == "launch_on_mains"


def test_that_a_quiet_plan_is_saved_opened_and_exported_as_one(model, laptop, tmp_path):
    plan = make_plan(inputs_for(model, laptop, is_quiet=True))
    path = tmp_path / "quiet.json"
    path.write_text(plan_text(plan, model, FALLBACK), encoding="utf-8")
    assert read_plan_file(path).wishes.is_quiet
    preset = router_preset(plan.argv, "quiet", FALLBACK)
    assert {"threads = 3", "prio = -1", "poll = 0"} <= set(preset.splitlines())


def test_that_a_quiet_run_teaches_no_speed(model, laptop):
    plan = make_plan(inputs_for(model, laptop, is_quiet=True))
    watch = SimpleNamespace(requests=[object()])  # looking at it, or at the store, would raise
    assert learn_speeds(None, plan, model, "here", "b1", {}, watch) is False


def test_that_the_plug_is_looked_at_with_free_memory(laptop):
    assert with_free(laptop, FreeNow(None, power=BATTERY)).power == BATTERY
    unplugged = replace(laptop, power=BATTERY)
    assert with_free(unplugged, FreeNow(None)).power == BATTERY


def test_that_windows_may_slow_a_quiet_engine_down_and_no_other(model, laptop):
    binary = EngineBinary("llama-server", None)
    for is_quiet in (False, True):
        plan = make_plan(inputs_for(model, laptop, is_quiet=is_quiet))
        assert launch_spec(plan, binary, laptop.cpu, app_paths(), "key").may_be_slowed is is_quiet


def test_that_the_doctor_takes_few_threads_of_a_quiet_plan_for_what_they_are(model, laptop):
    line = f"system_info: n_threads = 3 (n_threads_batch = 3) / {laptop.cpu.logical_count} | CPU : AVX2 = 1"
    for is_quiet, expected in ((False, True), (True, False)):
        inputs = inputs_for(model, laptop, is_quiet=is_quiet, n_threads=3)
        told = Facts(laptop, inputs, make_plan(inputs), log=read_log([line]), log_is_of_plan=True)
        assert ("too_few_threads" in {finding.code for finding in examine(told)}) is expected
