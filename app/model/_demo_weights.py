"""The demo model's random weights. Apart from the rest because it needs numpy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.model._demo_shape import SHAPE
from app.model.gguf_writer import GgufWriter

_SEED = 20260


def add_tensors(writer: GgufWriter, n_vocab: int, spoken: range) -> None:
    """All tensors of the demo model; ``spoken`` are the tokens that it says."""
    shape = SHAPE
    width = shape.embedding
    weights = _Weights(writer)
    weights.random("token_embd.weight", (width, n_vocab), 1.0)
    weights.ones("output_norm.weight", width)
    weights.head("output.weight", (width, n_vocab), spoken)
    q_width, kv_width = shape.heads * shape.head_length, shape.heads_kv * shape.head_length
    for block in range(shape.blocks):
        name = f"blk.{block}."
        weights.ones(name + "attn_norm.weight", width)
        weights.random(name + "attn_q.weight", (width, q_width))
        weights.random(name + "attn_k.weight", (width, kv_width))
        weights.random(name + "attn_v.weight", (width, kv_width))
        weights.random(name + "attn_output.weight", (q_width, width))
        weights.ones(name + "attn_q_norm.weight", shape.head_length)
        weights.ones(name + "attn_k_norm.weight", shape.head_length)
        weights.ones(name + "ffn_norm.weight", width)
        weights.random(name + "ffn_gate_inp.weight", (width, shape.experts), 2 * width**-0.5, "F32")
        weights.random(name + "ffn_gate_exps.weight", (width, shape.expert_ff, shape.experts))
        weights.random(name + "ffn_up_exps.weight", (width, shape.expert_ff, shape.experts))
        weights.random(name + "ffn_down_exps.weight", (shape.expert_ff, width, shape.experts))


class _Weights:
    """Draws random tensors in a fixed order, so that every machine writes the same file."""

    def __init__(self, writer: GgufWriter) -> None:
        self._writer = writer
        self._random = np.random.default_rng(_SEED)

    def random(self, name: str, shape: Sequence[int], scale: float | None = None, type_name: str = "F16") -> None:
        """Gaussian weights; by default scaled so that a row's product keeps the size of its input."""
        self._add(name, shape, self._draw(shape, shape[0] ** -0.5 if scale is None else scale), type_name)

    def head(self, name: str, shape: Sequence[int], spoken: range) -> None:
        """The output layer: almost no weight for tokens that are no words, so that the model speaks in words."""
        values = self._draw(shape, 4 * shape[0] ** -0.5)
        values[: spoken.start] *= 0.01
        values[spoken.stop :] *= 0.01
        self._add(name, shape, values, "F16")

    def ones(self, name: str, length: int) -> None:
        """A norm's weights."""
        self._add(name, (length,), np.ones(length, np.float32), "F32")

    def _draw(self, shape: Sequence[int], scale: float) -> np.ndarray:
        return self._random.standard_normal(tuple(reversed(shape)), np.float32) * np.float32(scale)

    def _add(self, name: str, shape: Sequence[int], values: np.ndarray, type_name: str) -> None:
        kind = np.float16 if type_name == "F16" else np.float32
        self._writer.add_tensor(name, shape, type_name, values.astype(np.dtype(kind).newbyteorder("<")).tobytes())
