"""A projector (mmproj) small enough to be written whole, with random weights: the engine loads it and really sees.

``gemma3``: a tower of SigLIP's kind, here 112 pixels in patches of 14, two blocks; its 8 x 8 patches are pooled four by
four (clip.cpp:1634-1645) into 2 x 2 tokens for the language model.
"""

import os

import numpy as np

from tests.tools.sparse_projector import settings_writer

IMAGE, PATCH, WIDTH, FF, HEADS, BLOCKS = 112, 14, 64, 128, 2, 2
TOKENS = (IMAGE // PATCH // 4) ** 2


def write_tiny_projector(path: str | os.PathLike[str], text_width: int) -> None:
    """Write it for a language model of that embedding length; the same bytes each time."""
    sizes = {
        "image_size": IMAGE, "patch_size": PATCH, "embedding_length": WIDTH, "feed_forward_length": FF,
        "projection_dim": text_width, "block_count": BLOCKS, "attention.head_count": HEADS,
    }  # fmt: skip
    writer, random = settings_writer("gemma3", "Lanewise tiny projector", sizes), np.random.default_rng(7)

    def weight(name: str, *shape: int) -> None:
        values = random.standard_normal(tuple(reversed(shape)), np.float32) * np.float32(shape[0] ** -0.5)
        writer.add_tensor(name, shape, "F16", values.astype("<f2").tobytes())

    def plain(name: str, *shape: int, value: float = 0.0) -> None:
        writer.add_tensor(name, shape, "F32", np.full(shape, value, "<f4").tobytes())

    def norm(name: str) -> None:
        plain(f"{name}.weight", WIDTH, value=1.0)
        plain(f"{name}.bias", WIDTH)

    weight("v.patch_embd.weight", PATCH, PATCH, 3, WIDTH)
    plain("v.patch_embd.bias", WIDTH)
    plain("v.position_embd.weight", WIDTH, (IMAGE // PATCH) ** 2)
    for block in (f"v.blk.{i}." for i in range(BLOCKS)):
        norm(block + "ln1")
        norm(block + "ln2")
        for name, rows, columns in (
            ("attn_q", WIDTH, WIDTH), ("attn_k", WIDTH, WIDTH), ("attn_v", WIDTH, WIDTH), ("attn_out", WIDTH, WIDTH),
            ("ffn_up", WIDTH, FF), ("ffn_down", FF, WIDTH),
        ):  # fmt: skip
            weight(f"{block}{name}.weight", rows, columns)
            plain(f"{block}{name}.bias", columns)
    norm("v.post_ln")
    weight("mm.input_projection.weight", text_width, WIDTH)
    plain("mm.soft_emb_norm.weight", WIDTH, value=1.0)
    writer.write(path)
