"""Runs the Windows side of Lanewise under Wine, with the real Windows Python: ``python dev.py wine``.

    python -m tests.wine.run [--all | what goes to pytest]

From a bare Debian 12 it installs Wine as root (apt), fetches the pinned Windows Python and wheels, makes a prefix in
the cache folder and runs the tests below in it. Where there is no apt or no root and no Wine, it says so and ends with
exit code 77 (skipped). What Wine lacks (SMBIOS 16 and 17, PCIe, performance counters, NVML, P and E cores) is tested
with byte fixtures on every system instead. The window is drawn offscreen, with the fonts of this machine.

Without ``--all``, of the unit tests only those run that touch files, processes, paths, encodings or the locale: the
others are the same Python on every system, and the real Windows of .github/workflows/windows.yml runs them all.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from app.common.paths import app_paths
from installer.windows.wine_prefix import WinePrefix, display, locked, make_prefix, missing_packages, windows_path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
SUMMARY = "short test summary info"
LIMIT_S = 25 * 60
"""For both tries together."""
ALWAYS = ("tests/wine", "tests/qt", "tests/engine/test_process.py")
ALL_UNIT = (
    "tests/unit",
    "--ignore=tests/unit/planner",  # pure, as import-linter proves: they touch no file and no system
    "--ignore=tests/unit/doctor",
)
SYSTEM_UNIT = (
    "tests/unit/cli",
    "tests/unit/work",
    "tests/unit/engine/test_child_lines.py",
    "tests/unit/engine/test_child_starts.py",
    "tests/unit/engine/test_cpu_sets.py",
    "tests/unit/engine/test_engine_archive.py",
    "tests/unit/engine/test_engine_environment.py",
    "tests/unit/engine/test_engine_locate.py",
    "tests/unit/engine/test_engine_probe.py",
    "tests/unit/engine/test_power_throttling.py",
    "tests/unit/hardware/test_cpu_windows.py",
    "tests/unit/hardware/test_probe.py",
    "tests/unit/hardware/test_snapshot_file.py",
    "tests/unit/model/test_cache.py",
    "tests/unit/model/test_demo.py",
    "tests/unit/model/test_reader.py",
    "tests/unit/model/test_reader_bad_files.py",
    "tests/unit/monitor/test_samplers.py",
    "tests/unit/test_bandwidth_store.py",
    "tests/unit/test_log.py",
    "tests/unit/test_patient.py",
    "tests/unit/test_resources.py",
    "tests/unit/test_selftest.py",
    "tests/unit/test_settings.py",
    "tests/unit/test_whole_file.py",
)


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


def run_tests(prefix: WinePrefix, arguments: Sequence[str], limit_s: float) -> tuple[int, list[str]]:
    """pytest in the prefix: its exit code and its last words (the short summary and the counts)."""
    with display() as screen:
        return _pytest(prefix, arguments, limit_s, screen)


def _pytest(prefix: WinePrefix, arguments: Sequence[str], limit_s: float, screen: str) -> tuple[int, list[str]]:
    environment = prefix.environment(
        (ROOT,),
        DISPLAY=screen,
        PYTHONPYCACHEPREFIX=r"C:\bytecode",  # in the prefix: the checkout belongs to Linux
        PYTHONUTF8="1",
        WINEQT_QPA_PLATFORM="offscreen",  # Wine drops names that begin with QT_
        WINEQT_QPA_FONTDIR=r"C:\windows\Fonts",
        LANEWISE_WINE_QT="1" if prefix.has_qt else "",
    )
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    options = ["-p", "tests.wine.desktop", "-p", "no:cacheprovider", "-m", "not slow"]
    options += ["--color=no", "--durations=5", "-v"]
    argv = [windows_path(prefix.python), "-m", "pytest", *options, *arguments]
    last: list[str] = []
    progress = Progress()
    try:
        for line in prefix.lines_of(argv, environment, ROOT, limit_s):
            told = progress.hear(line)
            if told is not None:
                say(told)
            last = [line] if SUMMARY in line else [*last, line] if last else []
    except subprocess.CalledProcessError as error:
        if not counts(last):
            say(f"Wine ended, or was ended after {limit_s:.0f} s at most, in: {progress.newest}")
        return error.returncode or 1, last
    return 0, last


class Progress:
    """Makes the lines of ``pytest -v`` few, and keeps the newest: a run that hangs shows in which test."""

    def __init__(self) -> None:
        self.newest = "the collection of the tests"
        self._tenths = 0

    def hear(self, line: str) -> str | None:
        """What is worth showing of this line."""
        if not re.match(r"tests\S+::", line):
            return line
        self.newest = line
        if not re.search(r"::.* (?:PASSED|SKIPPED)\b", line):
            return line
        percent = re.search(r"\[ *(\d+)%\]$", line)
        tenths = int(percent[1]) // 10 if percent else 0
        if tenths <= self._tenths:
            return None
        self._tenths = tenths
        return f"  {tenths * 10} % of the tests"


def failed_tests(last: Sequence[str]) -> list[str]:
    """The tests that a run named in its short summary; none when it did not come to its end."""
    found = [match[1] for line in last if (match := re.match(r"(?:FAILED|ERROR) (\S+::.*?)(?: - .*)?$", line))]
    return found if counts(last) else []


def counts(last: Sequence[str]) -> dict[str, int]:
    """How many passed, failed, were skipped: the closing line of pytest."""
    closing = next((line for line in reversed(last) if re.search(r"\d+ [a-z]+.* in [\d.]+s", line)), "")
    return {word: int(n) for n, word in re.findall(r"(\d+) ([a-z]+)", closing.partition(" in ")[0])}


def after_retry(first: dict[str, int], retried: dict[str, int]) -> str:
    """One closing line for both tries, which dev.py counts: what passed at last has passed."""
    both = {**first, "passed": first.get("passed", 0) + retried.get("passed", 0)}
    for word in ("failed", "error", "errors"):
        both.pop(word, None)
        if word in retried:
            both[word] = retried[word]
    return ", ".join(f"{n} {word}" for word, n in both.items()) + " in 0.0s (both tries)"


def try_twice(prefix: WinePrefix, arguments: list[str]) -> int:
    """Run the tests; what failed gets a second try, alone, and is named. A run that did not come to its end is run
    again whole, while there is time."""
    ends = time.monotonic() + LIMIT_S
    code, last = run_tests(prefix, arguments, LIMIT_S)
    if code in (0, 5):  # 5: pytest found no tests
        return code
    failed, left_s = failed_tests(last), ends - time.monotonic()
    if left_s < LIMIT_S / 10:
        say(f"failed: the tests take longer than {LIMIT_S // 60} minutes here")
        return code
    say("One more try, since Wine 8 itself hangs now and then; what fails twice, fails.")
    again, last_again = run_tests(prefix, failed or arguments, left_s)
    for name in failed:
        say(
            f"{'failed twice' if name in failed_tests(last_again) or again > 1 else 'passed at the second try'}: {name}"
        )
    if failed:
        say(after_retry(counts(last), counts(last_again)))
    return again


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
        if arguments == ["--all"]:
            arguments = [*ALWAYS, *ALL_UNIT]
        return try_twice(prefix, arguments or [*ALWAYS, *SYSTEM_UNIT])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
