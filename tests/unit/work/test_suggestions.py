"""What to download, judged before anything is downloaded; and a model from the first bytes of its file."""

import pytest

from app.common.capabilities import Capabilities
from app.common.problem import ProblemError
from app.hardware.snapshot_file import load_snapshot
from app.model.prefix import FileStart, NeedsMoreError, model_from_starts
from app.model.reader import read_model
from app.model.well_known import well_known_models
from app.planner.devices import DeviceWishes
from app.planner.file_verdict import GOOD_TPS, VerdictKind
from app.work.library.judge import Judge
from app.work.library.suggest import suggestions
from tests.tools.hardware_data import DATA
from tests.tools.model_trees import head_of
from tests.tools.small_moe import write_small_moe
from tests.tools.sparse_models import make_sparse

SPARSE = {"qwen3-30b": "Q4_K_M", "deepseek-v2-lite": "Q4_K_M", "qwen1.5-moe": "Q4_K_M", "gpt-oss-20b": "MXFP4"}


def judge(gpu_mib, ram_mib):
    snapshot = load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")
    return Judge(snapshot, Capabilities(frozenset()), device_wishes=DeviceWishes({"CUDA0": gpu_mib}, ram_mib))


@pytest.mark.parametrize("name", SPARSE)
def test_that_a_model_from_the_table_is_the_published_one(tmp_path, name):
    make_sparse(name, tmp_path / "m.gguf", has_vocabulary=False)
    real = read_model(tmp_path / "m.gguf")
    known = next(known for known in well_known_models() if known.id == name)
    ours = known.in_quant(SPARSE[name])
    assert {t.name: t.shape for t in ours.tensors} == {t.name: t.shape for t in real.tensors}
    assert ours.tensor_bytes == pytest.approx(real.tensor_bytes, rel=0.002)
    assert ours.layers == real.layers
    assert (ours.expert_count, ours.is_mla, ours.sliding_window) == (
        real.expert_count,
        real.is_mla,
        real.sliding_window,
    )


@pytest.mark.slow
def test_that_more_bits_are_more_bytes_and_every_model_is_of_the_size_that_is_promised():
    for known in well_known_models():
        sizes = [known.in_quant(quant).file_bytes for quant in (known.quants[0], known.quants[-1])]
        assert len(known.quants) == 1 or sizes[0] > 1.25 * sizes[1], known.name
        assert 14e9 <= sum_of_weights(known.in_quant(known.quants[0])) <= 36e9, known.name


def sum_of_weights(model):
    from app.work.library.summary import parameters_of

    return parameters_of(model)[0]


@pytest.mark.slow
def test_that_the_articles_question_comes_first_and_the_rest_runs_here():
    models = [known for known in well_known_models() if known.id in ("deepseek-v2-lite", "qwen3-30b", "gpt-oss-20b")]
    found = suggestions(judge(12000, 24000), models=models)
    first, *others = found
    assert first.is_example
    assert 15e9 < first.parameters < 16e9
    assert first.verdict.kind is VerdictKind.GPU, "12 GB and a 16B MoE: yes"
    assert others
    assert all(each.verdict.runs and not each.is_example for each in others)
    assert [each.file_bytes for each in others] == sorted((each.file_bytes for each in others), reverse=True)
    small = suggestions(judge(5000, 6000), models=models)
    assert {each.name for each in small} < {each.name for each in found}
    assert all(each.file_bytes < 12 << 30 for each in small[1:])
    assert all(
        each.verdict.decode_tps is None or each.verdict.decode_tps >= GOOD_TPS for each in found if each.runs_well
    )


def test_that_the_first_bytes_are_enough_for_the_whole_model(tmp_path):
    path = write_small_moe(tmp_path / "m.gguf")
    size, data = path.stat().st_size, head_of(path)
    found = model_from_starts([FileStart("far/m.gguf", data, size)])
    real = read_model(path)
    assert found.tensors == real.tensors
    assert (found.file_bytes, found.path) == (size, "far/m.gguf")
    for n_bytes in (0, 3, 7, 300, 2000):
        with pytest.raises(NeedsMoreError):
            model_from_starts([FileStart("m.gguf", data[:n_bytes], size)])


def test_that_a_page_and_a_size_that_lies_are_told(tmp_path):
    path = write_small_moe(tmp_path / "m.gguf")
    data = head_of(path)
    with pytest.raises(ProblemError, match="not_gguf_web_page"):
        model_from_starts([FileStart("m.gguf", b"<!DOCTYPE html>" + b" " * 600, 1 << 30)])
    with pytest.raises(ProblemError, match="gguf_truncated"):
        model_from_starts([FileStart("m.gguf", data, 1 << 20)])
