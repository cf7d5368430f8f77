"""The plans kept for a model: names, notes, which belong to it, and one preset file for several."""

import dataclasses
import json
import os
from pathlib import Path, PurePosixPath

import pytest

from app.common.capabilities import Capabilities
from app.common.paths import app_paths
from app.common.problem import ProblemError
from app.model.reader import read_model
from app.work.plan_shelf import (
    LONGEST_NOTE,
    Labels,
    export_router,
    labels_of,
    lost_models,
    new_plan_path,
    plans_of,
    remove_plan,
    router_command,
    shelf_folder,
    write_labels,
)

TINY = Path(__file__).parents[2] / "data" / "tiny-moe-2l.gguf"


@pytest.fixture(scope="module")
def model():
    return dataclasses.replace(read_model(TINY), name="Tiny MoE")


@pytest.fixture
def paths(lanewise_home):
    made = app_paths()
    shelf_folder(made).mkdir(parents=True)
    return made


def keep(paths, of, name, note="", **changes):
    path = new_plan_path(paths, name)
    about = {"architecture": of.architecture, "blocks": of.block_count, "name": of.name, "file_name": "x.gguf"}
    content = {
        "format": "lanewise-plan",
        "version": 1,
        "model": about,
        "wishes": {"n_ctx": 4096},
        "argv": ["-m", "/a.gguf"],
    }
    path.write_text(json.dumps({**content, **changes}), encoding="utf-8")
    write_labels(path, Labels(name, note))
    return path


def test_that_names_and_notes_come_back_and_nothing_else_changes(paths, model):
    path = keep(paths, model, "长文档 & long", "61 tok/s\n小心 VRAM")
    before = json.loads(path.read_text(encoding="utf-8"))
    assert labels_of(path) == Labels("长文档 & long", "61 tok/s\n小心 VRAM")
    write_labels(path, Labels("other", ""))
    after = json.loads(path.read_text(encoding="utf-8"))
    assert {k: v for k, v in after.items() if k not in ("name", "note")} == {
        k: v for k, v in before.items() if k not in ("name", "note")
    }
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_that_only_the_plans_of_this_model_are_listed_the_newest_first(paths, model):
    old, new = keep(paths, model, "old"), keep(paths, model, "new")
    os.utime(old, (1000, 1000))
    keep(paths, model, "other", model={"architecture": "llama", "blocks": 2, "name": model.name})
    keep(paths, model, "file only", model={"architecture": model.architecture, "blocks": 2, "file_name": TINY.name})
    (shelf_folder(paths) / "broken.json").write_bytes(b"\xff{")
    (shelf_folder(paths) / "deep.json").write_text("[" * 100_000)
    (shelf_folder(paths) / "folder.json").mkdir()
    names = [plan.labels.name for plan in plans_of(paths, dataclasses.replace(model, path=str(TINY)))]
    assert names[-1] == "old"
    assert set(names) == {"old", "new", "file only"}
    assert plans_of(paths, model)[0].n_ctx == 4096
    remove_plan(new)
    remove_plan(new)
    assert "new" not in [plan.labels.name for plan in plans_of(paths, model)]


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("fast", "fast.json"),
        ('a/b\\c:d*e?"<>|', "a-b-c-d-e.json"),
        ("..", "plan.json"),
        ("  ", "plan.json"),
        ("CON", "CON-plan.json"),
        ("con .x", "con-plan.x.json"),
        ("com¹", "com¹-plan.json"),
        ("长" * 200, "长" * 80 + ".json"),
        ("half \ud800 one", "half - one.json"),
    ],
)
def test_that_every_name_makes_a_file_inside_the_folder(paths, name, file):
    path = new_plan_path(paths, name)
    assert (path.name, path.parent) == (file, shelf_folder(paths))
    path.write_text("{}")
    assert new_plan_path(paths, name).name == file.replace(".json", " 2.json")


def test_that_hostile_labels_are_bounded(paths, model):
    path = keep(paths, model, "x")
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "name": "a\n\n" * 10_000, "note": "n" * 100_000}))
    labels = labels_of(path)
    assert len(labels.name) <= 80
    assert "\n" not in labels.name
    assert len(labels.note) == LONGEST_NOTE
    path.write_text(json.dumps({**content, "name": ["x"], "note": 7, "argv": [1], "wishes": []}))
    (plan,) = plans_of(paths, model)
    assert (plan.labels, plan.argv, plan.n_ctx) == (Labels(), (), None)


