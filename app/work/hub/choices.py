"""The files of a repository as choices with a verdict each, before anything but a header has been downloaded.

One header is read through HTTP ranges, bounded, and planned with. The other quantisations of a repository have the
same tensors, so their plan is made from that header with the weights scaled to their size. Where no header can be read,
the size alone says whether a file is too large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from app.common.problem import Problem, ProblemError, fail
from app.model.prefix import FileStart, NeedsMoreError, model_from_starts
from app.model.types import ModelInfo
from app.planner.devices import device_set
from app.planner.file_verdict import FileVerdict, VerdictKind
from app.planner.sizing import room_bytes
from app.work.downloads.fetch import fetch_start
from app.work.downloads.types import Cancelled, Patience, check_cancelled
from app.work.hub.links import HubLink, file_addresses
from app.work.hub.listing import RemoteFile, RemoteSet
from app.work.library.judge import Judge

_STEPS = (1 << 20, 8 << 20, 20 << 20, 48 << 20)
"""How much of a file's beginning is asked for, until its header is whole; vocabularies take 2 to 15 MB."""
_USUAL_QUANTS = ("Q4_K_M", "UD-Q4_K_XL", "MXFP4_MOE", "MXFP4", "IQ4_XS", "Q4_K_S", "Q5_K_M", "Q8_0")
_MOST_PARTS = 40
_BESIDES_WEIGHTS = 512 << 20
"""Cache and buffers of a small context: what a file needs at least beyond its own size."""
_USUAL = Patience()


class VerdictBasis(StrEnum):
    """What a verdict rests on; ``hub.basis.<value>`` are the words."""

    HEADER = "header"
    SCALED = "scaled"
    SIZE = "size"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to download. ``verdict`` None: nobody knows (or it is no model)."""

    set: RemoteSet
    verdict: FileVerdict | None = None
    basis: VerdictBasis = VerdictBasis.NONE


@dataclass(frozen=True, slots=True)
class Choices:
    """``model``: the header that was read; ``problem``: why none could be. ``best``: what to offer first."""

    link: HubLink
    choices: tuple[Choice, ...]
    model: ModelInfo | None = None
    problem: Problem | None = None
    best: int = 0


def unjudged(link: HubLink, sets: Sequence[RemoteSet]) -> Choices:
    """The list as it is before a header has been read."""
    return Choices(link, tuple(Choice(each) for each in sets), best=_named(link, sets) or 0)


def judged(
    link: HubLink,
    sets: Sequence[RemoteSet],
    judge: Judge,
    cancelled: Cancelled,
    patience: Patience = _USUAL,
) -> Choices:
    """Read one header and judge every set with it. Raises ProblemError ``download_cancelled`` only."""
    first = _to_read(link, sets)
    model, problem = None, None
    if first is not None:
        try:
            model = read_remote(link, first, cancelled, patience)
        except ProblemError as error:
            if error.problem.code == "download_cancelled":
                raise
            problem = error.problem
    choices = []
    for each in sets:
        check_cancelled(cancelled)
        choices.append(_judged_set(each, first, model, judge))
    named = _named(link, sets)
    best = named if named is not None else _best(choices)
    return Choices(link, tuple(choices), model, problem, best)


def read_remote(link: HubLink, wanted: RemoteSet, cancelled: Cancelled, patience: Patience = _USUAL) -> ModelInfo:
    """The model of files that lie elsewhere, from their headers. Raises ProblemError ``hub_header_too_long``,
    ``download_*`` and those of a reader that meets no model."""
    starts = [_start(link, file, _STEPS[0], b"", cancelled, patience) for file in wanted.files[:_MOST_PARTS]]
    for step in (*_STEPS[1:], 0):
        try:
            return model_from_starts(starts)
        except NeedsMoreError as error:
            if not step:
                raise fail("hub_header_too_long", name=error.name, size=_STEPS[-1]) from error
            starts = [
                _start(link, file, step, start.data, cancelled, patience) if start.name == error.name else start
                for start, file in zip(starts, wanted.files, strict=False)
            ]
    raise AssertionError("the last round returns or raises")


def _start(
    link: HubLink, file: RemoteFile, n_bytes: int, known: bytes, cancelled: Cancelled, patience: Patience
) -> FileStart:
    """The first ``n_bytes`` of a file, going on behind what is known."""
    first: ProblemError | None = None
    for url in file_addresses(link, file.path):
        try:
            more, total = fetch_start(url, len(known), n_bytes - len(known), cancelled, patience)
        except ProblemError as error:
            if error.problem.code == "download_cancelled":
                raise
            first = first or error
            continue
        size = total or file.size_bytes or len(known) + len(more)
        return FileStart(file.name, known + more, size)
    assert first is not None
    raise first


def _judged_set(each: RemoteSet, first: RemoteSet | None, model: ModelInfo | None, judge: Judge) -> Choice:
    if each.is_projector:
        return Choice(each)
    if model is not None and each is first:
        return Choice(each, judge.verdict(model), VerdictBasis.HEADER)
    size = each.size_bytes
    if size is None:
        return Choice(each)
    if model is not None:
        return Choice(each, judge.verdict(scaled(model, size)), VerdictBasis.SCALED)
    return Choice(each, _by_size(size, judge), VerdictBasis.SIZE)


def scaled(model: ModelInfo, file_bytes: int) -> ModelInfo:
    """The same tensors with as many bytes as a file of that size holds."""
    factor = file_bytes / model.file_bytes
    tensors = tuple(t._replace(n_bytes=max(1, round(t.n_bytes * factor)), size_is_gap=True) for t in model.tensors)
    return replace(model, tensors=tensors, file_bytes=file_bytes)


def _by_size(size: int, judge: Judge) -> FileVerdict | None:
    """Too big is certain; whether the rest fits is not."""
    room = room_bytes(device_set(judge.snapshot, judge.device_wishes))
    missing = None if room is None else size + _BESIDES_WEIGHTS - room
    if missing is None or missing <= 0:
        return None
    return FileVerdict(VerdictKind.TOO_BIG, judge.wishes.n_ctx or 0, missing_bytes=missing)


def _to_read(link: HubLink, sets: Sequence[RemoteSet]) -> RemoteSet | None:
    """The set whose header is read: the one that was asked for, else a usual quantisation, else the smallest."""
    models = [each for each in sets if not each.is_projector and not each.missing_parts]
    named = _named(link, sets)
    if named is not None and sets[named] in models:
        return sets[named]
    for quant in _USUAL_QUANTS:
        for each in models:
            if each.quant == quant:
                return each
    return models[0] if models else None


def _named(link: HubLink, sets: Sequence[RemoteSet]) -> int | None:
    """Which set the link names, by its file or by a quantisation."""
    for index, each in enumerate(sets):
        if link.file is not None and any(file.path == link.file for file in each.files):
            return index
        if link.quant is not None and each.quant is not None and each.quant.lower() == link.quant.lower():
            return index
    return None


def _best(choices: Sequence[Choice]) -> int:
    """Most bits that run well, else most that run, else the smallest model."""
    return max(range(len(choices)), key=_ranking(choices))


def _ranking(choices: Sequence[Choice]) -> Callable[[int], tuple[bool, bool, int]]:
    def rank(index: int) -> tuple[bool, bool, int]:
        choice = choices[index]
        verdict, size = choice.verdict, choice.set.size_bytes or 0
        runs = verdict is not None and verdict.runs
        tps = verdict.decode_tps if verdict is not None else None
        return (runs and (tps is None or tps >= 10.0), runs, size if runs else -size)

    return rank
