"""One entry of a file of public cases: what it tells about the model, the run and the printed figures."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from app.common.units import MIB
from app.planner.types import RAM

_KNOWN_BUILDS = (
    ("2025-01-01", 4400), ("2025-04-01", 5010), ("2025-06-01", 5550), ("2025-08-01", 6060), ("2025-10-01", 6650),
    ("2025-12-01", 7200), ("2026-02-14", 8041), ("2026-04-03", 8651), ("2026-05-16", 9174), ("2026-06-18", 9701),
    ("2026-07-14", 9986), ("2026-09-02", 10760),
)  # fmt: skip
"""Release dates of some mainline builds, to place a log that tells only its day."""


@dataclass(frozen=True)
class Case:
    """One case; ``facts``, ``run``, ``measured`` and ``judge`` as the file has them. Sizes there are MiB."""

    raw: Mapping

    @property
    def id(self) -> str:
        return str(self.raw["id"])

    @property
    def is_ik(self) -> bool:
        return self.raw.get("engine_kind") == "ik"

    @property
    def engine(self) -> str:
        return str(self.raw.get("engine_kind"))

    @property
    def facts(self) -> Mapping:
        return self.raw.get("facts") or {}

    @property
    def run(self) -> Mapping:
        return self.raw.get("run") or {}

    @property
    def measured(self) -> Mapping:
        return self.raw.get("measured") or {}

    @property
    def judge(self) -> Mapping:
        return self.raw.get("judge") or {}

    @property
    def arch(self) -> str:
        return str(self.facts.get("arch") or "unknown")

    @property
    def has_shapes(self) -> bool:
        """Do the facts tell enough of the model's shape to build its graph?"""
        return all(self.facts.get(key) for key in ("n_embd", "n_vocab", "n_head", "head_k"))

    @property
    def printed(self) -> Mapping[str, Mapping]:
        """Device -> printed figures; RAM under our name."""
        return {RAM if name == "HOST" else name: d for name, d in (self.measured.get("devices") or {}).items()}

    def card_mib(self, device: str) -> float | None:
        """The memory of one card: as measured, else as the case tells it for the cards in the engine's order."""
        told = self.measured.get("card_size_mib")
        if isinstance(told, Mapping):
            told = told.get(device)
        if isinstance(told, int | float):
            return float(told)
        number = re.search(r"\d*$", device)
        cards = self.raw.get("vram_gib")
        cards = cards if isinstance(cards, list) else [cards]
        at = int(number[0]) if number is not None and number[0] else 0
        size = cards[at] if at < len(cards) else None
        return size * 1024.0 if isinstance(size, int | float) else None

    def fact(self, key: str, default: int = 0) -> int:
        value = self.facts.get(key)
        return default if value is None else int(value)

    @property
    def n_layers(self) -> int:
        """Blocks of the file, MTP ones included."""
        return self.fact("n_layer_all") or self.fact("n_layer")

    @property
    def n_mtp(self) -> int:
        """MTP blocks, the last ones."""
        return self.n_layers - self.fact("n_layer", self.n_layers)

    @property
    def homes_are_known(self) -> bool:
        """Is each layer's device known: one GPU, or the printed layers or the stated split of several?"""
        n_gpus = len([name for name in self.printed if name != RAM])
        return n_gpus <= 1 or bool(self.run.get("layers_per_device")) or bool(self.run.get("tensor_split"))

    @cached_property
    def day(self) -> str | None:
        """The day of the log, the last one of a month or year that is all it tells."""
        told = str(self.raw.get("date") or "")
        day = told + {4: "-12-31", 7: "-28"}.get(len(told), "")
        return day if re.fullmatch(r"\d{4}-\d{2}-\d{2}", day) else None

    def is_before(self, day: str) -> bool:
        """Is the log known to be older?"""
        return self.day is not None and self.day < day

    @cached_property
    def build(self) -> int | None:
        """The mainline build number, told or worked out from the date of the log."""
        told = re.match(r"b(\d{3,6})\b", str(self.raw.get("build") or ""))
        if told:
            return int(told[1])
        day = self.day
        return None if day is None else max((build for known, build in _KNOWN_BUILDS if known <= day), default=1)

    @cached_property
    def file_bytes(self) -> float | None:
        """The file's size; None when not told."""
        told = self.raw.get("file_size_gib")
        return None if told is None else float(told) * 1024 * MIB

    @cached_property
    def embedding_bytes(self) -> float | None:
        """The token embedding's size; None when not told."""
        told = self.raw.get("token_embd_mib")
        return None if told is None else float(told) * MIB

    @cached_property
    def routed_bytes(self) -> tuple[int, ...] | None:
        """Bytes of the routed experts of each MoE layer, first one first; None when not told."""
        told = self.raw.get("routed_mib_per_layer")
        if told is None:
            return None
        n = self.n_layers - self.fact("n_dense_lead")
        per_layer = [told] * n if isinstance(told, int | float) else [*told, *([told[-1]] * n)][:n]
        return tuple(round(x * MIB) for x in per_layer)

    @cached_property
    def rest_bytes(self) -> float | None:
        """Everything but the routed experts: told, or the file less the routed experts; None when neither is.

        A told rest that does not go into the file was summed over mapped buffers, which count bytes twice.
        """
        told, routed = self.raw.get("other_weights_mib"), self.routed_bytes
        by_file = self.file_bytes - sum(routed) if self.file_bytes and routed else None
        if told is None:
            return by_file if by_file and by_file > 0 else None
        rest = float(told) * MIB
        if by_file is not None and self.file_bytes and 0 < by_file < rest - 0.01 * self.file_bytes:
            return by_file
        return rest


def load_cases(path: str | Path) -> list[Case]:
    """The cases of a file: a list, or an object with ``cases``."""
    data = json.loads(Path(path).read_text("utf-8"))
    return [Case(entry) for entry in (data["cases"] if isinstance(data, dict) else data)]
