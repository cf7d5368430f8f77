"""Files beside the model on the command line: counted, saved, opened and read from somebody's command."""

import json

import pytest

from tests.tools.small_moe import write_small_moe
from tests.tools.sparse_projector import make_projector
from tests.unit.cli.conftest import NO_GPU

MIB = 1 << 20


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "with space 模型"
    folder.mkdir()
    write_small_moe(folder / "m.gguf")
    make_projector("gemma3", folder / "mm.gguf", 512)
    return folder


MACHINE = ("--hardware", NO_GPU, "--device", "CUDA0=8000", "--ram-mib", "16000")


def plan_of(run, *words):
    said = run("plan", *words, *MACHINE, "--json")
    assert said.code == 0, said.err
    return json.loads(said.out)


def segments(plan, device):
    (found,) = [d for d in plan["devices"] if d["name"] == device]
    return {name: found[name] for name in ("projector", "draft", "adapters", "repacked", "checkpoints")}


def test_that_files_beside_the_model_are_counted_and_in_the_command(run, files):
    model, projector = files / "m.gguf", files / "mm.gguf"
    plan = plan_of(run, model, "--mmproj", projector, "--draft", model, "--draft-max", "8")
    card = segments(plan, "CUDA0")
    assert card["projector"] > 900 * MIB
    assert card["draft"] > 50 * MIB
    assert card["adapters"] == card["repacked"] == 0
    argv = plan["argv"]
    assert argv[argv.index("-mm") + 1] == str(projector)
    assert argv[argv.index("-md") + 1] == str(model)
    assert argv[argv.index("--spec-draft-n-max") + 1] == "8"
    for device in plan["devices"]:
        assert device["total"] == device["weights"] + device["kv"] + device["compute"] + device["overhead"]
        assert sum(segments(plan, device["name"]).values()) <= device["overhead"]
    in_ram = plan_of(run, model, "--mmproj", projector, "--mmproj-in-ram")
    assert segments(in_ram, "CUDA0")["projector"] == 0
    assert segments(in_ram, "RAM")["projector"] == card["projector"]


def test_that_a_missing_projector_is_an_error_with_its_name(run, files):
    said = run("plan", files / "m.gguf", "--mmproj", files / "no.gguf", *MACHINE)
    assert said.code == 1
    assert "no.gguf" in said.out + said.err


def test_that_a_plan_file_keeps_them(run, files, tmp_path):
    words = ("--mmproj", files / "mm.gguf", "--mmproj-in-ram", "--draft", files / "m.gguf", "--draft-ngl", "3")
    target = tmp_path / "plan.json"
    assert run("export", files / "m.gguf", *words, *MACHINE, "--to", target).code == 0
    again = plan_of(run, files / "m.gguf", "--plan", target)
    assert again["argv"] == plan_of(run, files / "m.gguf", *words)["argv"]
    other = plan_of(run, files / "m.gguf", "--plan", target, "--draft-ngl", "0")
    assert other["argv"][other["argv"].index("-ngld") + 1] == "0"


def test_that_a_command_for_any_folder_names_whole_paths(run, files, monkeypatch):
    monkeypatch.chdir(files)
    said = run("command", "m.gguf", "--mmproj", "mm.gguf", "--draft", "m.gguf", *MACHINE, "--shell", "json")
    argv = json.loads(said.out)
    assert argv[argv.index("-mm") + 1] == str(files / "mm.gguf")
    assert argv[argv.index("-md") + 1] == str(files / "m.gguf")


def test_that_somebodys_command_with_them_is_read_back(run, files):
    first = plan_of(run, files / "m.gguf", "--mmproj", files / "mm.gguf", "--draft", files / "m.gguf")
    said = run("import", files / "m.gguf", *MACHINE, "--json", "--", *first["argv"])
    again = json.loads(said.out)
    assert segments(again, "CUDA0") == segments(first, "CUDA0")
    assert again["extra"] == []
    assert again["argv"] == first["argv"]
