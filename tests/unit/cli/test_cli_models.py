"""``models``: files of folders with a verdict each, and what could be downloaded."""

import pytest

from tests.tools.model_trees import copy_sparse
from tests.unit.cli.conftest import LAPTOP, NO_GPU


def test_that_each_file_has_the_keys_of_the_contract(run, moe, tmp_path):
    copy_sparse(moe, tmp_path / "a model.gguf")
    copy_sparse(moe, tmp_path / "b.gguf.part")
    said = run("models", tmp_path, "--json", "--hardware", LAPTOP)
    assert said.code == 0
    half, whole = sorted(said.json, key=lambda row: row["role"] == "model")
    assert whole["path"] == str(tmp_path / "a model.gguf")
    assert whole["file_bytes"] == moe.stat().st_size
    assert (whole["role"], whole["verdict"], whole["expert_layers_in_ram"]) == ("model", "gpu", 0)
    assert (half["role"], half["verdict"], half["expert_layers_in_ram"]) == ("unfinished", None, None)
    assert half["problem"]["code"] == "library_unfinished"


def test_that_the_verdict_is_that_of_the_plan(run, moe, tmp_path):
    path = copy_sparse(moe, tmp_path / "m.gguf")
    machine = ("--hardware", NO_GPU, "--device", "CUDA0=900", "--ram-mib", "8000", "--reserve-mib", "590")
    (row,) = run("models", tmp_path, "--json", *machine).json
    plan = run("plan", path, "--json", "--tensors", *machine).json
    in_ram = {name.split(".")[1] for name, device in plan["placement"].items() if "_exps" in name and device == "RAM"}
    assert row["expert_layers_in_ram"] == len(in_ram)
    assert row["verdict"] == ("experts_in_ram" if in_ram else "gpu")
    assert row["decode"] == pytest.approx(plan["speed"]["decode"]) if plan["speed"]["decode"] else row["decode"] is None


def test_that_a_folder_that_is_missing_is_bad_input(run, tmp_path):
    said = run("models", tmp_path / "none", "--hardware", NO_GPU)
    assert said.code == 2
    assert "is not there" in said.sentence


def test_that_an_empty_folder_is_an_empty_list_and_a_hint(run, tmp_path):
    said = run("models", tmp_path, "--json", "--hardware", NO_GPU)
    assert (said.code, said.json) == (0, [])
    assert "No GGUF file" in run("models", tmp_path, "--hardware", NO_GPU).err


@pytest.mark.slow
def test_that_suggestions_begin_with_the_articles_model(run):
    found = run("models", "--suggest", "--json", "--hardware", LAPTOP).json
    assert found[0]["is_example"]
    assert found[0]["name"] == "DeepSeek-V2-Lite"
    assert all(row["verdict"] in ("gpu", "experts_in_ram", "layers_in_ram", "ram") for row in found[1:])
    text = run("models", "--suggest", "--hardware", LAPTOP).out
    assert "Fits on the GPU" in text
