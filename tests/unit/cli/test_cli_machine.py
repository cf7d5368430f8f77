import json
import os

import pytest

from app.hardware.snapshot_file import load_snapshot
from tests.tools.hardware_data import DATA
from tests.unit.cli.conftest import LAPTOP, NO_GPU

SNAPSHOTS = sorted(path.name for path in DATA.glob("*.json"))


def test_that_machine_describes_this_computer(run):
    facts = run("machine", "--json").json
    assert {"taken_at", "os", "cpu", "memory", "gpus", "sources"} <= facts.keys()
    assert facts["cpu"]["recommended_threads"] >= 1


def test_that_what_machine_prints_is_what_hardware_takes(run, tmp_path):
    saved = tmp_path / "这台 machine.json"
    saved.write_text(run("machine", "--json", "--hardware", LAPTOP).out, encoding="utf-8")
    assert load_snapshot(saved) == load_snapshot(DATA / os.path.basename(LAPTOP))
    assert run("machine", "--json", "--hardware", saved).json == json.loads(saved.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SNAPSHOTS)
@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_that_every_machine_is_described_in_words(run, name, language):
    said = run("machine", "--hardware", DATA / name, "--lang", language)
    assert said.code == 0
    snapshot = load_snapshot(DATA / name)
    assert all(gpu.name in said.out for gpu in snapshot.gpus)
    assert ("内存" if language == "zh_CN" else "RAM") in said.out
    assert "None" not in said.out


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"version": 99, "new": 1}'])
def test_that_a_snapshot_that_is_none_is_bad_input(run, tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_text(content, encoding="utf-8")
    said = run("machine", "--hardware", path)
    assert said.code == 2
    assert "broken.json" in said.sentence


def test_that_cards_without_an_engines_name_are_told(run, moe, tmp_path):
    facts = json.loads(run("machine", "--json", "--hardware", LAPTOP).out)
    facts["engine_asked"] = False
    for gpu in facts["gpus"]:
        gpu["engine_name"] = None
    path = tmp_path / "unasked.json"
    path.write_text(json.dumps(facts), encoding="utf-8")
    codes = {p["code"] for p in run("plan", moe, "--json", "--hardware", path).json["problems"]}
    assert "gpu_not_named" in codes


def test_that_a_machine_without_a_gpu_has_no_column_for_one(run, moe):
    said = run("plan", moe, "--json", "--hardware", NO_GPU)
    assert [device["name"] for device in said.json["devices"]] == ["RAM"]
