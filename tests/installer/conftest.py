"""The real installer in the real (Wine) Windows: built once, then installed, started, upgraded and removed.

Run by ``python3 dev.py windows``; needs wine, nsis, the cross-compiler, Xvfb and xdotool, which that verb installs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.common.paths import AppPaths
from installer.windows import build as builder
from installer.windows import engine_exe
from installer.windows.wine_prefix import WinePrefix, locked, make_prefix, windows_path

REQUIREMENTS = Path(__file__).resolve().parents[1] / "wine" / "requirements.txt"
PACKAGES = {
    "wine": "wine",
    "makensis": "nsis",
    "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
    "osslsigncode": "osslsigncode",
    "Xvfb": "xvfb",
    "xdotool": "xdotool",
    "import": "imagemagick",
    "locale-gen": "locales",
}
"""Commands that these tests need -> Debian package."""


def missing_commands() -> list[str]:
    return [name for name in PACKAGES if shutil.which(name) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = missing_commands()
    if missing:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=f"not installed: {', '.join(missing)}"))


def files_of(folder: Path) -> set[str]:
    """The names of the files in it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="session")
def cache(user_paths: AppPaths) -> Path:
    """In the user's own folders, where what was fetched stays for the next run."""
    return user_paths.cache / "wine"


@pytest.fixture(scope="session")
def prefix(cache: Path) -> Iterator[WinePrefix]:
    with locked(cache):
        made = make_prefix(cache, (REQUIREMENTS,))  # the same as tests/wine/run.py, which would be forgotten else
        yield made
        made.end()


@pytest.fixture(scope="session")
def display() -> Iterator[str]:
    """A screen of 1366x768 of its own; Xvfb says which number was free."""
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1366x768x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL) as server:
        os.close(writing)
        with os.fdopen(reading) as stream:
            yield f":{stream.readline().strip()}"
        server.terminate()


