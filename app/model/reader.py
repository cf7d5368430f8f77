"""``read_model(path)``: everything a GGUF header says, as a frozen value. Weights are never read.

Bad input ends in a ProblemError with a code of ``app.words``, never in another exception:
file_missing, file_is_folder, file_unreadable, not_gguf (and not_gguf_web_page, ...), gguf_big_endian, gguf_version,
gguf_truncated_header, gguf_truncated, gguf_part_missing, gguf_part_name, gguf_damaged, gguf_damaged_tensor,
gguf_zero_dimension, gguf_not_a_model (and gguf_not_a_model_projector, ...).
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from app.common.problem import ProblemError, fail
from app.model._cursor import Cursor
from app.model._file_role import FileRole, role_of
from app.model._files import open_model_file, part_paths
from app.model._header import Header, SkipTexts, parse_header
from app.model._layout import tensor_sizes
from app.model._meta import Meta
from app.model._types_table import TENSOR_TYPES, type_name
from app.model.hparams import HParams, compute_hparams
from app.model.roles import classify, role_in_layer
from app.model.types import MetaValue, ModelInfo, Role, TensorInfo

_MAX_BLOCKS = 512  # LLAMA_MAX_LAYERS, llama-hparams.h:11
_MAX_EXPERTS = 1024  # LLAMA_MAX_EXPERTS, llama-hparams.h:12
_MAX_NAME_LENGTH = 200


def read_model(path: str | os.PathLike[str], skip_texts: SkipTexts = Cursor.skip_strings) -> ModelInfo:
    """Read the header of a model; of all parts, whichever part is given.

    ``ModelInfo.path`` is the first part, the one that the engine must be given. ``skip_texts``: how the vocabulary is
    passed over (``known_texts``). Raises ProblemError (module docstring).
    """
    text = os.fsdecode(path)
    header = _read_header(text, skip_texts)
    role = role_of(header)
    if role is not FileRole.MODEL:
        code = "gguf_not_a_model" if role is FileRole.OTHER else f"gguf_not_a_model_{role.value}"
        raise fail(code, path=text, role=role.value)
    return model_of_headers(*_all_parts(text, header))


def model_of_headers(paths: tuple[str, ...], headers: list[Header]) -> ModelInfo:
    """The model of the headers of all its parts. Raises ProblemError for parts that do not belong together."""
    sizes = [tensor_sizes(one, where) for where, one in zip(paths, headers, strict=True)]
    _check_parts(paths, headers)
    return _build(paths, headers, sizes)


def _read_header(path: str, skip_texts: SkipTexts = Cursor.skip_strings) -> Header:
    with open_model_file(path) as cursor:
        return parse_header(cursor, skip_texts)


def _split_number(header: Header, key: str) -> int:
    value = header.metadata.get(key, 0)
    return int(value) if isinstance(value, int) else 0


def _all_parts(path: str, header: Header) -> tuple[tuple[str, ...], list[Header]]:
    """Paths and headers of every part, in order (llama-model-loader.cpp:595-675)."""
    n_parts = _split_number(header, "split.count")
    if n_parts <= 1:
        return (path,), [header]
    paths = part_paths(path, n_parts)
    if paths is None:
        raise fail("gguf_part_name", path=path, parts=n_parts)
    headers = []
    for index, part in enumerate(paths):
        try:
            part_header = header if part == path else _read_header(part)
        except ProblemError as error:
            if error.problem.code != "file_missing":
                raise
            name = os.path.basename(part)
            raise fail("gguf_part_missing", path=path, part=name, number=index + 1, parts=n_parts) from error
        if _split_number(part_header, "split.no") != index:
            raise fail("gguf_damaged", path=part, detail="split.no")
        headers.append(part_header)
    return paths, headers


def _check_parts(paths: tuple[str, ...], headers: list[Header]) -> None:
    """The parts together hold each tensor once, and as many as the first part announces."""
    if len(paths) == 1:
        return
    names: set[str] = set()
    for path, header in zip(paths, headers, strict=True):
        for tensor in header.tensors:
            if tensor.name in names:
                raise fail("gguf_damaged_tensor", path=path, tensor=tensor.name, detail="duplicate")
            names.add(tensor.name)
    announced = _split_number(headers[0], "split.tensors.count")
    if announced and announced != len(names):
        raise fail("gguf_damaged", path=paths[0], detail=f"split.tensors.count={announced}/{len(names)}")


def _build(paths: tuple[str, ...], headers: list[Header], sizes: list[list[int]]) -> ModelInfo:
    first = headers[0]
    architecture = _text(first.metadata, "general.architecture") or ""
    meta = Meta(first.metadata, architecture)
    shapes = {tensor.name: tensor.shape for header in headers for tensor in header.tensors}
    block_count = _block_count(meta, shapes, paths[0])
    embedding_length = meta.integer("embedding_length") or _dimension(shapes, "token_embd.weight", 0)
    hparams = compute_hparams(meta, architecture, block_count, embedding_length, frozenset(shapes))
    tensors = _tensors(headers, sizes, hparams, paths)
    expert_count, used = _experts(meta, block_count, paths[0])
    vocab = first.array_lengths.get("tokenizer.ggml.tokens")
    return ModelInfo(
        path=paths[0],
        parts=paths,
        version=first.version,
        architecture=architecture,
        name=_display_name(first.metadata, paths[0]),
        file_bytes=sum(header.file_bytes for header in headers),
        block_count=block_count,
        context_length=meta.integer("context_length"),
        vocab_size=meta.integer("vocab_size") if vocab is None else vocab,
        embedding_length=embedding_length,
        expert_count=expert_count,
        expert_used_count=max(used),
        expert_shared_count=_shared_count(meta, tensors),
        expert_ff_length=_expert_ff_length(meta, block_count, tensors),
        nextn_count=hparams.nextn_count,
        sliding_window=hparams.sliding_window,
        is_mla=hparams.is_mla,
        layers=hparams.layers,
        tensors=tensors,
        metadata=first.metadata,
        expert_used_per_block=used if len(set(used)) > 1 else None,
    )


def _tensors(
    headers: list[Header], sizes: list[list[int]], hparams: HParams, paths: tuple[str, ...]
) -> tuple[TensorInfo, ...]:
    """The tensors with their roles. One of a block that the model does not have is refused, as by the engine
    (llama-model-loader.cpp:1398)."""
    layers, nextn, infos = hparams.layers, hparams.nextn_count, list[TensorInfo]()
    for part, header in enumerate(headers):
        start = header.data_start
        for (name, shape, type_id, offset, _), n_bytes in zip(header.tensors, sizes[part], strict=True):
            role, block = classify(name, len(layers), nextn)
            if block is not None:
                if block >= len(layers):
                    raise fail("gguf_damaged_tensor", path=paths[part], tensor=name, detail="block")
                if role is Role.ATTENTION:
                    role = role_in_layer(role, layers[block])
            known = TENSOR_TYPES.get(type_id)
            kind = type_name(type_id) if known is None else known.name
            infos.append(
                TensorInfo(name, shape, type_id, kind, n_bytes, start + offset, role, block, part, known is None)
            )
    return tuple(infos)


def _block_count(meta: Meta, shapes: Mapping[str, tuple[int, ...]], path: str) -> int:
    """From the metadata, else from the tensors' names; a file with neither is no language model."""
    told = count = meta.integer("block_count")
    if not count:
        blocks = [block for block in (classify(name, 0, 0)[1] for name in shapes) if block is not None]
        if told is None and not blocks:
            raise fail("gguf_not_a_model", path=path, role=FileRole.OTHER.value)
        count = max(blocks, default=0) + 1
    if not 0 < count <= _MAX_BLOCKS:
        raise fail("gguf_damaged", path=path, detail=f"block_count={count}")
    return count


