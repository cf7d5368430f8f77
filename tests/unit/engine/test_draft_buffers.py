"""A log of two models: the figures of the model itself are never mixed with those of its draft."""

from app.engine.log_reader import LogReader
from app.engine.logparse import BufferKind

LOADING = "0.01 I load_tensors: loading model tensors, this can take a while... (load_mode = mmap)"
CONTEXT = "0.02 I llama_context: constructing llama_context"
MAIN = (
    LOADING,
    "0.01 I load_tensors: RPC0[127.0.0.1:50099] model buffer size =    15.33 MiB",
    CONTEXT,
    "0.02 I llama_kv_cache: RPC0[127.0.0.1:50099] KV buffer size =    16.00 MiB",
    "0.03 I sched_reserve: RPC0[127.0.0.1:50099] compute buffer size =     7.01 MiB",
    "0.03 I sched_reserve: graph (pp bs=512, tg bs=1): nodes = 213 / 213, splits = 2 / 2, 5 inputs",
)
DRAFT = (
    LOADING,
    "0.04 I load_tensors: RPC0[127.0.0.1:50099] model buffer size =     0.34 MiB",
    CONTEXT,
    "0.04 I llama_kv_cache: RPC0[127.0.0.1:50099] KV buffer size =     2.00 MiB",
    "0.05 I sched_reserve: RPC0[127.0.0.1:50099] compute buffer size =     5.51 MiB",
)
TRIAL = (
    LOADING,
    "0.00 I load_tensors: RPC0[127.0.0.1:50099] model buffer size =     0.00 MiB",
    CONTEXT,
    "0.00 I sched_reserve: RPC0[127.0.0.1:50099] compute buffer size =    99.00 MiB",
)


def sizes(*lines):
    """kind -> MiB of each buffer."""
    reader = LogReader()
    for line in lines:
        reader.feed(line)
    return [(buffer.kind, round(buffer.n_bytes / 2**20, 2)) for buffer in reader.buffers]


MODEL = [(BufferKind.WEIGHTS, 15.33), (BufferKind.KV, 16.0), (BufferKind.COMPUTE, 7.01)]


def test_that_a_draft_model_keeps_its_buffers_apart():
    drafted = [(BufferKind.DRAFT, 0.34), (BufferKind.DRAFT, 2.0), (BufferKind.DRAFT, 5.51)]
    assert sizes(*MAIN) == MODEL
    assert sizes(*MAIN, *DRAFT) == [*MODEL, *drafted]
    assert sizes(*TRIAL, *TRIAL, *MAIN, *DRAFT) == [*MODEL, *drafted]


def test_that_the_second_context_of_a_model_is_its_mtp_blocks():
    second = (CONTEXT, *DRAFT[3:])
    drafted = [(BufferKind.DRAFT, 2.0), (BufferKind.DRAFT, 5.51)]
    assert sorted(sizes(*MAIN, *second)) == sorted([*MODEL, *drafted])


def test_that_trial_passes_are_still_forgotten():
    assert sizes(*TRIAL, *MAIN) == MODEL
