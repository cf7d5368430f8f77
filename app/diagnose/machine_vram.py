"""VRAM that is there, is called free, and still cannot be had. Pure."""

from __future__ import annotations

from app.common.problem import Problem, Severity
from app.hardware.types import HardwareSnapshot


def withheld_findings(snapshot: HardwareSnapshot) -> list[Problem]:
    """Cards of which the system grants one program less than the driver calls free; the engine's figure is planned."""
    return [
        Problem(
            "vram_withheld",
            Severity.INFO,
            {"gpu": gpu.name, "n_bytes": gpu.driver_free_bytes - gpu.free_bytes, "free_bytes": gpu.free_bytes},
        )
        for gpu in snapshot.gpus
        if gpu.driver_free_bytes is not None and gpu.free_bytes is not None and gpu.driver_free_bytes > gpu.free_bytes
    ]
