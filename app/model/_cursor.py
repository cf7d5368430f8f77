"""A forward-only reader over a hostile file: nothing is believed before it is compared with the file's size.

It reads through a small window instead of mapping the file: a mapped file that shrinks, or a network drive that goes
away, kills the whole program (SIGBUS); a short read is only an error. It is no slower, see ``skip_strings``.
"""

from __future__ import annotations

import io
import re
import struct
from functools import cache

from app.common.problem import ProblemError, fail

_WINDOW_BYTES = 1 << 20
_GLANCE_BYTES = 128 << 10
"""Read at once where no texts are walked: settings, the tensor table."""
_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")
_LIKELY_BYTES = 32
"""More than a text of a vocabulary takes, with its length."""
_RUN = 128
_SHORT = 64


@cache
def _run_pattern() -> re.Pattern[bytes]:
    """A pattern that matches ``_RUN`` length-prefixed strings, each shorter than ``_SHORT`` bytes.

    One alternative per length: the length byte, seven zero bytes, that many bytes of any value. The regex engine so
    walks a vocabulary in C, about twice as fast as a Python loop. Likely lengths come first, it tries them in order.
    """
    lengths = sorted(range(_SHORT), key=lambda n: abs(n - 7))
    branches = b"|".join(b"\\x%02x\\0{7}.{%d}" % (n, n) for n in lengths)
    return re.compile(b"(?s)(?:%s){%d}+" % (branches, _RUN))


class Cursor:
    """Position in a file of known size. Every method raises a ProblemError when the file ends too early."""

    __slots__ = ("_buffer", "_offset", "_start", "file", "path", "size")

    def __init__(self, file: io.RawIOBase, size: int, path: str) -> None:
        self.path = path
        self.size = size
        self.file = file
        self._buffer = b""
        self._start = 0
        self._offset = 0

    @property
    def position(self) -> int:
        """Bytes from the start of the file."""
        return self._start + self._offset

    @property
    def remaining(self) -> int:
        """Bytes from here to the end of the file."""
        return self.size - self._start - self._offset

    def truncated(self) -> ProblemError:
        """The file ends inside its own header."""
        return fail("gguf_truncated_header", path=self.path, file_bytes=self.size)

    def damaged(self, detail: str, evidence: str = "") -> ProblemError:
        """The header contradicts itself; ``detail`` is a short code for a bug report."""
        text = (evidence,) if evidence else ()
        return fail("gguf_damaged", evidence=text, path=self.path, detail=f"{detail}@{self.position}")

    def unpack(self, layout: struct.Struct) -> tuple[int, ...]:
        """Read one structure."""
        self._need(layout.size)
        values = layout.unpack_from(self._buffer, self._offset)
        self._offset += layout.size
        return values

    def u32(self) -> int:
        """Read an unsigned 32-bit number."""
        return self.unpack(_U32)[0]

    def u64(self) -> int:
        """Read an unsigned 64-bit number."""
        return self.unpack(_U64)[0]

    def take(self, n_bytes: int) -> bytes:
        """Read ``n_bytes``; the caller has bounded the number."""
        self._need(n_bytes)
        end = self._offset + n_bytes
        taken = self._buffer[self._offset : end]
        self._offset = end
        return taken

    def ahead(self, n_bytes: int) -> tuple[bytes, int]:
        """What has been read, and where in it the cursor stands: ``n_bytes`` from there, or all to the file's end."""
        if len(self._buffer) - self._offset < min(n_bytes, self.remaining):
            self._fill(0)
        return self._buffer, self._offset

    def skip_ahead(self, offset: int) -> None:
        """Move on to an offset in what ``ahead`` has given."""
        self._offset = offset

    def skip(self, n_bytes: int) -> None:
        """Move on without reading."""
        if n_bytes > self.remaining:
            raise self.truncated()
        self._offset += n_bytes
        if self._offset > len(self._buffer):
            self._start += self._offset
            self._offset = 0
            self._buffer = b""

    def skip_strings(self, count: int) -> None:
        """Move past ``count`` length-prefixed strings, 34 ns each here, without making one of them."""
        if count > self.remaining // 8:
            raise self.truncated()
        while count:
            window = min(_WINDOW_BYTES, max(_GLANCE_BYTES, count * _LIKELY_BYTES))
            if len(self._buffer) - self._offset < min(window // 2, self.remaining):
                self._fill(0, window)
            walked = self._walk(count)
            if walked == 0:
                self.skip(self.u64())  # longer than the window, or cut off by its end
                walked = 1
            count -= walked

    def _walk(self, count: int) -> int:
        """Move past as many whole strings as the window holds, ``count`` at most; tells how many."""
        buffer, offset, end = self._buffer, self._offset, len(self._buffer)
        left, match_run, length_at = count, _run_pattern().match, _U64.unpack_from
        while left:
            while left >= _RUN and (found := match_run(buffer, offset)) is not None:
                offset = found.end()
                left -= _RUN
            before = left
            for _ in range(min(left, _RUN)):  # a run with a long string in it, the rest, or the window's end
                if offset + 8 > end:
                    break
                after = offset + 8 + length_at(buffer, offset)[0]
                if after > end:
                    break
                offset = after
                left -= 1
            if before - left < _RUN:
                break
        self._offset = offset
        return count - left

    def _need(self, n_bytes: int) -> None:
        if self._offset + n_bytes > len(self._buffer):
            if n_bytes > self.remaining:
                raise self.truncated()
            self._fill(n_bytes)

    def peek(self, position: int, n_bytes: int) -> bytes:
        """Bytes from anywhere in the file, without moving; fewer where the file ends."""
        at = position - self._start
        if at >= 0 and at + n_bytes <= len(self._buffer):
            return self._buffer[at : at + n_bytes]
        self.file.seek(max(0, position))
        return self.file.read(n_bytes) or b""

    def _fill(self, n_bytes: int, window: int = _GLANCE_BYTES) -> None:
        """Read a new window from the current position, ``n_bytes`` at least."""
        position = self.position
        wanted = min(max(n_bytes, window), self.size - position)
        self.file.seek(position)
        chunks: list[bytes] = []
        while wanted > 0 and (chunk := self.file.read(wanted)):
            chunks.append(chunk)
            wanted -= len(chunk)
        self._buffer = b"".join(chunks)
        self._start = position
        self._offset = 0
        if len(self._buffer) < n_bytes:  # the file shrank since its size was taken
            raise self.truncated()
