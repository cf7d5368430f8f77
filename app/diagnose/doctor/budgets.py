"""How much a device can really take, judged by the allocation that failed on it. Pure.

A plan said that it fits, and the engine could not allocate: so less was free than the plan believed, or the engine
takes more than it prints. What is certain is that everything allocated so far and the failed buffer together were too
much. The new plan must stay below that, by a margin; where the log does not tell, below the failed plan.
"""

from __future__ import annotations

from dataclasses import replace

from app.common.problem import Problem
from app.common.units import MIB
from app.diagnose.doctor.log_facts import LogFacts
from app.planner.types import RAM, DeviceSet, Plan

_MARGIN_SHARE = 0.02
_MARGIN = 256 * MIB
_MARGIN_MOST_SHARE = 0.2
"""The margin: 2 %, at least 256 MiB; on small cards at most a fifth."""
_UNKNOWN_SHARE = 0.06
_UNKNOWN = 512 * MIB
_UNKNOWN_MOST_SHARE = 0.25
"""Where no size is known: this much of the plan's bytes has to go, by the same pattern."""


def budget_after_failure(plan: Plan, device: str, failure: Problem, log: LogFacts | None) -> int:
    """Bytes that a plan may need on the device, everything included, after an allocation on it has failed."""
    params, estimate = failure.params, plan.estimate.get(device)
    unprinted = estimate.overhead_bytes + estimate.prompt_cache_bytes
    asked = params.get("n_bytes")
    total = estimate.total_bytes
    limits = [total - _part(total, _UNKNOWN_SHARE, _UNKNOWN, _UNKNOWN_MOST_SHARE)]
    so_far = sum(b.n_bytes for b in log.buffers if b.device == device) if log is not None else 0
    is_first = params.get("stage") == "weights" or failure.code == "weights_oom"
    if isinstance(asked, int) and asked > 0 and params.get("stage") != "generating" and (so_far or is_first):
        known = so_far + asked
        limits = [known + unprinted - _part(known, _MARGIN_SHARE, _MARGIN, _MARGIN_MOST_SHARE)]
    free = _free_in_log(device, log)
    if free is not None:
        limits.append(free - estimate.reserve_bytes)
    return max(0, min(limits))


def _part(whole: int, share: float, least: int, most_share: float) -> int:
    """A share of a size, at least so much, but never more than another share of it."""
    return round(min(max(whole * share, least), whole * most_share))


def budget_without(plan: Plan, device: str, n_bytes: int) -> int:
    """Bytes that a plan may need so that ``n_bytes`` and half a GiB of air come free on the device."""
    total = plan.estimate.get(device).total_bytes
    return max(0, total - n_bytes - _part(total, _UNKNOWN_SHARE, _UNKNOWN, _UNKNOWN_MOST_SHARE))


def with_budget(devices: DeviceSet, device: str, n_bytes: int) -> DeviceSet:
    """The same devices, one of them with room for exactly this much (its reserve stays on top)."""
    gpus = tuple(replace(d, free_bytes=n_bytes + d.reserve_bytes) if d.name == device else d for d in devices.gpus)
    ram = replace(devices.ram, free_bytes=n_bytes + devices.ram.reserve_bytes) if device == RAM else devices.ram
    return replace(devices, gpus=gpus, ram=ram)


def _free_in_log(device: str, log: LogFacts | None) -> int | None:
    """What the engine itself found free before it loaded (llama.cpp:306, needs -lv 4)."""
    used = log.devices.get(device) if log is not None else None
    return None if used is None else used.free_bytes
