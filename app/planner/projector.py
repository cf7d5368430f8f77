"""The compute buffer of a projector: what encoding one picture (or piece of sound) needs beside its weights.

An estimate. The engine reserves the graph of a picture of ``warmup_image_size`` (tools/mtmd/clip.cpp:3701-3720, sizes
per projector in ``load_hparams``, clip.cpp:1420-2040). With flash attention the largest moment of a transformer's
block is its feed-forward part: the inner rows and three rows as wide as the tower; with fused Q, K and V and rotated
copies of them it is the attention: nine rows, and the patches of two convolutions. Without flash attention the scores
of all pairs of patches come on top. Measured on b11434 with the real shapes of two towers (tests/engine): Gemma 3's
(4096 patches) 121.25 MiB, without flash attention 1132.00; Qwen3-VL's (8464 patches) 359.68 and 4769.39.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.model.side_files import SideFile

_SIDE_TOKENS = {
    "qwen2vl_merger": 46, "qwen2.5vl_merger": 46, "qwen3vl_merger": 46, "pixtral": 16, "lightonocr": 16, "kimivl": 16,
    "dots_ocr": 46, "gemma4v": 16, "gemma4uv": 16, "glm4v": 46, "paddleocr": 28, "minimax_m3": 16, "phi4": 16,
}  # fmt: skip
"""Projector type -> tokens along each side of the picture that the engine reserves for (``set_warmup_n_tokens``)."""
_MERGES = {"qwen2vl_merger": 2, "qwen2.5vl_merger": 2, "qwen3vl_merger": 2, "gemma4v": 3, "glm4v": 2, "minimax_m3": 2}
"""Patches that are merged into one token along each side, where the file does not say it."""
_SOUND_POSITIONS = 1500
"""Thirty seconds of Whisper's encoder (``warmup_audio_size`` 3000, halved by its convolution)."""
_PLAIN_ROWS, _PLAIN_ATTENTION_ROWS, _FUSED_ROWS = 3, 6, 9


@dataclass(frozen=True, slots=True)
class ProjectorCompute:
    """``device_bytes`` where the projector lies; ``picture_bytes`` in RAM, the picture before it is copied there."""

    device_bytes: int
    picture_bytes: int


def projector_compute(projector: SideFile, flash_attention: bool) -> ProjectorCompute:
    """The larger of picture and sound; zeros for a file that says neither."""
    parts = [_vision(projector, flash_attention), _sound(projector, flash_attention)]
    return max((p for p in parts if p is not None), key=lambda p: p.device_bytes, default=ProjectorCompute(0, 0))


def picture_patches(projector: SideFile) -> tuple[int, int] | None:
    """Patches along a side of the picture that is reserved for, and a patch's length in pixels."""
    patch, image = projector.number("clip.vision.patch_size"), projector.number("clip.vision.image_size")
    if not patch or not image:
        return None
    kind = projector.text("clip.vision.projector_type") or projector.text("clip.projector_type") or ""
    tokens = _SIDE_TOKENS.get(kind)
    if tokens is None:
        return image // patch, patch
    merged = projector.number("clip.vision.spatial_merge_size") or projector.number(
        "clip.vision.projector.scale_factor"
    )
    return tokens * (merged or _MERGES.get(kind, 1)), patch


def _vision(projector: SideFile, flash_attention: bool) -> ProjectorCompute | None:
    side = picture_patches(projector)
    if side is None:
        return None
    n_patches, pixels = side[0] * side[0], side[0] * side[1]
    picture = pixels * pixels * 3 * 4
    columns = n_patches * side[1] * side[1] * 3 * 2
    return ProjectorCompute(_tower(projector, "vision", n_patches, flash_attention, columns), picture)


def _sound(projector: SideFile, flash_attention: bool) -> ProjectorCompute | None:
    if not projector.number("clip.audio.embedding_length"):
        return None
    bins = projector.number("clip.audio.num_mel_bins") or 128
    size = _tower(projector, "audio", _SOUND_POSITIONS, flash_attention, 0)
    return ProjectorCompute(size, 2 * _SOUND_POSITIONS * bins * 4)


def _tower(projector: SideFile, prefix: str, n_positions: int, flash_attention: bool, columns: int) -> int:
    width = projector.number(f"clip.{prefix}.embedding_length") or 0
    inner = projector.number(f"clip.{prefix}.feed_forward_length") or _inner_width(projector)
    heads = projector.number(f"clip.{prefix}.attention.head_count") or 0
    names = {tensor.name for tensor in projector.tensors}
    letter = prefix[0]
    gates = 2 if f"{letter}.blk.0.ffn_gate.weight" in names else 1
    is_fused = f"{letter}.blk.0.attn_qkv.weight" in names
    row = 4 * n_positions * width
    forward = 4 * n_positions * inner * gates + _PLAIN_ROWS * row
    attention = _FUSED_ROWS * row + 2 * columns if is_fused else _PLAIN_ATTENTION_ROWS * row
    if not flash_attention:
        scores = 4 * heads * n_positions * n_positions
        return max(forward, attention + scores + (row if is_fused else 0))
    return max(forward, attention if is_fused else 0)


def _inner_width(projector: SideFile) -> int:
    """Of old files whose key is 0 or missing: from the up projection."""
    shapes = [t.shape for t in projector.tensors if t.name.endswith(("blk.0.ffn_up.weight", "blk.0.ffn_down.weight"))]
    return max((max(shape[:2]) for shape in shapes), default=0)
