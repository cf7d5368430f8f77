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


@pytest.mark.share(4)
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


def test_that_the_json_names_value_unit_source_and_confidence_of_each_fact(run):
    told = run("machine", "--json", "--hardware", LAPTOP).json
    facts = {fact["key"]: fact for fact in told["facts"]}
    assert facts["memory.theoretical_gbs"] == {
        "key": "memory.theoretical_gbs",
        "value": 76.8,
        "unit": "GB/s",
        "text": "76.8 GB/s",
        "source": "from channels, speed",
        "confidence": "estimated",
        "note": "",
    }
    assert facts["memory.measured_gbs"]["value"] is None
    assert facts["memory.measured_gbs"]["confidence"] == "unknown"
    assert told["verdict"]["decode_limit"] == "ram"
    assert told["verdict"]["decode"] > 10
    assert all(gain["decode_factor"] is None or gain["decode_factor"] > 0 for gain in told["verdict"]["gains"])


def test_that_two_machines_side_by_side_mark_what_differs_and_exit_with_one(run):
    said = run("machine", "--hardware", LAPTOP, "--compare", NO_GPU)
    assert said.code == 1
    assert "≠ Model" in said.out
    assert "laptop-rtx4080-i7-13700h.json" in said.out
    assert "vm-no-gpu.json" in said.out


def test_that_a_machine_beside_itself_is_the_same_and_exits_with_zero(run):
    told = run("machine", "--json", "--hardware", LAPTOP, "--compare", LAPTOP)
    assert told.code == 0
    assert told.json.keys() == {"left", "right", "verdicts", "rows"}
    assert not any(row["differs"] for row in told.json["rows"])
    row = told.json["rows"][0]
    assert row.keys() == {"group", "key", "label", "differs", "left", "right"}


def test_that_a_file_to_compare_with_that_is_none_is_bad_input(run, tmp_path):
    (tmp_path / "x.json").write_text("no", encoding="utf-8")
    said = run("machine", "--compare", tmp_path / "x.json")
    assert said.code == 2
    assert "x.json" in said.sentence


@pytest.mark.slow
def test_that_a_plan_counts_on_the_speed_that_was_measured_here(run, moe, monkeypatch):
    monkeypatch.setattr("app.work.machine.measure_ram_read_gbs", lambda cpus, cancelled, caches: 50.0)
    run("machine", "--measure")
    slow = run("plan", moe, "--json", "--device", "CUDA0=0", "--preset", "all-cpu").json["speed"]["decode"]
    monkeypatch.setattr("app.work.machine.measure_ram_read_gbs", lambda cpus, cancelled, caches: 0.05)
    run("machine", "--measure")
    slower = run("plan", moe, "--json", "--device", "CUDA0=0", "--preset", "all-cpu").json["speed"]["decode"]
    assert slower is not None
    assert slow is None or slower < slow


@pytest.mark.slow
def test_that_measuring_on_request_is_kept_for_the_next_look(run, monkeypatch):
    monkeypatch.setattr("app.work.machine.measure_ram_read_gbs", lambda cpus, cancelled, caches: 43.21)
    assert run("machine", "--measure", "--json").json["memory"]["measured_gbs"] == 43.21
    again = run("machine", "--json").json
    assert again["memory"]["measured_gbs"] == 43.21
    assert again["memory"]["measured_at"]
    assert run("machine", "--measure-ram", "--json").code == 0
