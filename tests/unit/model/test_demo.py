"""The demo model: the same bytes each time, small, complete, made again when damaged; read alike by two readers."""

import pytest

from app.model.demo import DEMO_NAME, ensure_demo_model, make_demo_model
from app.model.reader import read_model
from app.model.types import Role

gguf = pytest.importorskip("gguf", reason="the other reader is not among the wheels of the tests under Wine")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "folder" / "demo.gguf"
    make_demo_model(path)
    return path


def test_that_the_demo_model_is_a_small_mixture_of_experts(demo):
    model = read_model(demo)
    assert model.name == DEMO_NAME
    assert model.file_bytes < 20_000_000
    assert model.is_moe
    assert model.block_count == 8
    assert model.expert_blocks == tuple(range(8))
    assert (model.expert_count, model.expert_used_count) == (8, 2)
    assert model.context_length >= 4096
    assert "chat_template" in " ".join(model.metadata)


def test_that_most_of_its_bytes_are_experts(demo):
    model = read_model(demo)
    experts = sum(t.n_bytes for t in model.tensors if t.role is Role.ROUTED_EXPERT)
    assert 0.7 < experts / model.tensor_bytes < 0.95


def test_that_nothing_else_is_left_in_the_folder(demo):
    assert list(demo.parent.iterdir()) == [demo]


def test_that_a_good_demo_model_is_left_alone(demo):
    before = demo.stat().st_mtime_ns
    assert ensure_demo_model(demo) == demo
    assert demo.stat().st_mtime_ns == before


@pytest.mark.share(1)
@pytest.mark.parametrize("damaged", [False, True])
def test_that_a_missing_or_damaged_demo_model_is_made_again_with_the_same_bytes(demo, tmp_path, damaged):
    path = tmp_path / "demo.gguf"
    if damaged:
        path.write_bytes(demo.read_bytes()[:-1000])
    assert ensure_demo_model(str(path)) == path
    assert path.read_bytes() == demo.read_bytes()


@pytest.mark.slow
def test_that_the_gguf_package_reads_the_same_tensors(demo):
    theirs = {
        tensor.name: (tuple(int(n) for n in tensor.shape), tensor.tensor_type.name, tensor.n_bytes, tensor.data_offset)
        for tensor in gguf.GGUFReader(demo).tensors
    }
    ours = {t.name: (t.shape, t.type_name, t.n_bytes, t.offset) for t in read_model(demo).tensors}
    assert ours == theirs


def test_that_the_gguf_package_reads_the_same_metadata(demo):
    fields = gguf.GGUFReader(demo).fields
    metadata = read_model(demo).metadata
    kept = {key for key in fields if not key.startswith("GGUF.")}
    assert set(metadata) == kept
    for key, value in metadata.items():
        theirs = fields[key].contents()
        assert value == (tuple(theirs) if isinstance(theirs, list) else theirs), key
