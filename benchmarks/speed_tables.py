"""One public table of measured speeds as the planner's values: model, devices, and a placement for each row."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from app.common.units import GIB, MIB
from app.model.types import ModelInfo, Role
from app.planner.kv import CACHE_TYPES, kv_bytes_by_block
from app.planner.memory import RunSettings, estimate
from app.planner.overhead import overhead_estimate_bytes
from app.planner.placement import kv_device, locations
from app.planner.token_work import TokenWork, token_work
from app.planner.types import RAM, Device, DeviceEstimate, DeviceKind, DeviceSet, MemoryEstimate, Placement
from benchmarks.case_model import model_of
from benchmarks.case_run import placement_of, settings_of
from benchmarks.cases import Case

_CARDS = (
    ("5090", 1792), ("5080", 960), ("5070 ti", 896), ("5070", 672), ("5060", 448), ("5050", 320),
    ("4090 laptop", 576), ("4090", 1008), ("4080 super", 736), ("4080", 717), ("4070 ti super", 672),
    ("4070 super", 504), ("4070 laptop", 256), ("4070", 504), ("4060 ti", 288), ("4060", 272), ("4050", 192),
    ("3090", 936), ("3080 ti", 912), ("3080", 760), ("3070 ti", 608), ("3070", 448), ("3060 ti", 448), ("3060", 360),
    ("3050", 224), ("2080 ti", 616), ("2080", 448), ("2070", 448), ("2060 super", 448), ("2060", 336),
    ("1660 ti", 288), ("1660 super", 336), ("1660", 192), ("1650", 128), ("1080 ti", 484), ("1080", 320), ("1070", 256),
    ("1060", 192), ("1050", 112), ("a6000", 768), ("a5000", 768), ("a4000", 448), ("a2000", 288), ("a100", 1555),
    ("h100", 2000), ("l40", 864), ("l4", 300), ("v100", 900), ("p100", 732), ("p40", 347), ("t4", 320), ("m40", 288),
    ("90hx", 760), ("170hx", 1493), ("9070", 640), ("9060", 320), ("7900 xtx", 960), ("7900 xt", 800), ("7800", 624),
    ("7700", 432), ("7600", 288), ("6950", 576), ("6900", 512), ("6800", 512), ("6750", 432), ("6700", 384),
    ("6650", 280), ("6600", 224), ("gfx1030", 512), ("gfx1031", 384), ("gfx1032", 224), ("gfx1100", 960),
    ("gfx1201", 640), ("r9700", 640), ("mi50", 1024), ("mi60", 1024), ("mi100", 1229), ("b580", 456), ("b570", 380),
    ("a770", 560), ("a750", 512), ("a380", 186),
)  # fmt: skip
"""GB/s by the makers' data sheets, longer names first. The app asks the driver; a table tells only the card's name."""

_EFFECTIVE = 0.8
_TRIAD = 4 / 3
"""STREAM counts the bytes its triad names; a write also reads its line, so memory moves a third more."""

_WINDOWS_HELD = 0.05
"""Share of a card that Windows keeps from programs (WDDM): past 95 % it moves pages to RAM instead of failing."""
_DESKTOP_MIB = {True: 700, False: 150}
"""What a desktop holds before a model is loaded, on Windows and elsewhere. The app asks the driver; no table tells."""
_RESERVE_MIB = {True: 512, False: 256}
"""As the app leaves free: more on a card that drives a display."""
_PLAIN_COMPUTE_MIB = 320
"""A compute buffer where the model's shapes are not told: a 2048-wide model's with 150k tokens."""
_DEPTHS = ("depth", "n_kv", "n_depth", "d")
_BENCH_CTX = 1024
"""llama-bench allocates what its test needs: a prompt of 512 and 128 tokens."""


@dataclass(frozen=True)
class Host:
    """One of a table's columns of decode speeds and what the table tells about the machine behind it."""

    target: str
    gpu: str
    vram_gib: tuple[float, ...]
    ram_gbs: float | None
    is_windows: bool


