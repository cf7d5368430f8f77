"""A Wine prefix with the Windows Python and its packages, made once and kept in the user's cache folder.

What runs in it is the real CPython of python.org and the wheels that Windows users get (``fetch``); Wine 8 is what
Debian 12 has. Only the copies of this prefix are changed, never what is shipped:

* ``_wmi.pyd`` is left out: ``platform.uname()`` would call it and Wine 8 aborts;
* ``python313._pth`` is left out, so that ``PYTHONPATH`` counts;
* three small libraries stand in for what Wine 8 lacks and Qt asks for (``icuuc``, ``mscms``, UISettings), where a
  cross-compiler is there to make them;
* the fonts of this machine stand in for those of Windows, of which Debian's Wine has none: English and Chinese text of
  the installer and the window can be looked at and measured.

Standard streams must be pipes: with a plain file, Python 3.13 under Wine ends with "init_sys_streams".
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from installer.windows import fetch

COMMANDS = {
    "wine": "wine",
    "wineserver": "wine64",
    "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
    "Xvfb": "xvfb",
}
"""Commands that it needs -> Debian package."""
_LAYOUT = "1"
"""Part of the prefix's name: a change of how it is made makes a new one."""
_NOT_IN_WINE = ("_wmi.pyd", "python313._pth", "python.cat")
_SETTINGS_CLASS = r"HKLM\Software\Microsoft\WindowsRuntime\ActivatableClassId\Windows.UI.ViewManagement.UISettings"
_OVERRIDES = "mscoree=;mshtml=;winedbg.exe=d;winemenubuilder.exe=d;mscms=n,b"
_SETUP_LIMIT_S = 180.0
_FONT_FILES = ("NotoSansCJK-Regular.ttc", "NotoSansCJK-Bold.ttc", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")
_FONT_PACKAGE = "fonts-noto-cjk"
_STANDS_IN = "Noto Sans CJK SC"
_FONTS_OF_WINDOWS = (
    "Segoe UI", "Microsoft YaHei UI", "Microsoft YaHei", "Tahoma", "Verdana", "MS Shell Dlg", "MS Shell Dlg 2",
    "SimSun", "NSimSun", "宋体",
)  # fmt: skip
_FONTS_KEY = r"HKEY_CURRENT_USER\Software\Wine\Fonts\Replacements"


def missing_packages() -> list[str]:
    """Debian packages that are still to be installed."""
    missing = [package for command, package in COMMANDS.items() if _which(command) is None]
    has_chinese = any(font.name == _FONT_FILES[0] for font in _found_fonts())
    return missing if has_chinese else [*missing, _FONT_PACKAGE]


def windows_path(path: Path) -> str:
    """How Windows programs see a path of this machine: Wine shows its root as drive Z."""
    return "Z:" + str(path.resolve()).replace("/", "\\")


@dataclass(frozen=True, slots=True)
class WinePrefix:
    """A ready prefix. ``packages``: folders for PYTHONPATH; ``has_qt``: the stand-ins that Qt needs are there."""

    folder: Path
    python_folder: Path
    packages: tuple[Path, ...]
    has_qt: bool

    @property
    def python(self) -> Path:
        """The Windows python.exe."""
        return self.python_folder / "python.exe"

    @property
    def fonts(self) -> Path:
        """The folder with the fonts."""
        return _fonts_folder(self.folder)

    def environment(self, python_path: Sequence[Path] = (), **extra: str) -> dict[str, str]:
        """Variables for a program of this prefix; ``python_path`` comes before the packages."""
        variables = {**_wine_environment(self.folder), **extra}
        variables["PYTHONPATH"] = ";".join(windows_path(p) for p in (*python_path, *self.packages))
        return variables

    def lines_of(self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, limit_s: float) -> Iterator[str]:
        """Run a Windows program and yield its output; everything of the prefix ends with it.

        Raises subprocess.CalledProcessError when it fails or takes longer than ``limit_s`` seconds.
        """
        # Wine's server would inherit our pipe, and when it is ended it lists on it what was still open.
        _quietly(self.folder, "wineserver", "-p")
        process = subprocess.Popen(
            [_tool("wine"), *argv],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        assert process.stdout is not None
        # The pipe is inherited by Wine's own services, so its end comes when they have ended too.
        ender = threading.Thread(target=self._end_after, args=(process, limit_s), daemon=True)
        ender.start()
        with process.stdout:
            for line in process.stdout:
                yield line.rstrip("\r\n")
        ender.join()
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, list(argv))

    def _end_after(self, process: subprocess.Popen[str], limit_s: float) -> None:
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.end()

    def stay_on(self) -> None:
        """Do not shut down when the last program ends, but only with ``end``: what was set until then stays set."""
        _quietly(self.folder, "wineserver", "-p")
        _quietly(self.folder, "wine", "reg", "query", "HKLM")  # its services come with it, and inherit no pipe of ours

    def end(self) -> None:
        """End everything that runs in this prefix."""
        _quietly(self.folder, "wineserver", "-k")


def make_prefix(cache: Path, more_wheels: Sequence[Path] = ()) -> WinePrefix:
    """The prefix with the packages of ``fetch`` and of ``more_wheels`` (requirement files, found before the others).

    Raises subprocess.CalledProcessError or OSError when a step fails; half-made parts are not used again.
    """
    python = _python(cache)
    wanted = (*more_wheels, fetch.WHEELS_WANTED)
    packages = tuple(_packages(cache, requirements) for requirements in wanted)
    _forget_old(cache, wanted)
    folder = cache / f"prefix-{_LAYOUT}"
    if not (folder / "ready").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "home").mkdir(parents=True)
        _wine(folder, "wineboot", "-i")
        _wine(folder, "wine", "winecfg", "-v", "win10")
        (folder / "ready").write_text("", encoding="utf-8")
    _add_fonts(folder)
    return WinePrefix(folder, python, packages, _add_stand_ins(folder))


