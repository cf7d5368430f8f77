"""An engine that has changed: what the real one makes of plans that were saved with another."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.common.capabilities import Capabilities
from app.common.paths import app_paths
from app.hardware.snapshot_file import load_snapshot
from app.planner.devices import DeviceWishes
from app.planner.types import Wishes
from app.work.engine_changes import recheck_plans
from app.work.engine_knowing import know_engine
from app.work.exporting import export_plan
from app.work.models import open_model
from app.work.plan_file import read_plan_file
from app.work.planning import plan_and_notes, plan_inputs
from tests.tools.hardware_data import DATA


@pytest.fixture
def hardware():
    return load_snapshot(DATA / "vm-no-gpu.json")


@pytest.fixture
def new(engine):
    return know_engine(engine, app_paths())


@pytest.fixture
def old(new):
    """The same program before its options for loading were renamed (b10875)."""
    flags = set(new.flags) - {"-lm", "--load-mode"} | {"--mlock", "--no-mmap", "--mmap"}
    return replace(new, flags=tuple(sorted(flags)), stamp=replace(new.stamp, sha256="0" * 64))


def saved(path, model_path, hardware, engine, **wishes):
    model = open_model(model_path)
    capabilities = Capabilities(frozenset(engine.flags), engine.build)
    plan, _ = plan_and_notes(plan_inputs(model, hardware, Wishes(**wishes), DeviceWishes(), capabilities), (), None)
    export_plan(path, plan, model, capabilities, engine.stamp.sha256)
    return str(path)


def recheck(paths, old, new, hardware):
    return recheck_plans(paths, old, new, hardware, app_paths(), lambda: False)


def test_that_a_plan_remembers_its_engine(tmp_path, tiny_model, hardware, new):
    path = saved(tmp_path / "计划 a.json", tiny_model, hardware, new, n_ctx=512)
    engine = read_plan_file(Path(path)).engine
    assert (engine.build, engine.sha256) == (new.build, new.stamp.sha256)


def test_that_the_new_command_is_confirmed_and_its_differences_are_named(tmp_path, tiny_model, hardware, old, new):
    same = saved(tmp_path / "same.json", tiny_model, hardware, old, n_ctx=512)
    other = saved(tmp_path / "mode.json", tiny_model, hardware, old, n_ctx=512, load_mode="none")
    first, second = recheck((same, other, same, str(tmp_path / "gone.json")), old, new, hardware)
    assert (first.path, first.problems, first.agrees) == (same, (), True)
    assert (second.problems, second.agrees) == ((), True)
    gone, came = second.difference.options
    assert (gone.before, gone.after, came.before, came.after) == (("--no-mmap",), (), (), ("-lm", "none"))


def test_that_a_plan_that_the_new_engine_refuses_says_why(tmp_path, tiny_model, hardware, old, new):
    path = saved(tmp_path / "old.json", tiny_model, hardware, old, n_ctx=512, extra=("--option-of-yesterday",))
    (found,) = recheck((path,), old, new, hardware)
    assert found.is_refused
    assert "unknown_argument" in [problem.code for problem in found.problems]


def test_that_a_plan_whose_model_is_gone_or_that_is_none_is_told(tmp_path, tiny_model, hardware, old, new):
    path = saved(tmp_path / "a.json", tiny_model, hardware, old, n_ctx=512)
    content = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    content["argv"], content["model"]["file_name"] = [], "gone.gguf"
    (tmp_path / "a.json").write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "b.json").write_text("[]", encoding="utf-8")
    first, second = recheck((path, str(tmp_path / "b.json")), old, new, hardware)
    assert (first.difference, second.difference) == (None, None)
    assert second.problems[0].code == "plan_file_other"
    assert first.is_refused
