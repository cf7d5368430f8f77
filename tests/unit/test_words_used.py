"""No sentence is left behind: every code in app/words is written somewhere in the app, whole or put together."""

import ast
import re
from pathlib import Path

import pytest

from app.words import ENTRIES

pytestmark = pytest.mark.slow

APP = Path(__file__).parents[2] / "app"
HOLE = re.compile(r"\0+")


def _source():
    """All string constants and names of the app (without the words), and the strings it puts together, \\0 = a hole."""
    whole, composed, names = set(), set(), set()
    for path in APP.rglob("*.py"):
        if path.parent.name == "words" and path.name.startswith("_texts"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                composed.add("".join(_text(part) for part in node.values))
            elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
                composed.add(_text(node.left) + _text(node.right))
            elif isinstance(node, (ast.Name, ast.Attribute, ast.arg, ast.keyword)):
                names.add(getattr(node, "id", None) or getattr(node, "attr", None) or node.arg)
    return whole, composed, names


def _text(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "\0"


def _patterns(composed):
    """A composed string counts only with a fixed beginning: ``f"{name}"`` alone would cover everything."""
    for text in composed:
        if len(HOLE.split(text)[0]) >= 4:
            yield re.compile("(.*)".join(re.escape(part) for part in HOLE.split(text)))


def _is_composed(code, patterns, parts):
    for pattern in patterns:
        match = pattern.fullmatch(code)
        if match and all(
            group in parts or all(p in parts for p in re.split(r"[._]", group)) for group in match.groups()
        ):
            return True
    return False


def test_that_every_sentence_is_used():
    whole, composed, names = _source()
    parts = whole | names | {word.strip("-") for text in whole for word in re.split(r"[^\w-]+", text)}
    patterns = list(_patterns(composed))

    def is_used(code):
        codes = {code, code.removeprefix("problem.")}
        return bool(codes & whole) or any(_is_composed(c, patterns, parts) for c in codes)

    assert not is_used("plan.preset.of_nobody_zzz")
    assert not is_used("nowhere.to_be_seen")
    assert [code for code in ENTRIES if not is_used(code)] == []
