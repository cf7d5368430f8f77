"""``selftest``: one file with all raw facts, replayable, and without anybody's name."""

import dataclasses
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.cli.main import run
from app.common.paths import app_paths
from app.common.problem import ProblemError
from app.engine.launcher import ToolOutput
from app.engine.locate import EngineBinary
from app.hardware import cpu_linux, gpus_linux, gpus_nvml, memory_linux, raw
from app.hardware.sysfs import Recording
from app.work import selftest, selftest_privacy
from app.work.selftest import make_selftest, save_selftest
from app.work.selftest_privacy import recorded_files, scrubbed
from tests.tools.hardware_data import RTX_4080_LAPTOP, FakeNvml, machine_tree, smbios_table, write_files
from tests.tools.selftest_replay import replayed_cores, replayed_gpus, replayed_memory, write_tree

VERSION = "version: 11434 (abcdef)\nbuilt with cc for x86_64\n"
DEVICES = "Available devices:\n  CUDA0: NVIDIA GeForce RTX 4080 Laptop GPU (12282 MiB, 11500 MiB free)\n"


@pytest.fixture
def person(monkeypatch, tmp_path):
    """Somebody with a name, on a computer with a name."""
    home = tmp_path / "home" / "xiaowang"
    home.mkdir(parents=True)
    monkeypatch.setenv("USER", "xiaowang")
    monkeypatch.setenv("LOGNAME", "xiaowang")
    monkeypatch.setattr(selftest_privacy.socket, "gethostname", lambda: "xw-laptop.corp.example")
    monkeypatch.setattr(selftest_privacy.Path, "home", lambda: home)
    return home


@pytest.fixture
def engine(monkeypatch, person):
    """An engine in that person's home, which names its own folder and a key in what it says."""
    binary = EngineBinary(str(person / "my engines" / "llama-server"))
    said = {
        "--version": ToolOutput(0, "", VERSION + f"loaded {person}/my engines/libggml.so\n"),
        "--list-devices": ToolOutput(0, DEVICES, ""),
        "--help": ToolOutput(
            0, "-m,    --model FNAME   path (by xiaowang)\n--port PORT\n  -ngl N\n", "LLAMA_API_KEY=s3cr3tk3y\n"
        ),
    }
    monkeypatch.setattr(selftest, "run_tool", lambda argv, env, limit: said[argv[1]])
    return binary


def _report(engine):
    return make_selftest(engine, app_paths())


def test_that_nobodys_name_and_no_identity_is_in_the_file(engine, person, tmp_path, monkeypatch):
    monkeypatch.setitem(
        sys.modules, "pynvml", FakeNvml({**RTX_4080_LAPTOP, "uuid": "GPU-12345678-aaaa-bbbb-cccc-1234567890ab"})
    )
    path = tmp_path / "out.json"
    save_selftest(path, _report(engine))
    text = path.read_text(encoding="utf-8").lower()
    for secret in ("xiaowang", "xw-laptop", "corp.example", str(person).lower(), "s3cr3tk3y", "12345678-aaaa"):
        assert secret not in text
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["format"] == "lanewise-selftest"
    assert report["engine"]["options"] == ["--port", "-m", "-ngl"]
    assert "11434" in report["engine"]["version"]


def test_that_nvml_answers_question_by_question_and_two_cards_stay_two(engine, monkeypatch):
    nvml = FakeNvml(
        RTX_4080_LAPTOP, {**RTX_4080_LAPTOP, "uuid": "GPU-bbbb", "busId": "00000000:02:00.0"}, as_bytes=True
    )
    nvml.refused.add("nvmlDeviceGetPowerUsage")
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    report = _report(engine)
    first = report["raw"]["nvml"]["cards"][0]
    assert first["Name"] == "NVIDIA GeForce RTX 4080 Laptop GPU"
    assert first["PowerUsage"] == {"error": "NVML error 3"}
    assert first["CudaComputeCapability"] == [8, 9]
    assert first["UtilizationRates"] == {"gpu": 40, "memory": 12}
    assert len({gpu["uuid"] for gpu in report["snapshot"]["gpus"] if gpu["uuid"]}) == 2
    assert nvml.opened == 0


