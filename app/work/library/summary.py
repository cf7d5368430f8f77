"""A file's header as one line of the library; what is no whole model says so."""

from __future__ import annotations

import hashlib
import os
from array import array
from math import prod

from app.common.problem import Problem, ProblemError, Severity
from app.model.file_types import quant_name
from app.model.known_texts import KnownTexts
from app.model.reader import read_model
from app.model.types import ModelInfo, Role
from app.work.library.alike import AlikeHeaders
from app.work.library.types import EntryRole, FoundFile, Summary

HALF_CODE = "library_unfinished"
"""The problem of a file whose name says that it is half a download."""

_NOT_A_MODEL = "gguf_not_a_model"
_HALF = ("gguf_truncated", "gguf_truncated_header", "not_gguf_empty")
_SETTINGS_LEFT_OUT = ("general.", "tokenizer.", "split.", "quantize.")


def summarise(found: FoundFile, alike: AlikeHeaders, texts: KnownTexts) -> tuple[Summary, ModelInfo | None]:
    """Read the header, unless it is that of a file seen before. Never raises: what cannot be read is a summary with its
    problem."""
    if found.unfinished:
        return _unfinished(found), None
    known = alike.find(found.path)
    if known is not None:
        return known
    try:
        model = _read(found.path, texts)
    except ProblemError as error:
        return _failed(found, error.problem), None
    summary = summary_of(model)
    alike.keep(model, summary)
    return summary, model


def _read(path: str, texts: KnownTexts) -> ModelInfo:
    """Read the header; what cannot be read is read once more without what is known of other vocabularies, since one
    that only looks like one of them leads astray."""
    try:
        return read_model(path, texts.skip)
    except ProblemError as error:
        if not error.problem.code.startswith("gguf_"):
            raise
    return read_model(path)


def summary_of(model: ModelInfo) -> Summary:
    """What the list shows of a whole model."""
    total, active = parameters_of(model)
    return Summary(
        role=EntryRole.MODEL,
        files=model.parts or (model.path,),
        file_bytes=model.file_bytes,
        title=model.name,
        architecture=model.architecture,
        quant=quant_name(model),
        parameters=total,
        active_parameters=active,
        expert_layers=len(model.expert_blocks),
        context_length=model.context_length,
        signature=signature_of(model),
    )


def parameters_of(model: ModelInfo) -> tuple[int, int]:
    """Weights in all, and those a token uses: of the routed experts only its share."""
    total = active = 0
    for tensor in model.tensors:
        count = prod(tensor.shape)
        total += count
        if tensor.role is Role.ROUTED_EXPERT and model.expert_count:
            active += count * model.used_experts(tensor.block) // model.expert_count
        else:
            active += count
    return total, active


def signature_of(model: ModelInfo) -> str:
    """Equal for files whose plans are equal: the same tensors, layers and settings under whatever name."""
    settings = [(key, value) for key, value in sorted(model.metadata.items()) if not key.startswith(_SETTINGS_LEFT_OUT)]
    digest = hashlib.sha256(repr((model.architecture, model.vocab_size, settings)).encode("utf-8", "surrogatepass"))
    tensors = model.tensors
    digest.update("\n".join([t.name for t in tensors]).encode("utf-8", "surrogatepass"))
    digest.update(bytes([len(t.shape) for t in tensors]))
    for numbers in (
        [t.n_bytes for t in tensors],
        [t.type_id for t in tensors],
        [length for t in tensors for length in t.shape],
    ):
        digest.update(array("q", numbers).tobytes())
    return digest.hexdigest()[:24]


def _unfinished(found: FoundFile) -> Summary:
    params = {"path": found.path}
    problem = Problem(HALF_CODE, Severity.WARNING, params)
    return Summary(EntryRole.UNFINISHED, (found.path,), _size(found.path), problem=problem)


def _failed(found: FoundFile, problem: Problem) -> Summary:
    """Another kind of file is no problem; half a file is told as such; the rest cannot be read."""
    files, size = (found.path,), _size(found.path)
    role = problem.params.get("role")
    if problem.code.startswith(_NOT_A_MODEL) and isinstance(role, str):
        return Summary(EntryRole(role), files, size)
    if problem.code == "file_missing" and os.path.islink(found.path):
        problem = Problem("library_link_broken", Severity.ERROR, {"path": found.path})
    unread = EntryRole.UNFINISHED if problem.code in _HALF else EntryRole.UNREADABLE
    return Summary(unread, files, size, problem=problem)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0
