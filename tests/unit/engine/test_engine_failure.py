"""The reason of every failure that real servers printed."""

import json
from re import _constants as re_constants
from re import _parser as re_parser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.common.problem import Severity
from app.engine import failure
from app.engine.failure import exit_code_text, explain_exit, find_failure, judge
from app.engine.failure_rules import RULES
from app.engine.failure_warnings import WARNINGS
from app.engine.loglines import clean_line
from app.words import ENTRIES, say_problem
from tests.tools.engine_data import expected, log_lines, log_names

EXPECTED = expected()
BAD = [name for name, what in EXPECTED.items() if "error" in what]
GOOD = [name for name in log_names() if name not in BAD]


def warnings_in(lines):
    return judge([clean_line(line) for line in lines]).warnings


@pytest.mark.parametrize("name", BAD)
def test_that_a_failed_log_gives_its_class(name):
    problem = explain_exit(1, log_lines(name))
    assert problem.code == EXPECTED[name]["error"]
    assert problem.severity is Severity.ERROR
    assert problem.evidence
    assert problem.evidence[0] in log_lines(name)
    assert say_problem(problem)


@pytest.mark.share(5)
@pytest.mark.parametrize("name", GOOD)
def test_that_a_good_log_gives_no_error(name):
    assert find_failure(log_lines(name)) is None
    assert explain_exit(0, log_lines(name)) is None


@pytest.mark.share(8)
@pytest.mark.parametrize("name", log_names())
def test_that_only_the_logs_with_a_warning_warn(name):
    codes = [problem.code for problem in warnings_in(log_lines(name))]
    assert codes == ([EXPECTED[name]["warning"]] if "warning" in EXPECTED.get(name, {}) else [])


def test_that_out_of_memory_tells_device_and_size():
    problem = explain_exit(1, log_lines("bad-device-oom-weights-rpc.log"))
    assert dict(problem.params) == {"device": "RPC0", "n_bytes": 9315252224}
    problem = explain_exit(1, log_lines("bad-compute-oom-cpu.log"))
    assert dict(problem.params) == {"device": "RAM", "n_bytes": 10796367904}


def test_that_a_cuda_allocation_names_the_card():
    lines = [
        "E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.50 MiB on device 1: cudaMalloc failed: out",
        "E llama_model_load: error loading model: unable to allocate CUDA1 buffer",
    ]
    problem = explain_exit(1, lines)
    assert problem.code == "vram_oom_cuda"
    assert problem.params["device"] == "CUDA1"
    assert problem.params["n_bytes"] == 9000.5 * 1024 * 1024


def test_that_an_unknown_buffer_type_lists_the_names_that_exist():
    problem = explain_exit(1, log_lines("bad-unknown-buft.log"))
    assert problem.params["available"] == "CPU, RPC0[127.0.0.1:50099]"


@pytest.mark.parametrize(
    ("code", "expected_code"),
    [
        (0xC0000135, "engine_dll_missing"),
        (0xC0000135 - (1 << 32), "engine_dll_missing"),
        (0xC0000139, "engine_dll_wrong"),
        (0xC0000139 - (1 << 32), "engine_dll_wrong"),
        (0xC000001D, "engine_cpu_unsupported"),
        (0xC000001D - (1 << 32), "engine_cpu_unsupported"),
        (0xC0000005, "engine_crashed"),
        (0xC0000409, "engine_aborted"),
        (0xC0000017, "host_oom"),
        (-4, "engine_cpu_unsupported"),
        (-9, "engine_killed"),
        (137, "engine_killed"),
        (-11, "engine_crashed"),
        (139, "engine_crashed"),
        (134, "engine_aborted"),
        (3, "engine_exited"),
        (None, "engine_exited"),
    ],
)
def test_that_an_exit_code_without_words_is_explained(code, expected_code):
    problem = explain_exit(code, ["0.00.001 I srv  llama_server: initializing ..."])
    assert problem.code == expected_code
    assert "{" not in say_problem(problem)


def test_that_exit_codes_are_written_as_people_search_for_them():
    assert exit_code_text(0xC0000135) == "0xC0000135"
    assert exit_code_text(0xC0000135 - (1 << 32)) == "0xC0000135"
    assert exit_code_text(-9) == "signal 9"
    assert exit_code_text(139) == "signal 11"
    assert exit_code_text(1) == "1"


def test_that_a_missing_shared_library_is_named():
    line = "llama-server: error while loading shared libraries: libcudart.so.12: cannot open shared object file"
    problem = explain_exit(127, [line])
    assert (problem.code, problem.params["library"]) == ("engine_dll_missing", "libcudart.so.12")


def test_that_memory_running_out_while_generating_is_not_called_a_crash():
    problem = explain_exit(-6, ["E CUDA error: out of memory", "E   current device: 0, in function alloc at x.cu:435"])
    assert problem.code == "vram_oom_cuda"


def test_that_errors_in_json_lines_are_understood():
    line = json.dumps(
        {"type": "log", "level": "error", "msg": "error loading model: unknown model architecture: 'x9'\n"}
    )
    assert explain_exit(1, [line]).params["architecture"] == "x9"


@given(st.integers(-(1 << 33), 1 << 33), st.lists(st.text(max_size=80), max_size=5))
def test_that_any_end_has_a_sentence(code, lines):
    problem = explain_exit(code, lines)
    assert problem is None or f"problem.{problem.code}" in ENTRIES


def test_that_a_lost_rpc_server_is_no_internal_check_of_the_engine():
    lines = [
        "0.00.004.757 E send failed (bytes_sent=0, size_to_send=8)",
        "/src/ggml/src/ggml-rpc/ggml-rpc.cpp:354: Remote RPC server crashed or returned malformed response",
    ]
    assert explain_exit(-6, lines).code == "rpc_lost"


def _may_begin_anywhere(parsed):
    """Does a pattern begin with something of any length? Then it is tried from every character to the end."""
    for operation, value in parsed:
        name = str(operation)
        if name == "SUBPATTERN":
            return _may_begin_anywhere(value[3])
        if name == "BRANCH":
            return any(_may_begin_anywhere(branch) for branch in value[1])
        return name in ("MAX_REPEAT", "MIN_REPEAT") and value[1] is re_constants.MAXREPEAT
    return False


@pytest.mark.parametrize("rule", [*RULES, *WARNINGS], ids=lambda rule: rule.code)
@pytest.mark.share(12)
def test_that_no_pattern_needs_the_square_of_a_lines_length(rule):
    assert _may_begin_anywhere(re_parser.parse(r"a|(b|.*c)"))
    assert not _may_begin_anywhere(re_parser.parse(rule.text))


@pytest.mark.slow
def test_that_endless_repetition_of_one_message_is_looked_at_only_so_often():
    run = failure._last_run([clean_line(f"error loading model: {'ü' * 900} {i}") for i in range(400)])
    assert len(run.hits) == failure._MOST_HITS
    assert find_failure([f"error loading model: {'ü' * 900} {i}" for i in range(250)]).code == "model_load_failed"


def test_that_a_lost_vulkan_device_is_told_with_its_whole_line():
    text = "0.01.000.000 E llama_decode: vk::Queue::submit: ErrorDeviceLost"
    assert find_failure([text]).params["why"] == "llama_decode: vk::Queue::submit: ErrorDeviceLost"


def test_that_a_reason_of_a_thousand_characters_is_told_as_far_as_anybody_reads():
    sentence = say_problem(find_failure(["error loading model: " + "ü" * 900]))
    assert "ü" * 399 + "…" in sentence
    assert "ü" * 400 not in sentence
