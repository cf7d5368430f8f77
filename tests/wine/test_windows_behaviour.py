"""What only Windows does its own way: the Run key, two windows, clocks over a sleep, and that no console flashes."""

import ctypes
import json
import subprocess
import sys
import time
import winreg

import psutil
import pytest

from app.common.paths import app_paths
from app.common.problem import ProblemError
from app.engine._child_windows import _kill_on_close_job
from app.hardware import sleep_time
from app.session.single_instance import claim_window
from app.work import autostart
from app.work.autostart import APPROVED_KEY, NAME, RUN_KEY, StartCommand, is_on, switch_off, switch_on

PIPES = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}


def python(code, *arguments):
    """A second Windows program."""
    return subprocess.Popen([sys.executable, "-X", "utf8", "-c", code, *arguments], **PIPES)


def values(path):
    """All values of a key of this user: name -> (value, kind)."""
    try:
        with winreg.OpenKey(winreg.HKEY_CURRENT_USER, path) as key:
            found = [winreg.EnumValue(key, i) for i in range(winreg.QueryInfoKey(key)[1])]
    except FileNotFoundError:
        return {}
    return {name: (value, kind) for name, value, kind in found}


@pytest.fixture
def run_key():
    switch_off()
    yield lambda: values(RUN_KEY).get(NAME)
    switch_off()


