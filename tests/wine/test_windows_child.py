"""A child on Windows: what it is given before its first instruction, that no console shows, and how it ends.

Its whole life (stop, flood, crash, orphans, kill of the tree, the parent's end) is in tests/engine/test_process.py,
which runs here too.
"""

import os
import sys

import psutil
import pytest

from app.engine import power_throttling
from app.engine.child import ChildSpec
from app.engine.launcher import launch, run_tool
from tests.tools.engine_fixture import is_gone

WINDOW = "import ctypes; k = ctypes.windll.kernel32; k.GetConsoleWindow.restype = ctypes.c_void_p; "
WINDOW += "w = k.GetConsoleWindow(); print(w if w and ctypes.windll.user32.IsWindowVisible(w) else None)"
FIRST = "import psutil, threading; p = psutil.Process(); print(p.cpu_affinity(), flush=True)"


def _python(code, **more):
    return ChildSpec((sys.executable, "-c", code), dict(os.environ), **more)


def test_that_no_console_window_shows():
    told = run_tool((sys.executable, "-c", WINDOW), dict(os.environ), 60)
    assert (told.code, told.stdout.strip()) == (0, "None")


@pytest.mark.parametrize("cpu", [0, os.cpu_count() - 1])
def test_that_the_affinity_is_there_at_the_first_instruction_and_read_back(cpu):
    child = launch(_python(FIRST + "; import time; time.sleep(600)", cpus=(cpu,)))
    try:
        with child.stdout:
            assert child.stdout.readline().decode().strip() == f"[{cpu}]"
            assert child.affinity() == (cpu,)
            child.terminate()
        child.wait_exit()
    finally:
        child.kill_tree()
    assert child.reap() == 1
    assert is_gone(child.pid)


def test_that_threads_and_children_of_the_child_inherit_its_cpus():
    code = "import subprocess, sys; print(subprocess.run([sys.executable, '-c', sys.argv[1]], "
    code += "capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout.strip())"
    child = launch(ChildSpec((sys.executable, "-c", code, FIRST), dict(os.environ), cpus=(0,)))
    with child.stdout:
        assert child.stdout.readline().decode().strip() == "[0]"
    child.wait_exit()
    assert child.reap() == 0


def test_that_cpus_beyond_a_mask_leave_the_child_unpinned():
    child = launch(_python(FIRST, cpus=(70, 71)))
    with child.stdout:
        assert child.stdout.readline().decode().strip() == str(psutil.Process().cpu_affinity())
    child.wait_exit()
    assert child.reap() == 0


def test_that_a_program_that_is_not_there_is_an_error_of_the_system():
    with pytest.raises(OSError, match=r"[Ff]ile|not find"):
        launch(ChildSpec(("C:\\no\\such.exe",), dict(os.environ)))


def test_that_arguments_with_blanks_quotes_and_chinese_arrive_as_they_are():
    wanted = ["a b", 'say "hi"', "千问", "back\\", ""]
    told = run_tool(
        (sys.executable, "-X", "utf8", "-c", "import sys; print(sys.argv[1:])", *wanted), dict(os.environ), 60
    )
    assert told.stdout.strip() == str(wanted)


def test_that_a_child_is_not_slowed_down_in_the_background_as_far_as_windows_tells(under_wine):
    """Field report CPU-08: the program asks for full speed, so that it stays on the fast cores behind other windows."""
    child = launch(_python("import time; time.sleep(600)"))
    try:
        # Wine 8 has no GetProcessInformation, so nobody knows; a Windows that tells must say that it is off.
        assert child.full_speed() is (None if under_wine else True)
    finally:
        child.stdout.close()
        child.kill_tree()
        child.reap()
    assert child.full_speed() is None  # and no stale handle is asked
    assert child.affinity() is None


@pytest.mark.parametrize(("control", "state", "told"), [(1, 0, True), (1, 1, False), (0, 0, False)])
def test_that_the_answer_about_efficiency_mode_is_read_as_windows_writes_it(monkeypatch, control, state, told):
    def get_information(handle, kind, answer, size):
        assert (handle, kind, size) == (7, 4, 12)  # ProcessPowerThrottling, three ULONGs
        assert answer._obj.version == 1
        answer._obj.control_mask, answer._obj.state_mask = control, state
        return 1

    class Kernel:
        GetProcessInformation = staticmethod(get_information)

    monkeypatch.setattr(power_throttling, "_kernel", Kernel())
    assert power_throttling.full_speed(7) is told
    monkeypatch.setattr(Kernel, "GetProcessInformation", staticmethod(lambda *_: 0))  # refused
    assert power_throttling.full_speed(7) is None
    monkeypatch.delattr(Kernel, "GetProcessInformation")  # a Windows without the call
    assert power_throttling.full_speed(7) is None


def test_that_preferred_cpus_forbid_nothing_and_start_the_program_all_the_same():
    spec = ChildSpec((sys.executable, "-c", "print('here')"), dict(os.environ), (0,), prefers_cpus=True)
    child = launch(spec)
    with child.stdout as stream:
        told = stream.read()
    child.wait_exit()
    assert child.affinity() in (None, (0,))  # Wine keeps no CPU sets; Windows gives back what was asked for
    assert child.reap() == 0
    assert b"here" in told
