"""Random damage and random good files: only ProblemErrors come out, and good files come back as they were written."""

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.common.problem import ProblemError
from app.model._types_table import TENSOR_TYPES
from app.model.gguf_writer import GgufWriter, ValueType
from app.model.reader import read_model
from app.model.types import ModelInfo
from app.words import Language, say_in
from tests.tools.gguf_bytes import mutations, small_moe

pytestmark = pytest.mark.slow

SEED = small_moe()
HEADER_BYTES = SEED.index(b"blk.1.ffn_down_exps.weight") + 60


@pytest.mark.parametrize("chance", range(4))
def test_that_a_damaged_file_is_read_or_refused_with_a_known_problem(tmp_path, chance):
    path = tmp_path / "fuzz.gguf"
    problems = {}
    refused = 0
    for content in mutations(chance, 500, SEED, HEADER_BYTES):
        path.write_bytes(content)
        try:
            assert isinstance(read_model(path), ModelInfo)
        except ProblemError as error:
            refused += 1
            problems[error.problem.code] = error.problem
    assert refused > 150
    for problem in problems.values():
        for language in Language:
            assert say_in(language, f"problem.{problem.code}", **problem.params)


def test_that_the_undamaged_seed_is_a_model(tmp_path):
    (tmp_path / "seed.gguf").write_bytes(SEED)
    assert read_model(tmp_path / "seed.gguf").vocab_size == 1100


@given(st.binary(max_size=300), st.sampled_from([b"", b"GGUF", b"GGUF\3\0\0\0", SEED[:200]]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_any_bytes_are_read_or_refused(tmp_path, content, start):
    path = tmp_path / "any.gguf"
    path.write_bytes(start + content)
    with contextlib.suppress(ProblemError):
        read_model(path)


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
VALUES = st.one_of(
    st.tuples(st.just(ValueType.STRING), st.text(max_size=40)),
    st.tuples(st.just(ValueType.U64), st.integers(0, (1 << 64) - 1)),
    st.tuples(st.just(ValueType.I32), st.integers(-(1 << 31), (1 << 31) - 1)),
    st.tuples(st.just(ValueType.F64), st.floats(allow_nan=False)),
    st.tuples(st.just(ValueType.BOOL), st.booleans()),
)
SHAPES = st.lists(st.integers(1, 4), min_size=0, max_size=3)


@given(
    st.dictionaries(NAMES, VALUES, max_size=5),
    st.dictionaries(NAMES, st.tuples(SHAPES, st.sampled_from(sorted(TENSOR_TYPES))), min_size=1, max_size=6),
    st.sampled_from([8, 32, 64]),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_that_what_the_writer_writes_the_reader_reads(tmp_path, values, tensors, alignment):
    writer = GgufWriter(alignment=alignment)
    writer.add("general.architecture", ValueType.STRING, "llama")
    writer.add("llama.block_count", ValueType.U32, 1)
    for key, (kind, value) in values.items():
        writer.add(f"test.{key}", kind, value)
    for name, (rest, type_id) in tensors.items():
        known = TENSOR_TYPES[type_id]
        writer.add_tensor(name, (known.block_elements, *rest), known.name)
    path = tmp_path / "written.gguf"
    writer.write(path)
    model = read_model(path)
    for key, (_, value) in values.items():
        assert model.metadata[f"test.{key}"] == value
    assert [(t.name, t.shape[1:], t.type_id) for t in model.tensors] == [
        (name, tuple(rest), type_id) for name, (rest, type_id) in tensors.items()
    ]
    ends = [t.offset + t.n_bytes for t in model.tensors]
    starts = [t.offset for t in model.tensors]
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
    assert model.file_bytes >= ends[-1]
    assert all(start % alignment == 0 for start in starts)
