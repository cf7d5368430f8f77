"""How a sentence is looked up and filled in.

A catalogue entry is ``code: (English, Chinese)``: both languages stand side by side, so that neither can be forgotten.
Texts are ``str.format`` templates with these extra format specs:

``{n:count layer|layers}``  -> "1 layer", "3 layers" (Chinese needs only ``{n}``)
``{b:size}``                -> "784 MiB", "17.3 GiB" (bytes)
``{x:num}``                 -> "1 234", "60", "7.6" (a number for people)
A parameter that is None is shown as an em dash.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from typing_extensions import override

from app.common.units import size_text

Entries = Mapping[str, tuple[str, str]]


class Language(StrEnum):
    """The languages of the application."""

    EN = "en"
    ZH_CN = "zh_CN"


def number_text(value: float) -> str:
    """'1 234', '60', '7.6', '0.35': at most three significant digits below a hundred, thin groups above a thousand."""
    if abs(value) >= 100 or float(value).is_integer():
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"


class _Filler(string.Formatter):
    """``str.format`` with the specs of the module docstring."""

    @override
    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            return "—"
        if format_spec == "size":
            return size_text(value)
        if format_spec == "num":
            return number_text(value)
        if format_spec.startswith("count "):
            one, many = format_spec.removeprefix("count ").split("|")
            return f"{number_text(value)} {one if value == 1 else many}"
        return str(super().format_field(value, format_spec))


_filler = _Filler()


def fill(template: str, params: Mapping[str, Any]) -> str:
    """Fill a template of the catalogue."""
    return _filler.vformat(template, (), params)


def fill_chinese(template: str, params: Mapping[str, Any]) -> str:
    """Fill a Chinese template: what a parameter turns out to be decides the blank beside it.

    "{device} 不足" is "RAM 不足" and "内存不足": Chinese meets Chinese without a blank,
    and meets letters and figures with one.
    Blanks inside a parameter (a file's name) are never touched.
    """
    line = ""
    for literal, name, spec, conversion in _filler.parse(template):
        line = _meet(line, literal) if line else literal
        if name is None:
            continue
        value = _filler.get_field(name, (), params)[0]
        shown = _filler.format_field(_filler.convert_field(value, conversion), spec or "")
        if shown and _is_chinese(shown[0]) and line.endswith(" ") and _is_chinese(line.rstrip(" ")[-1:]):
            line = line.rstrip(" ")
        line = _meet(line, shown)
    return line


def _meet(left: str, right: str) -> str:
    """Both texts, one after the other, with the blank between them set right."""
    last, first = left[-1:], right[:1]
    if (_is_chinese(last) and _is_letter(first)) or (_is_letter(last) and _is_chinese(first)):
        return f"{left} {right}"
    if first == " " and _is_chinese(last) and _is_chinese(right.lstrip(" ")[:1]):
        return left + right.lstrip(" ")
    return left + right


def _is_chinese(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff"


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalnum()
