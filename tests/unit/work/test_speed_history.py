"""Speeds of earlier runs: which requests count, how they are kept, and what they make of the next plan."""

import json
from dataclasses import replace

import pytest

from app.engine.capabilities import FALLBACK
from app.hardware.snapshot_file import load_snapshot
from app.planner.devices import DeviceWishes
from app.planner.learned import Learned
from app.planner.learned_devices import learning_keys
from app.planner.plan import make_plan
from app.planner.types import Wishes
from app.work.learned import LearnedStore
from app.work.planning import plan_inputs
from app.work.speed_history import SpeedWatch, learn_speeds, load_speeds, machine_of
from tests.qt.plan_models import qwen3_30b
from tests.unit.engine.test_engine_timings import _begin, _end, _timing
from tests.unit.planner.test_devices import DATA

ENGINE = "b11434"


@pytest.fixture(scope="module")
def laptop():
    return load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")


@pytest.fixture(scope="module")
def model():
    return qwen3_30b()


@pytest.fixture
def store(tmp_path):
    return LearnedStore(tmp_path / "learned.db")


def _watch(*requests, others=0.0, n_cpus=8):
    """(prompt tokens, prompt tok/s, written tokens, decode tok/s) of each request, one after the other."""
    watch = SpeedWatch()
    for task, (n_prompt, prompt_tps, n_decode, decode_tps) in enumerate(requests):
        watch.on_line(_begin(task))
        share = {f"cpu.{i}": 100.0 * (400 + 100 * others) / n_cpus / 100 for i in range(n_cpus)}
        watch.on_sample({**share, "server.cpu": 400.0})
        watch.on_line(_timing(task, "prompt", n_prompt, prompt_tps))
        watch.on_line(_timing(task, "decode", n_decode, decode_tps))
        watch.on_line(_end(task, n_prompt + n_decode))
    return watch


def _inputs(model, snapshot, runs=(), **wishes):
    learned = Learned(speeds=tuple(runs))
    capabilities = replace(FALLBACK, build=ENGINE)
    return plan_inputs(
        model, snapshot, Wishes(**{"n_ctx": 8192, **wishes}), DeviceWishes(), capabilities, learned=learned
    )


def _learn(store, model, snapshot, watch, **wishes):
    plan = make_plan(_inputs(model, snapshot, **wishes))
    keys = learning_keys(plan.devices, snapshot)
    learn_speeds(store, plan, model, machine_of(snapshot), ENGINE, keys, watch)
    return plan


def test_that_a_measured_speed_is_the_next_plans_speed_and_says_so(store, laptop, model):
    before = _learn(store, model, laptop, _watch((300, 400.0, 100, 24.0), (20, 90.0, 60, 25.0), (20, 90.0, 60, 26.0)))
    assert before.speed.kind == "estimated"
    runs = load_speeds(store)
    assert len(runs) == 3
    after = make_plan(_inputs(model, laptop, runs))
    assert (after.speed.kind, after.speed.n_runs) == ("calibrated", 3)
    assert after.speed.decode_tps == pytest.approx(25.0, rel=0.06)
    other = make_plan(_inputs(model, laptop, runs, preset="experts-cpu"))
    assert other.speed.kind == "calibrated"
    assert other.speed.decode_tps < after.speed.decode_tps


def test_that_the_prompt_speed_has_a_value_once_a_long_prompt_was_read(store, laptop, model):
    assert _learn(store, model, laptop, _watch((20, 90.0, 100, 24.0), (1024, 410.0, 50, 24.0))).speed.prompt_tps is None
    runs = load_speeds(store)
    assert [run.prompt_tokens for run in runs] == [1024, None]
    after = make_plan(_inputs(model, laptop, runs))
    assert after.speed.prompt_tps == pytest.approx(410.0)
    wider = make_plan(_inputs(model, laptop, runs, n_ubatch=1024))
    assert wider.speed.prompt_tps > 1.5 * after.speed.prompt_tps, "as many copies for twice the tokens"


def test_that_a_prompt_which_does_not_fill_its_last_micro_batch_is_reckoned_as_such(store, laptop, model):
    _learn(store, model, laptop, _watch((20, 90.0, 100, 24.0), (600, 410.0, 50, 24.0)))
    after = make_plan(_inputs(model, laptop, load_speeds(store)))
    assert after.speed.prompt_tps == pytest.approx(410.0 * 2 * 512 / 600, rel=0.02), "600 tokens copied as much as 1024"


