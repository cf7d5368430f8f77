"""A stress run's stamp in words. No widgets."""

from __future__ import annotations

from datetime import datetime

from app.planner.types import RAM
from app.ui.pages.run_words import Told
from app.words import say
from app.work.stress_stamp import StressStamp


def stamp_told(stamp: StressStamp) -> Told:
    """'Tested at 16 384 tokens on 2026-11-29 with b11434: 1.2 GiB left on CUDA0.'"""
    tight = stamp.tightest
    spilled = next((p for p in stamp.peaks if (p.spilled_bytes or 0) > 0), None)
    build = (stamp.engine_build or "llama-server").partition(" (")[0]
    code = "stress.stamp" if stamp.is_safe else "stress.stamp_unsafe"
    if tight is None:
        code = "stress.stamp_unknown" if stamp.is_safe else code
    worst = spilled if not stamp.is_safe and spilled is not None and stamp.margin_bytes is not None else tight
    name = None if worst is None else say("board.ram") if worst.device == RAM else worst.device
    margin = None if tight is None else tight.margin_bytes
    text = say(code, depth=stamp.depth, date=_day(stamp.at), build=build, margin=margin, device=name)
    return Told(text, "ok" if stamp.is_safe else "error")


def details(stamp: StressStamp) -> str:
    """Every device's peak, one a line."""
    return "\n".join(
        say(
            "stress.details",
            device=say("board.ram") if peak.device == RAM else peak.device,
            peak=peak.peak_bytes,
            margin=peak.margin_bytes,
            source=say(f"stress.source.{peak.source}") if peak.source in _SOURCES else peak.source,
        )
        for peak in stamp.peaks
    )


_SOURCES = ("driver", "process", "engine", "system")


def _day(at: str) -> str:
    """The day where the user is; the text itself when it is no time."""
    try:
        return datetime.fromisoformat(at).astimezone().date().isoformat()
    except ValueError:
        return at
