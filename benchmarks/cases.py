"""One entry of a file of public cases: what it tells about the model, the run and the printed figures."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from app.common.units import MIB
from app.planner.types import RAM
from benchmarks.case_mix import mixed_sizes

_KNOWN_BUILDS = (
    ("2025-01-01", 4400), ("2025-04-01", 5010), ("2025-06-01", 5550), ("2025-08-01", 6060), ("2025-10-01", 6650),
    ("2025-12-01", 7200), ("2026-02-14", 8041), ("2026-04-03", 8651), ("2026-05-16", 9174), ("2026-06-18", 9701),
    ("2026-07-14", 9986), ("2026-09-02", 10760),
)  # fmt: skip
"""Release dates of some mainline builds, to place a log that tells only its day."""


_EMBEDDING_BYTES = 0.5
"""Bytes per element that even a small embedding has; what is left besides the experts must hold it."""
_MOST_REST = 0.3
_MOST_LAYERS = 1000


@dataclass(frozen=True)
class Case:
    """One case; ``facts``, ``run``, ``measured`` and ``judge`` as the file has them. Sizes there are MiB."""

    raw: Mapping
    number: int = 0

    @property
    def id(self) -> str:
        return str(self.raw.get("id") or f"case {self.number}")

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
        """Blocks of the file, MTP ones included. ValueError for a number that no model has."""
        n_layers = self.fact("n_layer_all") or self.fact("n_layer")
        if not 0 <= n_layers <= _MOST_LAYERS:
            raise ValueError(f"{n_layers} layers")
        return n_layers

    @property
    def n_mtp(self) -> int:
        """MTP blocks, the last ones. ValueError for more or fewer than there can be."""
        n_mtp = self.n_layers - self.fact("n_layer", self.n_layers)
        if not 0 <= n_mtp <= self.n_layers:
            raise ValueError(f"{n_mtp} MTP layers")
        return n_mtp

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
        if told is None or told == []:
            return None
        n = self.n_layers - self.fact("n_dense_lead")
        if not isinstance(told, int | float):
            return tuple(round(x * MIB) for x in [*told, *([told[-1]] * n)][:n])
        mixed = self._mixed_sizes(told * MIB) if self.routed_is_average else None
        return tuple(round(size) for size in mixed or [told * MIB] * n)

    @property
    def routed_is_average(self) -> bool:
        """Is the told size of a layer's experts a mean over layers that differ?"""
        return bool((self.raw.get("_derived") or {}).get("routed_is_average"))

    def _mixed_sizes(self, mean_bytes: float) -> tuple[float, ...] | None:
        """The sizes by the rule of the file's mix, believed only where the rest of the file comes out plausible too."""
        n_elements = self.fact("n_expert") * self.fact("n_ff_exp") * self.fact("n_embd")
        trunk = self.n_layers - self.n_mtp
        if self.file_bytes is None or self.n_mtp:
            return None
        sizes = mixed_sizes(str(self.raw.get("quant") or ""), trunk, self.fact("n_dense_lead"), n_elements, mean_bytes)
        rest = self.file_bytes - sum(sizes or ())
        embedding = self.fact("n_embd") * self.fact("n_vocab") * _EMBEDDING_BYTES
        return sizes if sizes and embedding < rest < _MOST_REST * self.file_bytes else None

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
    """The cases of a file: a list, or an object with ``cases``. What is no object becomes a case that tells nothing."""
    data = json.loads(Path(path).read_text("utf-8"))
    entries = data.get("cases") if isinstance(data, dict) else data
    if not isinstance(entries, list):
        raise SystemExit(f"{path}: neither a list of cases nor an object with one under 'cases'")
    return [Case(_readable(entry), number) for number, entry in enumerate(entries)]


def _readable(entry: object) -> Mapping:
    """Without the parts that must be objects and are none: they are as good as missing."""
    if not isinstance(entry, dict):
        return {}
    parts = ("facts", "run", "measured", "judge", "_derived")
    return {key: value for key, value in entry.items() if key not in parts or isinstance(value, dict)}
