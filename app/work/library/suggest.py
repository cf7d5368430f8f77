"""What this machine could run of the well-known MoE models, before anything is downloaded.

Every figure is the planner's, from the model's shapes and a quantisation's types. Of each model the most bits that run
well are offered, else the most bits that run at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.model.well_known import WellKnown, well_known_models
from app.planner.file_verdict import FileVerdict
from app.work.downloads.types import Cancelled, check_cancelled
from app.work.library.judge import Judge
from app.work.library.summary import parameters_of

_EXAMPLE = "deepseek-v2-lite"
_EXAMPLE_QUANT = "Q4_K_M"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One model in one quantisation. ``is_example``: the article's question, a 16B MoE on this machine, whatever the
    answer. ``verdict`` None: the machine's free memory is unknown."""

    name: str
    quant: str
    repository: str | None
    architecture: str
    file_bytes: int
    parameters: int
    active_parameters: int
    verdict: FileVerdict | None
    is_example: bool = False

    @property
    def runs_well(self) -> bool:
        """Does it run, and not too slowly as far as anybody knows?"""
        return self.verdict is not None and self.verdict.runs_well


def suggestions(
    judge: Judge, cancelled: Cancelled = lambda: False, models: Sequence[WellKnown] | None = None
) -> tuple[Suggestion, ...]:
    """The article's 16B model first, then those that run well, the largest file first, then slower ones.

    Some dozens of plans; call it on a worker thread. Raises ProblemError ``download_cancelled``.
    """
    found: list[Suggestion] = []
    for known in well_known_models() if models is None else models:
        if known.id == _EXAMPLE:
            found.insert(0, _judged(judge, known, _EXAMPLE_QUANT, is_example=True))
            continue
        best = _best(judge, known, cancelled)
        if best is not None:
            found.append(best)
    return tuple(sorted(found, key=lambda s: (not s.is_example, not s.runs_well, -s.file_bytes)))


def _best(judge: Judge, known: WellKnown, cancelled: Cancelled) -> Suggestion | None:
    """None when nothing of it runs here."""
    running: Suggestion | None = None
    for quant in known.quants:
        check_cancelled(cancelled)
        made = _judged(judge, known, quant)
        if made.runs_well:
            return made
        if running is None and made.verdict is not None and made.verdict.runs:
            running = made
    return running


def _judged(judge: Judge, known: WellKnown, quant: str, *, is_example: bool = False) -> Suggestion:
    model = known.in_quant(quant)
    total, active = parameters_of(model)
    return Suggestion(
        name=known.name,
        quant=quant,
        repository=known.repository,
        architecture=known.architecture,
        file_bytes=model.file_bytes,
        parameters=total,
        active_parameters=active,
        verdict=judge.verdict(model),
        is_example=is_example,
    )
