"""A plan as the JSON of the contract (docs/cli.md, "plan --json"). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from app.common.problem import Problem, shown_params
from app.model.types import ModelInfo
from app.planner.learned import MemoryFigures
from app.planner.placement import homes, locations
from app.planner.second_gpu import SecondGpu
from app.planner.trades import Trade
from app.planner.types import DeviceEstimate, Placement, Plan, Segment

Json = Mapping[str, Any]

_OPTION = {
    "preset": "--preset",
    "cache_type_k": "--ctk",
    "cache_type_v": "--ctv",
    "n_ctx": "--ctx",
    "n_ubatch": "--ubatch",
    "n_batch": "--batch",
    "kv_home": "--kv",
    "prompt_cache_mib": "--prompt-cache-mib",
}
"""The option of ``plan`` for each wish that a trade changes."""


def plan_json(
    model: ModelInfo,
    plan: Plan,
    problems: Iterable[Problem],
    *,
    with_tensors: bool,
    offers: Iterable[Trade] | None = None,
    more_cards: SecondGpu | None = None,
) -> Json:
    """Everything that a script may rely on. ``offers``: the trades, where they were asked for; ``more_cards``: is the
    second GPU worth it, where there are two."""
    result: dict[str, Any] = {
        "model": model_json(model),
        "devices": [device_json(device) for device in plan.estimate.devices],
        "homes": homes_json(plan.placement),
        "kv_home": plan.placement.kv_home.value,
        "overrides": [
            {"pattern": rule.pattern, "device": rule.device, "tensors": rule.n_tensors, "bytes": rule.n_bytes}
            for rule in plan.overrides
        ],
        "context": plan.n_ctx,
        "slots": plan.n_slots,
        "argv": list(plan.argv),
        "extra": list(plan.wishes.extra),
        "speed": {
            "decode": plan.speed.decode_tps,
            "prompt": plan.speed.prompt_tps,
            "kind": plan.speed.kind,
            "limited_by": plan.speed.limited_by,
        },
        "speed_runs": plan.speed.n_runs,
        "figures": figures_kind(plan),
        "problems": problems_json(problems),
    }
    if offers is not None:
        result["trades"] = [trade_json(trade) for trade in offers]
        result["second_gpu"] = None if more_cards is None else second_gpu_json(more_cards)
    if with_tensors:
        result["placement"] = locations(model, plan.placement)
    return result


def figures_kind(plan: Plan) -> str:
    """``calibrated`` when something that was learned on this machine went into the figures, else ``estimated``."""
    taught = any(d.formula is not None or d.overhead_kind == "calibrated" for d in plan.estimate.devices)
    return "calibrated" if taught else "estimated"


def figures_json(figures: MemoryFigures) -> Json:
    """Bytes by kind, without the total."""
    return {"weights": figures.weights, "kv": figures.kv, "compute": figures.compute}


def trade_json(trade: Trade) -> Json:
    """One offer; ``changes`` are wishes by their options' names, empty when only the user can do it."""
    return {
        "code": trade.code,
        "value": trade.value,
        "changes": {_OPTION[name]: str(value) for name, value in trade.changes.items()},
        "freed_bytes": trade.freed_bytes,
        "expert_layers": trade.expert_layers,
        "decode_gain": trade.decode_gain_tps,
        "decode_gain_share": round(trade.decode_gain_share, 4),
        "prompt_factor": trade.prompt_factor,
        "ram_read_saved_bytes": trade.ram_read_saved_bytes,
        "quality": trade.quality.value,
    }


def second_gpu_json(answer: SecondGpu) -> Json:
    """Is the second GPU worth it: answers, speeds with and without it, factors and bytes from RAM."""
    return {
        "devices": list(answer.devices),
        "alone": answer.alone,
        "on": answer.is_on,
        "decode": answer.decode.value,
        "prompt": answer.prompt.value,
        "decode_with": answer.decode_with,
        "decode_without": answer.decode_without,
        "decode_factor": answer.decode_factor,
        "prompt_with": answer.prompt_with,
        "prompt_without": answer.prompt_without,
        "prompt_factor": answer.prompt_factor,
        "ram_read_with_bytes": answer.ram_read_with_bytes,
        "ram_read_without_bytes": answer.ram_read_without_bytes,
    }


def model_json(model: ModelInfo) -> Json:
    """The model's identity."""
    return {
        "path": model.path,
        "architecture": model.architecture,
        "name": model.name,
        "file_bytes": model.file_bytes,
        "blocks": model.block_count,
        "experts": experts_json(model),
    }


def experts_json(model: ModelInfo) -> Json:
    """How many experts there are, are used for a token, and are shared."""
    return {"count": model.expert_count, "used": model.expert_used_count, "shared": model.expert_shared_count}


def device_json(device: DeviceEstimate) -> Json:
    """One column. What the engine never prints is ``overhead``: the GPU's context, files beside the model and, in RAM,
    the prompt cache, second copies and checkpoints; all but the first are named once more. ``total`` = weights + kv +
    compute + overhead."""
    return {
        "name": device.device,
        "kind": device.kind.value,
        "weights": device.weights_bytes,
        "kv": device.kv_bytes,
        "compute": device.compute_bytes,
        "overhead": device.overhead_bytes + device.prompt_cache_bytes + device.segments_bytes,
        **{segment.value: device.segments.get(segment, 0) for segment in Segment},
        "overhead_kind": device.overhead_kind,
        "overhead_launches": device.overhead_launches,
        "formula": None if device.formula is None else figures_json(device.formula),
        "prompt_cache": device.prompt_cache_bytes,
        "reserve": device.reserve_bytes,
        "total": device.total_bytes,
        "free": device.free_bytes,
        "fits": device.fits,
    }


def homes_json(placement: Placement) -> list[Json]:
    """Runs of layer units with one home, first to last; the unit ``blocks`` is the output."""
    runs: list[Json] = []
    for device, units in groupby(enumerate(homes(placement)), key=lambda unit: unit[1]):
        numbers = [number for number, _ in units]
        runs.append({"device": device, "first": numbers[0], "last": numbers[-1]})
    return runs


def problems_json(problems: Iterable[Problem]) -> list[Json]:
    """Codes and parameters; sentences are for people."""
    return [problem_json(problem) for problem in problems]


def problem_json(problem: Problem) -> Json:
    """One problem."""
    return {"code": problem.code, "severity": problem.severity.value, "params": shown_params(problem)}
