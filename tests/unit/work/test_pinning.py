"""What an exported script says and does about cores, on machines of every shape."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import CoreKind, CpuCore, CpuInfo
from app.planner.shells import Shell
from app.words import Language, say, set_language
from app.work.exporting import export_script
from app.work.pinning import ScriptPinning, script_pinning

LAPTOP = Path(__file__).parents[2] / "data" / "hardware" / "laptop-rtx4080-i7-13700h.json"
"""Six P-cores with two threads each, CPUs 0 to 11, and eight E-cores."""


@pytest.fixture
def cpu():
    return load_snapshot(LAPTOP).cpu


def plan(*argv):
    return SimpleNamespace(argv=argv)


def test_that_the_script_pins_the_engine_where_a_launch_does(cpu):
    bash = script_pinning(plan("-t", "6"), cpu, Shell.BASH)
    assert bash.pinning.cpus == tuple(range(12))
    assert bash.comments == (say("export.pinned.taskset", cpus="0-11"),)
    batch = script_pinning(plan("-t", "6"), cpu, Shell.CMD)
    assert batch.pinning.mask == 0xFFF
    assert "close this window" in batch.pinning.notice
    more = script_pinning(plan("-t", "6", "-tb", "14"), cpu, Shell.CMD)
    assert more.pinning is None, "threads for every core: nothing to keep them from"


def test_that_nothing_is_said_where_all_cores_are_alike_or_unknown():
    alike = CpuInfo("x", (CpuCore((0,), CoreKind.UNKNOWN), CpuCore((1,), CoreKind.UNKNOWN)), (0, 1), 2, "all_cpus")
    for shell in Shell:
        assert script_pinning(plan(), alike, shell) == ScriptPinning()
        assert script_pinning(plan(), None, shell) == ScriptPinning()


@pytest.mark.parametrize("shell", [Shell.CMD, Shell.POWERSHELL])
def test_that_several_processor_groups_leave_the_mask_out_and_say_why(cpu, shell):
    grouped = dataclasses.replace(cpu, processor_groups=2)
    told = script_pinning(plan("-t", "6"), grouped, shell)
    assert told.pinning is None
    assert told.comments == (say("export.not_pinned", cpus="0-11"),)
    assert script_pinning(plan("-t", "6"), dataclasses.replace(cpu, processor_groups=1), shell).pinning is not None


@pytest.mark.parametrize("language", list(Language))
def test_that_the_file_carries_the_cores_and_the_words(cpu, tmp_path, language):
    set_language(language)
    for shell, sign in (
        (Shell.BASH, "taskset -c 0-11"),
        (Shell.CMD, "/affinity FFF "),
        (Shell.POWERSHELL, "[IntPtr]([long]4095)"),
    ):
        told = script_pinning(plan("-t", "6"), cpu, shell)
        export_script(tmp_path / "start", None, ("-t", "6"), shell, told)
        text = (tmp_path / "start").read_text(encoding="utf-8-sig")
        assert sign in text
        assert told.comments[0] in text
