"""What a child prints, as lines: UTF-8 in any pieces, messages of Windows, bytes of no language, endless lines."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.child import iter_lines


class Pieces(io.RawIOBase):
    """A pipe that gives its bytes in pieces."""

    def __init__(self, data, size):
        super().__init__()
        self.pieces = [data[i : i + size] for i in range(0, len(data), size)]

    def read(self, _most=-1):
        return self.pieces.pop(0) if self.pieces else b""


@given(
    st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=40), max_size=8),
    st.integers(1, 9),
)
def test_that_utf8_comes_whole_in_whatever_pieces(lines, size):
    data = "".join(f"{line}\r\n" for line in lines).encode()
    assert list(iter_lines(Pieces(data, size))) == lines


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_that_a_message_of_a_chinese_windows_between_utf8_lines_is_read(size):
    data = "模型 D:\\模型\\x.gguf\n".encode() + "页面文件太小，无法完成操作。\r\n".encode("gbk") + "完".encode()
    assert list(iter_lines(Pieces(data, size))) == ["模型 D:\\模型\\x.gguf", "页面文件太小，无法完成操作。", "完"]


def test_that_bytes_of_no_language_become_replacement_characters():
    assert list(iter_lines(Pieces(b"a \xff\xfe\x80 b\n", 3))) == ["a \ufffd\ufffd\ufffd b"]


def test_that_a_line_without_end_comes_in_pieces_that_break_no_character():
    data = "模".encode() * 60_000
    pieces = list(iter_lines(Pieces(data, 65536)))
    assert len(pieces) > 1
    assert max(len(piece.encode()) for piece in pieces) <= 2 * 65536
    assert "".join(pieces) == "模" * 60_000