@contextlib.contextmanager
def display() -> Iterator[str]:
    """A screen that nobody sees, for what asks for one (DXGI, real windows); its name, as DISPLAY wants it."""
    options = ["-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"]
    nothing = subprocess.DEVNULL
    with subprocess.Popen(
        [_tool("Xvfb"), *options], stdin=nothing, stdout=subprocess.PIPE, stderr=nothing, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield f":{server.stdout.readline().strip()}"
        finally:
            server.terminate()


@contextlib.contextmanager
def locked(cache: Path) -> Iterator[None]:
    """One user of the prefix at a time: ``end`` ends everything in it."""
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _python(cache: Path) -> Path:
    source = fetch.fetch_python(cache)
    folder = cache / f"run-{source.name}"
    if not folder.is_dir():
        unfinished = _empty(folder.with_suffix(".part"))
        fetch.unpack_python(source, unfinished)
        for name in _NOT_IN_WINE:
            (unfinished / name).unlink(missing_ok=True)
        unfinished.rename(folder)
    return folder


def _forget_old(cache: Path, wanted: Sequence[Path]) -> None:
    """Remove the wheels and packages of requirement files as they were before."""
    kept = {_digest(requirements) for requirements in wanted} | {_digest(fetch.PYTHON_WANTED)}
    for folder in (*cache.glob("site-*"), *cache.glob("requirements*-*")):
        if folder.name.rsplit("-", 1)[1] not in kept:
            shutil.rmtree(folder, ignore_errors=True)


def _digest(requirements: Path) -> str:
    return hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]


def _packages(cache: Path, requirements: Path) -> Path:
    folder = cache / f"site-{_digest(requirements)}"
    if not folder.is_dir():
        unfinished = _empty(folder.with_suffix(".part"))
        fetch.unpack_wheels(fetch.fetch_wheels(cache, requirements), unfinished)
        unfinished.rename(folder)
    return folder


