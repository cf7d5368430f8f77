"""Functions that are imported when they are called: the names in the strings are those that the type checker sees."""

import ast
from pathlib import Path

import pytest

from app.common.later import later

ROOT = Path(__file__).parents[2]


def promised(path):
    """{name: module} of ``if TYPE_CHECKING`` and of ``later`` in a file."""
    seen, later_ones = {}, {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            imports = [each for each in node.body if isinstance(each, ast.ImportFrom)]
            seen |= {name.name: each.module for each in imports for name in each.names}
        elif isinstance(node, ast.Assign) and getattr(getattr(node.value, "func", None), "id", "") == "later":
            module, name = (argument.value for argument in node.value.args)
            assert node.targets[0].id == name, path
            later_ones[name] = module
    return seen, later_ones


@pytest.mark.slow
def test_that_every_name_in_a_string_is_one_that_the_type_checker_has_seen():
    files = [path for path in (ROOT / "app").rglob("*.py") if " later(" in path.read_text(encoding="utf-8")]
    assert len(files) > 10
    for path in files:
        seen, later_ones = promised(path)
        assert {name: seen.get(name) for name in later_ones} == later_ones, path


def test_that_the_module_is_imported_by_the_first_call_and_errors_come_through():
    assert later("json", "loads")("[1]") == [1]
    with pytest.raises(ModuleNotFoundError):
        later("app.no_such_module", "x")()
