"""The values that the wishes row offers. Plain values, no Qt."""

from __future__ import annotations

import re

from app.common.units import MIB
from app.hardware.types import CoreKind, HardwareSnapshot
from app.model.types import ModelInfo
from app.planner.types import RAM, Plan
from app.words import say
from app.words.catalogue import number_text

Choice = tuple[str, object]

_CONTEXTS = (2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144)
_KV_TYPES = ("f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
_SLOTS = (1, 2, 4, 8)
_RESERVES = (0, 256, 512, 1024, 2048)
_RAM_RESERVES = (0, 1024, 2048, 4096, 8192)
_PROMPT_CACHES = (0, 512, 1024, 2048, 4096, 8192)
_UBATCHES = (128, 256, 512, 1024, 2048)
_THREADS = (2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64)
AUTO = "auto"
"""A wish that the plan fills in."""
PRESETS = ("fill", "experts-cpu", "all-gpu", "all-cpu", "article", "fit")


def _numbers(values: tuple[int, ...], current: int) -> list[Choice]:
    return [(number_text(n), n) for n in sorted({*values, current})]


def context_choices(model: ModelInfo | None, plan: Plan) -> list[Choice]:
    """Typical sizes up to the model's own, its own, and the one in use."""
    own = model.context_length if model is not None else None
    values = tuple(n for n in _CONTEXTS if own is None or n <= own)
    return _numbers((*values, own) if own is not None else values, plan.n_ctx)


def kv_value(plan: Plan) -> str:
    """K and V type of the plan as one value."""
    return f"{plan.wishes.cache_type_k}/{plan.wishes.cache_type_v}"


def kv_choices(plan: Plan) -> list[Choice]:
    """The usual equal pairs, and the one in use."""
    values = [f"{name}/{name}" for name in _KV_TYPES]
    if kv_value(plan) not in values:
        values.append(kv_value(plan))
    return [(_kv_text(value), value) for value in values]


def _kv_text(value: str) -> str:
    first, second = value.split("/")
    return first if first == second else f"{first} / {second}"


def slot_choices(plan: Plan) -> list[Choice]:
    """How many users at once."""
    return _numbers(_SLOTS, plan.n_slots)


def reserve_mib(plan: Plan) -> int:
    """What the plan keeps free on its first GPU, in MiB."""
    if plan.wishes.reserve_mib is not None:
        return plan.wishes.reserve_mib
    return plan.devices.gpus[0].reserve_bytes // MIB if plan.devices.gpus else 0


def reserve_choices(plan: Plan) -> list[Choice]:
    """MiB to keep free."""
    values = sorted({*_RESERVES, reserve_mib(plan)})
    return [(say("plan.wish.mib", n=n), n) for n in values]


def keep_ram_mib(plan: Plan) -> int:
    """RAM that the plan leaves to other programs, in MiB."""
    if plan.wishes.keep_ram_mib is not None:
        return plan.wishes.keep_ram_mib
    return plan.devices.ram.reserve_bytes // MIB


def keep_ram_choices(plan: Plan) -> list[Choice]:
    """MiB of RAM to keep free."""
    values = sorted({*_RAM_RESERVES, keep_ram_mib(plan)})
    return [(say("plan.wish.mib", n=n), n) for n in values]


def prompt_cache_value(plan: Plan) -> int | str:
    """The prompt cache that was asked for, in MiB; ``AUTO`` while the plan chooses."""
    return AUTO if plan.wishes.prompt_cache_mib is None else plan.wishes.prompt_cache_mib


def prompt_cache_choices(plan: Plan) -> list[Choice]:
    """What the plan chooses, with its size, and MiB of RAM for finished conversations."""
    value = prompt_cache_value(plan)
    chosen = say("plan.wish.auto")
    if value == AUTO:
        chosen = say("plan.wish.auto_mib", n=plan.estimate.get(RAM).prompt_cache_bytes // MIB)
    sizes = sorted({*_PROMPT_CACHES, *([value] if isinstance(value, int) else [])})
    return [(chosen, AUTO), *((say("plan.wish.mib", n=n), n) for n in sizes)]


def parse_prompt_cache(text: str) -> int | str | None:
    """MiB, or ``AUTO`` for that word; None for anything else."""
    if text.strip().lower() in (AUTO, say("plan.wish.auto").lower()):
        return AUTO
    return parse_number(text)


def ubatch_choices(plan: Plan) -> list[Choice]:
    """Micro-batch sizes."""
    return _numbers(_UBATCHES, plan.wishes.n_ubatch)


def thread_choices(plan: Plan, hardware: HardwareSnapshot | None) -> list[Choice]:
    """The recommended cores, or a number of threads."""
    limit = hardware.cpu.logical_count if hardware is not None else 64
    values = {n for n in _THREADS if n <= limit}
    if plan.wishes.n_threads is not None:
        values.add(plan.wishes.n_threads)
    return [(_auto_threads(hardware), None), *((number_text(n), n) for n in sorted(values))]


def _auto_threads(hardware: HardwareSnapshot | None) -> str:
    if hardware is None:
        return say("plan.wish.auto")
    n = hardware.cpu.recommended_threads
    if hardware.cpu.is_hybrid and n == hardware.cpu.count(CoreKind.P):
        return say("plan.wish.p_cores", n=n)
    return say("plan.wish.cores", n=n)


def effort_choices() -> list[Choice]:
    """Is the plan quiet?"""
    return [(say("effort.full"), False), (say("effort.quiet"), True)]


def preset_choices() -> list[Choice]:
    """Named plans."""
    return [(say(f"plan.preset.{name}"), name) for name in PRESETS]


_LARGEST = 1 << 27
"""Tokens of context, MiB: more is a slip of the keyboard. The command line has the same limits."""


def parse_context(text: str) -> int | None:
    """A number of tokens, at least one; None for anything else."""
    return parse_number(text) or None


def parse_number(text: str) -> int | None:
    """'16k', '16 384', '16,384', '600 MiB' -> a whole number; None for anything else, and for an absurd one."""
    match = re.fullmatch(r"(\d+)\s*(k?)(?:\s*mib)?", re.sub(r"[\s, _]", "", text.strip().lower()))
    if match is None:
        return None
    if len(match.group(1)) > len(str(_LARGEST)):
        return None
    number = int(match.group(1)) * (1024 if match.group(2) else 1)
    return number if number <= _LARGEST else None
