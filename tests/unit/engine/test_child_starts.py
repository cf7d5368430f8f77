"""Field report RUN-09 (console windows flash on Windows): who starts programs, read from the source of all of Lanewise.

That really no window shows is tried in tests/wine/test_windows_child.py; what other packages start while Lanewise runs
in tests/wine/test_windows_behaviour.py.
"""

import ast
import platform
import re
import sys
from pathlib import Path

import app
from app.common.system_name import machine_name, system_name
from app.hardware import probe

ROOT = Path(app.__file__).parent
STARTERS = {
    "subprocess": {"Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"},
    "os": {"system", "popen", "startfile", "fork", "forkpty", "posix_spawn", "posix_spawnp"},
    "platform": {"uname", "system", "node", "release", "version", "machine", "processor", "platform", "win32_ver"},
    "uuid": {"getnode", "uuid1"},  # they ask ipconfig, getmac or arp
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "concurrent.futures": {"ProcessPoolExecutor"},
}
MODULES = {"multiprocessing", "webbrowser", "cpuinfo", "pty"}
"""Modules that start programs whichever way they are used."""
NAMES = {"QProcess", "CreateProcessW", "CreateProcessA", "ShellExecuteW", "ShellExecuteExW", "WinExec", "CreateProcess"}
"""Names that start programs whatever they are an attribute of."""
MENTIONED = re.compile(
    r"import (subprocess|uuid|asyncio|platform)|from (subprocess|uuid|asyncio|platform|os|concurrent\.futures) import|"
    rf"Executor|\bos\.(system|popen|startfile|fork|posix_spawn|spawn|exec)|\b({'|'.join(sorted(MODULES | NAMES))})\b"
)
"""Without one of these words there is nothing to find; reading the tree of every module takes seconds."""


def dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    return f"{dotted(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""


def starts_of(source):
    """The ways of starting a program that a module mentions: called, passed on, imported or bound to another name."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.partition(".")[0] in MODULES}
        elif isinstance(node, ast.ImportFrom) and node.module:
            given = STARTERS.get(node.module, set()) | NAMES
            found |= {alias.name for alias in node.names if alias.name in given}
            found |= {node.module} & MODULES
        elif isinstance(node, ast.Attribute):
            module, name = dotted(node.value), node.attr
            is_family = module == "os" and name.startswith(("spawn", "exec"))
            if name in NAMES or name in STARTERS.get(module, set()) or is_family:
                found.add(name)
        elif isinstance(node, ast.Name) and node.id in NAMES:
            found.add(node.id)
    return found


def test_that_only_the_two_children_start_programs_and_two_lines_that_windows_never_reaches():
    found = {}
    for path in ROOT.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if MENTIONED.search(source) and (starts := starts_of(source)):
            found[path.name] = starts
    assert found == {
        "_child_linux.py": {"Popen"},
        "_spawn_windows.py": {"CreateProcessW"},
        "probe.py": {"cpuinfo"},
        "system_name.py": {"platform"},
    }


def test_that_windows_is_never_asked_for_the_processors_name_by_a_program_of_its_own(monkeypatch):
    monkeypatch.setattr(probe, "_IS_WINDOWS", True)
    monkeypatch.setitem(sys.modules, "cpuinfo", None)  # importing it raises
    assert probe._name_from_cpuinfo() is None


def test_that_windows_names_its_processor_and_itself_without_asking_a_program(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    version = type("WindowsVersion", (tuple,), {"platform_version": (10, 0, 22631)})
    monkeypatch.setattr(sys, "getwindowsversion", lambda: version((6, 2, 9200)), raising=False)
    monkeypatch.setitem(sys.modules, "platform", None)  # importing it raises
    monkeypatch.setenv("PROCESSOR_ARCHITECTURE", "x86")
    monkeypatch.setenv("PROCESSOR_ARCHITEW6432", "AMD64")  # a 32-bit program on a 64-bit Windows
    assert (machine_name(), system_name()) == ("AMD64", "Windows-10.0.22631")


def test_that_the_processors_name_is_the_one_of_pythons_own_module():
    assert machine_name() == platform.machine()


def test_that_the_one_start_on_windows_asks_for_no_console_window():
    tree = ast.parse((ROOT / "engine" / "_spawn_windows.py").read_text(encoding="utf-8"))
    (call,) = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and dotted(n.func).endswith("CreateProcessW")]
    flags = dotted(call.args[5])  # dwCreationFlags
    values = [n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) and dotted(n.targets[0]) == flags]
    assert "subprocess.CREATE_NO_WINDOW" in {dotted(n) for value in values for n in ast.walk(value)}


def test_that_every_way_to_start_a_program_is_noticed():
    for source, start in (
        ("import subprocess\nrun = subprocess.run", "run"),
        ("from subprocess import Popen as P", "Popen"),
        ("import os\nos.spawnv(0, 'a', [])", "spawnv"),
        ("import os\nos.startfile('a')", "startfile"),
        ("from PySide6.QtCore import QProcess", "QProcess"),
        ("from PySide6 import QtCore\nQtCore.QProcess.startDetached('a')", "QProcess"),
        ("import ctypes\nctypes.windll.shell32.ShellExecuteW(0)", "ShellExecuteW"),
        ("import multiprocessing.pool", "multiprocessing.pool"),
        ("import uuid\nuuid.getnode()", "getnode"),
    ):
        assert MENTIONED.search(source), source
        assert starts_of(source) == {start}, source
    assert starts_of("self._jobs.run(work)\nprocess.kill()\nos.path.join('a')") == set()