def test_that_without_a_gpu_the_processors_prompt_speed_is_learned(store, laptop, model):
    alone = replace(laptop, gpus=())
    _learn(store, model, alone, _watch((20, 30.0, 64, 11.0), (512, 47.0, 20, 11.0)), n_ctx=1024)
    plan = make_plan(_inputs(model, alone, load_speeds(store), n_ctx=1024))
    assert plan.speed.prompt_tps == pytest.approx(47.0)
    assert plan.speed.decode_tps == pytest.approx(11.0, rel=0.05)


@pytest.mark.parametrize(
    ("watch", "why"),
    [
        (_watch((20, 90.0, 63, 24.0)), "the first request of a server wrote too little"),
        (_watch((20, 90.0, 100, 24.0), (255, 90.0, 15, 24.0)), "too few tokens"),
        (_watch((300, 90.0, 100, 24.0), (300, 90.0, 100, 24.0), others=2.0), "other programs were busy"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_that_what_tells_nothing_is_not_kept(watch, why):
    assert len(watch.requests) == (1 if why == "too few tokens" else 0), why


def test_that_two_requests_at_once_and_drafted_tokens_teach_nothing(store, laptop, model):
    watch = SpeedWatch()
    for line in (_begin(0), _begin(1), _timing(0, "decode", 90, 20.0), _end(0, 90), _timing(1, "decode", 90, 9.0)):
        watch.on_line(line)
    watch.on_line(_end(1, 90))
    assert watch.requests == []
    _learn(store, model, laptop, _watch((20, 90.0, 100, 24.0)), extra=("--draft-max", "8", "-md", "small.gguf"))
    assert load_speeds(store) == ()


def test_that_the_first_prompt_of_a_mapped_file_may_have_waited_for_the_disk(store, laptop, model):
    plan = _learn(store, model, laptop, _watch((900, 31.0, 100, 24.0), (900, 420.0, 100, 24.0)), load_mode="mmap")
    assert plan.argv[plan.argv.index("-lm") + 1] == "mmap"
    assert [run.prompt_tps for run in load_speeds(store)] == [420.0, None]


def test_that_runs_of_another_computer_or_of_a_card_that_is_gone_do_not_count(store, laptop, model):
    _learn(store, model, laptop, _watch((20, 90.0, 100, 24.0)))
    (run,) = load_speeds(store)
    elsewhere = replace(run, machine="another")
    assert make_plan(_inputs(model, laptop, [elsewhere])).speed.kind == "estimated"
    gone = replace(run, read_bytes={**run.read_bytes, "CUDA GPU-1234": 1e6})
    assert make_plan(_inputs(model, laptop, [gone])).speed.kind == "estimated"
    older_build = replace(run, engine="b9000")
    assert make_plan(_inputs(model, laptop, [older_build])).speed.kind == "calibrated", "better than an estimate"
    both = make_plan(_inputs(model, laptop, [replace(older_build, decode_tps=2.0), run]))
    assert both.speed.n_runs == 1


@pytest.mark.slow
def test_that_one_odd_run_among_repetitions_changes_little(store, laptop, model):
    usual = [(20, 90.0, 100, 24.0)] * 4
    _learn(store, model, laptop, _watch(*usual, (20, 90.0, 100, 3.0)))
    plan = make_plan(_inputs(model, laptop, load_speeds(store)))
    assert plan.speed.decode_tps == pytest.approx(24.0, rel=0.05)
    assert plan.speed.n_runs == 5


@pytest.mark.slow
def test_that_only_recent_runs_are_kept_and_edited_ones_are_left_out(store, laptop, model):
    _learn(store, model, laptop, _watch(*[(20, 90.0, 100, 24.0 + n) for n in range(12)]))
    runs = load_speeds(store)
    assert [run.decode_tps for run in runs] == [35.0, 34.0, 33.0, 32.0, 31.0, 30.0, 29.0, 28.0]
    key = json.dumps(["x"])
    for value in (
        {"machine": 7},
        {**vars_of(runs[0]), "decode_tps": 1e9},
        {**vars_of(runs[0]), "read_bytes": {"RAM": -1.0}},
    ):
        store.add("speed", key, value, keep=9)
    assert load_speeds(store) == runs


def vars_of(run):
    from app.common.jsonable import to_json

    return to_json(run)
