"""What the builders of all blocks share: the model's facts, the run's settings, the graph's inputs and small steps.

Mirrors the helpers of llama-graph.cpp of b11434 (``build_norm`` :1634, ``build_lora_mm`` :1549, ``build_attn_inp_*``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.model.types import ModelInfo, TensorInfo
from app.planner.graph.ggml import (
    F16,
    F32,
    I32,
    I64,
    Graph,
    Shape,
    Tensor,
    get_rows,
    leaf,
    like,
    mul_mat,
    new,
    shape,
    stored,
    view,
    window,
    written,
)
from app.planner.kv import CACHE_TYPES, row_bytes

if TYPE_CHECKING:
    from app.planner.graph.indexer import Indexer
    from app.planner.graph.msa import BlockChoice


@dataclass(frozen=True, slots=True)
class GraphSettings:
    """What the graph's shapes depend on besides the model. ``n_tokens`` is one micro-batch.

    ``n_seqs``: slots; ``n_streams``: separate caches; ``n_outputs``: logit rows. ``casts_mask``: the mask of flash
    attention is an F32 input (before ggml-org/llama.cpp#23764). ``takes_embeddings``: the graph has inputs for rows
    that are no text (since #18550), ``mixes_embeddings``: and for batches of both.
    """

    n_tokens: int
    n_seqs: int
    n_outputs: int
    n_kv: int
    n_kv_sliding: int
    n_streams: int
    flash_attention: bool
    cache_type_k: str
    cache_type_v: str
    casts_mask: bool = False
    takes_embeddings: bool = True
    mixes_embeddings: bool = True


@dataclass(frozen=True, slots=True)
class Homes:
    """Backend numbers: of every layer unit, of every block's cache, of every tensor that is not with its unit."""

    units: tuple[int, ...]
    caches: tuple[int, ...]
    tensors: Mapping[str, int]
    cpu: int


class Caches:
    """Inputs of one attention cache: where rows go, which cells a token sees, the rotation of quantised rows."""

    __slots__ = ("k_idxs", "k_rot", "mask", "n_kv", "v_idxs", "v_rot")

    def __init__(self, s: GraphSettings, n_kv: int, v_width: int, k_rot: int, v_rot: int) -> None:
        per_stream = s.n_tokens // s.n_streams
        self.n_kv = n_kv
        self.k_idxs = leaf(shape(s.n_tokens), I64)
        self.v_idxs = leaf(shape(s.n_tokens * (1 if s.flash_attention else v_width)), I64)
        shape_of_mask = (n_kv, per_stream, 1, s.n_streams)
        self.mask = leaf(shape_of_mask, F16 if s.flash_attention and not s.casts_mask else F32)
        if s.flash_attention and s.casts_mask:
            self.mask = new("cast", shape_of_mask, self.mask, element=F16)
        self.k_rot = leaf(shape(k_rot, k_rot)) if k_rot else None
        self.v_rot = leaf(shape(v_rot, v_rot)) if v_rot else None


class Build:
    """State while one graph is made."""

    def __init__(self, model: ModelInfo, infos: Mapping[str, TensorInfo], s: GraphSettings, homes: Homes) -> None:
        self.model, self.s, self.homes = model, s, homes
        self.graph = Graph()
        self._infos = infos
        self._weights: dict[str, Tensor] = {}
        self.n_embd = model.embedding_length or 0
        self.n_tokens = s.n_tokens
        self.indexer: Indexer | None = None
        self.block_choice: BlockChoice | None = None
        self.scales_residual = self.real("residual_scale") != 0.0
        self.slides = any(layer.sliding for layer in model.layers)
        has_rms = f"{model.architecture}.attention.layer_norm_rms_epsilon" in model.metadata
        has_mean = f"{model.architecture}.attention.layer_norm_epsilon" in model.metadata
        self.norm_op = "norm" if has_mean and not has_rms else "rms_norm"
        self.n_deepstack = self.number("n_deepstack_layers")
        self.wide_rows: Tensor | None = None
        has_sections = f"{model.architecture}.rope.dimension_sections" in model.metadata
        self.positions = leaf(shape(s.n_tokens * (4 if has_sections else 1)), I32)  # M-RoPE has four per token
        self.temperature = leaf(shape(1, 1, s.n_tokens))
        self.out_ids = leaf(shape(s.n_outputs), I32)
        self.state_ids = leaf(shape(s.n_seqs), I32)
        self.own_state_ids = view(self.state_ids, shape(s.n_seqs))
        self.other_state_ids = view(self.state_ids, shape(s.n_seqs - 1))
        heads = [layer for layer in model.layers if layer.head_count_kv]
        v_width = self.v_width = max((max(1, x.head_count_kv * x.value_length) for x in heads), default=1)
        self.cache = Caches(s, s.n_kv, v_width, self._rotation(False), self._v_rotation(False))
        self.sliding_cache = Caches(s, s.n_kv_sliding, v_width, self._rotation(True), self._v_rotation(True))

    def number(self, key: str, default: int = 0) -> int:
        """A whole number of the architecture's own keys."""
        value = self.model.metadata.get(f"{self.model.architecture}.{key}")
        return value if isinstance(value, int) else default

    def has_positions(self, block: int) -> bool:
        """Are q and k of this block rotated by their positions?"""
        arch, sliding = self.model.architecture, self.model.layers[block].sliding
        if arch.startswith("granite"):  # granite-hybrid.cpp: has_rope
            return self.model.metadata.get(f"{arch}.rope.scaling.finetuned") is not False
        if arch in ("exaone4", "exaone-moe", "cohere2", "cohere2moe"):
            forced = arch == "cohere2moe" and block < self.number("leading_dense_block_count")
            return sliding or not self.slides or forced
        if arch in ("llama4", "smollm3", "afmoe"):
            return (block + 1) % 4 != 0
        if arch == "smallthinker":
            return not self.slides or block % 4 != 0
        return arch not in ("kimi-linear", "kimi-k3", "nemotron_h", "nemotron_h_moe")

    def rotated(self, x: Tensor, block: int) -> Tensor:
        """x turned by its positions, where the block has them."""
        return like("rope", x, self.positions) if self.has_positions(block) else x

    def required(self, key: str) -> int:
        """A number without which a block's shapes are not known; LookupError when it is missing."""
        value = self.number(key)
        if value <= 0:
            raise LookupError(key)
        return value

    def matrices(self, block: int) -> list[str]:
        """Names of the block's matrices that take the residual row."""
        start = f"blk.{block}."
        found = [n for n, i in self._infos.items() if n.startswith(start) and len(i.shape) == 2]
        return [name for name in found if self._infos[name].shape[0] == self.n_embd]

    def real(self, key: str) -> float:
        """A number of the architecture's own keys; 0.0 when the file lacks it."""
        value = self.model.metadata.get(f"{self.model.architecture}.{key}")
        return float(value) if isinstance(value, int | float) else 0.0

    def _rotation(self, sliding: bool) -> int:
        """Size of the Hadamard matrix of quantised K rows (llama-kv-cache.cpp:321-347); 0: none."""
        lengths = {x.key_length for x in self.model.layers if x.head_count_kv and x.sliding == sliding}
        key = self.model.layers[0].key_length if self.model.layers else 0
        if not is_quantised(self.s.cache_type_k) or len(lengths) != 1 or key % 64:
            return 0
        length, n_rot = lengths.pop(), 64
        while length % (2 * n_rot) == 0:
            n_rot *= 2
        return n_rot

    def _v_rotation(self, sliding: bool) -> int:
        """The same for V, always 64 (llama-kv-cache.cpp:334-355)."""
        lengths = {x.value_length for x in self.model.layers if x.head_count_kv and x.sliding == sliding}
        return 64 if is_quantised(self.s.cache_type_v) and len(lengths) == 1 and lengths.pop() % 64 == 0 else 0

    def weight(self, name: str) -> Tensor | None:
        """A tensor of the file, None when it has none of that name."""
        made = self._weights.get(name)
        if made is None and (info := self._infos.get(name)) is not None:
            made = stored(
                _shape4(info.shape), info.n_bytes, self.homes.tensors.get(name, self.homes.cpu), is_weight=True
            )
            self._weights[name] = made
        return made

    def need(self, name: str) -> Tensor:
        """A tensor without which the block cannot be; LookupError when the file lacks it."""
        made = self.weight(name)
        if made is None:
            raise LookupError(name)
        return made

    def output_weight(self) -> Tensor | None:
        """The head's matrix; a tied embedding is stored once more with the output (llama-model-loader.cpp:1149)."""
        made = self.weight("output.weight")
        if made is not None:
            return made
        table = self._infos.get("token_embd.weight")
        if table is None:
            return None
        return stored(_shape4(table.shape), table.n_bytes, self.homes.units[-1], is_weight=True)

    @property
    def read(self) -> Mapping[str, object]:
        """Names of the file's tensors that the graph has used so far."""
        return self._weights

    def norm(self, x: Tensor, weight: Tensor | None, bias: Tensor | None = None) -> Tensor:
        """build_norm; only the norm without a mean works in place."""
        x = like(self.norm_op, x)
        if weight is not None:
            x = like("mul", x, weight)
        if bias is not None:
            x = like("add", x, bias)
        return x

    def project(self, x: Tensor, name: str, bias: str = "") -> Tensor:
        """A matrix of the file times x, and its bias when the file has one."""
        x = mul_mat(self.need(name), x)
        added = self.weight(bias) if bias else None
        return x if added is None else like("add", x, added)

    def embeddings(self, has_mixed: bool = True, scale_rows: bool = False) -> Tensor:
        """build_inp_embd (llama-graph.cpp:2413): text rows, embedding rows, and a mix of both."""
        n, embd = self.n_tokens, self.n_embd * (1 + self.n_deepstack)
        given = leaf(shape(embd, n))
        table = self.weight("token_embd.weight")
        if table is None:
            return given
        text = self._padded(get_rows(table, leaf(shape(n), I32)))
        self.graph.expand(text)
        if self.s.takes_embeddings:
            self.graph.expand(given)
        if has_mixed and self.s.mixes_embeddings:
            ids, slots, mixed = leaf(shape(n), I32), leaf(shape(n), I64), leaf(shape(embd, n))
            target = like("dup", mixed)
            self.graph.expand(written(target, self._padded(get_rows(table, ids)), slots, target))
        if self.n_deepstack:
            self.wide_rows = text
            text = window(text, shape(self.n_embd, n), embd)
        if scale_rows:
            text = like("mul", text, leaf(shape(1, n)))
        if self.real("embedding_scale"):
            text = like("scale", text)
        self.graph.expand(text)
        return text

    def _padded(self, rows: Tensor) -> Tensor:
        """Rows with room for what a vision encoder hands to the first blocks (qwen3vlmoe.cpp, deepstack)."""
        return (
            new("pad", shape(self.n_embd * (1 + self.n_deepstack), self.n_tokens), rows) if self.n_deepstack else rows
        )

    def with_deepstack(self, x: Tensor, block: int) -> Tensor:
        """A block's output plus its part of the wide rows."""
        if self.wide_rows is None or block >= self.n_deepstack:
            return x
        return like("add", x, window(self.wide_rows, shape(self.n_embd, self.n_tokens), self.wide_rows.ne[0]))

    def last_rows(self, x: Tensor) -> Tensor:
        """Only the rows whose logits are wanted."""
        return get_rows(x, self.out_ids)


def is_quantised(cache_type: str) -> bool:
    """Does a cache of this type hold blocks instead of numbers?"""
    return CACHE_TYPES[cache_type][0] > 1


def cache_rows(width: int, n_kv: int, cache_type: str, s: GraphSettings, home: int) -> Tensor:
    """One block's K or V cache as it lies on its device."""
    n_bytes = row_bytes(cache_type, width) * n_kv * s.n_streams
    tensor = stored((width, n_kv, s.n_streams, 1), n_bytes, home, is_weight=False)
    tensor.element = F16
    return tensor


def cache_view(cache: Tensor, ne: Shape) -> Tensor:
    """The cells of a cache seen as heads."""
    return view(cache, ne, is_plain=False, n_bytes=cache.n_bytes)


def _shape4(dims: tuple[int, ...]) -> Shape:
    padded = (*dims, 1, 1, 1, 1)
    return (padded[0], padded[1], padded[2], padded[3])
