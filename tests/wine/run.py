"""Runs the Windows side of Lanewise under Wine, with the real Windows Python: ``python dev.py wine``.

    python -m tests.wine.run [what goes to pytest]

From a bare Debian 12 it installs Wine as root (apt), fetches the pinned Windows Python and wheels, makes a prefix in
the cache folder and runs the tests below in it. Where there is no apt or no root and no Wine, it says so and ends with
exit code 77 (skipped). What Wine lacks (SMBIOS 16 and 17, PCIe, performance counters, NVML, P and E cores) is tested
with byte fixtures on every system instead.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from app.common.paths import app_paths
from installer.windows.wine_prefix import WinePrefix, display, locked, make_prefix, missing_packages, windows_path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
LIMIT_S = 20 * 60
TESTS = (
    "tests/wine",
    "tests/unit/hardware",
    "tests/unit/monitor",
    "tests/unit/test_settings.py",
    "tests/unit/work/test_downloads.py",
    "tests/unit/engine/test_engine_archive.py",
    "tests/engine/test_process.py",
)
FONTS = Path("/usr/share/fonts")


def say(text: str) -> None:
    """Print at once: the output is a pipe."""
    print(text, flush=True)


def install(wanted: list[str] | None = None) -> str | None:
    """Install what is missing, or these Debian packages; the reason when that is not possible here."""
    packages = missing_packages() if wanted is None else wanted
    if not packages:
        return None
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return f"needs {' '.join(packages)} (as root: apt-get install -y {' '.join(packages)})"
    started = time.monotonic()
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300"]
    command = [*apt, "install", "--no-install-recommends", *packages]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:  # a new machine has no package lists, or old ones
        subprocess.run([*apt, "update"], env=environment, capture_output=True, check=False)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["no reason given"]
        return f"apt-get could not install {' '.join(packages)}: {last[0]}"
    say(f"installed {' '.join(packages)} in {time.monotonic() - started:.0f} s")
    return None


def run_tests(prefix: WinePrefix, arguments: list[str]) -> int:
    """pytest in the prefix; its last line is the one that dev.py counts."""
    with display() as screen:
        return _pytest(prefix, arguments, screen)


def _pytest(prefix: WinePrefix, arguments: list[str], screen: str) -> int:
    environment = prefix.environment(
        (ROOT,),
        DISPLAY=screen,
        PYTHONDONTWRITEBYTECODE="1",  # the checkout belongs to Linux
        PYTHONUTF8="1",
        WINEQT_QPA_PLATFORM="offscreen",  # Wine drops names that begin with QT_
        WINEQT_QPA_FONTDIR=windows_path(FONTS),
        LANEWISE_WINE_QT="1" if prefix.has_qt else "",
    )
    options = [
        "-p",
        "tests.wine.desktop",
        "-p",
        "no:cacheprovider",
        "-m",
        "not slow",
        "--color=no",
        "--durations=3",
        "-q",
    ]
    argv = [windows_path(prefix.python), "-m", "pytest", *options, *(arguments or TESTS)]
    try:
        for line in prefix.lines_of(argv, environment, ROOT, LIMIT_S):
            say(line)
    except subprocess.CalledProcessError as error:
        return error.returncode or 1
    return 0


def main(arguments: list[str]) -> int:
    """0 = passed, 77 = skipped with the reason on the last line, else failed."""
    reason = install()
    if reason is not None:
        say(f"skipped: the Windows tests under Wine need more than is here: {reason}")
        return SKIPPED
    cache = app_paths().cache / "wine"
    with locked(cache):
        started = time.monotonic()
        try:
            prefix = make_prefix(cache, (Path(__file__).with_name("requirements.txt"),))
        except (OSError, subprocess.SubprocessError) as error:
            say(f"failed: the Wine prefix could not be made ({error}). Delete {cache} and start again.")
            return 1
        say(f"Wine, Windows Python and packages are ready after {time.monotonic() - started:.0f} s")
        code = run_tests(prefix, arguments)
        if code not in (0, 5):  # 5: pytest found no tests
            say("One more try, since Wine 8 itself hangs now and then; what fails twice, fails.")
            code = run_tests(prefix, arguments)
        return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
