"""Projectors (mmproj) of two public vision models with real shapes, the data as holes: the engine loads them.

``gemma3``: the SigLIP tower that all sizes of Gemma 3 share (896 pixels, patches of 14, 27 blocks of 1152).
``qwen3vl``: that of Qwen3-VL-30B-A3B (patches of 16, merged two by two, 27 blocks of 1152, three deepstack layers).
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from app.model.gguf_writer import GgufWriter, ValueType

_BLOCKS, _WIDTH, _FF, _HEADS = 27, 1152, 4304, 16
NAMES = ("gemma3", "qwen3vl")


def settings_writer(projector: str, name: str, sizes: Mapping[str, int]) -> GgufWriter:
    """A writer with the settings of a vision tower; ``sizes`` are those below ``clip.vision``."""
    writer = GgufWriter()
    writer.add("general.architecture", ValueType.STRING, "clip")
    writer.add("general.type", ValueType.STRING, "mmproj")
    writer.add("general.name", ValueType.STRING, name)
    writer.add("general.file_type", ValueType.U32, 1)
    writer.add("clip.has_vision_encoder", ValueType.BOOL, True)
    writer.add("clip.projector_type", ValueType.STRING, projector)
    writer.add("clip.use_gelu", ValueType.BOOL, True)
    for key, value in sizes.items():
        writer.add(f"clip.vision.{key}", ValueType.U32, value)
    writer.add("clip.vision.attention.layer_norm_epsilon", ValueType.F32, 1e-6)
    for key in ("image_mean", "image_std"):
        writer.add_array(f"clip.vision.{key}", ValueType.F32, [0.5] * 3)
    return writer


def _writer(projector: str, image: int, patch: int, projection: int, blocks: int) -> GgufWriter:
    sizes = {
        "image_size": image, "patch_size": patch, "embedding_length": _WIDTH, "feed_forward_length": _FF,
        "projection_dim": projection, "block_count": blocks, "attention.head_count": _HEADS,
    }  # fmt: skip
    return settings_writer(projector, f"{projector} (sparse projector)", sizes)


def _with_bias(writer: GgufWriter, name: str, rows: int, columns: int) -> None:
    writer.add_tensor(f"{name}.weight", (rows, columns), "F16")
    writer.add_tensor(f"{name}.bias", (columns,), "F32")


def _norm(writer: GgufWriter, name: str, width: int = _WIDTH) -> None:
    for what in ("weight", "bias"):
        writer.add_tensor(f"{name}.{what}", (width,), "F32")


def _add_blocks(writer: GgufWriter, blocks: int, *, fused: bool) -> None:
    for block in (f"v.blk.{i}." for i in range(blocks)):
        _norm(writer, block + "ln1")
        if fused:
            _with_bias(writer, block + "attn_qkv", _WIDTH, 3 * _WIDTH)
        else:
            for which in "qkv":
                _with_bias(writer, block + f"attn_{which}", _WIDTH, _WIDTH)
        _with_bias(writer, block + "attn_out", _WIDTH, _WIDTH)
        _norm(writer, block + "ln2")
        _with_bias(writer, block + "ffn_up", _WIDTH, _FF)
        _with_bias(writer, block + "ffn_down", _FF, _WIDTH)
    _norm(writer, "v.post_ln")


def _gemma3(text_width: int, blocks: int) -> GgufWriter:
    writer = _writer("gemma3", 896, 14, text_width, blocks)
    writer.add_tensor("v.patch_embd.weight", (14, 14, 3, _WIDTH), "F16")
    writer.add_tensor("v.patch_embd.bias", (_WIDTH,), "F32")
    writer.add_tensor("v.position_embd.weight", (_WIDTH, 64 * 64), "F32")
    _add_blocks(writer, blocks, fused=False)
    writer.add_tensor("mm.input_projection.weight", (text_width, _WIDTH), "F16")
    writer.add_tensor("mm.soft_emb_norm.weight", (_WIDTH,), "F32")
    return writer


def _qwen3vl(text_width: int, blocks: int) -> GgufWriter:
    writer = _writer("qwen3vl_merger", 768, 16, text_width, blocks)
    writer.add("clip.vision.spatial_merge_size", ValueType.U32, 2)
    writer.add_array("clip.vision.is_deepstack_layers", ValueType.BOOL, [i in (8, 16, 24) for i in range(blocks)])
    for name in ("v.patch_embd.weight", "v.patch_embd.weight.1"):
        writer.add_tensor(name, (16, 16, 3, _WIDTH), "F16")
    writer.add_tensor("v.patch_embd.bias", (_WIDTH,), "F32")
    writer.add_tensor("v.position_embd.weight", (_WIDTH, 48 * 48), "F32")
    _add_blocks(writer, blocks, fused=True)
    merged = 4 * _WIDTH
    for layer in (8, 16, 24):
        _norm(writer, f"v.deepstack.{layer}.norm", merged)
        _with_bias(writer, f"v.deepstack.{layer}.fc1", merged, merged)
        _with_bias(writer, f"v.deepstack.{layer}.fc2", merged, text_width)
    _with_bias(writer, "mm.0", merged, merged)
    _with_bias(writer, "mm.2", merged, text_width)
    return writer


def make_projector(name: str, path: str | os.PathLike[str], text_width: int, blocks: int = _BLOCKS) -> None:
    """Write one of ``NAMES`` for a language model of that embedding length; ``gemma3`` also with fewer blocks."""
    {"gemma3": _gemma3, "qwen3vl": _qwen3vl}[name](text_width, blocks).write(path)
