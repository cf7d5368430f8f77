"""224 dry runs of the real engine and the placements they were made with: tests and benchmarks compare against them."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from app.model.types import ModelInfo
from app.planner.kv import KvSettings
from app.planner.memory import RunSettings
from app.planner.placement import all_in_ram, all_on_gpu, runs_for, with_experts_in_ram
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, KvHome, Placement

DATA = Path(__file__).parents[1] / "data" / "planner" / "engine_dry_runs.json"
MODEL_NAMES = ("qwen3-30b", "qwen1.5-moe", "deepseek-v2-lite", "gpt-oss-20b")
_CAPACITY = 24105 << 20
RAM_DEVICE = Device(RAM, DeviceKind.RAM, _CAPACITY, _CAPACITY)
RPC_DEVICE = Device("RPC0", DeviceKind.RPC, _CAPACITY, _CAPACITY, buffer_name="RPC0[127.0.0.1:50099]")
WITH_RPC = DeviceSet((RPC_DEVICE,), RAM_DEVICE, rpc_servers=("127.0.0.1:50099",))
CPU_ONLY = DeviceSet((), RAM_DEVICE)


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
    mib: dict[str, list[int]]

    @property
    def devices(self) -> DeviceSet:
        return CPU_ONLY if self.placement == "E" else WITH_RPC

    @property
    def settings(self) -> RunSettings:
        kv = KvSettings(
            self.n_ctx, min(self.n_ubatch, self.n_ctx), self.cache_type, self.cache_type, self.n_slots, is_unified=True
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
        kv_home = KvHome.RAM if self.placement == "N" else KvHome.HOME
        return replace(with_experts_in_ram(model, full, devices, every), kv_home=kv_home)


def dry_runs() -> tuple[DryRun, ...]:
    return tuple(DryRun(**row) for row in json.loads(DATA.read_text(encoding="utf-8"))["rows"])
