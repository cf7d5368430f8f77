"""No line of source code is kept in memory, and traces still quote it."""

import inspect
import linecache
import traceback

import pytest

from app.common import source_lines
from app.common.source_lines import keep_no_source_lines


@pytest.fixture(autouse=True)
def the_cache_of_the_tests(monkeypatch):
    monkeypatch.setattr(linecache, "cache", dict(linecache.cache))


def test_that_looking_into_a_module_leaves_nothing_behind():
    keep_no_source_lines()
    assert "keep_no_source_lines" in inspect.getsource(source_lines)
    assert linecache.getline(source_lines.__file__, 1).startswith('"""')
    assert not linecache.cache


def test_that_a_trace_still_quotes_its_lines():
    keep_no_source_lines()
    with pytest.raises(ZeroDivisionError) as caught:
        raise ZeroDivisionError(1 / 0)  # this very line
    text = "".join(traceback.format_exception(caught.value))
    assert "raise ZeroDivisionError(1 / 0)  # this very line" in text


def test_that_a_module_without_a_file_is_still_quoted():
    class Loader:
        def get_source(self, name):
            return f"first of {name}\nsecond\n"

    keep_no_source_lines()
    globals_of_it = {"__name__": "packed", "__loader__": Loader()}
    assert linecache.getline("packed.zip/packed.py", 2, globals_of_it) == "second\n"
