"""The wordings of other builds, other backends and programs around llama.cpp.

Texts are the format strings of the sources (b11434 unless said otherwise) with numbers filled in.
"""

import json

import pytest

from app.engine.failure import explain_exit, find_failure, judge
from app.engine.loglines import clean_line
from app.words import Language, say_problem, set_language
from tests.tools.engine_data import DATA

START = "0.00.001.094 I srv  llama_server: initializing ..."
READY = "0.01.652.667 I srv  llama_server: listening on http://127.0.0.1:18080"
ENDS = (
    "0.00.008.227 E llama_model_load_from_file_impl: failed to load model",
    "0.00.008.501 E srv    load_model: failed to load model, 'm.gguf'",
    "0.00.008.965 E srv  llama_server: exiting due to model loading error",
)

WORDINGS = json.loads((DATA / "engine_wordings.json").read_text(encoding="utf-8"))


def warnings_in(lines):
    return judge([clean_line(line) for line in lines]).warnings


@pytest.mark.parametrize("case", WORDINGS["failures"], ids=lambda case: case["line"][:50])
def test_that_each_wording_names_its_failure(case):
    code, line, params = case["code"], case["line"], case["params"]
    problem = explain_exit(1, [START, f"0.00.007.000 E {line}", *ENDS])
    assert problem.code == code
    assert {name: problem.params.get(name) for name in params} == params
    assert line[:60] in problem.evidence[0]
    for language in Language:
        set_language(language)
        assert "{" not in say_problem(problem)


WRAPS = {
    "ollama": 'time=2026-01-05T10:11:12.345+01:00 level=ERROR source=sched.go:456 msg="{}"',
    "docker compose": "llama-1  | {}",
    "journald": "Nov 29 17:03:46 box llama-server[4242]: {}",
    "LM Studio": "[2026-01-05 10:11:12][DEBUG] {}",
    "ISO time": "2026-01-05T10:11:12.345Z {}",
    "log word": "[ERROR] {}",
    "tag": "[llama-server] {}",
    "quoted": "> {}",
    "colours": "\x1b[31m{}\x1b[0m",
    "router": "[41163] 0.00.008.216 E {}",
    "PowerShell": "C:\\llama\\llama-server.exe : {}",
    "overwritten": "loading 10 %\rloading 20 %\r{}",
    "windows line end": "{}\r",
    "json": '{{"tid":"1","timestamp":1,"level":"ERR","msg":"{}"}}',
}


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_that_a_failure_is_read_through_what_wrappers_put_around_it(wrap):
    text = "error loading model: unknown model architecture: 'qwen9moe'"
    problem = find_failure([wrap.format(text)])
    assert (problem.code, problem.params["architecture"]) == ("unknown_arch", "qwen9moe")


@pytest.mark.parametrize("name", WRAPS)
@pytest.mark.share(1)
def test_that_every_failure_is_read_through_every_wrapping(name):
    for case in WORDINGS["failures"]:
        line = case["line"].replace('"', '\\"') if name in ("ollama", "json") else case["line"]
        problem = find_failure([WRAPS[name].format(line)])
        assert problem is not None, line
        assert problem.code == case["code"], line


READY_LINES = [
    "main: server is listening on http://127.0.0.1:8080 - starting the main loop",
    'INFO [                    main] model loaded | tid="22172" timestamp=1717686385',
    'time=2025-02-04T16:56:29.340Z level=INFO source=server.go:600 msg="llama runner started in 3.20 seconds"',
    "Load Text Model OK: True",
    "Please connect to custom endpoint at http://localhost:5001",
    "[41163] 0.01.652.667 I srv  llama_server: listening on http://127.0.0.1:18080",
]


@pytest.mark.parametrize("line", READY_LINES)
def test_that_every_way_to_say_ready_proves_earlier_trouble_harmless(line):
    port = line[:8] if line.startswith("[41163]") else ""
    assert (
        find_failure([f"{port}E ggml_aligned_malloc: insufficient memory (attempted to allocate 9.00 MB)", line])
        is None
    )


def test_that_the_root_is_named_and_not_what_followed_from_it():
    lines = [
        START,
        "E ggml_backend_cuda_buffer_type_alloc_buffer: allocating 2048.00 MiB on device 0: cudaMalloc failed: out",
        "E ggml_gallocr_reserve_n_impl: failed to allocate CUDA0 buffer of size 2147483648",
        "E graph_reserve: failed to allocate compute buffers",
        "E llama_init_from_model: failed to initialize the context: failed to allocate compute pp buffers",
        "E srv  llama_server: exiting due to model loading error",
        "Segmentation fault (core dumped)",
    ]
    problem = explain_exit(139, lines)
    assert problem.code == "vram_oom_cuda"
    assert dict(problem.params) == {"device": "CUDA0", "n_bytes": 2 << 30, "stage": "compute"}


