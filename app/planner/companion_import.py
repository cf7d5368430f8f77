"""How a pasted command's projector, draft and adapter options become wishes. Used by ``command_import``."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from app.planner.companions import MTP, SIMPLE
from app.planner.flag_table import Given
from app.planner.kv import CACHE_TYPES
from app.planner.types import Wishes

_FROM_THE_DRAFT = frozenset({SIMPLE, "draft-eagle3", "draft-dflash", "draft-dspark"})
"""Kinds that the draft file itself tells again (``companions.speculation_of``)."""

Reader = Callable[[Wishes, str], Wishes | None]
"""The wishes with the option's value; None: not to be modelled, keep the option as it is."""


def _path(name: str) -> Reader:
    def read(wishes: Wishes, value: str) -> Wishes:
        changed: dict[str, str] = {name: value}
        return replace(wishes, **changed)  # type: ignore[arg-type]  # text fields only

    return read


def _gpu_layers(wishes: Wishes, value: str) -> Wishes | None:
    if value in ("auto", "all"):
        return replace(wishes, draft_gpu_layers=None)
    if re.fullmatch(r"-?[0-9]{1,9}", value) is None:
        return None
    return replace(wishes, draft_gpu_layers=None if int(value) < 0 else int(value))


def _draft_max(wishes: Wishes, value: str) -> Wishes | None:
    is_number = re.fullmatch(r"[0-9]{1,4}", value) is not None and 1 <= int(value) <= 1024
    return replace(wishes, draft_max=int(value)) if is_number else None


def _device(wishes: Wishes, value: str) -> Wishes | None:
    return None if "," in value else replace(wishes, draft_device=value)


def _cache_type(name: str) -> Reader:
    def read(wishes: Wishes, value: str) -> Wishes | None:
        changed: dict[str, str] = {name: value}
        return replace(wishes, **changed) if value in CACHE_TYPES else None  # type: ignore[arg-type]  # text fields

    return read


def _spec_type(wishes: Wishes, value: str) -> Wishes | None:
    """Other kinds (n-grams) take no memory to speak of and stay as they are."""
    if value == MTP:
        return replace(wishes, mtp=True)
    return wishes if value in _FROM_THE_DRAFT else None


def _lora(wishes: Wishes, value: str) -> Wishes | None:
    """A comma separates adapters in newer builds and is part of the name in older ones: kept as it is."""
    if "," in value or '"' in value:
        return None
    return replace(wishes, lora_paths=(*wishes.lora_paths, value))


_READERS: Mapping[str, Reader] = {
    "mmproj": _path("mmproj_path"),
    "draft_model": _path("draft_path"),
    "draft_gpu_layers": _gpu_layers,
    "draft_device": _device,
    "draft_cache_k": _cache_type("draft_cache_type_k"),
    "draft_cache_v": _cache_type("draft_cache_type_v"),
    "draft_max": _draft_max,
    "spec_type": _spec_type,
    "lora": _lora,
}


def read_companion(wishes: Wishes, given: Given) -> Wishes | None:
    """The wishes with this option; None when it is not modelled and must be kept."""
    if given.setting == "mmproj_in_ram":
        return replace(wishes, mmproj_offload=given.value != "on")
    reader = _READERS.get(given.setting or "")
    return None if reader is None else reader(wishes, given.value)