class Table:
    """A table. The model, placements and work follow from its facts; LookupError or ValueError where they cannot."""

    def __init__(self, raw: Mapping) -> None:
        self.raw = raw
        self.id = str(raw.get("id"))

    @property
    def rows(self) -> list:
        return self.raw.get("rows") or []

    @property
    def placements(self) -> list[Mapping]:
        return self.raw.get("placements") or []

    def usable(self, target: str) -> list[int]:
        """Rows to judge: not spilled, not failed, not excluded, with a figure."""
        told = (self.raw.get("usable_by_target") or {}).get(target)
        rows = self.raw.get("usable_rows") if told is None else told
        if rows is None:
            return [i for i in self.measured(target) if i not in self.spilled]
        return [i for i in rows if self.tps(i, target)]

    def measured(self, target: str) -> list[int]:
        """Every row with a figure, spilled ones too: what a planner chooses from."""
        left_out = {int(i) for i in self.raw.get("exclude") or {}}
        return [i for i in range(len(self.rows)) if i not in left_out and self.tps(i, target)]

    @property
    def spilled(self) -> set[int]:
        return set(self.raw.get("spilled") or ()) | set(self.raw.get("failed") or ())

    def tps(self, row: int, target: str) -> float | None:
        value = self.cell(row, target)
        return float(value) if isinstance(value, int | float) and value > 0 else None

    def cell(self, row: int, column: str) -> object:
        columns = [str(c) for c in self.raw.get("columns") or ()]
        at = columns.index(column)
        cells = self.rows[row]
        return cells[at] if at < len(cells) else None

    def depth(self, row: int) -> int:
        """Tokens before the measured ones."""
        for column in self.raw.get("columns") or ():
            if str(column).lower() in _DEPTHS:
                value = self.cell(row, str(column))
                return int(value) if isinstance(value, int | float) else 0
        return 0

    # --- the machine --------------------------------------------------------------------------------------------------

    def hosts(self) -> list[Host]:
        """The target, or each of the columns that stand for hosts (``tg_A``, ``tg_B``)."""
        target = self.raw.get("target")
        if not target:
            return []
        alternatives = [str(t) for t in self.raw.get("targets_alt") or ()]
        keys = self._host_keys()
        by_host = [t for t in alternatives if t.rpartition("_")[2] in keys]
        return [self._host(t) for t in (by_host if len(by_host) > 1 else [str(target)])]

    @property
    def _hardware(self) -> Mapping:
        told = self.raw.get("hardware") or {}
        return told if isinstance(told, Mapping) else {"gpu": str(told)}

    def _host_keys(self) -> list[str]:
        return [k for k, v in self._hardware.items() if isinstance(v, Mapping)]

    def _host(self, target: str) -> Host:
        hardware = self._hardware
        keys = self._host_keys()
        name = target.rpartition("_")[2]
        at = keys.index(name) if name in keys else 0
        told = hardware[name] if name in keys else hardware
        vram = self.raw.get("vram_gib")
        cards = tuple(float(v) for v in (vram if isinstance(vram, list) else [vram]) if v)
        if name in keys and len(cards) == len(keys):
            cards = (cards[at],)
        gpu = told.get("gpu")
        return Host(
            target=target,
            gpu=" ".join(map(str, gpu)) if isinstance(gpu, list) else str(gpu or ""),
            vram_gib=cards,
            ram_gbs=self._ram_gbs(name),
            is_windows="windows" in str(told).lower(),
        )

    def _ram_gbs(self, name: str) -> float | None:
        """What the table tells of RAM, as reads see it."""
        bandwidths = self.raw.get("ram_bandwidth") or {}
        told = bandwidths.get(name) or (next(iter(bandwidths.values())) if len(bandwidths) == 1 else None)
        if not told or not told.get("gb_s"):
            return None
        is_triad = "triad" in str(told.get("basis", "")).lower()
        is_theory = "theor" in str(told.get("basis", "")).lower()
        return float(told["gb_s"]) * (_TRIAD if is_triad else _EFFECTIVE if is_theory else 1.0)

    def devices(self, host: Host) -> DeviceSet:
        """One column per card; free is what a desktop and the system leave of it."""
        name, kind = _backend(f"{host.gpu} {self.raw.get('model')} {self.raw.get('hardware')}")
        held = host.is_windows * _WINDOWS_HELD
        totals = [round(gib * GIB) for gib in host.vram_gib] or [None]
        gpus = tuple(
            Device(
                f"{name}{i}",
                kind,
                total,
                None if total is None else round(total * (1 - held)) - _DESKTOP_MIB[host.is_windows] * MIB * (i == 0),
                overhead_bytes=overhead_estimate_bytes(name, kind, total),
                reserve_bytes=_RESERVE_MIB[host.is_windows] * MIB,
                bandwidth_gbs=_card_gbs(host.gpu),
            )
            for i, total in enumerate(totals)
        )
        return DeviceSet(gpus, Device(RAM, DeviceKind.RAM, None, None, bandwidth_gbs=host.ram_gbs))

    # --- the model and its rows ---------------------------------------------------------------------------------------

    @cached_property
    def has_shapes(self) -> bool:
        """Do the facts tell the model's shapes?"""
        return self._case({}).has_shapes

    @cached_property
    def model(self) -> ModelInfo:
        """The model, with shapes where the facts have them, else experts alone beside what the file's rest can be."""
        case = self._case(self.placements[0] if self.placements else {})
        if not case.facts.get("n_layer") and not case.facts.get("n_layer_all"):
            raise LookupError("the facts do not tell the model's layers")
        if not case.facts.get("n_expert"):
            raise LookupError("the facts do not tell the model's experts")
        if self.has_shapes:
            return model_of(case)
        if case.routed_bytes is None:
            raise LookupError("neither the model's shapes nor the experts' size are told")
        return _with_rest(model_of(case, is_plain=True), case)

    def _case(self, told: Mapping) -> Case:
        kv = str(told.get("kv") or "f16").lower()
        k, _, v = kv.partition("/")
        run = {
            "ngl": 0 if told.get("no_gpu") else told.get("ngl") if told.get("ngl") is not None else 0,
            "ngl_counts_output": True,
            "n_cpu_moe": told.get("n_cpu_moe"),
            "cpu_moe": told.get("cpu_moe"),
            "overrides": told.get("overrides") or [],
            "n_ctx": told.get("ctx") or _BENCH_CTX,
            "n_ubatch": told.get("ubatch"),
            "ctk": k if k in CACHE_TYPES else "f16",
            "ctv": (v or k) if (v or k) in CACHE_TYPES else "f16",
            "n_parallel": 1,
            "tool": "llama-server" if told.get("ctx") else "llama-bench",
        }
        raw = {**self.raw, "quant": self.raw.get("quant") or self.raw.get("model"), "run": run, "measured": {}}
        return Case(raw)

    def placement(self, row: int, devices: DeviceSet) -> Placement:
        """Where everything is in this row. ValueError where the engine's own fit decided."""
        told = self.placements[row]
        if told.get("fit"):
            raise ValueError("the engine's own fit placed this row")
        case = self._case(told)
        if len(devices.gpus) > 1 and told.get("ngl") not in (None, 0):
            case.run.setdefault("tensor_split", [d.total_bytes for d in devices.gpus])  # by free memory, as by default
        return placement_of(case, self.model, devices)

    def settings(self, row: int) -> RunSettings:
        return settings_of(self._case(self.placements[row]))

    def work(self, row: int, devices: DeviceSet) -> TokenWork:
        """What a token of this row asks of the machine."""
        kv = self.settings(row).kv
        depth = self.depth(row)
        return token_work(self.model, self.placement(row, devices), devices, kv, depth=min(depth, kv.n_ctx))

    def memory(self, row: int, devices: DeviceSet) -> MemoryEstimate:
        """What this row needs; weights, KV and a typical compute buffer where the planner lacks the model's shapes."""
        settings, placement = self.settings(row), self.placement(row, devices)
        where = locations(self.model, placement)
        if self.has_shapes:
            with suppress(LookupError, ArithmeticError):
                return estimate(self.model, placement, devices, settings, where)
        held = {d.name: _PLAIN_COMPUTE_MIB * MIB for d in devices.all}
        for tensor in self.model.tensors:
            if tensor.name in where:
                held[where[tensor.name]] += tensor.n_bytes
        for block, n_bytes in kv_bytes_by_block(self.model, settings.kv).items():
            held[kv_device(placement, block)] += n_bytes
        return MemoryEstimate(
            tuple(
                DeviceEstimate(
                    d.name,
                    d.kind,
                    {Role.OTHER: held[d.name]},
                    0,
                    0,
                    d.overhead_bytes,
                    0,
                    d.reserve_bytes,
                    d.total_bytes,
                    d.free_bytes,
                )
                for d in devices.all
            )
        )


