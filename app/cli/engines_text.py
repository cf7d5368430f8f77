"""Engines and packages as JSON and as text, and the progress of getting one as lines on standard error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.cli.console import print_note, problem_line, table
from app.cli.plan_json import Json
from app.common.problem import Problem, told_params
from app.engine.release_choice import Offer
from app.words import say
from app.work.engine_getting import GetProgress, GetStep
from app.work.engine_store import KnownEngine

_EVERY_PERCENT = 10


@dataclass(frozen=True, slots=True)
class EngineRow:
    """One engine as the list shows it."""

    engine: KnownEngine
    is_current: bool
    warnings: tuple[Problem, ...]


def engine_json(row: EngineRow) -> Json:
    """One engine (docs/cli.md)."""
    engine = row.engine
    return {
        "id": engine.id,
        "path": engine.path,
        "kind": engine.kind.value,
        "build": engine.build,
        "build_number": engine.build_number,
        "commit": engine.commit,
        "backends": list(engine.backends),
        "devices": None if engine.devices is None else list(engine.devices),
        "sha256": engine.stamp.sha256,
        "size_bytes": engine.stamp.size_bytes,
        "libraries": list(engine.stamp.libraries),
        "source": engine.source.value,
        "package": engine.package,
        "current": row.is_current,
        "options": list(engine.flags),
        "warnings": [
            {"code": w.code, "severity": w.severity.value, "params": told_params(w.params)} for w in row.warnings
        ],
    }


def offer_json(offer: Offer) -> Json:
    """One package (docs/cli.md)."""
    package = offer.package
    return {
        "package": package.key,
        "id": package.id,
        "suits": offer.suits,
        "reason": offer.reason,
        "params": told_params(offer.params),
        "bytes": package.size_bytes,
        "archives": [{"name": a.name, "bytes": a.size_bytes, "sha256": a.sha256, "url": a.url} for a in package.assets],
    }


def engines_text(rows: Sequence[EngineRow], previous: KnownEngine | None) -> str:
    """The list, the one in use marked, with what is worth knowing below it."""
    if not rows:
        return say("cli.engines.none")
    cells = [
        (
            "*" if row.is_current else " ",
            row.engine.id,
            row.engine.label,
            "+".join(row.engine.backends),
            say(f"engine.source.{row.engine.source}"),
            row.engine.short_hash,
            row.engine.path,
        )
        for row in rows
    ]
    lines = table(cells)
    for row in rows:
        lines += [f"  {row.engine.id}: {device}" for device in row.engine.devices or ()]
        lines += [problem_line(warning) for warning in row.warnings]
    if previous is not None:
        lines.append(say("cli.engines.back", id=previous.id))
    return "\n".join(lines)


def used_text(row: EngineRow) -> str:
    """Which one is in use now."""
    lines = [say("cli.engines.used", id=row.engine.id, path=row.engine.path)]
    lines += [f"  {device}" for device in row.engine.devices or ()]
    return "\n".join([*lines, *(problem_line(warning) for warning in row.warnings)])


def offers_text(offers: Sequence[Offer]) -> str:
    """Packages, the recommended one first."""
    cells = [_offer_cells(offer, is_first=number == 0) for number, offer in enumerate(offers)]
    return "\n".join([say("cli.engines.packages", tag=offers[0].package.tag), *table(cells, right=frozenset({2}))])


def _offer_cells(offer: Offer, *, is_first: bool) -> tuple[str, ...]:
    size = say("cli.engines.size", size=offer.package.size_bytes)
    reason = say(f"engine.offer.{offer.reason}", **offer.params)
    return ("*" if is_first and offer.suits else " ", offer.package.key, size, reason)


class GetTeller:
    """Tells each step once and a download every ten per cent."""

    def __init__(self) -> None:
        self._step: GetStep | None = None
        self._told = -1

    def __call__(self, progress: GetProgress) -> None:
        """Take a report."""
        download = progress.download
        if download is not None:
            percent = int((download.fraction or 0.0) * 100) // _EVERY_PERCENT * _EVERY_PERCENT
            if percent != self._told:
                self._told = percent
                done = say("download.progress", done=download.done_bytes, total=download.total_bytes)
                speed = say("download.speed", speed=download.bytes_per_s)
                print_note(f"{say('engine.get.downloading', name=download.name)}  {percent} %  {done}  {speed}")
        elif progress.step is not self._step and progress.step is not GetStep.DONE:
            print_note(say(f"engine.get.{progress.step}", done=progress.unpacked_bytes))
        self._step = progress.step
