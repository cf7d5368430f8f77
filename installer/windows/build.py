"""Builds ``Lanewise-<version>-setup.exe`` and the portable zip on Linux: ``python -m installer.windows.build``.

Needs (Debian): nsis, gcc-mingw-w64-x86-64, osslsigncode. With ``--compile-with COMMAND`` (what runs a Windows Python)
the modules are compiled ahead, so that the first start is as quick as every later one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from installer.windows.assemble import assemble
from installer.windows.fetch import fetch_python, fetch_wheels
from installer.windows.icon import draw_banner, draw_icon
from installer.windows.launcher import build_launchers
from installer.windows.sbom import write_sbom
from installer.windows.setup_exe import build_portable, build_setup
from installer.windows.signatures import check_signed

ROOT = Path(__file__).resolve().parents[2]
ACCENT = "#0b5fd0"
"""The icon's own blue."""


def version_of_project() -> str:
    """Such as 0.1.0."""
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"])


def default_cache() -> Path:
    """Where fetched parts are kept: the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lanewise" / "windows"


def build(out: Path, cache: Path, quick: bool, compile_with: list[str] | None) -> dict[str, object]:
    """All of it; returns what was made: files, bytes of each part, seconds of each step."""
    version, seconds = version_of_project(), {}
    cache.mkdir(parents=True, exist_ok=True)
    out.mkdir(parents=True, exist_ok=True)

    def timed(name: str, started: float) -> None:
        seconds[name] = round(time.monotonic() - started, 1)
        print(f"  {name}: {seconds[name]} s", flush=True)

    with tempfile.TemporaryDirectory(dir=out) as folder:
        work, tree = Path(folder), Path(folder) / "tree"
        started = time.monotonic()
        python, wheels = fetch_python(cache), fetch_wheels(cache)
        timed("fetch", started)
        started = time.monotonic()
        assemble(tree, python, wheels, _program_wheel(work))
        signed = check_signed(sorted(p for p in (tree / "runtime").iterdir() if p.suffix in (".exe", ".dll", ".pyd")))
        icon = tree / "lanewise.ico"
        svg, banner = ROOT / "resources" / "icons" / "lanewise.svg", work / "banner.bmp"
        draw_icon(svg, icon)
        draw_banner(svg, ACCENT, banner)
        build_launchers(version, icon, work, tree)
        parts = write_sbom(tree, python, wheels, version, tree / "sbom.cdx.json")
        timed("assemble", started)
        if compile_with:
            started = time.monotonic()
            _compile_ahead(tree, compile_with)
            timed("compile", started)
        started = time.monotonic()
        setup, portable = out / f"Lanewise-{version}-setup.exe", out / f"Lanewise-{version}-portable.zip"
        build_setup(tree, icon, banner, version, setup, quick)
        timed("installer", started)
        started = time.monotonic()
        build_portable(tree, portable, f"Lanewise-{version}", quick)
        timed("portable", started)
        report: dict[str, object] = {
            "version": version, "setup": setup.name, "setup_bytes": setup.stat().st_size,
            "portable": portable.name, "portable_bytes": portable.stat().st_size,
            "installed_bytes": _bytes(tree), "parts": _parts(tree), "signed_files": signed, "components": parts,
            "seconds": seconds,
        }  # fmt: skip
    (out / "build.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return report


def _program_wheel(work: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(work / "wheel"), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next((work / "wheel").glob("lanewise-*.whl"))


def _compile_ahead(tree: Path, python: list[str]) -> None:
    """Bytecode that is never checked against its source: the files do not change after they are installed."""
    command = [*python, "-m", "compileall", "-q", "-j", "1", "--invalidation-mode", "unchecked-hash", "site", "program"]
    # Standard streams as pipes: under Wine, Windows Python does not start with files or terminals.
    subprocess.run(command, check=True, cwd=tree, stdin=subprocess.DEVNULL, capture_output=True)


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _parts(tree: Path) -> dict[str, int]:
    """Bytes of each part, so that growth can be seen: the runtime, each package, ours."""
    sizes = {path.name: _bytes(path) if path.is_dir() else path.stat().st_size for path in tree.iterdir()}
    sizes |= {f"site/{path.name}": _bytes(path) for path in (tree / "site").iterdir() if path.is_dir()}
    return dict(sorted((item for item in sizes.items() if item[1] > 100_000), key=lambda item: -item[1]))


def main(arguments: list[str] | None = None) -> int:
    """0 = built."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "windows")
    parser.add_argument("--cache", type=Path, default=default_cache())
    parser.add_argument("--quick", action="store_true", help="pack with zlib: sooner, larger")
    parser.add_argument(
        "--compile-with", nargs="+", metavar="COMMAND", help="a command that runs a Windows Python 3.13"
    )
    options = parser.parse_args(arguments)
    needed = [name for name in ("makensis", "x86_64-w64-mingw32-gcc", "osslsigncode") if not shutil.which(name)]
    if needed:
        print(f"Not found: {', '.join(needed)} (Debian: nsis gcc-mingw-w64-x86-64 osslsigncode).", file=sys.stderr)
        return 1
    report = build(options.out.resolve(), options.cache, options.quick, options.compile_with)
    print(json.dumps(report, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
