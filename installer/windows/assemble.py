"""Lays out the program folder: ``runtime`` (CPython), ``site`` (wheels), ``program`` (Lanewise), ``licences``."""

from __future__ import annotations

import fnmatch
import shutil
import zipfile
from pathlib import Path

from installer.windows.fetch import unpack_python, unpack_wheels

HERE = Path(__file__).resolve().parent

PTH = "python313.zip\r\n.\r\n..\\site\r\n..\\program\r\n"
"""python313._pth: isolated, no environment variables, no user site, nothing but our own folders."""

LEFT_OUT = ("python.cat", "_wmi.pyd", "winsound.pyd")
"""Of CPython. Without _wmi the module ``platform`` asks Windows itself and not WMI, which takes seconds on some
machines and never answers on others."""

QT_KEPT = """
__init__.py _config.py _git_pyside_version.py pyside6.abi3.dll
MSVCP140*.dll VCRUNTIME140*.dll msvcp140*.dll vcruntime140*.dll concrt140.dll
Qt6Core.dll Qt6Gui.dll Qt6Widgets.dll Qt6Network.dll Qt6Svg.dll Qt6SvgWidgets.dll Qt6OpenGL.dll Qt6OpenGLWidgets.dll
QtCore.pyd QtGui.pyd QtWidgets.pyd QtNetwork.pyd QtSvg.pyd QtSvgWidgets.pyd QtOpenGL.pyd QtOpenGLWidgets.pyd
plugins/platforms/qwindows.dll plugins/platforms/qoffscreen.dll plugins/styles/*.dll
plugins/imageformats/qsvg.dll plugins/imageformats/qico.dll plugins/imageformats/qjpeg.dll plugins/iconengines/*.dll
translations/qtbase_zh_CN.qm translations/qtbase_en.qm
support/deprecated.py support/__init__.py support/generate_pyi.py
""".split()  # noqa: SIM905 -- a column of names reads better
"""What a program of QtWidgets needs of PySide6-Essentials. pyqtgraph imports QtOpenGL and QtOpenGLWidgets."""

DROPPED = (
    "numpy/*/tests/*", "numpy/tests/*", "numpy/f2py/*", "numpy/_core/include/*", "numpy/_core/lib/*",
    "numpy/distutils/*", "numpy/random/examples/*", "numpy/random/lib/*", "numpy/typing/tests/*",
    "pyqtgraph/examples/*", "pyqtgraph/icons/*/tests/*", "*/tests/*.py", "*.pyi", "*.lib", "*.a", "*.pxd", "*.h",
    "shiboken6/include/*", "pyqtgraph/opengl/*", "pyqtgraph/flowchart/*", "pyqtgraph/jupyter/*",
)  # fmt: skip
"""Not needed at run time: tests, headers, type stubs, examples."""


def assemble(tree: Path, python: Path, wheels: Path, program_wheel: Path) -> None:
    """Fill ``tree``, which must not exist yet."""
    unpack_python(python, tree / "runtime")
    for name in LEFT_OUT:
        (tree / "runtime" / name).unlink(missing_ok=True)
    (tree / "runtime" / "python313._pth").write_bytes(PTH.encode("ascii"))
    site = tree / "site"
    unpack_wheels(wheels, site)
    _trim(site)
    with zipfile.ZipFile(program_wheel) as wheel:
        wheel.extractall(tree / "program")
    _collect_licences(tree)


def _trim(site: Path) -> None:
    qt = site / "PySide6"
    for file in [path for path in qt.rglob("*") if path.is_file()]:
        if not any(fnmatch.fnmatchcase(file.relative_to(qt).as_posix(), kept) for kept in QT_KEPT):
            file.unlink()
    for file in [path for path in site.rglob("*") if path.is_file()]:
        name = file.relative_to(site).as_posix()
        if not name.startswith("PySide6/") and any(fnmatch.fnmatchcase(name, dropped) for dropped in DROPPED):
            file.unlink()
    for folder in sorted((path for path in site.rglob("*") if path.is_dir()), reverse=True):
        if not any(folder.iterdir()):
            folder.rmdir()


def _collect_licences(tree: Path) -> None:
    """One folder with every licence text: CPython's, Qt's LGPL (the DLLs are separate files and can be replaced), and
    those inside the wheels."""
    target = tree / "licences"
    shutil.copytree(HERE / "licences", target)
    shutil.copy(tree / "runtime" / "LICENSE.txt", target / "python.txt")
    for info in sorted([*(tree / "site").glob("*.dist-info"), *(tree / "program").glob("*.dist-info")]):
        name = info.name.partition("-")[0]
        found = [path for path in info.rglob("*") if path.is_file() and _is_licence(path)]
        for number, path in enumerate(sorted(found)):
            shutil.copy(path, target / f"{name}{'' if number == 0 else f'-{number + 1}'}.txt")


def _is_licence(path: Path) -> bool:
    return "licenses" in path.parts or path.name.upper().startswith(("LICENSE", "LICENCE", "COPYING", "NOTICE"))
