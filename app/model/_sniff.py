"""A file that is not GGUF: what is it instead? Knowing that saves the user a search."""

from __future__ import annotations

from app.common.problem import ProblemError, fail
from app.model._cursor import Cursor

_OLD_GGML_MAGICS = (b"lmgg", b"fmgg", b"tjgg", b"algg", b"ggml", b"ggmf", b"ggjt", b"ggla")
"""Formats before GGUF (2023), as they lie in a file (little-endian) and as they are named."""


def not_gguf(cursor: Cursor) -> ProblemError:
    """The problem for a file without GGUF's magic, by its first bytes (read again from the start)."""
    if cursor.size == 0:
        return fail("not_gguf_empty", path=cursor.path)
    start = Cursor(cursor.file, cursor.size, cursor.path).take(min(512, cursor.size))
    text = start.lstrip().lower()
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        code = "not_gguf_web_page"
    elif text.startswith(b"version https://git-lfs"):
        code = "not_gguf_lfs_pointer"
    elif start.startswith(_OLD_GGML_MAGICS):
        code = "not_gguf_old_ggml"
    elif start[8:10] == b'{"' or start.startswith(b"PK\x03\x04"):
        code = "not_gguf_other_weights"  # safetensors, or a PyTorch archive
    else:
        code = "not_gguf"
    return fail(code, path=cursor.path)
