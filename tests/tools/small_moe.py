"""A small Mixture of Experts as a file of holes: 8 blocks of 16 experts, about 60 MB of which no byte is written."""

from app.model.gguf_writer import GgufWriter, ValueType

BLOCKS = 8
EXPERTS = 16
_EMBEDDING = 512
_VOCABULARY = 256


def write_small_moe(path, *, experts=EXPERTS):
    """Write it; with no experts it is a dense model."""
    writer = GgufWriter()
    architecture = "qwen3moe" if experts else "qwen3"
    writer.add("general.architecture", ValueType.STRING, architecture)
    writer.add("general.name", ValueType.STRING, "Small MoE")
    settings = {
        "block_count": BLOCKS, "context_length": 4096, "embedding_length": _EMBEDDING, "feed_forward_length": 1024,
        "attention.head_count": 8, "attention.head_count_kv": 2, "attention.key_length": 64,
        "attention.value_length": 64, "expert_count": experts, "expert_used_count": min(experts, 4),
        "expert_feed_forward_length": 512,
    }  # fmt: skip
    for key, value in settings.items():
        writer.add(f"{architecture}.{key}", ValueType.U32, value)
    writer.add_array("tokenizer.ggml.tokens", ValueType.STRING, [f"t{n}" for n in range(_VOCABULARY)])
    writer.add_tensor("token_embd.weight", (_EMBEDDING, _VOCABULARY), "F16")
    for block in range(BLOCKS):
        _add_block(writer, f"blk.{block}", experts)
    writer.add_tensor("output_norm.weight", (_EMBEDDING,), "F32")
    writer.add_tensor("output.weight", (_EMBEDDING, _VOCABULARY), "Q6_K")
    writer.write(path)
    return path


def _add_block(writer, block, experts):
    writer.add_tensor(f"{block}.attn_norm.weight", (_EMBEDDING,), "F32")
    for name, rows in (("q", 512), ("k", 128), ("v", 128), ("output", 512)):
        writer.add_tensor(f"{block}.attn_{name}.weight", (_EMBEDDING, rows), "Q8_0")
    writer.add_tensor(f"{block}.ffn_norm.weight", (_EMBEDDING,), "F32")
    if experts:
        writer.add_tensor(f"{block}.ffn_gate_inp.weight", (_EMBEDDING, experts), "F32")
        for part in ("gate", "up", "down"):
            writer.add_tensor(f"{block}.ffn_{part}_exps.weight", (_EMBEDDING, 512, experts), "Q4_K")
    else:
        for part in ("gate", "up", "down"):
            writer.add_tensor(f"{block}.ffn_{part}.weight", (_EMBEDDING, 512), "Q4_K")
