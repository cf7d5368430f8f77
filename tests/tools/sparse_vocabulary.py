"""The synthetic vocabulary of the sparse models: real size, valid byte-level BPE."""

from __future__ import annotations

from app.model.gguf_writer import GgufWriter, ValueType, byte_symbols


class BareWriter(GgufWriter):
    """A writer for models without a vocabulary: quickly made, enough for whatever only looks at tensors."""


def add_vocabulary(
    writer: GgufWriter, pre: str, n_vocab: int, n_merges: int, bos: int, eos: int, *, add_bos: bool
) -> None:
    """A synthetic but valid byte-level BPE vocabulary of the real size: each merge makes a new token of two others."""
    if isinstance(writer, BareWriter):
        return
    tokens = list(byte_symbols())
    seen = set(tokens)
    letters = [token for token in tokens if len(token.encode()) == 1 and token.isalpha()]
    lefts = list(letters)
    merges: list[str] = []
    step = 0
    while len(tokens) < n_vocab - 64 and len(merges) < n_merges:
        left, right = lefts[step // len(letters)], letters[step % len(letters)]
        step += 1
        if (joined := left + right) not in seen:
            seen.add(joined)
            tokens.append(joined)
            lefts.append(joined)
            merges.append(f"{left} {right}")
    kinds = [1] * len(tokens) + [3] * (n_vocab - len(tokens))
    tokens += [f"<|special_{n}|>" for n in range(len(tokens), n_vocab)]
    writer.add("tokenizer.ggml.model", ValueType.STRING, "gpt2")
    writer.add("tokenizer.ggml.pre", ValueType.STRING, pre)
    writer.add_array("tokenizer.ggml.tokens", ValueType.STRING, tokens)
    writer.add_array("tokenizer.ggml.token_type", ValueType.I32, kinds)
    writer.add_array("tokenizer.ggml.merges", ValueType.STRING, merges)
    writer.add("tokenizer.ggml.bos_token_id", ValueType.U32, bos)
    writer.add("tokenizer.ggml.eos_token_id", ValueType.U32, eos)
    writer.add("tokenizer.ggml.padding_token_id", ValueType.U32, eos)
    writer.add("tokenizer.ggml.add_bos_token", ValueType.BOOL, add_bos)
