"""Our own start programs: ``Lanewise.exe`` (the window) and ``lanewise-cli.exe`` (the verbs, on a console)."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parent / "src"
COMPILER = "x86_64-w64-mingw32-gcc"
RESOURCE_COMPILER = "x86_64-w64-mingw32-windres"


@dataclass(frozen=True, slots=True)
class _Program:
    file: str
    description: str
    flags: tuple[str, ...]


_PROGRAMS = (
    _Program("Lanewise.exe", "Lanewise", ("-mwindows",)),
    _Program("lanewise-cli.exe", "Lanewise (command line)", ("-mconsole", "-DCONSOLE")),
)


def build_launchers(version: str, icon: Path, work: Path, target: Path) -> None:
    """Compile both into ``target``. ``version`` such as 0.1.0."""
    (work / "lanewise.ico").write_bytes(icon.read_bytes())
    (work / "lanewise.manifest").write_bytes((SOURCE / "lanewise.manifest").read_bytes())
    template = (SOURCE / "launcher.rc.in").read_text(encoding="utf-8")
    for program in _PROGRAMS:
        text = template
        for name, value in (
            ("@COMMAS@", ",".join([*version.split("."), "0"])),
            ("@VERSION@", version),
            ("@FILE@", program.file),
            ("@DESCRIPTION@", program.description),
        ):
            text = text.replace(name, value)
        script = work / "launcher.rc"
        script.write_text(text, encoding="utf-8")
        resource = work / "launcher.res"
        subprocess.run([RESOURCE_COMPILER, str(script), "-O", "coff", "-o", str(resource)], check=True, cwd=work)
        subprocess.run(
            [COMPILER, "-Os", "-s", "-Wall", "-Wextra", "-Werror", "-municode", *program.flags,
             "-Wl,--nxcompat,--dynamicbase,--high-entropy-va",
             "-o", str(target / program.file), str(SOURCE / "launcher.c"), str(resource), "-static-libgcc",
             "-lshell32"],
            check=True,
        )  # fmt: skip