def test_that_every_fact_has_source_and_confidence_and_an_unknown_one_a_hint(engine):
    facts = _report(engine)["facts"]
    assert {fact["key"] for fact in facts} >= {
        "cpu.cores",
        "memory.total_bytes",
        "memory.channels",
        "memory.measured_gbs",
    }
    for fact in facts:
        assert fact["confidence"] in ("measured", "told", "estimated", "unknown")
        assert fact["confidence"] != "unknown" or fact["hint"]


@pytest.mark.share(1)
@pytest.mark.skipif(sys.platform == "win32", reason="the Linux probes")
@pytest.mark.parametrize("name", ["ultra5-125h", "ryzen-8540u", "wsl2-12cpu"])
def test_that_the_linux_probes_run_again_from_the_file(tmp_path, monkeypatch, name, engine):
    root = machine_tree(tmp_path / "machine", name)
    card = root / "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"
    write_files(card, {"vendor": "0x1002\n", "device": "0x744c\n", "uevent": "PCI_SLOT_NAME=0000:01:00.0\n",
                       "max_link_width": "16\n", "mem_info_vram_total": f"{20 << 30}\n"})  # fmt: skip
    write_files(card.parent, {"max_link_width": "4\n"})
    (root / "sys/class/drm/card0").mkdir(parents=True)
    (root / "sys/class/drm/card0/device").symlink_to(card)
    udev = "E:MEMORY_ARRAY_NUM_DEVICES=2\nE:MEMORY_DEVICE_0_SIZE=17179869184\nE:MEMORY_DEVICE_0_TYPE=DDR5\n"
    udev += "E:MEMORY_DEVICE_0_SERIAL_NUMBER=SN123\nE:MEMORY_DEVICE_0_CONFIGURED_SPEED_MTS=5600\n"
    write_files(root, {"run/udev/data/+dmi:id": udev})
    report, before = _recorded(root, monkeypatch, engine)
    assert "SN123" not in json.dumps(report)
    again = write_tree(report, tmp_path / "again")
    assert replayed_cores(report, again) == before["cores"]
    assert replayed_memory(report, again) == before["memory"]
    assert dataclasses.replace(replayed_gpus(again)[0], name="") == dataclasses.replace(before["gpus"][0], name="")
    assert before["gpus"][0].pcie_width_max == 4


def _recorded(root, monkeypatch, engine):
    """The report of a machine whose files lie below ``root``, and what the probes say of it directly."""

    def moved(read):
        return lambda here=root: read(here)

    cores, memory = cpu_linux.read_cpu(root).cores, memory_linux.read_modules(root)
    gpus = gpus_linux.read_gpus(root)
    for module, name in ((cpu_linux, "read_cpu"), (memory_linux, "read_modules"), (gpus_linux, "read_gpus")):
        monkeypatch.setattr(module, name, moved(getattr(module, name)))
    original = selftest.recording

    def as_if_at_the_root():
        return _Moved(original(), root)

    monkeypatch.setattr(selftest, "recording", as_if_at_the_root)
    monkeypatch.setattr(raw, "_DMI", root / "no table")
    report = _report(engine)
    summary = selftest_summary(memory, report)
    return report, {"cores": cores, "memory": summary, "gpus": gpus}


def selftest_summary(facts, report):
    from app.hardware.memory_common import summarise_modules

    return summarise_modules(facts.modules, report["snapshot"]["cpu"]["name"]), facts.slots


class _Moved:
    """A recording whose paths are told as if ``root`` were the real root."""

    def __init__(self, context, root):
        self._context, self._root = context, root

    def __enter__(self):
        self._record = self._context.__enter__()
        return self._record

    def __exit__(self, *error):
        self._context.__exit__(*error)
        moved = {self._real(path): text for path, text in self._record.files.items() if path.is_relative_to(self._root)}
        links = {
            self._real(path): self._real(to)
            for path, to in self._record.links.items()
            if path.is_relative_to(self._root)
        }
        self._record.files.clear()
        self._record.files.update(moved)
        self._record.links.clear()
        self._record.links.update(links)

    def _real(self, path):
        return Path("/") / path.relative_to(self._root)


