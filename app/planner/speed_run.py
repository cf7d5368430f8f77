"""One speed that was measured on this computer, as it is kept. Plain values; ``speed_runs`` makes rates of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RECENT_RUNS = 8
"""Runs of one model on one set of devices that count."""
_LEAST_TPS, _MOST_TPS, _MOST = 1e-3, 1e6, 1e21


@dataclass(frozen=True, slots=True)
class SpeedRun:
    """One measured request. ``machine``: processor and RAM; ``read_bytes``: bytes per token by
    ``learned_devices.learning_key``; ``prompt_*``: of a prompt that was long enough, else None."""

    machine: str
    engine: str
    model: str
    read_bytes: Mapping[str, float]
    ram_weight_bytes: float
    hand_overs: int
    gpu_blocks: int
    decode_tps: float | None
    prompt_tokens: int | None = None
    prompt_copy_bytes: float = 0.0
    prompt_flops: float = 0.0
    prompt_row_bytes: float = 0.0
    prompt_host_flops: float = 0.0
    prompt_tps: float | None = None

    @property
    def is_sane(self) -> bool:
        """Are all figures such as a computer can have? A file may have been edited."""
        figures = (
            *self.read_bytes.values(),
            self.ram_weight_bytes,
            float(self.hand_overs),
            float(self.gpu_blocks),
            self.prompt_copy_bytes,
            self.prompt_flops,
            self.prompt_row_bytes,
            self.prompt_host_flops,
        )
        speeds = [tps for tps in (self.decode_tps, self.prompt_tps) if tps is not None]
        return (
            bool(speeds)
            and all(_LEAST_TPS <= tps <= _MOST_TPS for tps in speeds)
            and all(0 <= figure <= _MOST for figure in figures)
            and (self.prompt_tps is None or 0 < (self.prompt_tokens or 0) <= _MOST)
        )

    @property
    def same_work(self) -> object:
        """Runs of one model on the same devices with as many hand-overs are repetitions of one another, whatever
        their depth: their median counts once."""
        held = tuple(sorted((key, round(n_bytes, -8)) for key, n_bytes in self.read_bytes.items()))
        return self.model, held, self.hand_overs
