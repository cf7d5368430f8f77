"""A public case's facts as the model information that the header reader would give: blocks, tensors and their bytes.

The facts name an architecture and its sizes, not the tensors. They are made here: real names and shapes of the
architecture, the routed experts with the stated bytes of each layer, everything else sharing the stated rest (F32 where
the quantiser never touches a tensor, the output matrix as the quantiser treats it: llama-quant.cpp
``llama_tensor_get_type``, Q6_K below 8 bits).
"""

from dataclasses import replace
from functools import lru_cache

from app.model.roles import classify, role_in_layer
from app.model.types import LayerFacts, ModelInfo, TensorInfo
from benchmarks.case_tensors import (
    DEFAULT_KDA_HEAD,
    DEFAULT_L_CACHE,
    Shape,
    is_kda,
    is_recurrent_hybrid,
    is_short_convolution,
    mla_lengths,
    tensors_of,
)
from benchmarks.cases import Case

_Q6_K_BYTES = 210 / 256
_BITS = (("F32", 32), ("BF16", 16), ("F16", 16), ("Q8", 8.5), ("Q6", 6.56), ("Q5", 5.5), ("Q4", 4.5), ("FP4", 4.25),
         ("Q3", 3.4), ("Q2", 2.6), ("Q1", 1.75))  # fmt: skip
"""Bits per weight that the name of a quantisation stands for, where nothing better is told."""
_UNKNOWN_BITS = 4.5
_EXPERT_BITS = (
    1.5625, 1.75, 2.0625, 2.1875, 2.3125, 2.375, 2.5625, 2.625, 3.0625, 3.4375, 4.25, 4.5, 5.0, 5.25, 5.5, 6.0, 6.5625,
    6.625, 8.5, 16.0,
)  # fmt: skip
"""Bits per weight of the types that experts come in (ggml.c, and ik_llama.cpp's own)."""
_SAME = 2e-3
"""Relative difference below which a layer's size is that of its tensors' types: ik's have a scale for each row."""
_PLAIN = "plain"
"""An architecture that the planner has no rules for: ordinary attention and experts."""


def is_mla(case: Case) -> bool:
    """Does the cache hold c^KV rows? ik tells it; mainline does where the header has one KV head of that width."""
    if case.run.get("mla_effective") is not None:
        return bool(case.run["mla_effective"])
    latent = case.fact("kv_lora_rank")
    return bool(latent) and not case.is_ik and case.fact("head_k") == latent + case.fact("rope_dim", 64)


# --- layers -----------------------------------------------------------------------------------------------------------


def layer_facts(case: Case) -> tuple[LayerFacts, ...]:
    """What each block keeps: the full layers, then the sliding or recurrent ones, by the case's own keys."""
    layers = tuple(_layer(case, i) for i in range(case.n_layers))
    with_kv = [i for i, layer in enumerate(layers) if not layer.recurrent]
    told = case.facts.get("n_kv_layers")
    n_own = sum(1 for i in with_kv if i < case.n_layers - case.n_mtp)
    # what is left over is MTP blocks, or last blocks that share an earlier block's cache
    keep = frozenset(with_kv[: n_own if told is None else int(told)])
    return tuple(x if x.recurrent or i in keep else replace(x, head_count_kv=0) for i, x in enumerate(layers))


def _layer(case: Case, block: int) -> LayerFacts:
    facts = case.facts
    full = _is_full(case, block)
    slides = not full and bool(facts.get("swa_window"))
    heads = _of_block(facts.get("n_head"), block)
    if not full and not slides:
        return LayerFacts(heads, 0, case.fact("head_k"), case.fact("head_v"), recurrent=True)
    if is_mla(case):
        return LayerFacts(heads, 1, case.fact("kv_lora_rank") + case.fact("rope_dim", 64), 0)
    kv_heads, key, value = (facts.get(k) for k in ("n_head_kv", "head_k", "head_v"))
    if slides:
        kv_heads, key, value = (
            other if (other := facts.get(k + "_swa")) is not None else mine
            for k, mine in (("n_head_kv", kv_heads), ("head_k", key), ("head_v", value))
        )
    return LayerFacts(heads, _of_block(kv_heads, block), int(key or 0), int(value or 0), sliding=slides)


