"""Our table of tensor types against the ``gguf`` package."""

import pytest

from app.model._types_table import FORK_TYPE_NAMES, TENSOR_TYPES, type_name

gguf = pytest.importorskip("gguf", reason="the other reader is not among the wheels of the tests under Wine")

# The package counts Q8_1 as two 32-bit numbers and 32 bytes; the engine as two 16-bit ones (ggml-common.h:269).
WRONG_IN_THE_PACKAGE = {gguf.GGMLQuantizationType.Q8_1}
NEWER_THAN_THE_PACKAGE = {42: ("Q2_0", 64, 18)}  # ggml.h:432, ggml-common.h:187-192


def test_that_every_type_of_the_package_has_the_same_name_and_size():
    for kind, (elements, n_bytes) in gguf.GGML_QUANT_SIZES.items():
        ours = TENSOR_TYPES[int(kind)]
        assert ours.name == kind.name
        if kind not in WRONG_IN_THE_PACKAGE:
            assert (ours.block_elements, ours.block_bytes) == (elements, n_bytes), kind


def test_that_q8_1_has_the_engines_size():
    assert TENSOR_TYPES[9].block_bytes == 36


def test_that_we_know_only_what_the_package_or_the_engine_knows():
    known = {int(kind) for kind in gguf.GGML_QUANT_SIZES}
    for type_id in set(TENSOR_TYPES) - known:
        ours = TENSOR_TYPES[type_id]
        assert (ours.name, ours.block_elements, ours.block_bytes) == NEWER_THAN_THE_PACKAGE[type_id]


def test_that_fork_types_have_names_and_are_no_mainline_types():
    assert not set(FORK_TYPE_NAMES) & set(TENSOR_TYPES)
    assert type_name(156) == "IQ3_KS"
    assert type_name(250) == "type 250"
