"""Bytes of a log as text: UTF-8 and UTF-16 as programs write them, and the code pages of Windows line by line. Pure.

llama-server writes UTF-8, and between its lines stand messages of Windows in the system's own code page
(FormatMessageA, llama-mmap.cpp:60): a log of a Chinese Windows has both.
"""

from __future__ import annotations

from collections.abc import Iterator

LONGEST_LINE = 1024
"""Characters of a line that are looked at; no line of the engine that states a fact is longer."""

_CODE_PAGES = (
    ("gb18030", "的一不无法内存文件找到系统访问请求程序端口个用只允许在有被正错误"),
    ("cp932", "のをがませんファイル"),
    ("cp949", "습니다을를파일메모리"),
    ("big5", "的不無法記憶體檔案找到系統存取"),
    ("cp1251", "оеаинт"),
    ("cp1252", "äöüßéèàçñõãíó"),
)
"""A code page and characters that nearly every sentence of its language has."""
_LEAST_SHARE = 0.2


def decoder_for(start: bytes) -> str:
    """The encoding of a log by its first bytes: UTF-16 as PowerShell's ``>`` writes it, else UTF-8 (replace errors)."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    sample = start[:2000]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) * 10 > len(sample) and min(even, odd) * 10 < max(even, odd):
        return "utf-16-le" if odd > even else "utf-16-be"
    return "utf-8-sig" if start[:3] == b"\xef\xbb\xbf" else "utf-8"


def looks_binary(start: bytes) -> bool:
    """Is this no text at all (a model, a picture, a program)? Judged by its first kilobytes."""
    if decoder_for(start) != "utf-8":
        return False
    sample = start[:4096].rstrip(b"\0")  # a log whose end the disk never got is filled up with zeros
    if start and not sample:
        return True
    strange = sum(1 for byte in sample if byte < 32 and byte not in (9, 10, 12, 13, 27, 8, 7))
    return strange > len(sample) // 20


def decoded_lines(data: bytes, encoding: str) -> Iterator[str]:
    """The lines of a log (LF, CRLF), each cut at ``LONGEST_LINE``. What is no UTF-8 is read as a code page of Windows
    where it makes sentences of that language, else with the sign for a broken character."""
    if encoding not in ("utf-8", "utf-8-sig"):
        yield from whole_lines(data.decode(encoding, errors="replace"))
        return
    try:
        yield from whole_lines(data.decode(encoding))
    except UnicodeDecodeError:
        for line in data.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
            yield local_text(line[: 4 * LONGEST_LINE])[:LONGEST_LINE].rstrip("\r")


def local_text(line: bytes) -> str:
    """One line, in UTF-8 or in the code page whose language it speaks."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        pass
    for code_page, common in _CODE_PAGES:
        try:
            text = line.decode(code_page)
        except UnicodeDecodeError:
            continue
        foreign = [char for char in text if not char.isascii()]
        known = sum(char.lower() in common for char in foreign)
        if foreign and known >= len(foreign) * _LEAST_SHARE:
            return text
    return line.decode("utf-8", "replace")


def whole_lines(text: str, most_characters: int = LONGEST_LINE) -> Iterator[str]:
    """The lines of a text (LF, CRLF), each cut at ``most_characters``."""
    for line in text.split("\n"):
        yield line[:most_characters].rstrip("\r")
