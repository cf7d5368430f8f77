"""``selftest`` on Windows: what it writes runs again through the parsers, and names nobody."""

import getpass
import json
import os
import socket

from app.cli.main import run
from app.hardware.probe import probe
from tests.tools.selftest_replay import replayed_cores, replayed_memory


def test_that_the_report_of_this_windows_runs_again_and_names_nobody(tmp_path, monkeypatch, under_wine):
    monkeypatch.setenv("USERNAME", "wangxiaoming")
    monkeypatch.setattr("app.cli.inputs.chosen_engine", lambda options: None)
    path = tmp_path / "自检.json"
    assert run(["selftest", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert "wangxiaoming" not in text.lower()
    for name in (socket.gethostname(), getpass.getuser(), os.environ.get("COMPUTERNAME", "")):
        assert len(name) < 4 or name.lower() in ("root", "wangxiaoming") or name.lower() not in text.lower()
    report = json.loads(text)
    raw = report["raw"]
    assert replayed_cores(report, tmp_path) == probe().cpu.cores
    summary, slots = replayed_memory(report, tmp_path)
    assert (summary.modules, slots) == (None, None) or not under_wine
    assert raw["processor_groups"] == 1
    assert raw["dxgi"][0]["name"]
    if under_wine:
        assert raw["nvml"]["error"] == "nvml_missing"
        assert "0xc0000bb9" in raw["gpu_counters"]["error"]
    assert [part for part, told in raw.items() if isinstance(told, dict) and "error" in told] == (
        ["nvml", "gpu_counters"] if under_wine else []
    )