def test_that_the_device_of_a_hip_build_is_called_rocm():
    lines = [
        "ggml_cuda_init: found 1 ROCm devices (Total VRAM: 16368 MiB):",
        "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9000.00 MiB on device 0: cudaMalloc failed: out",
    ]
    assert find_failure(lines).params["device"] == "ROCm0"


def test_that_a_trial_that_failed_before_the_server_was_ready_is_no_failure():
    assert (
        find_failure([START, "E ggml_aligned_malloc: insufficient memory (attempted to allocate 9.00 MB)", READY])
        is None
    )


def test_that_a_failure_after_the_server_was_ready_is_one():
    problem = find_failure(
        [START, READY, "E CUDA error: out of memory", "E   current device: 1, in function alloc at x:1"]
    )
    assert (problem.code, problem.params["device"], problem.params["stage"]) == ("vram_oom_cuda", "CUDA1", "generating")


def test_that_a_message_after_which_the_server_goes_on_working_is_no_failure():
    prompt = "why do I get CUDA error: out of memory and ggml_aligned_malloc: insufficient memory?"
    work = [f"0.09.00{i}.000 I slot print_timing: id 0 | task 0 | eval time = 9 ms" for i in range(9)]
    assert find_failure([START, READY, "0.05.000.000 D srv params_from_: prompt: hello", prompt, *work]) is None
    assert find_failure([START, READY, *work, "0.10.000.000 E CUDA error: out of memory"]).code == "vram_oom_cuda"


def test_that_of_several_starts_in_one_log_the_last_counts():
    failed = [START, "E error loading model: unknown model architecture: 'x'"]
    assert find_failure([*failed, START, READY]) is None
    assert find_failure([START, READY, *failed]).code == "unknown_arch"


def test_that_a_failed_model_of_a_router_is_found_beside_those_that_run():
    lines = [
        "0.00.001.000 I srv  llama_server: listening on http://127.0.0.1:8080",
        "[40001] 0.00.001.000 I srv  llama_server: initializing ...",
        "[40002] 0.00.001.000 I srv  llama_server: initializing ...",
        "[40002] 0.00.002.000 E error loading model: unknown model architecture: 'x'",
        "[40001] 0.00.009.000 I srv  llama_server: listening on http://127.0.0.1:40001",
    ]
    assert find_failure(lines).code == "unknown_arch"


def test_that_a_lock_that_failed_is_not_taken_for_the_cause_of_a_later_end():
    lines = [
        "warning: VirtualLock of 96 MiB failed after 17152 MiB were locked: invalid access to memory location",
        "E ggml_aligned_malloc: insufficient memory (attempted to allocate 7812.50 MB)",
    ]
    assert explain_exit(1, lines).code == "host_oom"
    warning = warnings_in(lines)[0]
    assert (warning.code, warning.params["locked_bytes"]) == ("mlock_failed", 17152 << 20)


def test_that_a_refused_lock_is_not_called_out_of_memory():
    line = "warning: failed to mlock 512000000-byte buffer (after previously locking 0 bytes): Cannot allocate memory"
    assert find_failure([START, line]) is None
    assert warnings_in([line])[0].params["n_bytes"] == 512000000


@pytest.mark.parametrize("case", WORDINGS["warnings"], ids=lambda case: case["line"][:50])
def test_that_trouble_which_the_engine_lives_with_is_a_warning_and_no_failure(case):
    lines = [START, READY, f"0.09.000.000 W {case['line']}"]
    assert [problem.code for problem in warnings_in(lines)] == [case["code"]]
    assert find_failure(lines) is None


@pytest.mark.parametrize(("code", "silent"), [(53, "engine_dll_missing"), (0xC000012D, "commit_limit")])
def test_that_a_code_without_any_output_is_explained(code, silent):
    assert explain_exit(code, []).code == silent
    assert explain_exit(53, ["some output"]).code == "engine_exited"


def test_that_the_evidence_stands_in_the_order_of_the_log():
    before = "0.00.006.000 E ggml_backend_cuda_buffer_type_alloc_buffer: it did not work"
    decisive = "0.00.007.000 E alloc_tensor_range: failed to allocate CUDA0 buffer of size 9000000000"
    evidence = explain_exit(1, [START, before, decisive, *ENDS]).evidence
    assert decisive in evidence
    assert list(evidence) == sorted(evidence)
    assert len(evidence) > 2
