"""Parts of sparse models: settings, outer tensors, and the tensors of each kind of block part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.model.gguf_writer import GgufWriter, ValueType
from tests.tools.sparse_vocabulary import add_vocabulary

Setting = int | float | str | bool | Sequence[int] | Sequence[bool]


def matrix(writer: GgufWriter, name: str, *shape: int) -> None:
    """Q4_K, Q6_K for the head and down projections; Q8_0 or F16 where rows do not divide."""
    kind = "Q6_K" if name == "output.weight" or "ffn_down" in name else "Q4_K"
    if shape[0] % 256:
        kind = "Q8_0" if shape[0] % 32 == 0 else "F16"
    writer.add_tensor(name, shape, kind)


def vector(writer: GgufWriter, name: str, *shape: int) -> None:
    """Norms, biases, routers: F32."""
    writer.add_tensor(name, shape, "F32")


def add_settings(writer: GgufWriter, architecture: str, name: str, settings: Mapping[str, Setting]) -> None:
    """The model's own keys; lists become arrays."""
    writer.add("general.architecture", ValueType.STRING, architecture)
    writer.add("general.name", ValueType.STRING, name)
    kinds = {bool: ValueType.BOOL, int: ValueType.U32, float: ValueType.F32, str: ValueType.STRING}
    for key, value in settings.items():
        if isinstance(value, int | float | str):
            writer.add(f"{architecture}.{key}", kinds[type(value)], value)
        else:
            kind = ValueType.BOOL if isinstance(value[0], bool) else ValueType.I32
            writer.add_array(f"{architecture}.{key}", kind, list(value))


def outer(writer: GgufWriter, width: int, vocab: int, *, tied: bool = False, norm: str = "output_norm") -> None:
    add_vocabulary(writer, "qwen2", vocab, vocab - 600, vocab - 40, vocab - 39, add_bos=False)
    matrix(writer, "token_embd.weight", width, vocab)
    vector(writer, f"{norm}.weight", width)
    if not tied:
        matrix(writer, "output.weight", width, vocab)


def qkv(writer: GgufWriter, blk: str, width: int, q: int, k: int, v: int, *, bias: bool = False) -> None:
    for part, columns in (("q", q), ("k", k), ("v", v)):
        matrix(writer, f"{blk}attn_{part}.weight", width, columns)
        if bias:
            vector(writer, f"{blk}attn_{part}.bias", columns)


def dense(writer: GgufWriter, blk: str, width: int, ff: int, part: str = "") -> None:
    matrix(writer, f"{blk}ffn_gate{part}.weight", width, ff)
    matrix(writer, f"{blk}ffn_up{part}.weight", width, ff)
    matrix(writer, f"{blk}ffn_down{part}.weight", ff, width)


def experts_of(writer: GgufWriter, blk: str, width: int, ff: int, experts: int, *, fused: bool = False) -> None:
    vector(writer, f"{blk}ffn_gate_inp.weight", width, experts)
    if fused:
        matrix(writer, f"{blk}ffn_gate_up_exps.weight", width, 2 * ff, experts)
    else:
        matrix(writer, f"{blk}ffn_gate_exps.weight", width, ff, experts)
        matrix(writer, f"{blk}ffn_up_exps.weight", width, ff, experts)
    matrix(writer, f"{blk}ffn_down_exps.weight", ff, width, experts)


def norms(writer: GgufWriter, blk: str, width: int, *names: str) -> None:
    for name in names:
        vector(writer, f"{blk}{name}.weight", width)


def mtp_tensors(writer: GgufWriter, blk: str, width: int) -> None:
    matrix(writer, f"{blk}nextn.eh_proj.weight", 2 * width, width)
    norms(writer, f"{blk}nextn.", width, "enorm", "hnorm", "shared_head_norm")


def mamba2(writer: GgufWriter, blk: str, width: int, inner: int, state: int, heads: int, groups: int = 1) -> None:
    """A Mamba-2 mixer."""
    channels = inner + 2 * groups * state
    matrix(writer, f"{blk}ssm_in.weight", width, inner + channels + heads)
    vector(writer, f"{blk}ssm_conv1d.weight", 4, channels)
    vector(writer, f"{blk}ssm_conv1d.bias", channels)
    vector(writer, f"{blk}ssm_dt.bias", heads)
    vector(writer, f"{blk}ssm_a", 1, heads)
    vector(writer, f"{blk}ssm_d", 1, heads)
    vector(writer, f"{blk}ssm_norm.weight", inner // groups, groups)
    matrix(writer, f"{blk}ssm_out.weight", inner, width)
