"""Whatever is pasted: reading, importing and checking it ends in an answer, and every problem has its sentence."""

import contextlib
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.diagnose.lint import lint
from app.engine.capabilities import FALLBACK
from app.planner.command_import import read_command
from app.planner.command_plan import plan_of_command
from app.planner.flag_table import facts, from_ini
from app.planner.pasted import PasteError, read_pasted
from app.planner.plan import PlanInputs
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from app.words import ENTRIES, say_problem
from tests.tools.effective_options import OBSERVING, effective_options
from tests.unit.planner.synthetic_boards import SHARED_EXPERTS, SPLIT_EXPERTS, model_of, moe_names

pytestmark = pytest.mark.slow

APP = Path(__file__).parents[3] / "app"
GIB = 1 << 30
MODEL = model_of(moe_names(6, (*SPLIT_EXPERTS, *SHARED_EXPERTS), 1), 6)
CARDS = DeviceSet(
    (Device("CUDA0", DeviceKind.GPU, 4 * GIB, 4 * GIB, buffer_name="CUDA0"),),
    Device(RAM, DeviceKind.RAM, 8 * GIB, 8 * GIB, buffer_name="CPU"),
    off=(Device("CUDA1", DeviceKind.GPU, None, None, buffer_name="CUDA1"),),
)
VALUES = [
    *("", "0", "1", "-1", "7", "99", "9" * 21, "on", "off", "auto", "all", "none", "x", "q8_0", "CUDA0", "CUDA0,CUDA1"),
    *("1,1", "0,0", "1,0,3", "row", "exps=CPU", "exps=CUDA1,.*=CPU", "a,b", "=", ",", "(=CPU", "mmap", "mlock", "0.5"),
    *("\ud800", "²", "^=CPU", "token_embd=CUDA0", "blk\\.[0-9]{1,2}=CPU", "[", "-", "--", "é=中"),
]
FLAGS = sorted(facts())
words = st.lists(st.one_of(st.sampled_from(FLAGS), st.sampled_from(VALUES), st.text(max_size=6)), max_size=12)


def _inputs():
    return PlanInputs(MODEL, CARDS, Wishes(), FALLBACK, n_threads=4)


@given(words)
@example(["-ngl", "3", "-ts", "0,0"])
@example(["-fitt", "²"])
@example(["-sm", "none", "-mg", "9", "-ncmoe", "999999"])
@settings(max_examples=100, deadline=None)
def test_that_any_argv_is_imported_and_checked(argv):
    command = read_command(argv, FALLBACK)
    result = plan_of_command(command, _inputs())
    report = lint(command, _inputs(), from_ini("ctx-size = 5\noverride-tensor = exps=CPU\n", "config.ini"))
    for problem in (*result.problems, *result.plan.problems, *report.problems):
        assert say_problem(problem)


@given(words)
@settings(max_examples=80, deadline=None)
def test_that_the_plan_of_any_readable_command_does_the_same(argv):
    command = read_command(argv, FALLBACK)
    result = plan_of_command(command, _inputs())
    if result.problems:  # the engine would not start with it
        return
    before = effective_options(argv, MODEL, CARDS, FALLBACK)
    after = effective_options(result.plan.argv, MODEL, CARDS, FALLBACK)
    assert {option: after.get(option) for option in before} == before
    assert {option for option in after if option not in before} <= OBSERVING


@given(st.text(alphabet="llama-server -m x'\"`^\\\n$%{}()&|<>#;=,.[]ß", max_size=60))
@settings(max_examples=150, deadline=None)
def test_that_any_text_is_read_or_refused(text):
    with contextlib.suppress(PasteError):
        read_pasted(text)


@pytest.mark.parametrize("package", ["planner", "diagnose", "work", "cli"])
def test_that_every_problem_named_in_the_code_has_a_sentence(package):
    pattern = re.compile(r"\"((?:lint|import|plan_file|preset_cannot)_[a-z_]+)\"")
    named = {code for path in (APP / package).glob("*.py") for code in pattern.findall(path.read_text("utf-8"))}
    assert {code for code in named if f"problem.{code}" not in ENTRIES} == set()
