"""What the run page says: session state -> sentences. No widgets, so that tests read it directly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.common.problem import Severity
from app.common.units import size_text
from app.session.state import ChatPhase, ChatState, EnginePhase, EngineState, RunPhase, RunState
from app.ui.plots.scale import cpu_list_text
from app.words import say, say_problem
from app.words.catalogue import number_text

if TYPE_CHECKING:
    from app.planner.types import Plan


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence and its tone: ``plain``, ``ok``, ``warning``, ``error`` (a look of the style sheet)."""

    text: str
    tone: str = "plain"


def run_sentence(run: RunState, engine: EngineState, plan: Plan | None) -> Told:
    """The one sentence under the state: what is going on, or what to do next."""
    if run.phase is RunPhase.STARTING:
        return Told(_loading(run))
    if run.phase is RunPhase.READY:
        if run.plan_differs:
            return Told(say("run.plan_differs"), "warning")
        return Told(say("run.ready"), "ok")
    if run.phase is RunPhase.STOPPING:
        return Told(say("run.stopping"))
    if run.phase is RunPhase.FAILED:
        return Told(say("run.failed_below"), "error")
    return before_launch(engine, plan)


def before_launch(engine: EngineState, plan: Plan | None) -> Told:
    """What stands between the user and a launch, or that nothing does."""
    if plan is None:
        return Told(say("run.no_model"))
    if engine.phase is not EnginePhase.READY:
        return engine_sentence(engine)
    if plan.has_errors:
        first = next(p for p in plan.problems if p.severity is Severity.ERROR)
        return Told(say_problem(first), "error")
    return Told(say("run.can_launch"))


def engine_sentence(engine: EngineState) -> Told:
    """Where the search for llama-server stands."""
    if engine.problem is not None and engine.phase in (EnginePhase.BROKEN, EnginePhase.MISSING):
        return Told(say_problem(engine.problem), "error" if engine.phase is EnginePhase.BROKEN else "warning")
    if engine.phase is EnginePhase.READY:
        return Told(say("engine_state.ready", build=engine.build), "ok")
    if engine.phase is EnginePhase.BUILDING:
        if engine.progress is None:
            return Told(say("engine_state.building"))
        return Told(say("engine_state.building_share", percent=f"{engine.progress * 100:.0f}"))
    tone = "plain" if engine.phase is EnginePhase.LOOKING else "warning"
    return Told(say(f"engine_state.{engine.phase.value}"), tone)


def failure_sentence(run: RunState) -> str:
    """Why the server ended; the exit code when nothing better is known."""
    if run.problem is not None:
        return say_problem(run.problem)
    return say("run.ended_unknown", code=run.exit_code)


def _loading(run: RunState) -> str:
    if run.loaded_bytes is None or not run.to_load_bytes:
        return say("run.starting")
    return say("run.loading", done=run.loaded_bytes, total=run.to_load_bytes)


def cpus_sentence(run: RunState) -> Told:
    """Where the server runs, and whether at full speed, as the system reports it."""
    told = _cpus(run)
    if run.full_speed is None:
        return told
    if run.full_speed:
        return Told(say("run.full_speed", cpus=told.text), told.tone)
    return Told(say("run.not_full_speed", cpus=told.text), "warning")


def _cpus(run: RunState) -> Told:
    if run.affinity is None:
        return Told(say("run.cpus_unknown") if run.phase is RunPhase.READY else "")
    if run.wanted_affinity is None:
        return Told(say("run.cpus", cpus=cpu_list_text(run.affinity)))
    if set(run.affinity) == set(run.wanted_affinity):
        return Told(say("run.cpus_as_asked", cpus=cpu_list_text(run.affinity)), "ok")
    asked = cpu_list_text(run.wanted_affinity)
    return Told(say("run.cpus_differ", cpus=cpu_list_text(run.affinity), wanted=asked), "warning")


def speed_line(chat: ChatState, context_used: float | None, context_total: int | None) -> str:
    """'61 tok/s · prompt 410 tok/s · 128 tokens · context 1 234 of 16 384'; only what is known."""
    parts: list[str] = []
    if chat.phase is ChatPhase.PROMPT:
        if chat.prompt_total:
            parts.append(say("chat.reading_share", done=chat.prompt_done or 0, total=chat.prompt_total))
        else:
            parts.append(say("chat.reading"))
    if chat.decode_tps is not None:
        parts.append(say("chat.decode", x=_rounded(chat.decode_tps)))
    if chat.prompt_tps is not None:
        parts.append(say("chat.prompt", x=_rounded(chat.prompt_tps)))
    if chat.decoded_tokens is not None:
        parts.append(say("chat.tokens", n=chat.decoded_tokens))
    if context_used is not None and context_total is not None:
        parts.append(say("chat.context", used=number_text(context_used), total=number_text(context_total)))
    return " · ".join(parts)


def answer_line(chat: ChatState) -> str:
    """'61 tok/s · first token after 1.3 s · prompt 410 tok/s · 128 tokens' under an answer; only what is known."""
    parts = []
    if chat.decode_tps is not None:
        parts.append(say("chat.decode", x=_rounded(chat.decode_tps)))
    if chat.first_token_s is not None:
        parts.append(say("chat.first_token", x=round(chat.first_token_s, 2 if chat.first_token_s < 1 else 1)))
    if chat.prompt_tps is not None:
        parts.append(say("chat.prompt", x=_rounded(chat.prompt_tps)))
    if chat.decoded_tokens is not None:
        parts.append(say("chat.tokens", n=chat.decoded_tokens))
    return " · ".join(parts)


def finish_sentence(chat: ChatState) -> str:
    """Why the answer ended, when it did not simply end."""
    known = ("length", "cancelled")
    if chat.phase is not ChatPhase.IDLE or chat.finish_reason in (None, "stop"):
        return ""
    if chat.finish_reason in known:
        return say(f"chat.finish.{chat.finish_reason}")
    return say("chat.finish.other", reason=chat.finish_reason)


def plan_line(plan: Plan, model_name: str) -> str:
    """'Qwen3-30B-A3B · context 16 384 · CUDA0 10.9 GiB · RAM 7.9 GiB'."""
    homes = (f"{d.device} {size_text(d.total_bytes)}" for d in plan.estimate.devices)
    return " · ".join((model_name, say("run.context", n=number_text(plan.n_ctx)), *homes))


def _rounded(speed: float) -> float:
    """Speeds jitter: three figures say all that is true."""
    return round(speed, 1) if speed < 100 else round(speed)