def test_that_the_run_key_holds_a_command_that_windows_reads_back_word_for_word(run_key, tmp_path):
    others = {name: value for name, value in values(RUN_KEY).items() if name != NAME}
    plan = tmp_path / "我的 方案" / "plan 1.json"
    words = (sys.executable, "-X", "utf8", "-c", "import sys; print(sys.argv[1:])", "--launch", str(plan), "C:\\end\\")
    switch_on(StartCommand(words))
    text, kind = run_key()
    assert kind == winreg.REG_SZ
    assert f'"{plan}"' in text
    assert is_on()
    started = subprocess.run(text, capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8", timeout=60)
    assert started.stdout.strip() == str(list(words[5:]))
    switch_off()
    assert run_key() is None
    assert not is_on()
    switch_off()  # nothing there any more: no error
    assert values(RUN_KEY) == others


def test_that_an_entry_that_the_task_manager_has_switched_off_is_off_until_it_is_switched_on_again(run_key):
    switch_on(StartCommand((sys.executable, "--tray")))
    with winreg.CreateKeyEx(winreg.HKEY_CURRENT_USER, APPROVED_KEY, 0, winreg.KEY_SET_VALUE) as key:
        winreg.SetValueEx(key, NAME, 0, winreg.REG_BINARY, b"\x03" + bytes(11))
    assert run_key() is not None
    assert not is_on()
    switch_on(StartCommand((sys.executable, "--tray")))
    assert is_on()
    assert NAME not in values(APPROVED_KEY)


def test_that_a_run_key_that_cannot_be_written_is_told_with_its_place(monkeypatch):
    monkeypatch.setattr(autostart, "RUN_KEY", "Software\\" + "x" * 300)  # longer than a key's name may be
    with pytest.raises(ProblemError) as caught:
        switch_on(StartCommand(("Lanewise.exe",)))
    assert caught.value.problem.code == "autostart_failed"
    assert caught.value.problem.params["where"].startswith("HKCU\\Software\\")


FIRST = """
import sys
from PySide6.QtCore import QCoreApplication, QTimer
from app.common.paths import app_paths
from app.session.single_instance import WindowServer, claim_window
app = QCoreApplication([])
lock = claim_window(app_paths())
server = WindowServer(app_paths())
def on_open(path):
    print("opens", path, flush=True)
    QTimer.singleShot(0, app.quit)
server.open_requested.connect(on_open)
print("listens", lock is not None and server.is_listening, flush=True)
if "hangs" in sys.argv:
    sys.stdin.read()
app.exec()
server.close()
"""
SECOND = """
import sys
from app.common.paths import app_paths
from app.session.single_instance import claim_window, hand_over
assert claim_window(app_paths()) is None
called = []
sys.addaudithook(lambda event, arguments: called.append(arguments[1]) if event == "ctypes.dlsym" else None)
done = hand_over(app_paths(), sys.argv[1], patience_s=float(sys.argv[2]))
print(done, "AllowSetForegroundWindow" in called, flush=True)
"""


def test_that_a_second_program_hands_its_file_to_the_first_and_ends():
    path = "D:\\我的 模型 (1)\\千问 30B A3B.gguf"
    with python(FIRST) as first:
        assert first.stdout.readline() == "listens True\n"
        second = python(SECOND, path, "60")
        said, errors = second.communicate(timeout=100)
        assert (second.returncode, said) == (0, "True True\n"), errors  # and the first may come to the front
        assert first.stdout.read() == f"opens {path}\n"
    assert first.returncode == 0


def test_that_a_first_program_that_hangs_is_given_up_and_its_place_is_free_once_it_is_ended():
    with subprocess.Popen(
        [sys.executable, "-X", "utf8", "-c", FIRST, "hangs"], **{**PIPES, "stdin": subprocess.PIPE}
    ) as first:
        assert first.stdout.readline() == "listens True\n"
        second = python(SECOND, "D:\\m.gguf", "1.5")
        said, errors = second.communicate(timeout=100)
        assert (second.returncode, said) == (0, "False True\n"), errors
        assert claim_window(app_paths()) is None
        first.kill()  # "End task" in the Task Manager
        first.wait()
        lock = claim_window(app_paths())
        assert lock is not None
        lock.release()


def test_that_the_two_clocks_of_windows_tick_alike_while_nobody_sleeps():
    kernel = ctypes.WinDLL("kernel32")
    kernel.GetTickCount64.restype = ctypes.c_uint64
    begun, before = kernel.GetTickCount64(), sleep_time.slept_s()
    while kernel.GetTickCount64() - begun < 300:
        time.sleep(0)
    assert before is not None
    assert 0 <= before <= begun / 1000
    assert abs(sleep_time.slept_s() - before) < 0.1  # a wrong unit would show as 0.3 s, and more


def test_that_an_hour_of_hibernation_is_what_only_the_tick_count_counts(monkeypatch):
    class Kernel:
        ticks = 5_000_000

        def __init__(self, _name):
            self.GetTickCount64 = lambda: Kernel.ticks

        def QueryUnbiasedInterruptTime(self, told):
            told._obj.value = 1_400 * 10_000_000
            return 1

    class WithRestype:
        def __init__(self, call):
            self.call, self.restype = call, None

        def __call__(self):
            return self.call()

    monkeypatch.setattr(ctypes, "WinDLL", lambda name: _with(Kernel(name), WithRestype))
    assert sleep_time.slept_s() == 3600.0


def _with(kernel, wrapper):
    kernel.GetTickCount64 = wrapper(kernel.GetTickCount64)
    return kernel


HEARD = """
import json, sys
started = []
def hear(event, arguments):
    if event in ("subprocess.Popen", "os.system", "os.startfile", "os.exec", "os.spawn"):
        started.append([event, str(arguments[:2])])
sys.addaudithook(hear)
import httpx, numpy, psutil, pyqtgraph
from app.cli.main import run
run(["machine", "--json"])
from app.common.log import crash_text
from app.common.paths import app_paths
from app.engine.release_choice import this_target
from app.engine.wheel_install import installed
installed(app_paths())
this_target()
try:
    raise ValueError
except ValueError as error:
    crash_text((ValueError, error, error.__traceback__))
print("STARTED " + json.dumps(started))
"""


def test_that_nothing_that_lanewise_imports_or_reads_starts_a_program_of_its_own():
    """Not even ``cmd /c ver``, which Python's own ``platform`` asks."""
    with python(HEARD) as program:
        said, errors = program.communicate(timeout=110)
    assert program.returncode == 0, errors
    assert json.loads(said.rpartition("STARTED ")[2]) == []


BETWEEN = """
import os, sys
from app.engine._child_windows import _kill_on_close_job
from app.engine._spawn_windows import spawn_suspended
job = _kill_on_close_job()
made = spawn_suspended([sys.executable, "-c", "pass"], dict(os.environ), None, job, True)
print(made.pid, flush=True)
sys.stdin.read()
"""


def test_that_a_program_that_has_not_run_yet_ends_with_its_killed_parent():
    """Killed between the creation of the server and its first instruction: before, it stood still for ever."""
    with subprocess.Popen([sys.executable, "-c", BETWEEN], **{**PIPES, "stdin": subprocess.PIPE}) as parent:
        pid = int(parent.stdout.readline())
        assert psutil.pid_exists(pid)
        parent.kill()  # TerminateProcess
        parent.wait()
    kernel = ctypes.WinDLL("kernel32")
    kernel.OpenProcess.restype = ctypes.c_void_p
    handle = kernel.OpenProcess(0x100000, False, pid)  # SYNCHRONIZE; None: it is gone already
    if handle:
        assert kernel.WaitForSingleObject(ctypes.c_void_p(handle), 60_000) == 0
        kernel.CloseHandle(ctypes.c_void_p(handle))


def test_that_a_job_that_nobody_needs_any_more_is_an_ordinary_handle():
    kernel = ctypes.WinDLL("kernel32")
    assert kernel.CloseHandle(ctypes.c_void_p(_kill_on_close_job())) == 1