def test_that_a_file_that_is_no_plan_gets_no_name(paths):
    path = shelf_folder(paths) / "mine.json"
    path.write_text('{"a": 1}')
    with pytest.raises(ProblemError) as caught:
        write_labels(path, Labels("x"))
    assert caught.value.problem.code == "export_failed"
    assert path.read_text() == '{"a": 1}'
    assert labels_of(path) == labels_of(shelf_folder(paths) / "gone.json") == Labels()


def test_that_several_plans_make_one_preset_file_with_a_section_each(paths, model, tmp_path):
    keep(paths, model, "fast one", argv=["-m", "/模型/a.gguf", "-c", "4096", "--port", "9"])
    keep(paths, model, "fast one", argv=["-m", "/模型/b.gguf", "-fa", "on"])
    target = tmp_path / "模型 router.ini"
    capabilities = Capabilities(flags=frozenset({"-m", "--model", "-c", "--ctx-size", "-fa", "--flash-attn", "--port"}))
    export_router(target, plans_of(paths, model), capabilities)
    text = target.read_text(encoding="utf-8")
    assert sorted(line for line in text.splitlines() if line.startswith("[")) == ["[fast-one-2]", "[fast-one]"]
    assert "ctx-size = 4096" in text
    assert "flash-attn = on" in text
    assert "port" not in text
    assert text.startswith("; Start it with: llama-server --models-preset")
    keep(paths, model, "broken", argv=["-m", "/a;b.gguf"])
    with pytest.raises(ProblemError) as caught:
        export_router(target, plans_of(paths, model), capabilities)
    assert caught.value.problem.code == "preset_cannot_carry"
    assert target.read_text(encoding="utf-8") == text


def test_that_names_that_become_the_same_section_stay_two_and_none_is_the_engines_own(paths, model, tmp_path):
    for name in ("a b", "a-b", "*", "default", "[#;]"):
        keep(paths, model, name, argv=["-m", f"/{len(name)}.gguf"])
    plans = sorted(plans_of(paths, model), key=lambda plan: plan.labels.name)
    names = export_router(tmp_path / "r.ini", plans, Capabilities(flags=frozenset({"-m", "--model"})))
    assert names == ("*-model", "model", "a-b", "a-b-2", "default-model")
    text = (tmp_path / "r.ini").read_text(encoding="utf-8")
    assert [line.strip("[]") for line in text.splitlines() if line.startswith("[")] == list(names)


def test_that_plans_of_every_model_are_listed_with_their_models(paths, model, tmp_path):
    other = {"architecture": "llama", "blocks": 9, "name": "", "file_name": "另一个.gguf"}
    here = tmp_path / "here.gguf"
    here.write_bytes(b"GGUF")
    keep(paths, model, "mine", argv=["-m", str(here)])
    keep(paths, model, "other", argv=["--model", "/gone/另一个.gguf"], model=other)
    found = {plan.labels.name: plan for plan in plans_of(paths, None)}
    assert {name: plan.model for name, plan in found.items()} == {"mine": "Tiny MoE", "other": "另一个.gguf"}
    assert found["other"].model_path == "/gone/另一个.gguf"
    assert lost_models(tuple(found.values())) == ("/gone/另一个.gguf",)
    assert [plan.labels.name for plan in plans_of(paths, model)] == ["mine"]
    assert found["mine"].is_of(dataclasses.replace(model, path=str(here)))


def test_that_a_plan_without_a_command_is_named_and_nothing_is_written(paths, model, tmp_path):
    keep(paths, model, "bare", argv=[])
    with pytest.raises(ProblemError) as caught:
        export_router(tmp_path / "r.ini", plans_of(paths, model), Capabilities(flags=frozenset({"-m"})))
    assert (caught.value.problem.code, caught.value.problem.params["name"]) == ("preset_no_command", "bare")
    assert not (tmp_path / "r.ini").exists()


@pytest.mark.parametrize(
    ("shell", "command"),
    [
        ("bash", "llama-server --models-preset '/a $HOME/b.ini' --models-max 1"),
        ("powershell", "llama-server --models-preset '/a $HOME/b.ini' --models-max 1"),
    ],
)
def test_that_the_routers_command_can_be_pasted_whatever_the_folder_is_called(monkeypatch, shell, command):
    monkeypatch.setattr("app.work.plan_shelf.default_shell", lambda: shell)
    assert router_command(PurePosixPath("/a $HOME/b.ini")) == command
