"""Well-known MoE models as values, without a file: what a machine could run before anything is downloaded.

``resources/models/well_known.json`` holds names, shapes and settings of the published files (made by
``tests/tools/well_known.py``). Types follow the main rules of ``llama-quant.cpp``: which tensors get more bits, what
stays F32, and which type stands in where a row is no multiple of 256. Sizes come out within some percent of published
files; whatever is planned with them is an estimate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

from app.common.resources import resource_text
from app.model._header import Header, RawTensor
from app.model._types_table import TENSOR_TYPES
from app.model.reader import model_of_headers
from app.model.types import MetaValue, ModelInfo

_ALIGNMENT = 32
_VERSION = 3
_TYPE_IDS = {known.name: type_id for type_id, known in TENSOR_TYPES.items()}


@dataclass(frozen=True, slots=True)
class Recipe:
    """Types of a quantisation: most weights, those that get more bits, the output."""

    base: str
    more: str
    output: str


RECIPES: Mapping[str, Recipe] = {
    "Q8_0": Recipe("Q8_0", "Q8_0", "Q8_0"),
    "Q6_K": Recipe("Q6_K", "Q6_K", "Q6_K"),
    "Q5_K_M": Recipe("Q5_K", "Q6_K", "Q6_K"),
    "Q4_K_M": Recipe("Q4_K", "Q6_K", "Q6_K"),
    "IQ4_XS": Recipe("IQ4_XS", "Q5_K", "Q6_K"),
    "Q3_K_M": Recipe("Q3_K", "Q4_K", "Q6_K"),
}
"""From most to fewest bits. Q3_K_M and IQ4_XS are simplified: the real ones mix one more type."""

_STANDS_IN = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0", "IQ4_XS": "IQ4_NL", "Q3_K": "IQ4_NL"}
"""llama-quant.cpp: for rows that are no multiple of 256."""
_MORE_BITS = ("attn_v.weight", "attn_v_b.weight", "ffn_down.weight", "ffn_down_exps.weight", "ffn_down_shexp.weight")
_FULL_PRECISION = ("ffn_gate_inp", "_norm", "ssm_conv1d", "ssm_a", "ssm_d", "ssm_dt", "exp_probs_b", "attn_sinks")
_NATIVE_EXPERTS = "_exps.weight"


@dataclass(frozen=True, slots=True)
class WellKnown:
    """One model. ``quants``: those it can be planned in, most bits first; ``repository``: where GGUF files of it are
    known to be (OWNER/NAME on Hugging Face), None when nobody has checked."""

    id: str
    name: str
    repository: str | None
    architecture: str
    quants: tuple[str, ...]
    _vocab: int
    _settings: Mapping[str, MetaValue]
    _tensors: tuple[tuple[str, tuple[int, ...]], ...]
    _native: str | None

    def in_quant(self, quant: str) -> ModelInfo:
        """The model in one of ``quants``; its path names no file. KeyError for another one."""
        recipe = Recipe("Q8_0", "Q8_0", "Q8_0") if quant == self._native else RECIPES[quant]
        blocks = int(str(self._settings[f"{self.architecture}.block_count"]))
        tensors: list[RawTensor] = []
        offset = 0
        for name, shape in self._tensors:
            type_name = self._type_of(name, shape, recipe, blocks, quant)
            known = TENSOR_TYPES[_TYPE_IDS[type_name]]
            tensors.append(RawTensor(name, shape, _TYPE_IDS[type_name], offset, prod(shape)))
            n_bytes = prod(shape) // known.block_elements * known.block_bytes
            offset += -(-n_bytes // _ALIGNMENT) * _ALIGNMENT
        metadata = {**self._settings, "general.architecture": self.architecture, "general.name": self.name}
        lengths = {"tokenizer.ggml.tokens": self._vocab}
        header = Header(_VERSION, _ALIGNMENT, 0, offset, metadata, lengths, tuple(tensors))
        return model_of_headers((f"{self.name.replace(' ', '-')}-{quant}.gguf",), [header])

    def _type_of(self, name: str, shape: tuple[int, ...], recipe: Recipe, blocks: int, quant: str) -> str:
        if len(shape) == 1 or any(word in name for word in _FULL_PRECISION) or not name.endswith(".weight"):
            return "F32"
        if quant == self._native and name.endswith(_NATIVE_EXPERTS):
            return "MXFP4"
        wanted = recipe.base
        if name == "output.weight":
            wanted = recipe.output
        elif name.endswith(_MORE_BITS) and name.startswith("blk.") and uses_more_bits(int(name.split(".")[1]), blocks):
            wanted = recipe.more
        if shape[0] % TENSOR_TYPES[_TYPE_IDS[wanted]].block_elements:
            wanted = _STANDS_IN.get(wanted, wanted)
        return "F16" if shape[0] % TENSOR_TYPES[_TYPE_IDS[wanted]].block_elements else wanted


def uses_more_bits(block: int, blocks: int) -> bool:
    """llama-quant.cpp ``use_more_bits``: the first and the last eighth, and every third layer between."""
    eighth = blocks // 8
    return block < eighth or block >= 7 * blocks // 8 or (block - eighth) % 3 == 2


@cache
def well_known_models() -> tuple[WellKnown, ...]:
    """All of them; the article's 16B model first."""
    listed = json.loads(resource_text("models/well_known.json"))["models"]
    return tuple(
        WellKnown(
            id=row["id"],
            name=row["name"],
            repository=row["repository"],
            architecture=row["architecture"],
            quants=(row["native"],) if row["native"] else tuple(RECIPES),
            _vocab=row["vocab"],
            _settings={key: tuple(v) if isinstance(v, list) else v for key, v in row["settings"].items()},
            _tensors=_spread(row["tensors"]),
            _native=row["native"],
        )
        for row in listed
    )


def _spread(rows: Sequence[tuple[str, list[int], list[list[int]] | None]]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Patterns and runs of blocks as single tensors."""
    found: list[tuple[str, tuple[int, ...]]] = []
    for pattern, shape, runs in rows:
        if runs is None:
            found.append((pattern, tuple(shape)))
            continue
        for first, last in runs:
            found += [(pattern.format(block), tuple(shape)) for block in range(first, last + 1)]
    return tuple(found)
