"""What is to be fetched, how far it is, and how patient the fetching is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.common.problem import fail

SIDECAR_SUFFIX = ".part.json"
PART_SUFFIX = ".part"


@dataclass(frozen=True, slots=True)
class WantedFile:
    """One file. ``urls``: the same file at several addresses, the first is tried first.

    ``size_bytes`` and ``sha256`` (lower-case hex) are what the source publishes; None = it does not. ``path`` is where
    the whole file will lie; until then ``path`` + ``.part`` grows. ``most_bytes`` ends a transfer that does not.
    """

    urls: tuple[str, ...]
    path: Path
    size_bytes: int | None = None
    sha256: str | None = None
    most_bytes: int | None = None

    @property
    def name(self) -> str:
        """The file's name, for people."""
        return self.path.name

    @property
    def part(self) -> Path:
        """The growing file."""
        return self.path.with_name(self.path.name + PART_SUFFIX)

    @property
    def sidecar(self) -> Path:
        """What is known about the part."""
        return self.path.with_name(self.path.name + SIDECAR_SUFFIX)


@dataclass(frozen=True, slots=True)
class FetchedFile:
    """A file that is whole. ``sha256`` is what was computed while it was written."""

    path: Path
    size_bytes: int
    sha256: str
    was_there: bool = False


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """How far all files are. ``total_bytes`` and ``seconds_left`` are None while nobody knows them.

    ``bytes_per_s``: over the last seconds. ``retry``: which attempt to reconnect is under way, 0 while bytes flow.
    """

    name: str
    file_number: int
    file_count: int
    file_bytes: int
    file_total: int | None
    done_bytes: int
    total_bytes: int | None
    bytes_per_s: float | None = None
    seconds_left: float | None = None
    retry: int = 0

    @property
    def fraction(self) -> float | None:
        """0 to 1; None when the size is unknown."""
        return None if not self.total_bytes else min(1.0, self.done_bytes / self.total_bytes)


ProgressHandler = Callable[[DownloadProgress], None]
Cancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a server and how often to come back. Seconds.

    ``slow_s``: a connection that brings less than ``least_bytes_per_s`` for so long is given up as one that stalls.
    ``tries``: attempts in a row that brought no new byte, or stalled. ``longest_wait_s`` bounds a server's own
    Retry-After.
    """

    connect_s: float = 15.0
    silence_s: float = 30.0
    slow_s: float = 30.0
    least_bytes_per_s: float = 1024.0
    tries: int = 6
    first_wait_s: float = 0.5
    longest_wait_s: float = 30.0

    def wait_s(self, attempt: int) -> float:
        """Pause before attempt number ``attempt`` (from 1): doubling."""
        return float(min(self.longest_wait_s, self.first_wait_s * 2 ** (attempt - 1)))


def check_cancelled(cancelled: Cancelled) -> None:
    """Raise ProblemError ``download_cancelled`` when the user has had enough."""
    if cancelled():
        raise fail("download_cancelled")
