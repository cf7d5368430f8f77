"""Runs NSIS over the program folder, and packs the same folder as a portable archive."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "src"
PORTABLE_MARK = "portable.txt"
CLUSTER = 4096
"""Bytes that NTFS gives away at once: a disk needs a little more than the sum of the files."""


def build_setup(tree: Path, icon: Path, banner: Path, version: str, target: Path, quick: bool = False) -> None:
    """``target``: the installer. ``quick`` packs with zlib: much sooner, a third larger, for trying things out."""
    files = [path for path in tree.rglob("*") if path.is_file()]
    size_kb = sum(path.stat().st_size for path in files) // 1024
    room_kb = sum(-(-path.stat().st_size // CLUSTER) * CLUSTER for path in files) // 1024 + 1024
    defines = {
        "VERSION": version, "TREE": tree.as_posix(), "OUTFILE": target.as_posix(), "ICON": icon.as_posix(),
        "BANNER": banner.as_posix(),
        "SIZE_KB": str(size_kb), "ROOM_KB": str(room_kb), "SIZE_MB": str(-(-room_kb // 1024)),
        "LONGEST": str(max(len(path.relative_to(tree).as_posix()) for path in files)), "SOURCE": SOURCE.as_posix(),
    }  # fmt: skip
    command = [
        "makensis",
        "-V2",
        "-WX",
        "-INPUTCHARSET",
        "UTF8",
        *[f"-D{name}={value}" for name, value in defines.items()],
    ]
    if quick:
        command += ["-DQUICK"]
    subprocess.run([*command, str(SOURCE / "setup.nsi")], check=True)


def build_portable(tree: Path, target: Path, name: str, quick: bool = False) -> None:
    """``target``: a zip with one folder. The file ``portable.txt`` in it makes Lanewise keep its data beside itself."""
    level = 1 if quick else 9
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for file in sorted(path for path in tree.rglob("*") if path.is_file()):
            archive.write(file, f"{name}/{file.relative_to(tree).as_posix()}")
        archive.writestr(
            f"{name}/{PORTABLE_MARK}", 'Lanewise keeps its settings and data in the folder "data" beside this file.\r\n'
        )
