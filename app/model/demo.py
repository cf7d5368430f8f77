"""The demo model that Lanewise makes for itself: a tiny Mixture of Experts that llama-server really runs.

A qwen3moe with random weights: what it says is a salad of words, but tensors, routing, memory and speed are real.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from app.common.problem import ProblemError, fail
from app.model._demo_shape import SHAPE
from app.model.gguf_writer import GgufWriter, ValueType, byte_symbols
from app.model.reader import read_model

DEMO_NAME = "Lanewise demo MoE"
_VERSION_KEY = "lanewise.demo_version"
_VERSION = 1
_ARCHITECTURE = "qwen3moe"
_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_SPECIALS = ("<|im_end|>", "<|im_start|>", "<|endoftext|>")
_MERGES = (("t", "h"), ("th", "e"), ("i", "n"), ("e", "r"), ("a", "n"), ("an", "d"), ("o", "n"), ("r", "e"))
_PUNCTUATION = (",", ".", ";", "!", "?")
_WORDS = (
    "a about across after air all and apple are arrow at bark bear bell below bird blue boat book bright brook by "
    "candle castle chair city clay clear cloud coast cold comes copper corn dance dark dawn day deep dew door "
    "down dream drum dust early earth east echo evening falls far feather field finds fire flag flower flows fog "
    "for forest fox from frost full garden gate gentle glass glow gold grass green grey grows hand harbour has "
    "hears heart high hill holds home honey horse house ice in into iron is island ivory joins keeps key kind "
    "lake lamp land lane lark leaf lets light lily lion long low many map maple meadow meets milk mirror moon "
    "morning moss moves music near nest new night north oak ocean of old on open orange orchard out over owl "
    "paper path pearl pine plain pond quiet rain raven red reed rests rings rises river road rock room root rose "
    "runs sail salt sand sea seed sends shade shell shines ship shore silver sings sky sleeps slow small smoke "
    "snow soft song south sparrow spring star stays stone storm stream street summer sun sweet swift table takes "
    "tall that the their then through tide tiger to tower trail tree turns under valley village violin walks wall "
    "warm watches water wave west wheat where whispers white wide willow wind window wing winter with wolf wood "
    "yellow young"
)


def ensure_demo_model(path: str | os.PathLike[str]) -> Path:
    """The demo model at ``path``; made when it is missing, damaged or of an older version.

    Raises ProblemError ``demo_not_made``: there is no place for it.
    """
    target = Path(path)
    try:
        model = read_model(target)
        if model.metadata.get(_VERSION_KEY) == _VERSION:
            return target
    except ProblemError:
        pass  # missing or damaged: it is made again
    try:
        make_demo_model(target)
    except OSError as error:
        raise fail("demo_not_made", (str(error),), path=str(target), why=error.strerror or str(error)) from error
    return target


def make_demo_model(path: str | os.PathLike[str]) -> None:
    """Write the demo model, the same bytes each time; a reader never sees half of it (written aside, then renamed)."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    writer = GgufWriter()
    from app.model._demo_weights import add_tensors  # numpy: 0.1 s that a start with a good demo model need not pay

    tokens, spoken = _vocabulary()
    _add_metadata(writer, tokens)
    add_tensors(writer, len(tokens), spoken)
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        writer.write(unfinished)
        os.replace(unfinished, target)
    finally:
        unfinished.unlink(missing_ok=True)


def _vocabulary() -> tuple[list[str], range]:
    """Byte-level BPE: 256 bytes, a few merges, whole words, three control tokens, unused ones up to a multiple of 32.

    Also tells which tokens the model speaks: the words, and the one that ends an answer.
    """
    symbols = byte_symbols()
    tokens = [*symbols, *(left + right for left, right in _MERGES)]
    known = set(tokens)
    first_spoken = len(tokens)
    words = [symbols[32] + word for word in _WORDS.split()] + list(_PUNCTUATION)
    tokens += [word for word in words if word not in known]
    spoken = range(first_spoken, len(tokens) + 1)
    tokens += _SPECIALS
    tokens += [f"<|unused_{n}|>" for n in range(-len(tokens) % 32)]
    return tokens, spoken


def _add_metadata(writer: GgufWriter, tokens: Sequence[str]) -> None:
    u32, text = ValueType.U32, ValueType.STRING
    writer.add("general.architecture", text, _ARCHITECTURE)
    writer.add("general.type", text, "model")
    writer.add("general.name", text, DEMO_NAME)
    writer.add("general.file_type", u32, 1)  # mostly F16
    writer.add("general.quantization_version", u32, 2)
    writer.add(_VERSION_KEY, u32, _VERSION)
    numbers = {
        "block_count": SHAPE.blocks,
        "context_length": SHAPE.context,
        "embedding_length": SHAPE.embedding,
        "feed_forward_length": 2 * SHAPE.embedding,
        "attention.head_count": SHAPE.heads,
        "attention.head_count_kv": SHAPE.heads_kv,
        "attention.key_length": SHAPE.head_length,
        "attention.value_length": SHAPE.head_length,
        "expert_count": SHAPE.experts,
        "expert_used_count": SHAPE.experts_used,
        "expert_feed_forward_length": SHAPE.expert_ff,
    }
    for key, number in numbers.items():
        writer.add(f"{_ARCHITECTURE}.{key}", u32, number)
    writer.add(f"{_ARCHITECTURE}.rope.freq_base", ValueType.F32, 1_000_000.0)
    writer.add(f"{_ARCHITECTURE}.attention.layer_norm_rms_epsilon", ValueType.F32, 1e-6)
    _add_tokenizer(writer, tokens)


def _add_tokenizer(writer: GgufWriter, tokens: Sequence[str]) -> None:
    first_special = tokens.index(_SPECIALS[0])
    normal, control, unused = 1, 3, 5
    kinds = [
        normal if i < first_special else control if i < first_special + len(_SPECIALS) else unused
        for i in range(len(tokens))
    ]
    writer.add("tokenizer.ggml.model", ValueType.STRING, "gpt2")
    writer.add("tokenizer.ggml.pre", ValueType.STRING, "qwen2")
    writer.add_array("tokenizer.ggml.tokens", ValueType.STRING, tokens)
    writer.add_array("tokenizer.ggml.token_type", ValueType.I32, kinds)
    writer.add_array("tokenizer.ggml.merges", ValueType.STRING, [f"{left} {right}" for left, right in _MERGES])
    writer.add("tokenizer.ggml.bos_token_id", ValueType.U32, first_special + 2)
    writer.add("tokenizer.ggml.eos_token_id", ValueType.U32, first_special)
    writer.add("tokenizer.ggml.padding_token_id", ValueType.U32, first_special + 2)
    writer.add("tokenizer.ggml.add_bos_token", ValueType.BOOL, False)
    writer.add("tokenizer.chat_template", ValueType.STRING, _TEMPLATE)
