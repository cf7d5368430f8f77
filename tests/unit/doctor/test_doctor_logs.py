"""What the doctor says of real logs: the failure of a failed run, no error for a good one, in any wrapping."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.common.problem import ProblemError, Severity
from app.diagnose.doctor.examine import examine, has_errors
from app.diagnose.doctor.log_facts import read_log
from app.diagnose.doctor.types import Facts
from app.words import Language, set_language
from app.work.doctor_log import HEAD_BYTES, TAIL_BYTES, facts_of, log_from_file, log_from_stream, log_from_text
from app.work.doctor_text import words_of
from tests.tools.engine_data import expected, log_lines, log_names

EXPECTED = expected()
BAD = [name for name, what in EXPECTED.items() if "error" in what]
GOOD = [name for name in log_names() if name not in BAD]


def found(lines, **facts):
    return examine(Facts(log=read_log(lines), **facts))


@pytest.mark.parametrize("name", BAD)
def test_that_a_failed_run_has_its_one_error_first(name):
    findings = found(log_lines(name))
    assert findings[0].code == EXPECTED[name]["error"]
    assert [f.code for f in findings if f.severity is Severity.ERROR] == [EXPECTED[name]["error"]]
    assert findings[0].evidence


@pytest.mark.share(5)
@pytest.mark.parametrize("name", GOOD)
def test_that_the_log_of_a_good_run_has_no_error(name):
    findings = found(log_lines(name))
    assert not has_errors(findings)
    wanted = EXPECTED.get(name, {}).get("warning")
    assert wanted is None or wanted in [f.code for f in findings]


@pytest.mark.share(8)
@pytest.mark.parametrize("name", BAD)
def test_that_a_failure_is_found_in_a_log_with_times_and_names_in_front(name):
    wrapped = [f"2026-01-05T10:11:12.{i % 1000:03}Z llama-1  | {line}\r" for i, line in enumerate(log_lines(name))]
    assert found(wrapped)[0].code == EXPECTED[name]["error"]


@pytest.mark.parametrize("name", ["bad-kv-oom-cpu.log", "bad-arch.log", "bad-port-in-use.log"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_that_a_log_in_any_encoding_is_read(tmp_path, name, encoding):
    path = tmp_path / "日志 1.log"
    path.write_bytes("\r\n".join(log_lines(name)).encode(encoding))
    findings = examine(Facts(log=facts_of(log_from_file(path))))
    assert findings[0].code == EXPECTED[name]["error"]


def test_that_a_failure_nobody_knows_is_told_with_the_lines_that_look_like_it():
    lines = [
        "0.00.001.094 I srv  llama_server: initializing ...",
        "0.00.002.000 E srv    load_model: the flux capacitor is out of tune",
        "0.00.003.000 I srv    operator(): operator(): cleaning up before exit...",
    ]
    finding = found(lines)[0]
    assert (finding.code, finding.severity) == ("unknown_failure", Severity.ERROR)
    assert lines[1] in finding.evidence


def test_that_an_exit_without_any_word_is_told_by_its_code():
    finding = examine(Facts(log=read_log([]), exit_code=3))[0]
    assert (finding.code, finding.params["code"]) == ("unknown_failure", "3")
    assert examine(Facts(exit_code=0xC0000135))[0].code == "engine_dll_missing"
    assert examine(Facts(exit_code=-1073741515))[0].code == "engine_dll_missing"


def test_that_a_code_written_into_the_log_by_a_wrapper_counts():
    lines = ["[LM Studio] The model has crashed. (Exit code: 18446744072635810101). Unknown error"]
    assert found(lines)[0].code == "engine_dll_missing"
    assert found(["llama runner process has terminated: exit status 0xc0000409"])[0].code == "engine_aborted"


@pytest.mark.parametrize(
    ("printed", "code"),
    [
        ("18446744072635812000", "engine_aborted"),
        ("18446744072635810000", "engine_crashed"),
        ("18446744072635810101", "engine_dll_missing"),
        ("3221225781", "engine_dll_missing"),
        ("18446744073709515000", "unknown_failure"),
    ],
)
def test_that_codes_printed_as_64_bit_or_rounded_numbers_are_read(printed, code):
    lines = ["Failed to load the model", "Error loading model.", f"(Exit code: {printed}). Unknown error."]
    assert found(lines)[0].code == code


def test_that_a_second_model_of_a_server_that_fails_after_a_first_one_ran_is_found():
    lines = [
        'time=2025-02-04T16:56:25.340Z level=INFO source=server.go:376 msg="starting llama server" cmd="x --model a"',
        'time=2025-02-04T16:56:29.340Z level=INFO source=server.go:600 msg="llama runner started in 3.20 seconds"',
        'time=2025-02-04T16:57:25.340Z level=INFO source=server.go:376 msg="starting llama server" cmd="x --model b"',
        "ollama  | ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 437944320",
        "ollama  | alloc_tensor_range: failed to allocate CPU buffer of size 437944320",
        "ollama  | llama_model_load: error loading model: unable to allocate CPU buffer",
        "ollama  | panic: unable to load model: /blobs/sha256-d83c",
    ]
    finding = found(lines)[0]
    assert (finding.code, finding.params["device"], finding.params["n_bytes"]) == ("weights_oom", "RAM", 437944320)
    assert found(lines[:2]) == ()


def test_that_figures_of_older_builds_are_read():
    lines = [
        "Apr 17 23:09:42 athena ollama.listener[2840147]: llm_load_tensors:        CPU buffer size =   250.00 MiB",
        "llm_load_tensors:      CUDA0 buffer size =  3946.35 MiB",
        "llama_kv_cache_init:      CUDA0 KV buffer size =    11.00 MiB",
        "llama_new_context_with_model: n_ctx      = 512",
        "llama_new_context_with_model:      CUDA0 compute buffer size =    66.50 MiB",
        "Tensor blk.3.ffn_up_exps.weight buffer type overriden to CPU",
    ]
    log = read_log(lines)
    assert {(b.kind.value, b.device) for b in log.buffers} == {
        ("weights", "RAM"), ("weights", "CUDA0"), ("kv", "CUDA0"), ("compute", "CUDA0"),
    }  # fmt: skip
    assert log.n_ctx == 512
    assert log.overrides == {"blk.3.ffn_up_exps.weight": "CPU"}


def test_that_a_stop_with_ctrl_c_is_no_failure():
    good = log_lines("good-port0.log")
    for code in (-2, -15, 130, 143, 0):
        assert not has_errors(examine(Facts(log=read_log(good), exit_code=code)))
    assert not has_errors(found([*good, "rc=124"]))
    assert not has_errors(found(["rc=124"]))


def test_that_a_log_which_stops_while_loading_says_that_nobody_knows_why():
    lines = log_lines("good-tiny-cpu-lv4.log")
    cut = next(i for i, line in enumerate(lines) if "loading model tensors" in line)
    finding = found(lines[: cut + 1])[0]
    assert (finding.code, finding.severity) == ("log_ends_early", Severity.WARNING)


def test_that_a_context_which_fit_made_shorter_is_told():
    finding = next(f for f in found(log_lines("fit-trace-qwen3-12gib.log")) if f.code == "context_reduced")
    assert finding.params["after"] < finding.params["before"]
    assert "context size reduced" in finding.evidence[0]


def test_that_the_threads_of_another_machines_log_are_not_judged_by_this_one():
    from tests.unit.doctor.doctor_cases import snapshot

    line = "0.00.018.280 I cmn  common_param: system_info: n_threads = 20 (n_threads_batch = 20) / 20 | CPU : SSE3 = 1"
    assert "too_many_threads" not in [f.code for f in found([line], snapshot=snapshot())]


def test_that_a_very_long_log_is_read_at_both_ends_and_told(tmp_path):
    path = tmp_path / "long.log"
    failure = "\n".join(log_lines("bad-kv-oom-cpu.log")[-12:])
    with path.open("wb") as file:
        file.write(b"0.00.001.094 I srv  llama_server: initializing ...\n")
        for _ in range(24):
            file.write(b"-" * (1 << 20) + b"\n")
        file.write(failure.encode())
    facts = facts_of(log_from_file(path))
    assert facts.cut_bytes == path.stat().st_size - HEAD_BYTES - TAIL_BYTES
    codes = [f.code for f in examine(Facts(log=facts))]
    assert codes == ["kv_oom", "log_cut"]


def test_that_of_very_many_lines_the_first_and_the_last_are_read(monkeypatch):
    monkeypatch.setattr("app.work.doctor_log.HEAD_LINES", 10)
    monkeypatch.setattr("app.work.doctor_log.TAIL_LINES", 20)
    facts = facts_of(log_from_text("x\n" * 1000 + "E CUDA error: out of memory\n"))
    assert (facts.n_lines, facts.cut_bytes) == (30, 2 * (1002 - 30))
    assert [f.code for f in examine(Facts(log=facts))] == ["vram_oom_cuda", "log_cut"]


def test_that_one_endless_line_is_cut():
    text = "error loading model: unknown model architecture: 'x'\n" + "a" * (3 << 20)
    assert examine(Facts(log=facts_of(log_from_text(text))))[0].code == "unknown_arch"


def test_that_a_stream_keeps_only_its_ends():
    class Endless:
        def __init__(self):
            self.left = 24

        def read(self, size):
            self.left -= 1
            return b"x" * (1 << 20) if self.left > 0 else b"\nE CUDA error: out of memory\n" if not self.left else b""

    text = log_from_stream(Endless())
    assert text.cut_bytes > 0
    assert examine(Facts(log=facts_of(text)))[0].code == "vram_oom_cuda"


def _refusal(path):
    with pytest.raises(ProblemError) as caught:
        log_from_file(path)
    return caught.value.problem.code


def test_that_what_is_no_log_is_refused_by_its_reason(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(5000))
    (tmp_path / "program").write_bytes(bytes(range(256)) * 40)
    (tmp_path / "zeros").write_bytes(bytes(5000))
    assert _refusal(tmp_path / "zeros") == "doctor_log_binary"
    assert _refusal(tmp_path / "none.log") == "doctor_log_missing"
    assert _refusal(tmp_path) == "doctor_log_folder"
    assert _refusal(tmp_path / "model.gguf") == "doctor_log_is_model"
    assert _refusal(tmp_path / "program") == "doctor_log_binary"


def test_that_a_log_that_the_disk_did_not_get_whole_is_read(tmp_path):
    path = tmp_path / "power cut.log"
    path.write_bytes(b"E error loading model: unknown model architecture: 'x'\n" + bytes(100_000))
    assert examine(Facts(log=facts_of(log_from_file(path))))[0].code == "unknown_arch"


@given(st.lists(st.text(max_size=200), max_size=30))
def test_that_no_text_breaks_the_doctor(lines):
    for finding in found(lines):
        for language in Language:
            set_language(language)
            assert "{" not in words_of(finding).sentence or "{" in json.dumps(dict(finding.params))
    set_language(Language.EN)
