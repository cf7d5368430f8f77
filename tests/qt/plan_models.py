"""Models for the tests of the plan page, as values: Qwen3-30B-A3B Q4_K_M with its real names, shapes and types, a small
MoE and a dense one. No file is read or written."""

import json
from pathlib import Path

from app.hardware.types import CoreKind, CpuCore, CpuInfo, GpuInfo, HardwareSnapshot, MemoryInfo
from app.model.roles import classify
from app.model.types import LayerFacts, ModelInfo, TensorInfo

GIB = 1024**3
_BLOCK = {"F32": (1, 4), "F16": (1, 2), "Q4_K": (256, 144), "Q6_K": (256, 210)}
_TYPES = json.loads(
    (Path(__file__).parents[1] / "data" / "model" / "qwen3-30b-a3b-q4km.types.json").read_text(encoding="utf-8")
)


def _tensor(name, shape, type_name, offset, n_blocks):
    per, size = _BLOCK[type_name]
    count = 1
    for n in shape:
        count *= n
    role, block = classify(name, n_blocks, 0)
    return TensorInfo(name, shape, 0, type_name, count // per * size, offset, role, block)


def make_model(
    name, architecture, tensors, n_blocks, *, ctx, experts=0, used=0, heads=32, kv_heads=4, head=128, ff=None
):
    made, offset = [], 0
    for tensor_name, shape, type_name in tensors:
        made.append(_tensor(tensor_name, shape, type_name, offset, n_blocks))
        offset += made[-1].n_bytes
    return ModelInfo(
        path=f"D:/models/{name}-Q4_K_M.gguf",
        parts=(f"D:/models/{name}-Q4_K_M.gguf",),
        version=3,
        architecture=architecture,
        name=name,
        file_bytes=offset + 6 * 1024**2,
        block_count=n_blocks,
        context_length=ctx,
        vocab_size=151936,
        embedding_length=2048,
        expert_count=experts,
        expert_used_count=used,
        expert_shared_count=0,
        expert_ff_length=ff,
        nextn_count=0,
        sliding_window=None,
        is_mla=False,
        layers=tuple(LayerFacts(heads, kv_heads, head, head) for _ in range(n_blocks)),
        tensors=tuple(made),
        metadata={"general.file_type": 15},
    )


def _attention(block, width, kv_width):
    b = f"blk.{block}."
    return [
        (b + "attn_norm.weight", (width,), "F32"),
        (b + "attn_q.weight", (width, 2 * width), "Q4_K"),
        (b + "attn_k.weight", (width, kv_width), "Q4_K"),
        (b + "attn_v.weight", (width, kv_width), "Q6_K"),
        (b + "attn_output.weight", (2 * width, width), "Q4_K"),
        (b + "ffn_norm.weight", (width,), "F32"),
    ]


def qwen3_30b():
    """Qwen3-30B-A3B Instruct in Q4_K_M: 48 blocks of 128 experts, 17.3 GiB."""
    width, experts, ff = 2048, 128, 768
    tensors = [
        ("output.weight", (width, 151936), "Q6_K"),
        ("output_norm.weight", (width,), "F32"),
        ("token_embd.weight", (width, 151936), "Q4_K"),
    ]
    for block in range(48):
        b = f"blk.{block}."
        tensors += [(n, s, _TYPES.get(n, t)) for n, s, t in _attention(block, width, 512)]
        tensors.append((b + "ffn_gate_inp.weight", (width, experts), "F32"))
        for part, shape in (
            ("gate", (width, ff, experts)),
            ("up", (width, ff, experts)),
            ("down", (ff, width, experts)),
        ):
            name = f"{b}ffn_{part}_exps.weight"
            tensors.append((name, shape, _TYPES[name]))
    return make_model("Qwen3-30B-A3B-Instruct", "qwen3moe", tensors, 48, ctx=262144, experts=experts, used=8, ff=ff)


def small_moe(n_blocks=4):
    """A tiny MoE with the same kinds of cards."""
    tensors = [("output.weight", (256, 512), "Q6_K"), ("token_embd.weight", (256, 512), "Q4_K")]
    for block in range(n_blocks):
        b = f"blk.{block}."
        tensors += _attention(block, 256, 256)
        tensors.append((b + "ffn_gate_inp.weight", (256, 8), "F32"))
        tensors += [(f"{b}ffn_{part}_exps.weight", (256, 256, 8), "Q4_K") for part in ("gate", "up", "down")]
    return make_model(
        "Small-MoE", "qwen3moe", tensors, n_blocks, ctx=4096, experts=8, used=2, heads=2, kv_heads=2, ff=256
    )


def dense_model(n_blocks=32):
    """A dense model of 8B size."""
    tensors = [("output.weight", (4096, 32000), "Q6_K"), ("token_embd.weight", (4096, 32000), "Q4_K")]
    for block in range(n_blocks):
        b = f"blk.{block}."
        tensors += _attention(block, 4096, 1024)
        tensors += [(f"{b}ffn_{part}.weight", (4096, 14336), "Q4_K") for part in ("gate", "up")]
        tensors.append((f"{b}ffn_down.weight", (14336, 4096), "Q6_K"))
    return make_model("Dense-8B-Instruct", "llama", tensors, n_blocks, ctx=131072, heads=32, kv_heads=8)


def laptop(*, gpus=True, second_gpu=True, ram_gbs=71.0, gpu_gbs=432.0):
    """A laptop as our users have it: RTX 4080 Laptop, an integrated GPU, 6 P-cores and 8 E-cores, 32 GiB DDR5."""
    p_cores = tuple(CpuCore((2 * i, 2 * i + 1), CoreKind.P) for i in range(6))
    e_cores = tuple(CpuCore((12 + i,), CoreKind.E) for i in range(8))
    cards = (
        GpuInfo(
            "RTX 4080 Laptop",
            "gpu",
            "CUDA0",
            12 * GIB - 300 * 1024**2,
            12 * GIB - 610 * 1024**2,
            pcie_gen_max=4,
            pcie_width_max=8,
            drives_display=True,
            memory_gbs=gpu_gbs,
        ),
        GpuInfo("Intel Iris Xe", "igpu", "Vulkan0", 16 * GIB, 15 * GIB),
    )
    return HardwareSnapshot(
        taken_at="2026-01-01T12:00:00+00:00",
        os="Windows 11",
        cpu=CpuInfo("Intel Core i7-13700H", (*p_cores, *e_cores), tuple(range(12)), 6, "p_cores", is_hybrid=True),
        memory=MemoryInfo(int(31.7 * GIB), int(24.5 * GIB), "DDR5", 2, 2, 5600, 89.6, measured_gbs=ram_gbs),
        gpus=(cards if second_gpu else cards[:1]) if gpus else (),
        engine_asked=True,
    )
