"""Commands from the wild, in bash, cmd and PowerShell: read right, and what the plan's command does is the same."""

import json
import shlex
from functools import cache
from pathlib import Path

import pytest

from app.common.capabilities import Capabilities
from app.engine.capabilities import FALLBACK
from app.planner.command_import import read_command
from app.planner.command_plan import plan_of_command
from app.planner.pasted import PasteError, read_pasted
from app.planner.placement import locations
from app.planner.plan import PlanInputs
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from tests.tools.effective_options import OBSERVING, effective_options

CORPUS = Path(__file__).parents[2] / "data" / "commands" / "commands.json"
COMMANDS = {entry["id"]: entry for entry in json.loads(CORPUS.read_text(encoding="utf-8"))}
GIB = 1 << 30
CARDS = DeviceSet(
    (Device("CUDA0", DeviceKind.GPU, 12 * GIB, 12 * GIB, buffer_name="CUDA0"),),
    Device(RAM, DeviceKind.RAM, 64 * GIB, 50 * GIB, buffer_name="CPU"),
    off=(Device("CUDA1", DeviceKind.GPU, 8 * GIB, 8 * GIB, buffer_name="CUDA1"),),
)


@pytest.fixture(scope="module")
def qwen3(real_headers):
    return real_headers["qwen3-30b"]


def _inputs(model):
    return PlanInputs(model, CARDS, Wishes(), FALLBACK, n_threads=8)


@pytest.fixture(scope="module")
def imported(qwen3):
    """Name of a command -> what was read and the plan of it; made once."""

    @cache
    def one(name):
        pasted = read_pasted("\n".join(COMMANDS[name]["text"]))
        command = read_command(pasted.argv, FALLBACK, pasted.variables)
        return command, plan_of_command(command, _inputs(qwen3))

    return one


def test_that_the_corpus_has_forty_commands_in_all_three_shells():
    shells = [entry["shell"] for entry in COMMANDS.values()]
    assert len(COMMANDS) >= 40
    assert min(shells.count(shell) for shell in ("bash", "cmd", "pwsh")) >= 8


@pytest.mark.parametrize("name", COMMANDS)
def test_that_a_pasted_command_is_read_as_its_shell_would(name):
    entry = COMMANDS[name]
    pasted = read_pasted("\n".join(entry["text"]))
    assert list(pasted.argv) == shlex.split(entry["words"])
    assert pasted.program == entry["program"]
    assert (pasted.shell and pasted.shell.value) == entry["shell"]
    assert dict(pasted.variables) == entry["variables"]


@pytest.mark.share(4)
@pytest.mark.parametrize("name", COMMANDS)
def test_that_command_to_plan_to_command_changes_no_effective_option(qwen3, imported, name):
    command, result = imported(name)
    pasted = read_pasted("\n".join(COMMANDS[name]["text"]))
    before = effective_options(pasted.argv, qwen3, CARDS, FALLBACK, pasted.variables)
    after = effective_options(result.plan.argv, qwen3, CARDS, FALLBACK)
    added = {option for option in after if option not in before}
    assert {option: after.get(option) for option in before} == before
    assert added <= OBSERVING
    assert [g.words for g in command.kept] == _in_order(command.kept, result.plan.argv)


@pytest.mark.share(4)
@pytest.mark.parametrize("name", COMMANDS)
def test_that_our_own_command_can_be_pasted_back(qwen3, imported, name):
    first = imported(name)[1].plan.argv
    again = plan_of_command(read_command(first, FALLBACK), _inputs(qwen3))
    assert again.plan.argv == first
    assert again.problems == () or {p.code for p in again.problems} == {"import_split_mode"}


def _in_order(kept, argv):
    """The kept options as they stand at the end of the command."""
    tail = argv[len(argv) - sum(len(g.words) for g in kept) :]
    found, at = [], 0
    for option in kept:
        found.append(tuple(tail[at : at + len(option.words)]))
        at += len(option.words)
    return found


@pytest.mark.share(4)
@pytest.mark.parametrize("name", COMMANDS)
def test_that_the_plan_has_the_context_slots_and_places_of_the_command(qwen3, imported, name):
    entry = COMMANDS[name]
    expect = entry["expect"]
    command, result = imported(name)
    plan = result.plan
    where = locations(qwen3, plan.placement)
    blocks = {}
    for tensor in qwen3.tensors:
        if tensor.name.endswith("_exps.weight"):
            blocks.setdefault(tensor.block, set()).add(where[tensor.name] == RAM)
    assert plan.n_ctx == expect.get("context", plan.n_ctx)
    assert plan.n_slots == expect.get("slots", plan.n_slots)
    assert command.fit_places == expect.get("fit", False)
    if "ram_experts" in expect:
        assert sum(b == {True} for b in blocks.values()) == expect["ram_experts"]
    if "split_experts" in expect:
        assert sum(len(b) == 2 for b in blocks.values()) == expect["split_experts"]
    assert [p for p in result.problems if p.code != "import_split_mode"] == []
    assert [p.code for p in plan.problems if p.code in ("override_proof_failed", "homes_proof_failed")] == []


def test_that_an_old_engine_gets_the_old_spellings(qwen3):
    old = Capabilities(
        frozenset({"-m", "-ngl", "-ot", "-c", "-np", "-ctk", "-ctv", "-fa", "-b", "-ub", "-t", "--mlock", "--no-mmap"})
    )
    command = read_command(["-m", "x", "-ngl", "99", "--mlock", "--no-mmap", "-c", "8192"], old)
    inputs = PlanInputs(qwen3, CARDS, Wishes(), old, n_threads=8)
    argv = plan_of_command(command, inputs).plan.argv
    assert "--mlock" in argv
    assert "--no-mmap" in argv
    assert argv[argv.index("-np") + 1] == "1"


def test_that_unreadable_values_are_told_and_do_not_stop_the_import(qwen3):
    command = read_command(["-c", "many", "-ngl", "99", "-fa", "--temp", "stray", "word"], FALLBACK)
    result = plan_of_command(command, _inputs(qwen3))
    assert [(p.code, p.params["flag"]) for p in result.problems] == [("import_bad_value", "-c"), ("import_stray", "")]
    assert result.plan.n_ctx == qwen3.context_length


def test_that_devices_and_buffers_this_machine_lacks_are_told(qwen3):
    argv = ["-dev", "CUDA7", "-ngl", "99", "-c", "8192", "-ot", "exps=CUDA9"]
    result = plan_of_command(read_command(argv, FALLBACK), _inputs(qwen3))
    assert [p.code for p in result.problems] == ["import_no_device", "import_rule_dropped"]
    assert not result.plan.overrides


@pytest.mark.parametrize(
    ("text", "reason"), [("", "empty"), ("  \n", "empty"), ("-m 'x", "quote"), ("hello", "no_options")]
)
def test_that_a_text_without_a_command_says_what_is_wrong(text, reason):
    with pytest.raises(PasteError) as caught:
        read_pasted(text)
    assert caught.value.reason == reason
