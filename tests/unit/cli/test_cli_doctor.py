"""``doctor``: the contract's JSON, exit codes, hostile logs, and what it says of a plan."""

import io

import pytest

from tests.tools.engine_data import log_lines
from tests.unit.cli.conftest import LAPTOP, NO_GPU

CARD = ("--hardware", NO_GPU, "--device", "CUDA0=4096")


@pytest.fixture
def log(tmp_path):
    def write(name, encoding="utf-8", ending="\n"):
        path = tmp_path / "a log.txt"
        path.write_bytes(ending.join(log_lines(name)).encode(encoding))
        return path

    return write


def test_that_a_failed_run_is_an_error_with_code_evidence_and_exit_1(run, log):
    said = run("doctor", "--log", log("bad-device-oom-weights-rpc.log"), "--json")
    assert said.code == 1
    (finding,) = said.json["findings"]
    assert {"code", "severity", "params", "evidence", "fix"} <= set(finding)
    assert (finding["code"], finding["severity"], finding["fix"]) == ("weights_oom", "error", None)
    assert finding["params"] == {"device": "RPC0", "n_bytes": 9315252224}
    assert any("unable to allocate" in line for line in finding["evidence"])


@pytest.mark.parametrize("name", ["good-port0.log", "good-tiny-cpu-lv3.log", "vk-exps-cpu.log", "list-devices-rpc.log"])
def test_that_a_good_run_is_fine(run, log, name):
    said = run("doctor", "--log", log(name))
    assert (said.code, said.out) == (0, "Nothing is wrong that Lanewise can see.\n")


def test_that_an_empty_log_is_called_empty_and_no_error(run, log):
    said = run("doctor", "--log", log("good-tiny-cpu-lv1.log"))
    assert said.code == 0
    assert "The log is empty" in said.out


def test_that_a_warning_alone_is_no_error(run, log):
    said = run("doctor", "--log", log("warn-mlock-unpriv.log"))
    assert said.code == 0
    assert "0 errors, 1 warning, " in said.out
    assert "could not be locked" in said.out


def test_that_a_log_comes_from_standard_input_in_any_encoding(run, monkeypatch):
    text = "\r\n".join(log_lines("bad-oldflag-nommap.log"))
    stream = io.TextIOWrapper(io.BytesIO(text.encode("utf-16")), encoding="ascii")
    monkeypatch.setattr("sys.stdin", stream)
    said = run("doctor", "--log", "-", "--json")
    assert said.json["findings"][0]["params"] == {"argument": "--no-mmap", "new": "-lm none"}


@pytest.mark.slow
def test_that_a_log_and_a_model_give_a_plan_that_fits(run, moe, tmp_path):
    path = tmp_path / "x.log"
    line = "E ggml_backend_buft_alloc_buffer_n_default: failed to allocate CUDA0 buffer of size 1048576"
    path.write_text(f"{line}\nE error loading model: unable to allocate CUDA0 buffer\n")
    said = run("doctor", "--log", path, moe, "--device", "CUDA0=4096", "--hardware", LAPTOP, "--ctx", "2048", "--json")
    finding = said.json["findings"][0]
    assert finding["code"] == "weights_oom"
    fix = finding["fix"]
    assert fix is None or fix["fits"] is True


def test_that_a_plan_alone_is_judged(run, moe):
    said = run("doctor", moe, *CARD, "--extra", "-ot nothing_here=CPU", "--json")
    codes = {finding["code"]: finding for finding in said.json["findings"]}
    assert said.code == 1
    assert codes["override_unmatched"]["fix"]["changes"] == {"--extra": ""}
    assert "no_gpu" not in codes


def test_that_a_machine_alone_is_judged(run):
    said = run("doctor", "--hardware", NO_GPU, "--json")
    assert said.code == 0
    assert "no_gpu" in [finding["code"] for finding in said.json["findings"]]


def test_that_a_damaged_model_is_a_finding(run, tmp_path):
    path = tmp_path / "cut.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00")
    said = run("doctor", path, *CARD, "--json")
    assert said.code == 1
    assert said.json["findings"][0]["code"].startswith("gguf_")


@pytest.mark.parametrize("what", ["missing", "folder", "model", "binary"])
def test_that_what_is_no_log_is_bad_input_with_one_sentence(run, tmp_path, what):
    paths = {"missing": tmp_path / "no.log", "folder": tmp_path, "model": tmp_path / "m.gguf", "binary": tmp_path / "b"}
    paths["model"].write_bytes(b"GGUF" + bytes(100))
    paths["binary"].write_bytes(bytes(range(256)) * 20)
    said = run("doctor", "--log", paths[what])
    assert said.code == 2
    assert said.sentence.startswith("Error: ")


def test_that_findings_are_told_in_chinese(run, log):
    said = run("doctor", "--log", log("bad-arch.log"), "--lang", "zh_CN")
    assert "不支持架构" in said.out


def test_that_no_field_of_the_json_is_longer_than_anybody_reads(run, tmp_path):
    path = tmp_path / "hostile.log"
    long = "x" * 5000
    path.write_text(
        f"E error loading model: unknown model architecture: '{long}'\n"
        f"W context type {long}\nE srv {long}: failed to do {long}\n" * 3
    )
    said = run("doctor", "--log", path, "--json")

    def texts(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            for part in value.values() if isinstance(value, dict) else value:
                yield from texts(part)

    assert said.code == 1
    assert said.json["findings"]
    assert max(len(text) for text in texts(said.json)) <= 1000
    assert len(said.out) < 20_000


def test_that_a_huge_option_of_a_plan_is_cut_in_the_findings_and_whole_in_the_change(run, moe):
    rule = "-ot " + "y" * 3000 + "=CPU"
    said = run("doctor", moe, *CARD, "--extra", rule, "--json")
    finding = next(f for f in said.json["findings"] if f["code"] == "override_unmatched")
    assert len(finding["params"]["example"]) == 400
    assert all(len(line) <= 400 for line in finding["evidence"])
    assert len(finding["fix"]["text"]) < 600