class Windows:
    """A user's Windows: programs are started in it and end within a limit."""

    def __init__(self, prefix: WinePrefix, display: str) -> None:
        self.prefix, self.display = prefix, display
        self.environment = prefix.environment(DISPLAY=display)
        for name in ("PYTHONPATH", "LANEWISE_HOME"):  # tests/conftest.py sets the second: a user has neither
            self.environment.pop(name, None)
        self.users = prefix.folder / "drive_c" / "users"

    @property
    def user(self) -> Path:
        """The user's folder, whatever the user is called."""
        return next(path for path in self.users.iterdir() if path.name != "Public")

    @property
    def program(self) -> Path:
        """Where the installer puts Lanewise."""
        return self.user / "AppData" / "Local" / "Programs" / "Lanewise"

    @property
    def settings(self) -> Path:
        return self.user / "AppData" / "Roaming" / "Lanewise"

    @property
    def data(self) -> Path:
        return self.user / "AppData" / "Local" / "Lanewise"

    @property
    def start_menu(self) -> Path:
        return self.user / "AppData" / "Roaming" / "Microsoft" / "Windows" / "Start Menu" / "Programs" / "Lanewise.lnk"

    @property
    def desktop(self) -> Path:
        return self.user / "Desktop" / "Lanewise.lnk"

    def start(self, program: Path | str, *arguments: str) -> subprocess.Popen[str]:
        """Start a program; its streams are pipes, without which Windows Python under Wine does not start."""
        name = windows_path(program) if isinstance(program, Path) else program
        return subprocess.Popen(
            ["wine", name, *arguments], env=self.environment, cwd=self.users, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
        )  # fmt: skip

    def run(self, program: Path | str, *arguments: str, limit_s: float = 90) -> tuple[int, str, str]:
        """Run a program to its end: exit code, output, errors."""
        with self.start(program, *arguments) as process:
            try:
                out, err = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
            return process.returncode, out, err

    def install_to(self, setup: Path, folder: str) -> int:
        """Silent into a folder of one's own; the exit code. NSIS takes all after "/D=" as it is, without quotes, so the
        line is handed over by Windows' own shell, which adds none."""
        return self.run("cmd", "/c", f"{windows_path(setup)} /S /D={folder}")[0]

    def registry(self, key: str) -> str:
        """What a key holds; empty when it does not exist."""
        code, out, _ = self.run("reg", "query", key, "/s")
        return out if code == 0 else ""

    def wait_for_window(self, name: str, limit_s: float = 120) -> str:
        """The id of the first window whose title contains ``name``."""
        ends = time.monotonic() + limit_s
        while time.monotonic() < ends:
            done = subprocess.run(
                ["xdotool", "search", "--onlyvisible", "--name", name], env={**os.environ, "DISPLAY": self.display},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.stdout.strip():
                return done.stdout.split()[0]
            time.sleep(0.2)
        self.picture(Path("dist") / "windows" / "no-window.png", limit_s=1)
        raise TimeoutError(f"no window {name!r} in {limit_s} s; dist/windows/no-window.png shows the screen")

    def picture(self, file: Path, least_bytes: int = 20_000, limit_s: float = 30) -> None:
        """The whole screen as a PNG, as soon as there is something on it: an empty one takes a few hundred bytes."""
        file.parent.mkdir(parents=True, exist_ok=True)
        ends = time.monotonic() + limit_s
        while time.monotonic() < ends:
            subprocess.run(["import", "-display", self.display, "-window", "root", str(file)], check=True)
            if file.stat().st_size > least_bytes:
                return
            time.sleep(0.5)

    def end_all(self) -> None:
        """End every program of this Windows."""
        self.prefix.end()


@pytest.fixture(scope="session")
def windows(prefix: WinePrefix, display: str) -> Windows:
    return Windows(prefix, display)


@pytest.fixture(scope="session")
def chinese_locale(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables that make Wine a Chinese Windows: its language, and its code page (936) instead of 1252."""
    folder = tmp_path_factory.mktemp("locales")
    subprocess.run(["localedef", "-i", "zh_CN", "-f", "UTF-8", str(folder / "zh_CN.UTF-8")], check=True)
    return {"LOCPATH": str(folder), "LC_ALL": "zh_CN.UTF-8"}


@pytest.fixture
def chinese(clean: Windows, chinese_locale: dict[str, str]) -> Iterator[Windows]:
    """A Chinese Windows without Lanewise."""
    clean.environment.update(chinese_locale)
    yield clean
    clean.end_all()
    for name in chinese_locale:
        del clean.environment[name]


@pytest.fixture(scope="session")
def built(prefix: WinePrefix, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the installer, packed quickly. ``LANEWISE_SETUP`` names one that was built before."""
    given = os.environ.get("LANEWISE_SETUP")
    if given:
        return Path(given).resolve()
    out = tmp_path_factory.mktemp("built")
    variables = [f"{name}={value}" for name, value in prefix.environment().items() if name.startswith("WINE")]
    command = ["env", *variables, f"HOME={prefix.folder / 'home'}", "wine", windows_path(prefix.python)]
    builder.build(out, builder.default_cache(), quick=True, compile_with=command)
    return out


@pytest.fixture(scope="session")
def llama_server() -> Path:
    """The real engine as a Windows program (installer/windows/engine_exe.py)."""
    program = engine_exe.engine_exe(builder.default_cache())
    if not program.is_file():
        pytest.skip("llama-server.exe was not built: python -m installer.windows.engine_exe")
    return program


@pytest.fixture(scope="session")
def setup(built: Path) -> Path:
    return next(built.glob("Lanewise-*-setup.exe"))


@pytest.fixture
def clean(windows: Windows) -> Iterator[Windows]:
    """A Windows without Lanewise."""
    windows.end_all()
    uninstaller = windows.program / "uninstall.exe"
    if uninstaller.is_file():
        windows.run(uninstaller, "/S", "/PURGE=1", f"_?={windows_path(windows.program)}")
    for folder in (windows.program, windows.settings, windows.data):
        shutil.rmtree(folder, ignore_errors=True)
    yield windows
    windows.end_all()


@pytest.fixture
def installed(windows: Windows, setup: Path) -> Iterator[Windows]:
    """A Windows with Lanewise; what an earlier test has left in order is used again."""
    if not (windows.program / "Lanewise.exe").is_file():
        code, _, _ = windows.run(setup, "/S")
        assert code == 0
    yield windows
    windows.end_all()