def _backend(text: str) -> tuple[str, DeviceKind]:
    text = text.lower()
    if "vulkan" in text:
        return "Vulkan", DeviceKind.GPU
    if "hip" in text or "rocm" in text or "gfx" in text or "radeon" in text or re.search(r"\brx ", text):
        return "ROCm", DeviceKind.GPU
    return "CUDA", DeviceKind.GPU


def _card_gbs(name: str) -> float | None:
    """Effective GB/s of the card with this name; None when no data sheet is known."""
    text = name.lower().replace("-", " ")
    return next((gbs * _EFFECTIVE for card, gbs in _CARDS if card in text), None)


_TYPICAL_REST = 0.06
"""Everything but the routed experts of an MoE file, as a share of them: 4-9 % in the public cases."""


def _with_rest(model: ModelInfo, case: Case) -> ModelInfo:
    """Without shapes, what is not routed experts: told or the file's rest, but no more than is usual (what is beyond
    lies in RAM: lookup tables), spread evenly over the blocks' attention."""
    routed = sum(case.routed_bytes or ())
    rest = min(case.rest_bytes or routed, routed * _TYPICAL_REST)
    mixers = [t for t in model.tensors if t.role is Role.ATTENTION and t.name.endswith("attn_q.weight")]
    if not mixers:
        return model
    each = round(rest / len(mixers))
    sizes = {t.name: each for t in mixers}
    others = {t.name for t in model.tensors if t.role is not Role.ROUTED_EXPERT} - sizes.keys()
    tensors = tuple(
        t._replace(n_bytes=sizes[t.name]) if t.name in sizes else t._replace(n_bytes=0) if t.name in others else t
        for t in model.tensors
    )
    return replace(model, tensors=tensors)
