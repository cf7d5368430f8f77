"""The one sentence on top of the plan page. Plain values, no Qt."""

from __future__ import annotations

from dataclasses import dataclass

from app.common.problem import Problem
from app.model.types import ModelInfo
from app.planner.types import DeviceEstimate, DeviceKind, Plan
from app.words import say
from app.words.catalogue import number_text

GOOD_TPS = 10.0
"""From this decode speed on a plan 'runs well': faster than most people read."""

_QUIET = ("plan_is_quiet", "plan_is_quiet_same_threads")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The sentence and its look: ok, warning, error, plain."""

    text: str
    look: str


def ctx_text(n_ctx: int) -> str:
    """'16k', '128k', or the number itself when it is no round one."""
    return f"{n_ctx // 1024}k" if n_ctx >= 1024 and n_ctx % 1024 == 0 else number_text(n_ctx)


def rounded_tps(tps: float) -> float:
    """A predicted speed with the digits it deserves: 7.6, 34, 110, 2 300. No prediction here is better than 10 %."""
    if tps < GOOD_TPS:
        return round(tps, 1)
    step = 10.0 ** max(0, len(str(int(tps))) - 2)
    return round(tps / step) * step


def verdict(plan: Plan, model: ModelInfo | None) -> Verdict:
    """Does the plan fit, where and by how much not, how fast is it, and what limits it."""
    main = _main(plan)
    if model is not None and not model.is_moe:
        return Verdict(say("ui.sentences", first=main.text, second=say("plan.verdict.dense")), main.look)
    return main


def _main(plan: Plan) -> Verdict:
    over = [e for e in plan.estimate.devices if e.fits is False]
    context = ctx_text(plan.n_ctx)
    if over:
        parts = [
            say(
                "plan.verdict.over_part",
                device=_name(d),
                over=-(d.left_bytes or 0),
            )
            for d in over
        ]
        is_too_large = any(problem.code == "does_not_fit_memory" for problem in plan.problems)
        has_room = len(over) < len(plan.estimate.devices) and not is_too_large and _shared(plan) is None
        code = "plan.verdict.over" if has_room else "plan.verdict.over_everywhere"
        if all(0 < -(d.left_bytes or 0) <= d.prompt_cache_bytes for d in over):
            code = "plan.verdict.over_cache"
        return Verdict(say(code, parts=say("plan.verdict.and").join(parts)), "error")
    shared = _shared(plan)
    if shared is not None:
        return Verdict(say("plan.verdict.shared", **shared.params), "warning")
    if plan.estimate.fits is None:
        unknown = say("cli.comma").join(_name(d) for d in plan.estimate.devices if d.fits is None)
        return Verdict(say("plan.verdict.unknown", devices=unknown, ctx=context), "warning")
    speed = plan.speed
    if speed.decode_tps is None:
        return Verdict(say("plan.verdict.fits", ctx=context), "ok")
    code = "plan.verdict.well" if speed.decode_tps >= GOOD_TPS else "plan.verdict.slow"
    if any(problem.code in _QUIET for problem in plan.problems):  # no figure is known for a quiet run
        code = "plan.verdict.well_full" if speed.decode_tps >= GOOD_TPS else "plan.verdict.slow_full"
    text = say(code, tps=rounded_tps(speed.decode_tps), ctx=context)
    if speed.limited_by is not None:
        text = say("ui.sentences", first=text, second=say(f"plan.limit.{speed.limited_by}"))
    return Verdict(text, "ok" if speed.decode_tps >= GOOD_TPS else "warning")


def _shared(plan: Plan) -> Problem | None:
    """Graphics inside the processor and RAM, one memory, are too little for both parts of the plan."""
    return next((problem for problem in plan.problems if problem.code == "memory_shared"), None)


def _name(estimate: DeviceEstimate) -> str:
    return say("board.ram") if estimate.kind is DeviceKind.RAM else estimate.device
