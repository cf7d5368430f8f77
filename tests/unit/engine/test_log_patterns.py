"""A log that somebody made to be slow is read as fast as any other: no pattern and no loop takes the square of it."""

import re
import re._constants as re_constants
import re._parser as re_parser

import pytest

from app.engine import failure, failure_readers, loglines, logparse
from app.engine.failure import find_failure, judge
from app.engine.failure_rules import RULES
from app.engine.failure_warnings import HARMLESS, WARNINGS
from app.engine.loglines import clean_line

_CHARACTERS = [*map(chr, range(32, 127)), "\t", "ü"]


def _patterns():
    yield from {rule.text for rule in (*RULES, *WARNINGS, *HARMLESS)}
    yield from (pattern.pattern for _, pattern, _ in logparse._FACTS)
    for module in (failure, failure_readers, loglines, logparse):
        yield from (value.pattern for value in vars(module).values() if isinstance(value, re.Pattern))


def _flat(parsed):
    """The parts of a pattern in their order, groups opened."""
    for operation, value in parsed:
        if str(operation) == "SUBPATTERN":
            yield from _flat(value[3])
        else:
            yield str(operation), value


def _taken(operation, value):
    """The characters that one part can take."""
    if operation == "BRANCH":
        return {c for branch in value[1] for part in _flat(branch) for c in _taken(*part)}
    if operation == "ANY":
        return set(_CHARACTERS)
    if operation not in ("IN", "LITERAL", "NOT_LITERAL"):
        return set()
    part = re_parser.SubPattern(re_parser.State(), [(getattr(re_constants, operation), value)])
    compiled = re._compiler.compile(part)
    return {c for c in _CHARACTERS if compiled.fullmatch(c)}


def _must_stand(operation, value):
    return not operation.endswith("_REPEAT") or value[0] > 0


def _clash(items):
    """What two endless parts with nothing that must stand between them can both take: each split of it is tried."""
    before = []
    for at, (operation, value) in enumerate(items):
        if operation == "BRANCH":
            return "".join(_clash([*items[:at], *_flat(way), *items[at + 1 :]]) for way in value[1])
        if operation in ("MAX_REPEAT", "MIN_REPEAT"):
            taken = {c for part in _flat(value[2]) for c in _taken(*part)}
            is_endless = value[1] is re_constants.MAXREPEAT
            both = {c for earlier in before for c in earlier & taken} if is_endless else set()
            if both and any(_must_stand(*later) for later in items[at + 1 :]):
                return "".join(sorted(both))
            if value[0]:
                before = []
            if is_endless:
                before.append(taken)
        elif not operation.startswith("A") or operation == "ANY":  # AT, ASSERT and ASSERT_NOT take nothing
            before = []
    return ""


@pytest.mark.parametrize("slow", [r"rc\s*[:=]?\s*(\d)", r"str +=? *x", r"a: +(.*b.*)", r"f[: ]+([^']+\.gguf)"])
def test_that_two_endless_parts_side_by_side_are_found(slow):
    assert _clash(list(_flat(re_parser.parse(slow))))


def test_that_no_pattern_has_two_endless_parts_side_by_side():
    found = {text: both for text in _patterns() if (both := _clash(list(_flat(re_parser.parse(text)))))}
    assert found == {}


class _Counted(list):
    """A log that counts how often it is walked through."""

    walks = 0

    def __iter__(self):
        self.walks += 1
        return super().__iter__()


def test_that_a_log_of_many_routers_ports_is_walked_no_more_often_than_one_of_two():
    walks = []
    for n_ports in (2, 300):
        log = _Counted(clean_line(f"[{port}] error: failed to load model") for port in range(n_ports))
        judge(log)
        walks.append(log.walks)
    assert walks[0] == walks[1]


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ("exit code 007", 7),
        ("rc = -007", -7),
        ("exit status: 0xC0000135", 0xC0000135),
        ("rc=٣", None),
        ("exit code: 0", 0),
    ],
)
def test_that_an_exit_code_is_read_however_it_is_written(told, code):
    assert judge([clean_line(f"the program ended, {told}")]).exit_code == code


def test_that_patterns_made_quicker_still_find_what_they_found():
    assert find_failure(["print_info: general.type str = adapter"]).code == "adapter_as_model"
    assert find_failure(["kv 2: general.type str              adapter"]).code == "adapter_as_model"
    missing = find_failure(["unable to find the model: 'C:\\m\\a b.gguf'"])
    assert (missing.code, missing.params["path"]) == ("file_missing", "C:\\m\\a b.gguf")
    assert find_failure(["  what():  grammar of the request is wrong"]).params["why"].startswith("grammar")