def test_that_windows_records_run_again_from_the_file(tmp_path):
    from tests.tools.hardware_data import windows_cache, windows_core

    records = b"".join((windows_core(1, True, 3), windows_core(0, False, 4), windows_cache(3, 8 << 20, 7)))
    table = smbios_table({"locator": "DIMM_A1"}, {"locator": "DIMM_B1"})
    report = {
        "snapshot": {"cpu": {"name": None}},
        "raw": {"files": {}, "links": {}, "processor_information": records.hex(), "smbios": table.hex()},
    }
    root = write_tree(report, tmp_path)
    assert [core.kind.value for core in replayed_cores(report, root)] == ["P", "E"]
    summary, slots = replayed_memory(report, root)
    assert (summary.channels, slots) == (2, 2)


def test_that_names_of_control_groups_are_numbers_and_other_files_stay_here():
    record = Recording(
        {
            Path("/proc/self/cgroup"): "0::/user.slice/user-1000.slice/xiaowang.scope",
            Path("/sys/fs/cgroup/user.slice/user-1000.slice/xiaowang.scope/cpu.max"): "400000 100000",
            Path("/proc/version"): "Linux version 6.1.0 (xiaowang@builder) (gcc 12) #1 SMP",
            Path("/proc/cpuinfo"): "model name : X\nSerial : 123\nflags : fpu\n\nmodel name : X",
            Path("/home/xiaowang/.netrc"): "password",
            Path("/sys/class/net/eth0/address"): "00:11:22:33:44:55",
        }
    )
    files = recorded_files(record)
    assert files == {
        "/proc/cpuinfo": "model name : X\nflags : fpu",
        "/proc/self/cgroup": "0::/g0/g1/g2",
        "/proc/version": "Linux version 6.1.0",
        "/sys/fs/cgroup/g0/g1/g2/cpu.max": "400000 100000",
    }


def test_that_words_that_only_contain_a_name_stay_whole():
    told = scrubbed({"Anna's": ["Annapurna PCIe", "anna", 3, None]}, ("Anna",), ())
    assert told == {"<name>'s": ["Annapurna PCIe", "<name>", 3, None]}


def test_that_a_probe_that_fails_tells_why_and_the_rest_is_there(monkeypatch, engine):
    def broken():
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(gpus_nvml, "open_nvml", broken)
    report = _report(engine)
    assert report["raw"]["nvml"] == {"error": "RuntimeError: broken on purpose"}
    assert report["snapshot"]["cpu"]["cores"]


def test_that_an_engine_that_breaks_or_is_missing_is_part_of_the_report(monkeypatch, engine):
    monkeypatch.setattr(selftest, "run_tool", lambda *_: ToolOutput(127, "", "libcuda.so.1: not found\n"))
    told = _report(engine)["engine"]
    assert told["version"] == {"error": "exit code 127", "evidence": ["libcuda.so.1: not found"]}
    assert make_selftest(None, app_paths())["engine"] == {"found": False}


def test_that_the_verb_writes_the_file_and_says_what_is_in_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("app.cli.inputs.chosen_engine", lambda options: None)
    path = tmp_path / "我的 report.json"
    assert run(["selftest", str(path)]) == 0
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == 1
    assert "report.json" in capsys.readouterr().out
    assert run(["selftest", str(path), "--json"]) == 0
    told = SimpleNamespace(**json.loads(capsys.readouterr().out))
    assert (told.path, told.bytes) == (str(path), path.stat().st_size)
    assert run(["selftest"]) == 2
    assert run(["selftest", str(tmp_path / "no folder" / "x.json")]) == 2
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with pytest.raises(ProblemError, match="selftest_not_saved"):
        save_selftest(tmp_path / "nul\0.json", {})
