"""Dry runs of the real engine and the placements they were made with: tests and benchmarks compare against them.

``python -m tests.tools.record_dry_runs`` made the recorded ones.
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path

from app.model.types import ModelInfo
from app.planner.kv import KvSettings
from app.planner.memory import RunSettings
from app.planner.placement import all_in_ram, all_on_gpu, runs_for, with_experts_in_ram
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, KvHome, Placement
from tests.tools.sparse_common import COMMON, NEEDS_PLAIN_CACHE
from tests.tools.sparse_models import NAMES
from tests.tools.sparse_rare import RARE

DATA = Path(__file__).parents[1] / "data" / "planner" / "engine_dry_runs.json"
MODEL_NAMES = NAMES
ANCHOR_MODELS = ("qwen3-30b", "qwen1.5-moe", "deepseek-v2-lite", "gpt-oss-20b")
_CAPACITY = 24105 << 20
ENDPOINTS = ("127.0.0.1:50099", "127.0.0.1:50098")
RAM_DEVICE = Device(RAM, DeviceKind.RAM, _CAPACITY, _CAPACITY)
RPC_DEVICE = Device("RPC0", DeviceKind.RPC, _CAPACITY, _CAPACITY, buffer_name=f"RPC0[{ENDPOINTS[0]}]")
SECOND_RPC = Device("RPC1", DeviceKind.RPC, _CAPACITY, _CAPACITY, buffer_name=f"RPC0[{ENDPOINTS[1]}]")
WITH_RPC = DeviceSet((RPC_DEVICE,), RAM_DEVICE, rpc_servers=ENDPOINTS[:1])
WITH_TWO = DeviceSet((RPC_DEVICE, SECOND_RPC), RAM_DEVICE, rpc_servers=ENDPOINTS)
CPU_ONLY = DeviceSet((), RAM_DEVICE)

PLACEMENTS = {
    "A": "all on the card",
    "B": "all experts in RAM",
    "C": "experts of the first half of layers in RAM",
    "D": "the second half of layers on the card",
    "E": "no card at all",
    "F": "as D, all experts in RAM",
    "N": "as B, the KV cache in RAM",
    "P": "two cards, half the layers each",
    "Q": "two cards, experts of the first half of layers in RAM",
}


@dataclass(frozen=True)
class DryRun:
    """One run: what was asked, and MiB (weights, context, compute) per device as the engine told them, floored."""

    model: str
    placement: str
    n_ctx: int
    n_ubatch: int
    cache_type: str
    flash_attn: str
    n_slots: int
    is_unified: bool = True
    mib: dict[str, list[int]] = field(default_factory=dict, compare=False)

    @property
    def devices(self) -> DeviceSet:
        if self.placement in ("P", "Q"):
            return WITH_TWO
        return CPU_ONLY if self.placement == "E" else WITH_RPC

    @property
    def settings(self) -> RunSettings:
        kv = KvSettings(
            self.n_ctx,
            min(self.n_ubatch, self.n_ctx),
            self.cache_type,
            self.cache_type,
            self.n_slots,
            is_unified=self.is_unified,
        )
        return RunSettings(kv, flash_attention=self.flash_attn != "off")

    def place(self, model: ModelInfo) -> Placement:
        devices, half = self.devices, model.block_count // 2
        every = frozenset(model.expert_blocks)
        full = all_on_gpu(model, devices)
        if self.placement == "E":
            return all_in_ram(model, devices)
        if self.placement == "A":
            return full
        if self.placement == "C":
            return with_experts_in_ram(model, full, devices, frozenset(range(half)))
        if self.placement in ("D", "F"):
            part = Placement(model.block_count, runs_for(devices, half))
            return with_experts_in_ram(model, part, devices, every) if self.placement == "F" else part
        if self.placement in ("P", "Q"):
            two = Placement(model.block_count, (("RPC0", model.block_count + 1 - half), ("RPC1", half)))
            return two if self.placement == "P" else with_experts_in_ram(model, two, devices, frozenset(range(half)))
        kv_home = KvHome.RAM if self.placement == "N" else KvHome.HOME
        return replace(with_experts_in_ram(model, full, devices, every), kv_home=kv_home)


def dry_runs() -> tuple[DryRun, ...]:
    """The recorded runs."""
    return tuple(DryRun(**row) for row in json.loads(DATA.read_text(encoding="utf-8"))["rows"])


_SETTINGS = (
    (8192, 512, "f16", "on", 1, True),
    (32768, 512, "q8_0", "on", 1, True),
    (4096, 512, "f16", "off", 1, True),
    (16384, 2048, "f16", "on", 1, True),
    (8192, 512, "f16", "auto", 4, True),
    (65536, 1024, "q4_0", "on", 1, True),
    (16384, 512, "f16", "on", 4, False),
    (2048, 128, "bf16", "on", 2, True),
    (131072, 512, "q8_0", "on", 2, True),
    (24576, 512, "f16", "on", 1, True),
    (40960, 512, "f16", "on", 1, True),
    (16384, 256, "f16", "off", 4, True),
    (512, 512, "f16", "on", 1, True),
)
"""n_ctx, n_ubatch, cache type, flash attention, slots, unified: every value in several companies."""
_PER_PLACEMENT, _OF_LATER_MODELS = 3, 1


def anchor_cases() -> tuple[DryRun, ...]:
    """The twelve cases of anchors.md: four models, three placements, the server's default of four slots."""
    return tuple(
        DryRun(model, placement, n_ctx, 512, cache_type, "auto", 4)
        for model in ANCHOR_MODELS
        for placement, n_ctx, cache_type in (("A", 8192, "f16"), ("B", 8192, "f16"), ("C", 32768, "q8_0"))
    )


def all_cases() -> tuple[DryRun, ...]:
    """The anchors, then for each model and placement some of the settings, so that all meet all over the models."""
    cases = dict.fromkeys(anchor_cases())
    for i, model in enumerate(MODEL_NAMES):
        for j, placement in enumerate(PLACEMENTS):
            for k in range(_OF_LATER_MODELS if model in COMMON or model in RARE else _PER_PLACEMENT):
                settings = _SETTINGS[(i + 3 * j + 4 * k) % len(_SETTINGS)]
                if model in NEEDS_PLAIN_CACHE and settings[2] not in ("f16", "bf16"):
                    continue
                cases.setdefault(DryRun(model, placement, *settings))
    return tuple(cases)
