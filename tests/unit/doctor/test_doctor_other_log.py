"""A plan is offered no cure for the failure of another model's run."""

import pytest

from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.log_facts import read_log
from app.words import say_problem
from tests.unit.doctor.doctor_cases import MIB, facts

START = "0.00.001.094 I srv  llama_server: initializing ..."
NO_KV = "E llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache"


def failed(*before, device="CUDA0", asked=1500):
    size = f"E ggml_backend_buft_alloc_buffer_n_default: failed to allocate {device} buffer of size {asked * MIB}"
    return read_log([START, *before, size, NO_KV])


def loaded(path, n_tensors):
    head = f"loaded meta data with 27 key-value pairs and {n_tensors} tensors from {path}"
    return f"I llama_model_loader: {head} (version GGUF V3 (latest))"


def named(path):
    return f"I srv    load_model: loading model '{path}'"


@pytest.mark.parametrize("before", [loaded(r"D:\m\GLM-4.5-Air-Q4_K_M.gguf", 803), named("/m/GLM-4.5-Air-Q4_K_M.gguf")])
def test_that_a_log_that_names_another_model_is_told_and_gets_no_fix(q3_header, before):
    found = examine(facts(q3_header, log=failed(before)))
    assert found[0].code in ("vram_oom_cuda", "kv_oom")
    assert all(finding.fix is None for finding in found)
    (other,) = [finding for finding in found if finding.code == "log_other_model"]
    assert "GLM-4.5-Air-Q4_K_M.gguf" in say_problem(other.problem)


@pytest.mark.slow
def test_that_another_quantisation_a_renamed_file_and_a_draft_beside_it_are_the_same_model(q3_header):
    n = len(q3_header.tensors)
    name = q3_header.path.rpartition("/")[2]
    for before in (
        [loaded("/elsewhere/renamed.gguf", n)],
        [named(rf"C:\models\{name}")],
        [loaded("/m/draft.gguf", 311), loaded("/m/q.gguf", n)],
    ):
        found = examine(facts(q3_header, log=failed(*before)))
        assert found[0].fix is not None
        assert "log_other_model" not in [finding.code for finding in found]


@pytest.mark.parametrize("device", ["CPU", "CUDA0"])
def test_that_a_log_without_a_name_that_asked_for_more_than_the_plan_has_is_another_runs(q3_header, device):
    told = facts(q3_header, log=failed(device=device, asked=90_000))
    found = examine(told)
    assert all(finding.fix is None for finding in found)
    (other,) = [finding for finding in found if finding.code == "log_other_run"]
    assert "87.9 GiB" in say_problem(other.problem)


def test_that_a_plan_that_does_not_fit_keeps_its_own_fix_beside_anothers_log(q3_header):
    told = facts(q3_header, log=failed(loaded("/m/other.gguf", 803)), wishes={"preset": "all-gpu"})
    found = {finding.code: finding for finding in examine(told)}
    assert found["over_full_gpu"].fix.plan.estimate.fits
    assert "log_other_model" in found
