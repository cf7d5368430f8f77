"""Exported scripts give the engine the cores that a launch gives it, and the argv stays exactly the argv."""

import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.planner.scripts import Pinning, script, script_text
from app.planner.shell_split import split_cmd, split_powershell
from app.planner.shells import Shell
from tests.unit.planner.test_shells import PROGRAMS, argvs

P_CORES = Pinning((0, 1, 2, 3, 8), "To stop it (100%), close this window & wait")
START = 'start "" /affinity 10F /wait /b '

needs_taskset = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("taskset") is None, reason="no taskset on this system"
)


def run_bash(tmp_path, pinning, command, path=None):
    file = tmp_path / "start.sh"
    file.write_bytes(script(command[0], command[1:], Shell.BASH, (), pinning).data)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PATH": path or os.environ["PATH"]}
    bash = shutil.which("bash")
    return subprocess.run([bash, str(file)], env=environment, capture_output=True, check=True, timeout=60, text=True)


ASK = (sys.executable, "-c", "import os, sys; print(sorted(os.sched_getaffinity(0)), sys.argv[1:])")


@needs_taskset
def test_that_the_bash_script_runs_its_program_on_those_cpus_only(tmp_path):
    cpu = max(os.sched_getaffinity(0))
    ran = run_bash(tmp_path, Pinning((cpu,)), (*ASK, "a b", "c|d$e"))
    assert ran.stdout.strip() == f"[{cpu}] ['a b', 'c|d$e']"
    assert ran.stderr == ""


@needs_taskset
def test_that_cpus_which_are_not_there_leave_the_program_unpinned_and_taskset_says_so(tmp_path):
    ran = run_bash(tmp_path, Pinning((900, 901)), (*ASK, "x"))
    assert ran.stdout.strip() == f"{sorted(os.sched_getaffinity(0))} ['x']"
    assert "taskset" in ran.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="needs bash and sched_getaffinity")
def test_that_without_taskset_the_program_starts_all_the_same(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "mkdir").symlink_to(shutil.which("mkdir"))
    ran = run_bash(tmp_path, Pinning((0,)), (*ASK, "x"), path=str(tools))
    assert ran.stdout.strip() == f"{sorted(os.sched_getaffinity(0))} ['x']"
    assert "taskset" in ran.stderr


@given(st.sampled_from(PROGRAMS), argvs)
def test_that_the_pinned_batch_file_holds_exactly_the_argv(program, argv):
    text = script_text(program, argv, Shell.CMD, (), P_CORES)
    body = text.split(f'mkdir "%APPDATA%"\r\n{START}')[1].split('\r\nset "code=')[0]
    assert split_cmd(body, in_batch=True) == (program, *argv)
    assert "\r\necho To stop it ^(100%%^), close this window ^& wait\r\n" in text


@given(st.sampled_from(PROGRAMS), argvs)
def test_that_the_pinned_powershell_script_holds_exactly_the_argv_and_puts_the_cpus_back(program, argv):
    text = script_text(program, argv, Shell.POWERSHELL, (), P_CORES)
    body = text.split("$env:XDG_CONFIG_HOME = $engineHome\r\n")[1].split("\r\n    $code = ")[0]
    assert split_powershell(body) == (program, *argv)
    pin, restore = "$self.ProcessorAffinity = [IntPtr]([long]271)", "$self.ProcessorAffinity = $cpus"
    assert text.index("$cpus = $self.ProcessorAffinity") < text.index(pin) < text.index(body) < text.index(restore)


@pytest.mark.parametrize(
    ("cpus", "mask"),
    [((), None), ((0,), 1), ((3, 2, 2), 12), (range(64), 2**64 - 1), ((63,), 2**63), ((64,), None), ((0, 64), None)],
)
def test_that_a_mask_has_a_bit_for_each_of_at_most_64_cpus(cpus, mask):
    assert Pinning(tuple(cpus)).mask == mask


def test_that_the_64th_cpu_is_the_sign_of_powershells_number():
    assert "[long]-1)" in script_text("x", (), Shell.POWERSHELL, (), Pinning(tuple(range(64))))
    assert f"[long]-{2**63})" in script_text("x", (), Shell.POWERSHELL, (), Pinning((63,)))


@pytest.mark.parametrize("shell", [Shell.CMD, Shell.POWERSHELL])
def test_that_cpus_beyond_a_mask_change_nothing_in_the_script(shell):
    assert script_text("x", ("-m",), shell, (), Pinning((0, 70), "notice")) == script_text("x", ("-m",), shell)
