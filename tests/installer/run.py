"""Builds the Windows installer and tries it under Wine: ``python dev.py windows``.

    python -m tests.installer.run [what goes to pytest]

From a bare Debian 12 it installs what it needs as root; elsewhere it says what is missing and ends with exit code 77.
The real ``llama-server.exe`` is cross-built once and kept in the cache folder (about 8 minutes on two cores).
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from installer.windows import engine_exe
from installer.windows.build import default_cache
from tests.installer.conftest import PACKAGES, missing_commands
from tests.wine.run import SKIPPED, install, say

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: list[str]) -> int:
    """0 = passed, 77 = skipped with the reason on the last line, else failed."""
    packages = [PACKAGES[name] for name in missing_commands()] + engine_exe.missing_packages()
    reason = install(sorted(set(packages)))
    if reason is not None:
        say(f"skipped: building and trying the installer needs more than is here: {reason}")
        return SKIPPED
    started = time.monotonic()
    say(f"llama-server.exe: {engine_exe.build_engine_exe(default_cache())} ({time.monotonic() - started:.0f} s)")
    pytest = [sys.executable, "-m", "pytest", "tests/installer", "-p", "no:pytest-qt", "-p", "no:randomly"]
    command = [*pytest, "--timeout", "300", "--color=no", "--durations=5", "-q", *arguments]
    code = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
    if code == 1:
        say("A failed test gets one more try, since Wine 8 itself hangs now and then; what fails twice, fails.")
        code = subprocess.run([*command, "--last-failed"], cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