def _experts(meta: Meta, block_count: int, path: str) -> tuple[int, tuple[int, ...]]:
    """How many experts a block has, and how many each block uses: at least one, never more than there are, and in
    fewer groups than there are experts (llama-model.cpp:1363-1375)."""
    count = meta.integer("expert_count") or 0
    used = meta.integers("expert_used_count", block_count) or (0,)
    if count > _MAX_EXPERTS:
        raise fail("gguf_damaged", path=path, detail=f"expert_count={count}")
    if max(used) > max(count, 1) or (count > 1 and max(used) == 0):
        raise fail("gguf_damaged", path=path, detail=f"expert_used_count={max(used)}/{count}")
    groups = meta.integer("expert_group_count") or 0
    if count and groups >= count:
        raise fail("gguf_damaged", path=path, detail=f"expert_group_count={groups}/{count}")
    return count, used


def _shared_count(meta: Meta, tensors: tuple[TensorInfo, ...]) -> int:
    """expert_shared_count; 1 when shared experts are there and the key is not (qwen2moe)."""
    told = meta.integer("expert_shared_count")
    return told if told is not None else int(any(t.role is Role.SHARED_EXPERT for t in tensors))


def _expert_ff_length(meta: Meta, block_count: int, tensors: tuple[TensorInfo, ...]) -> int | None:
    """The largest block's; from the down projection's rows when no key says it (Mixtral, DBRX, Grok)."""
    told = meta.integers("expert_feed_forward_length", block_count)
    if told is not None and max(told) > 0:
        return max(told)
    rows = [t.shape[0] for t in tensors if t.role is Role.ROUTED_EXPERT and t.name.endswith("ffn_down_exps.weight")]
    return max(rows, default=None)


def _display_name(metadata: Mapping[str, MetaValue], path: str) -> str:
    """general.name on one line and not longer than a window is wide, else the file's name."""
    told = " ".join((_text(metadata, "general.name") or "").split())
    return told[:_MAX_NAME_LENGTH] or os.path.splitext(os.path.basename(path))[0]


def _dimension(shapes: Mapping[str, tuple[int, ...]], name: str, index: int) -> int | None:
    shape = shapes.get(name, ())
    return shape[index] if index < len(shape) else None


def _text(metadata: Mapping[str, MetaValue], key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) else None