def _empty(folder: Path) -> Path:
    """A name that nothing stands at: what an interrupted run left there is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def _add_stand_ins(folder: Path) -> bool:
    """Compile and register the three libraries for Qt; False where there is no compiler for them."""
    ready, compiler = folder / "ready-for-qt", _which("x86_64-w64-mingw32-gcc")
    if ready.is_file() or compiler is None:
        return ready.is_file()
    sources = Path(__file__).resolve().parents[2] / "tests" / "wine" / "shims"
    system32 = folder / "drive_c" / "windows" / "system32"
    for name, library in (("icuuc", "icuuc"), ("mscms", "mscms"), ("uisettings", "uisettings_shim")):
        target = system32 / f"{library}.dll"
        target.unlink(missing_ok=True)  # Wine's own one is a link into the system
        command = [compiler, "-shared", "-O1", "-s", "-w", "-o", str(target), str(sources / f"{name}.c")]
        subprocess.run(command, check=True)
    shim = r"C:\windows\system32\uisettings_shim.dll"
    _wine(folder, "wine", "reg", "add", _SETTINGS_CLASS, "/v", "DllPath", "/t", "REG_SZ", "/d", shim, "/f")
    ready.write_text("", encoding="utf-8")
    return True


def _fonts_folder(folder: Path) -> Path:
    return folder / "drive_c" / "windows" / "Fonts"


def _found_fonts() -> list[Path]:
    return [path for path in Path("/usr/share/fonts").rglob("*") if path.name in _FONT_FILES]


def _add_fonts(folder: Path) -> None:
    """Links to the fonts of this machine, and the names of Windows' own fonts led to them."""
    ready, target = folder / "ready-with-fonts", _fonts_folder(folder)
    if ready.is_file():
        return
    target.mkdir(parents=True, exist_ok=True)
    for font in _found_fonts():
        # Qt's offscreen platform passes over the names of collections; what is inside is found by content.
        link = target / font.name.replace(".ttc", ".otf")
        link.unlink(missing_ok=True)
        link.symlink_to(font)
    lines = ["Windows Registry Editor Version 5.00", "", f"[{_FONTS_KEY}]"]
    lines += [f'"{name}"="{_STANDS_IN}"' for name in _FONTS_OF_WINDOWS]
    wanted = folder / "fonts.reg"
    wanted.write_text("\r\n".join([*lines, ""]), encoding="utf-16")
    _wine(folder, "wine", "regedit", "/S", windows_path(wanted))
    ready.write_text("", encoding="utf-8")


def _wine(folder: Path, tool: str, *arguments: str) -> None:
    """Run one step to its end, services included. Raises CalledProcessError or TimeoutExpired."""
    for command in ((tool, *arguments), ("wineserver", "-w")):
        _quietly(folder, *command).check_returncode()


def _quietly(folder: Path, tool: str, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    nothing = subprocess.DEVNULL
    command = [_tool(tool), *arguments]
    environment = _wine_environment(folder)
    return subprocess.run(
        command, env=environment, stdin=nothing, stdout=nothing, stderr=nothing, timeout=_SETUP_LIMIT_S, check=False
    )


def _wine_environment(folder: Path) -> dict[str, str]:
    """A home of its own (Wine links the user's Desktop and Documents into the prefix), no display, no debugger."""
    kept = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return {
        **kept,
        "HOME": str(folder / "home"),
        "WINEPREFIX": str(folder),
        "WINEARCH": "win64",
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": _OVERRIDES,
        "LANG": "C.UTF-8",
    }


def _which(command: str) -> str | None:
    found = shutil.which(command)
    if found is None and command == "wineserver":
        found = next((str(p) for p in map(Path, _WINESERVERS) if p.is_file()), None)
    return found


_WINESERVERS = ("/usr/lib/wine/wineserver", "/usr/lib/wine/wineserver64")


def _tool(command: str) -> str:
    found = _which(command)
    if found is None:
        raise FileNotFoundError(f"{command} was not found; Debian has it in {COMMANDS.get(command, 'wine')}")
    return found
