"""The arguments for the files beside the model, in the spellings that the build at hand lists."""

from __future__ import annotations

from typing import Protocol

from app.common.problem import Severity
from app.planner.companions import SIMPLE
from app.planner.types import Wishes


class Adds(Protocol):
    """What writes one option (``argv``)."""

    def add(self, option: str, *values: str | int, lacking: Severity | None = Severity.WARNING) -> bool:
        """Write it when the build has it; a build without is a problem of this severity."""


def add_companions(writer: Adds, wishes: Wishes, speculation: str | None) -> None:
    """Projector, draft and adapters of the wishes. ``speculation``: a value of ``--spec-type``, None without any.

    A build from before ``--spec-type`` drafts whenever it is given a draft model; since then a draft model alone is
    loaded and never used (common/speculative.cpp:2682), so the kind is always said.
    """
    if wishes.mmproj_path is not None:
        writer.add("mmproj", wishes.mmproj_path, lacking=Severity.ERROR)
        if not wishes.mmproj_offload:
            writer.add("mmproj_in_ram", lacking=Severity.ERROR)
    if wishes.draft_path is not None:
        writer.add("draft_model", wishes.draft_path, lacking=Severity.ERROR)
        _add_draft_place(writer, wishes)
    if speculation is not None:
        writer.add("spec_type", speculation, lacking=None if speculation == SIMPLE else Severity.ERROR)
        if wishes.draft_max is not None:
            writer.add("draft_max", wishes.draft_max)
        for option, cache_type in (
            ("draft_cache_k", wishes.draft_cache_type_k),
            ("draft_cache_v", wishes.draft_cache_type_v),
        ):
            if cache_type != "f16":
                writer.add(option, cache_type)
    for path in wishes.lora_paths:
        writer.add("lora", _quoted(path), lacking=Severity.ERROR)


def _add_draft_place(writer: Adds, wishes: Wishes) -> None:
    if wishes.draft_device is not None:
        writer.add("draft_device", wishes.draft_device)
    if wishes.draft_gpu_layers is not None:
        writer.add("draft_gpu_layers", wishes.draft_gpu_layers)


def _quoted(path: str) -> str:
    """``--lora`` takes a row of comma-separated values (common/arg.cpp:2958, parse_csv_row): a comma needs quotes."""
    return '"' + path.replace('"', '""') + '"' if "," in path or '"' in path else path
