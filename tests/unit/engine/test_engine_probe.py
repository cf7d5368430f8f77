"""The engine's own figures, from a recorded dry run."""

import json
import re
from pathlib import Path

import pytest

from app.common.units import MIB
from app.engine import failure
from app.engine.apikey import new_api_key
from app.engine.build import BuildStep
from app.engine.events import ServerState
from app.engine.failure_rules import RULES
from app.engine.failure_warnings import WARNINGS
from app.engine.probe import dry_run_argv, parse_breakdown
from app.words import ENTRIES
from tests.tools.engine_data import HTTP

LINE = (HTTP / "fit_memory_breakdown.jsonl").read_text()


def test_that_a_recorded_table_gives_every_device_and_ram_last():
    gpu, ram = parse_breakdown(LINE)
    assert (gpu.device, gpu.weights_bytes, gpu.kv_bytes, gpu.compute_bytes) == ("RPC0", 784 * MIB, 768 * MIB, 320 * MIB)
    assert (gpu.total_bytes, gpu.free_bytes) == (24105 * MIB, 24105 * MIB)
    assert (ram.device, ram.total_bytes) == ("RAM", None)
    assert ram.compute_bytes == 84 * MIB


def test_that_repacked_weights_count_as_ram():
    _, ram = parse_breakdown(LINE)
    assert ram.weights_bytes == (3946 + 12960) * MIB


@pytest.mark.parametrize(
    "line",
    [
        "",
        "fit_memory_breakdown",
        '{"type":"log","msg":"fit_memory_breakdown"}',
        '{"type":"fit_memory_breakdown"}',
        '{"type":"fit_memory_breakdown","data":{"rows":[{"kind":"device","name":"X"}]}}',
        json.dumps({"type": "fit_memory_breakdown", "data": {"rows": [3]}}),
        LINE.replace("784", '"784"'),
    ],
)
def test_that_any_other_line_is_no_table(line):
    assert parse_breakdown(line) is None


def test_that_a_dry_run_keeps_the_plan_and_replaces_what_would_disturb_it():
    argv = ["-m", "x.gguf", "-fit", "off", "--port", "8080", "-lv", "4", "-ot", "a=CPU", "--log-file", "f", "-v"]
    assert dry_run_argv(argv)[:4] == ("-m", "x.gguf", "-ot", "a=CPU")
    rest = dry_run_argv(argv)[4:]
    assert rest == ("-fit", "on", "--log-jsonl", "--no-warmup", "--host", "127.0.0.1", "--port", "0")


def test_that_every_problem_of_the_engine_has_its_words():
    sources = "\n".join(path.read_text() for path in Path(failure.__file__).parent.glob("*.py"))
    raised = set(re.findall(r'\bfail\(\s*"([a-z_0-9]+)"', sources))
    explained = {rule.code for rule in (*RULES, *WARNINGS)}
    by_code = {*failure._WINDOWS_CODES.values(), *failure._SIGNALS.values()}
    assert len(raised) > 15
    for code in raised | explained | by_code:
        assert f"problem.{code}" in ENTRIES, code


def test_that_every_state_and_step_has_its_words():
    for state in ServerState:
        assert f"engine.state.{state}" in ENTRIES
    for step in BuildStep:
        assert f"engine.build.{step}" in ENTRIES


def test_that_keys_are_long_different_and_safe_to_paste():
    keys = {new_api_key() for _ in range(50)}
    assert len(keys) == 50
    assert all(re.fullmatch(r"lw-[A-Za-z0-9_-]{32}", key) for key in keys)
