"""GGUF headers made byte by byte, so that tests can lie in any field, and a seeded mutator for fuzzing."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence

from app.model.gguf_writer import GgufWriter, ValueType

U32, F32_VALUE, BOOL, STRING, ARRAY, U64 = 4, 6, 7, 8, 9, 10
F32, F16, Q8_0, Q4_K = 0, 1, 8, 12


def text(value: str | bytes) -> bytes:
    """A length-prefixed string."""
    raw = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key: str | bytes, value_type: int, body: bytes) -> bytes:
    """One metadata entry with any body."""
    return text(key) + struct.pack("<I", value_type) + body


def string_pair(key: str, value: str | bytes) -> bytes:
    return pair(key, STRING, text(value))


def u32_pair(key: str, value: int) -> bytes:
    return pair(key, U32, struct.pack("<I", value))


def array_pair(key: str, element_type: int, count: int, body: bytes) -> bytes:
    return pair(key, ARRAY, struct.pack("<IQ", element_type, count) + body)


def tensor(name: str | bytes, shape: Sequence[int], type_id: int, offset: int) -> bytes:
    """One entry of the tensor table."""
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, type_id, offset)


def model_pairs(architecture: str = "llama", block_count: int = 1) -> list[bytes]:
    """The least metadata that makes a file a language model."""
    return [
        string_pair("general.architecture", architecture),
        u32_pair(f"{architecture}.block_count", block_count),
        u32_pair(f"{architecture}.embedding_length", 32),
        u32_pair(f"{architecture}.attention.head_count", 4),
    ]


def gguf(
    pairs: Sequence[bytes] = (),
    tensors: Sequence[bytes] = (),
    *,
    data: bytes = b"",
    magic: bytes = b"GGUF",
    version: int = 3,
    n_pairs: int | None = None,
    n_tensors: int | None = None,
    alignment: int = 32,
) -> bytes:
    """A whole file; the counts can be wrong on purpose."""
    counts = (len(tensors) if n_tensors is None else n_tensors, len(pairs) if n_pairs is None else n_pairs)
    header = magic + struct.pack("<IQQ", version, *counts) + b"".join(pairs) + b"".join(tensors)
    if tensors:
        header += b"\0" * (-len(header) % alignment)
    return header + data


def small_moe() -> bytes:
    """A small mixture of experts with every kind of metadata value: the fuzzer's seed."""
    writer = GgufWriter()
    for key, value in {"architecture": "qwen3moe", "name": "fuzz", "type": "model"}.items():
        writer.add(f"general.{key}", ValueType.STRING, value)
    numbers = {"block_count": 2, "embedding_length": 32, "attention.head_count": 4, "attention.head_count_kv": 2}
    numbers |= {"expert_count": 4, "expert_used_count": 2, "expert_feed_forward_length": 32, "context_length": 64}
    for key, number in numbers.items():
        writer.add(f"qwen3moe.{key}", ValueType.U32, number)
    writer.add("qwen3moe.rope.freq_base", ValueType.F32, 1e6)
    writer.add("general.flag", ValueType.BOOL, True)
    writer.add("general.big", ValueType.U64, 1 << 50)
    writer.add_array("qwen3moe.attention.sliding_window_pattern", ValueType.BOOL, [True, False])
    writer.add_array("tokenizer.ggml.tokens", ValueType.STRING, [f"token{n}" for n in range(1100)])
    writer.add_array("tokenizer.ggml.scores", ValueType.F32, [0.5] * 1100)
    writer.add_array("general.languages", ValueType.STRING, ["en", "zh"])
    writer.add_tensor("token_embd.weight", (32, 8), "Q8_0", bytes(8 * 34))
    for block in range(2):
        writer.add_tensor(f"blk.{block}.attn_q.weight", (32, 32), "F16", bytes(2048))
        writer.add_tensor(f"blk.{block}.ffn_down_exps.weight", (32, 32, 4), "Q8_0", bytes(4 * 32 * 34))
    header = writer.header()
    return header + bytes(272 + 16 + 2 * (2048 + 4352))


_HOSTILE = (0, 1, 2, 3, 7, 8, 9, 31, 255, 256, 1 << 15, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, (1 << 63) - 1, 1 << 63)


def mutations(seed: int, count: int, original: bytes, header_length: int) -> Iterator[bytes]:
    """``count`` damaged copies: flipped bytes, hostile numbers, cuts, repeats; most hits land in the header."""
    chance = random.Random(seed)
    for _ in range(count):
        mutated = bytearray(original)
        for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
            _mutate(mutated, chance, min(header_length, len(mutated)))
        yield bytes(mutated)


def _mutate(mutated: bytearray, chance: random.Random, header_length: int) -> None:
    if header_length < 16:
        return
    at = chance.randrange(header_length)
    kind = chance.randrange(6)
    if kind == 0:
        mutated[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        mutated[at] = chance.randrange(256)
    elif kind == 2:
        layout = chance.choice(("<I", "<Q"))
        size = struct.calcsize(layout)
        value = chance.choice(_HOSTILE) & ((1 << 8 * size) - 1)
        mutated[at : at + size] = struct.pack(layout, value)
    elif kind == 3:
        del mutated[at:]
    elif kind == 4:
        end = min(len(mutated), at + chance.randrange(1, 64))
        del mutated[at:end]
    else:
        end = min(len(mutated), at + chance.randrange(1, 64))
        mutated[at:at] = mutated[at:end]
