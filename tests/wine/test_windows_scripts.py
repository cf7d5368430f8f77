"""An exported .bat in Windows' own shell: the program gets exactly the argv, and its exit code comes back.

Wine's ``start`` reads ``/affinity`` but does not obey it, so what the mask does is not seen here; without a console
its cmd ignores ``chcp``, so the arguments are plain ASCII.
"""

import subprocess
import sys

import pytest

from app.planner.scripts import Pinning, script
from app.planner.shells import Shell

ARGV = ("-c", "import sys; print(ascii(sys.argv[1:]), flush=True)", "a b", "x|y=CPU", "100%", "C:\\end\\")


@pytest.mark.parametrize("pinning", [None, Pinning((0,), "close (it) & go")])
def test_that_the_batch_file_runs_exactly_the_argv(tmp_path, pinning):
    file = tmp_path / "start.bat"
    file.write_bytes(script(sys.executable, ARGV, Shell.CMD, ("a comment (100%)",), pinning).data)
    ran = subprocess.run(["cmd", "/d", "/c", str(file)], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    lines = ran.stdout.decode("utf-8").split("\r\n")
    assert lines[-2] == ascii(list(ARGV[2:]))
    assert lines[:-2] == ([] if pinning is None else ["close (it) & go"])
    assert ran.returncode == 0


def test_that_the_exit_code_comes_back_through_start(tmp_path):
    file = tmp_path / "start.bat"
    file.write_bytes(script(sys.executable, ("-c", "import sys; sys.exit(7)"), Shell.CMD, (), Pinning((0,))).data)
    ran = subprocess.run(["cmd", "/d", "/c", str(file)], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert ran.returncode == 7