def _of_block(value: object, block: int) -> int:
    if isinstance(value, list):
        return int(value[min(block, len(value) - 1)]) if value else 0
    return int(value) if isinstance(value, int | float) else 0


def _is_full(case: Case, block: int) -> bool:
    """Full attention: listed, every nth layer, as many as keep a cache in a hybrid, or all of them."""
    facts, n = case.facts, case.n_layers - case.n_mtp
    if block >= n:
        return True  # an MTP block has ordinary attention
    if facts.get("full_attention_layers"):
        return block in facts["full_attention_layers"]
    period = facts.get("full_attention_interval") or (facts.get("swa_pattern") if facts.get("swa_window") else None)
    if period:
        return (block + 1) % int(period) == 0
    n_kv = case.fact("n_kv_layers", n)
    if is_recurrent_hybrid(case) and n_kv < n:
        return (block + 1) * n_kv // n > block * n_kv // n
    return True


# --- the model --------------------------------------------------------------------------------------------------------


def model_of(case: Case, *, is_plain: bool = False) -> ModelInfo:
    """The model as far as the facts say. ``is_plain``: without what is particular to its architecture."""
    layers = layer_facts(case)
    named = tensors_of(case, layers, is_plain=is_plain or not case.has_shapes)
    tensors = _with_bytes(case, named, layers)
    return ModelInfo(
        path=case.id,
        parts=(case.id,),
        version=3,
        architecture=_PLAIN if is_plain or not case.has_shapes else case.arch,
        name=case.id,
        file_bytes=sum(t.n_bytes for t in tensors),
        block_count=case.n_layers,
        context_length=case.facts.get("n_ctx_train"),
        vocab_size=case.facts.get("n_vocab"),
        embedding_length=case.facts.get("n_embd"),
        expert_count=case.fact("n_expert"),
        expert_used_count=case.fact("n_expert_used"),
        expert_shared_count=case.fact("n_expert_shared"),
        expert_ff_length=case.facts.get("n_ff_exp"),
        nextn_count=case.n_mtp,
        sliding_window=case.facts.get("swa_window"),
        is_mla=is_mla(case),
        layers=layers,
        tensors=tensors,
        metadata=_metadata(case, _PLAIN if is_plain or not case.has_shapes else case.arch),
    )


def _metadata(case: Case, arch: str) -> dict[str, int]:
    """The header keys that the memory model reads."""
    ssm = case.facts.get("ssm") or {}
    names = {
        "d_conv": "ssm.conv_kernel",
        "d_inner": "ssm.inner_size",
        "d_state": "ssm.state_size",
        "dt_rank": "ssm.time_step_rank",
        "n_group": "ssm.group_count",
        "l_cache": "shortconv.l_cache",
        "kda_head_dim": "kda.head_dim",
    }
    keys: dict[str, object] = {}
    if is_short_convolution(case.arch):
        keys["shortconv.l_cache"] = DEFAULT_L_CACHE
    if is_kda(case.arch):
        keys["kda.head_dim"] = DEFAULT_KDA_HEAD
    keys |= {names[k]: v for k, v in ssm.items() if k in names}
    keys |= {
        "attention.kv_lora_rank": case.facts.get("kv_lora_rank"),
        "rope.dimension_count": case.facts.get("rope_dim"),
        "full_attention_interval": case.facts.get("full_attention_interval"),
    }
    if is_mla(case):
        keys["attention.key_length_mla"], keys["attention.value_length_mla"] = mla_lengths(case)
    return {f"{arch}.{key}": int(v) for key, v in keys.items() if isinstance(v, int | float)}


def _with_bytes(case: Case, named: list[tuple[str, Shape]], layers: tuple[LayerFacts, ...]) -> tuple[TensorInfo, ...]:
    """Gives every tensor its bytes so that the stated sums hold: routed per layer, embedding, and all the rest."""
    sizes = _sizes(case, named)
    n_unused = 0 if case.run.get("mtp") else case.n_mtp
    tensors = []
    for name, shape in named:
        role, block = classify(name, case.n_layers, n_unused)
        if block is not None:
            role = role_in_layer(role, layers[block])
        tensors.append(TensorInfo(name, shape, 0, "", sizes[name], 0, role, block))
    return tuple(tensors)


