"""Folders of sparse models of which no two are alike: other layers, experts, quantisations and vocabularies.

    python -m tests.tools.distinct_models FOLDER [COUNT]

Every file has the real names and shapes of one of the sparse models, with some of its last layers, experts, tokens and
bits gone; the weights are holes.
"""

import struct
import sys
import tempfile
from pathlib import Path

from app.model.gguf_writer import GgufWriter, tensor_bytes
from app.model.reader import read_model
from app.model.types import Role
from tests.tools.sparse_models import NAMES, make_sparse

SOURCES = tuple(name for name in NAMES[:20] if name not in ("deepseek-v3",))
_QUANTS = ("Q4_K", "Q5_K", "Q6_K", "Q3_K", "Q8_0", "Q2_K", "IQ4_XS", "Q4_0")
_FOLDERS = 23


def make_distinct(root, count, *, names=SOURCES, has_vocabulary=True):
    """Write ``count`` files of as many different models, spread over folders; gives their paths."""
    made = []
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for name in names:
            path = Path(folder) / f"{name}.gguf"
            make_sparse(name, path, has_vocabulary=has_vocabulary)
            sources.append((name, _pairs(path), read_model(path)))
        for number in range(count):
            name, pairs, model = sources[number % len(sources)]
            target = root / f"folder-{number % _FOLDERS}" / f"{name}-{number}.gguf"
            target.parent.mkdir(parents=True, exist_ok=True)
            _write_variant(target, pairs, model, number // len(sources))
            made.append(target)
    return made


def _write_variant(path, pairs, model, variant):
    """The ``variant``-th relative of a model; 0 is the model itself."""
    arch, blocks = model.architecture, max(2 + model.nextn_count, model.block_count - variant % 7)
    cut = 32 * (variant % 5) if variant % 2 else 0
    experts = model.expert_count
    fewer = max(experts // 2, experts - 4 * (variant % 6)) if experts > 8 and model.nextn_count == 0 else experts
    changed = dict(pairs)
    if model.nextn_count == 0:
        changed[f"{arch}.block_count"] = struct.pack("<II", 4, blocks)
    else:
        blocks = model.block_count
    if experts and fewer != experts:
        changed[f"{arch}.expert_count"] = struct.pack("<II", 4, fewer)
    if cut and "tokenizer.ggml.tokens" in changed:
        changed["tokenizer.ggml.tokens"] = _without_last(changed["tokenizer.ggml.tokens"], cut)
    writer = GgufWriter()
    writer._pairs = [struct.pack("<Q", len(key)) + key.encode() + value for key, value in changed.items()]
    bits = _QUANTS[variant % len(_QUANTS)]
    for t in model.tensors:
        if t.block is not None and t.block >= blocks:
            continue
        shape = list(t.shape)
        if fewer != experts and t.role in (Role.ROUTED_EXPERT, Role.ROUTER) and shape[-1] == experts:
            shape[-1] = fewer
        if cut and t.name in ("token_embd.weight", "output.weight"):
            shape[-1] -= cut
        writer.add_tensor(t.name, shape, _bits_of(t, shape, bits if variant else t.type_name))
    writer.write(path)


def _bits_of(tensor, shape, wanted):
    if tensor.type_name in ("F32", "F16", "I32") or len(shape) < 2:
        return tensor.type_name
    try:
        tensor_bytes(wanted, shape)
    except ValueError:
        return tensor.type_name
    return wanted


def _pairs(path):
    """Key -> the bytes of type and value, in the file's order."""
    with path.open("rb") as file:
        data = file.read(64 << 20)
    (n_keys,) = struct.unpack_from("<Q", data, 16)
    at, found = 24, {}
    for _ in range(n_keys):
        (length,) = struct.unpack_from("<Q", data, at)
        key = data[at + 8 : at + 8 + length].decode()
        start = at + 8 + length
        at = _end_of_value(data, start)
        found[key] = data[start:at]
    return found


_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def _end_of_value(data, at):
    (kind,) = struct.unpack_from("<I", data, at)
    if kind == 8:
        return at + 12 + struct.unpack_from("<Q", data, at + 4)[0]
    if kind != 9:
        return at + 4 + _SIZES[kind]
    element, count = struct.unpack_from("<IQ", data, at + 4)
    at += 16
    if element != 8:
        return at + _SIZES[element] * count
    for _ in range(count):
        at += 8 + struct.unpack_from("<Q", data, at)[0]
    return at


def _without_last(value, n):
    """An array of texts without its last ``n``."""
    (count,) = struct.unpack_from("<Q", value, 8)
    at = 16
    for _ in range(count - n):
        at += 8 + struct.unpack_from("<Q", value, at)[0]
    return struct.pack("<IIQ", 9, 8, count - n) + value[16:at]


def main():
    root = Path(sys.argv[1])
    made = make_distinct(root, int(sys.argv[2]) if len(sys.argv) > 2 else 500)
    print(f"{len(made)} files in {root}")


if __name__ == "__main__":
    main()
