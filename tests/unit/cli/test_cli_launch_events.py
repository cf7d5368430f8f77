"""What a running server tells, without a server; the real one is in tests/e2e."""

import json

import pytest

from app.cli.launch_events import (
    exited_event,
    finding_event,
    is_idle_line,
    readiness_findings,
    ready_event,
    timing_event,
)
from app.cli.launch_text import event_lines
from app.common.problem import Problem, Severity
from app.diagnose.buffers import compare_buffers
from app.engine.logparse import BufferKind, EngineBuffer
from app.engine.timings import Timing, parse_timing
from app.words import Language, say_problem, set_language
from tests.tools.engine_data import log_lines
from tests.unit.cli.conftest import NO_GPU

MIB = 1 << 20


def test_that_timings_are_read_from_the_log_of_a_real_server():
    timings = [timing for line in log_lines("gen-rpc-exps-cpu.log") if (timing := parse_timing(line))]
    assert [timing.kind for timing in timings[:2]] == ["prompt", "decode"]
    prompt, decode = timings[:2]
    assert (prompt.slot, prompt.tokens, decode.tokens) == (0, 15, 32)
    assert (decode.seconds, decode.tps) == (0.35671, 86.9)


def test_that_a_speed_that_the_engine_cannot_tell_is_unknown():
    line = "slot print_timing: id  0 | task 4 |        eval time =       0.00 ms /     1 tokens (%s tokens per second)"
    assert parse_timing(line % "    0.00 ms per token,      inf") == Timing(0, 4, "decode", 1, 0.0, None)
    assert parse_timing("srv eval time = something else") is None


def test_that_the_idle_line_is_known():
    assert is_idle_line("0.00 I srv  update_slots: all slots are idle")
    assert not is_idle_line("0.00 I srv  update_slots: run slots completed")


@pytest.fixture
def case(moe):
    from argparse import Namespace

    from app.cli.arguments import VerbParser, add_common, add_wishes, parse
    from app.cli.inputs import plan_case

    parser = VerbParser("plan")
    add_wishes(parser)
    add_common(parser)
    options: Namespace = parse(parser, [str(moe), "--hardware", NO_GPU, "--device", "CUDA0=4096"])
    return plan_case(options, "plan")


def _rows(plan, *, more=0, extra=()):
    buffers = []
    for device in plan.estimate.devices:
        name = "CPU" if device.device == "RAM" else device.device
        for kind, n_bytes in (
            (BufferKind.WEIGHTS, device.weights_bytes + more),
            (BufferKind.KV, device.kv_bytes),
            (BufferKind.COMPUTE, device.compute_bytes),
        ):
            buffers.append(EngineBuffer(kind, name, device.device, n_bytes))
    return compare_buffers(plan.estimate, (*buffers, *extra))


def test_that_ready_compares_each_buffer_with_the_plan(case):
    rows = _rows(case.plan)
    event = json.loads(json.dumps(ready_event("http://127.0.0.1:1", 7, (0, 1), rows, "lw-k", 1.23456)))
    assert event.keys() >= {"event", "url", "pid", "affinity", "buffers"}
    assert (event["event"], event["affinity"], event["seconds"]) == ("ready", [0, 1], 1.235)
    weights = {b["device"]: b for b in event["buffers"] if b["what"] == "weights"}
    assert weights.keys() == {"CUDA0", "RAM"}
    assert all(b["predicted"] == b["actual"] and b["agrees"] for b in weights.values())


def test_that_a_run_as_planned_has_no_findings(case):
    assert readiness_findings(case.plan, (1, 0), (0, 1), _rows(case.plan)) == ()
    assert readiness_findings(case.plan, (0, 1), None, _rows(case.plan)) == ()
    assert readiness_findings(case.plan, (0, 1), None, _rows(case.plan), full_speed=True) == ()


def test_that_full_speed_is_told_as_the_system_tells_it_and_its_lack_is_a_finding(case):
    rows = _rows(case.plan)
    assert [p.code for p in readiness_findings(case.plan, (), None, rows, full_speed=False)] == ["efficiency_mode_on"]
    for told in (True, False, None):
        assert ready_event("http://127.0.0.1:1", 7, None, rows, "k", 1.0, told)["full_speed"] is told


def test_that_other_cpus_and_other_buffers_are_findings(case):
    stray = EngineBuffer(BufferKind.KV, "CUDA1", "CUDA1", 5 * MIB)
    rows = _rows(case.plan, more=40 * MIB, extra=(stray,))
    found = readiness_findings(case.plan, (0, 1), (0, 1, 2), rows)
    assert [problem.code for problem in found] == [
        "affinity_differs", "buffer_differs_weights", "buffer_differs_weights", "buffer_unplanned",
    ]  # fmt: skip
    assert all(problem.severity is Severity.WARNING for problem in found)
    for language in Language:
        set_language(language)
        assert all("{" not in say_problem(problem) for problem in found)
    assert finding_event(found[0])["params"] == {"got": "0,1,2", "wanted": "0,1"}


def test_that_only_a_failure_shows_the_end_of_the_log():
    lines = [f"line {n}" for n in range(50)]
    assert exited_event(0, None, lines) == {"event": "exited", "code": 0, "reason": None, "tail": []}
    failed = exited_event(1, Problem("engine_exited", params={"code": "1"}), lines)
    assert failed["reason"]["code"] == "engine_exited"
    assert failed["tail"][-1] == "line 49"
    assert len(failed["tail"]) == 20


def test_that_people_get_the_address_the_key_and_the_comparison(case):
    event = ready_event("http://127.0.0.1:8080", 7, (0, 1, 3), _rows(case.plan), "lw-secret", 2.0)
    text = "\n".join(event_lines(event))
    assert "http://127.0.0.1:8080" in text
    assert "lw-secret" in text
    assert "0-1, 3" in text
    assert text.count("as planned") == len(event["buffers"])
    assert event_lines({"event": "log", "text": "x"}) == []
    assert event_lines(timing_event(Timing(0, 1, "decode", 20, 2.0, 10.0))) == ["Answer: 20 tokens in 2.0 s, 10 tok/s"]


def test_that_a_launch_without_an_engine_fails_in_a_sentence(run, moe):
    said = run("launch", moe, "--hardware", NO_GPU, "--json")
    assert said.code == 1
    assert "--engine" in said.sentence


def test_that_verify_without_an_engine_fails_in_a_sentence(run, moe):
    said = run("verify", moe, "--hardware", NO_GPU)
    assert said.code == 1
    assert "--engine" in said.err.splitlines()[-1]


def test_that_the_stopping_time_is_checked(run, moe):
    for text in ("0", "-3", "soon", "9" * 12):
        assert run("launch", moe, "--for", text).code == 2


def test_that_no_parameter_of_an_event_is_longer_than_anybody_reads():
    problem = Problem("model_load_failed", Severity.ERROR, {"why": "y" * 5000, "n": 3})
    assert len(finding_event(problem)["params"]["why"]) == 400
    assert exited_event(1, problem, ())["reason"]["params"] == {"why": "y" * 399 + "…", "n": 3}
