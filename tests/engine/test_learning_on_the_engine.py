"""A real engine that allocates something else than planned teaches the next plan of the kind, and only that."""

import json

import pytest

from app.__main__ import main
from app.common.paths import app_paths
from app.model.demo import make_demo_model
from app.work.learned import LearnedStore

pytestmark = pytest.mark.engine

LARGER = ("--ctx", "8192", "--extra", "-ub 2048 -b 2048")
"""What the plan's formulas do not read: they go on with 512 tokens at once."""


@pytest.fixture
def ask(engine, tmp_path, capfd):
    """(exit code, JSON) of a verb about the demo model, in RAM alone."""
    model = tmp_path / "演示.gguf"
    make_demo_model(model)

    def call(verb, *options):
        words = [verb, str(model), "--preset", "all-cpu", "--json", "--engine", engine.path, *options]
        code = main(words)
        lines, errors = capfd.readouterr()
        assert lines, errors
        return code, json.loads(lines) if verb != "launch" else [json.loads(line) for line in lines.splitlines()]

    return call


def _compute(answer, key="compute"):
    return next(device for device in answer["devices"] if device["name"] == "RAM")[key]


def test_that_what_a_dry_run_says_is_used_by_the_next_plan_of_the_kind(ask):
    code, first = ask("verify", *LARGER)
    assert (code, first["learned"]) == (1, True)
    told = _compute(first, "engine")["compute"]
    assert told > 2 * _compute(first, "ours")["compute"]
    _, plan = ask("plan", *LARGER)
    assert plan["figures"] == "calibrated"
    assert _compute(plan) == told
    assert _compute(plan, "formula")["compute"] == _compute(first, "ours")["compute"]
    code, second = ask("verify", *LARGER)
    assert (code, second["figures"], second["learned"]) == (0, "engine-checked", False)
    _, plain = ask("plan", "--ctx", "8192")
    assert plain["figures"] == "estimated"
    _, elsewhere = ask("plan", *LARGER, "--hardware", "tests/data/hardware/vm-no-gpu.json")
    assert elsewhere["figures"] == "estimated"


def test_that_a_launch_teaches_too_and_exact_figures_leave_nothing_behind(ask):
    _, events = ask("launch", *LARGER, "--for", "0.2", "--port", "0")
    assert events[-1]["reason"] is None
    kept = LearnedStore(app_paths().learned_file).load("verify").observations
    assert len(kept) == 1
    assert kept[0].value["engine"]["compute"] > 2 * kept[0].value["ours"]["compute"]
    _, plan = ask("plan", *LARGER)
    assert plan["figures"] == "calibrated"
    ask("launch", "--ctx", "8192", "--for", "0.2", "--port", "0")
    assert LearnedStore(app_paths().learned_file).load("verify").observations == kept