def _elements(shape: Shape) -> int:
    n = 1
    for size in shape:
        n *= size
    return n


def _keeps_f32(name: str, shape: Shape) -> bool:
    """What the quantiser never touches (llama-quant.cpp): vectors, biases, routers, small recurrent parameters."""
    return len(shape) == 1 or "_inp." in name or name.endswith(".bias") or "conv1d" in name


def _is_routed(name: str) -> bool:
    return "_exps.weight" in name


@lru_cache(maxsize=4096)
def _down_share(routed: int, elements: int, n_parts: int) -> float:
    """The down projections' share of a layer's experts: gate and up have one type, down the same or a larger one.

    The pair of types is the one that comes closest to the told size; equal shares when none does (a mean over layers).
    """
    pairs = ((d, o) for d in _EXPERT_BITS for o in _EXPERT_BITS if o <= d)
    found = [(abs(routed * 8 / (elements * (o * (n_parts - 1) + d)) - 1), d, o) for d, o in pairs] if elements else []
    error, down, other = min(found, default=(1.0, 1.0, 1.0))
    return down / (other * (n_parts - 1) + down) if error < _SAME else 1 / n_parts


def _named_bytes(case: Case) -> float:
    """Bytes per element by the name of the quantisation (``UD-IQ3_XXS``)."""
    label = str(case.raw.get("quant") or "").upper()
    return next((bits for name, bits in _BITS if name in label), _UNKNOWN_BITS) / 8


def _sizes(case: Case, named: list[tuple[str, Shape]]) -> dict[str, int]:
    """Bytes of each tensor. What nothing is told about: the embedding's bytes per element, else the quantisation's."""
    sizes: dict[str, float] = {}
    lead, routed, embedding = case.fact("n_dense_lead"), case.routed_bytes, case.embedding_bytes
    vocab_elements = case.fact("n_embd") * case.fact("n_vocab")
    per_element = embedding / vocab_elements if embedding and vocab_elements else _named_bytes(case)
    n_elements = sum(_elements(shape) for _, shape in named)
    routed_per_element = case.file_bytes / n_elements if case.file_bytes and n_elements else _named_bytes(case)
    n_parts = 3 if any("gate_exps" in name for name, _ in named) else 2
    for name, shape in named:
        if _is_routed(name):
            at = int(name.split(".")[1]) - lead
            told = routed[at] if routed and at < len(routed) else None
            if told is None:
                sizes[name] = _elements(shape) * routed_per_element
            else:
                share = _down_share(told, _elements(shape), n_parts)
                sizes[name] = told * (share if "down" in name else (1 - share) / (n_parts - 1))
        elif name == "token_embd.weight":
            sizes[name] = embedding or _elements(shape) * per_element
        elif name == "output.weight":
            sizes[name] = _elements(shape) * (max(per_element, _Q6_K_BYTES) if per_element < 1 else per_element)
        else:
            sizes[name] = _elements(shape) * (4 if _keeps_f32(name, shape) else per_element)
    return {name: round(size) for name, size in _scaled_to_rest(case, named, sizes).items()}


def _scaled_to_rest(case: Case, named: list[tuple[str, Shape]], sizes: dict[str, float]) -> dict[str, float]:
    """Scales the quantised matrices besides experts, embedding and output so that all of them make up the rest."""
    rest = case.rest_bytes
    if rest is None:
        return sizes
    fixed, free = 0.0, []
    for name, shape in named:
        if _is_routed(name):
            continue
        is_told = name in ("token_embd.weight", "output.weight") and case.embedding_bytes is not None
        if is_told or _keeps_f32(name, shape):
            fixed += sizes[name]
        else:
            free.append(name)
    n_free = sum(sizes[name] for name in free)
    if rest > fixed and n_free:
        return sizes | {name: sizes[name] * (rest - fixed) / n_free for name in free}
    everything = fixed + n_free
    factor = rest / everything if everything else 1.0
    return sizes | {name: sizes[name] * factor for name, _ in named if not _is_routed(name)}
