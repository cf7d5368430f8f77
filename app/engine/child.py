"""What a child process of ours is on any system; the two kinds are in ``_child_linux`` and ``_child_windows``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, Protocol

from app.engine.log_decoding import local_text

_CHUNK = 65536
_LONGEST_LINE = 65536


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """How to start a program. ``argv[0]`` is its path.

    ``cpus``: logical CPUs it may run on, set before its first instruction; empty = all. ``prefers_cpus``: it should run
    there but may go elsewhere (CPU sets; only Windows has them, other systems keep it there). ``merge_output``: stderr
    goes into stdout. ``address_space_bytes``: upper limit of its address space (not on Windows). ``ignores_sigpipe``:
    an answer that nobody reads any more does not end it (not on Windows, which has no such signal).
    ``may_be_slowed``: Windows' power saving for background programs stays as it is.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cpus: tuple[int, ...] = ()
    merge_output: bool = True
    address_space_bytes: int | None = None
    cwd: str | None = None
    prefers_cpus: bool = False
    ignores_sigpipe: bool = False
    may_be_slowed: bool = False


class Child(Protocol):
    """A started program that ends with this process at the latest.

    ``stderr`` is None when it was merged. One thread waits (``wait_exit``) and one reaps (``reap``); ``terminate``,
    ``kill_tree``, ``affinity`` and ``full_speed`` may be called from anywhere at any time.
    """

    pid: int
    stdout: BinaryIO
    stderr: BinaryIO | None

    def wait_exit(self) -> None:
        """Block until the program has ended, without collecting its exit code."""

    def reap(self) -> int:
        """After the end: kill what is left of the tree, free the process and return its exit code."""

    def terminate(self) -> None:
        """Ask politely; on Windows, where a window-less program cannot be asked, the same as ``kill_tree``."""

    def kill_tree(self) -> None:
        """End the program and all that it started, at once."""

    def affinity(self) -> tuple[int, ...] | None:
        """The logical CPUs that the system really allows it; None when it cannot be asked."""

    def full_speed(self) -> bool | None:
        """Has the system switched its power saving for background programs off for it? None where it does not tell."""


def iter_lines(stream: BinaryIO) -> Iterator[str]:
    """Lines of an unbuffered pipe until its end, without line ends: UTF-8, or the code page of Windows' own messages,
    else with replacement characters.

    A program that never ends its line cannot fill our memory: such a line comes in pieces of 64 KiB.
    """
    rest = b""
    while chunk := stream.read(_CHUNK):
        *full, rest = (rest + chunk).split(b"\n")
        for line in full:
            yield local_text(line).removesuffix("\r")
        if len(rest) > _LONGEST_LINE:
            end = _end_of_characters(rest)
            yield local_text(rest[:end])
            rest = rest[end:]
    if rest:
        yield local_text(rest).removesuffix("\r")


def _end_of_characters(data: bytes) -> int:
    """Where the last whole UTF-8 character ends: its first byte tells how many follow."""
    for back in range(1, 4):
        byte = data[-back]
        if byte >= 0xC0:
            n_bytes = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2
            return len(data) - back if n_bytes > back else len(data)
        if byte < 0x80:
            break
    return len(data)
