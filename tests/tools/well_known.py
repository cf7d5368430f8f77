"""Makes ``resources/models/well_known.json`` from the sparse models: names, shapes and settings, no types, no data.

python -m tests.tools.well_known
"""

import json
import re
import sys
import tempfile
from pathlib import Path

from app.model.reader import read_model
from tests.tools.sparse_models import make_sparse

OUT = Path(__file__).parents[2] / "resources" / "models" / "well_known.json"
LISTED = (
    ("deepseek-v2-lite", "DeepSeek-V2-Lite", "bartowski/DeepSeek-Coder-V2-Lite-Instruct-GGUF"),
    ("qwen3-30b", "Qwen3-30B-A3B", "unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF"),
    ("gpt-oss-20b", "gpt-oss-20b", "ggml-org/gpt-oss-20b-GGUF"),
    ("qwen35moe-35b", "Qwen3.5-35B-A3B", "unsloth/Qwen3.5-35B-A3B-GGUF"),
    ("gemma4-26b", "Gemma 4 26B-A4B", "unsloth/gemma-4-26B-A4B-it-GGUF"),
    ("nemotron3-nano", "Nemotron 3 Nano 30B-A3B", "ggml-org/Nemotron-Nano-3-30B-A3B-GGUF"),
    ("granite-h-small", "Granite 4.0 H Small", "unsloth/granite-4.0-h-small-GGUF"),
    ("ernie45-21b", "ERNIE 4.5 21B-A3B", "unsloth/ERNIE-4.5-21B-A3B-PT-GGUF"),
    ("qwen1.5-moe", "Qwen1.5-MoE-A2.7B", None),
)
"""Sparse model, name, a repository that has GGUF files of it."""
BLOCK = re.compile(r"^blk\.(\d+)\.")


def table(name, title, repository):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.gguf"
        make_sparse(name, path, has_vocabulary=False)
        model = read_model(path)
    rows = {}
    for tensor in model.tensors:
        found = BLOCK.match(tensor.name)
        pattern = BLOCK.sub("blk.{}.", tensor.name)
        rows.setdefault((pattern, tensor.shape), []).append(int(found[1]) if found else None)
    keep = {k: v for k, v in model.metadata.items() if not k.startswith(("general.", "tokenizer.", "quantize."))}
    return {
        "id": name,
        "name": title,
        "repository": repository,
        "architecture": model.architecture,
        "vocab": vocabulary(model),
        "native": "MXFP4" if "MXFP4" in model.quant_counts() else None,
        "settings": keep,
        "tensors": [[pattern, list(shape), runs(blocks)] for (pattern, shape), blocks in rows.items()],
    }


def vocabulary(model):
    return next(tensor.shape[1] for tensor in model.tensors if tensor.name == "token_embd.weight")


def runs(blocks):
    """[[first, last], ...]; None for a tensor outside of the blocks."""
    if blocks == [None]:
        return None
    made = []
    for block in sorted(blocks):
        if made and made[-1][1] == block - 1:
            made[-1][1] = block
        else:
            made.append([block, block])
    return made


def main():
    models = [table(*listed) for listed in LISTED]
    lines = ",\n".join(json.dumps(model, separators=(",", ":")) for model in models)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(f'{{"models":[\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{len(models)} models, {OUT.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
