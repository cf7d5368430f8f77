"""The values of a plan: devices, wishes, placement, memory estimate, plan. All frozen, all free of I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.common.problem import Problem, Severity
from app.model.side_files import NO_FILES, SideFiles
from app.model.types import Role
from app.planner.learned import Correction, MemoryFigures

RAM = "RAM"
"""Our name for host memory, whatever buffer type the engine uses for it (CPU, CPU_Mapped, CUDA_Host, CPU_REPACK)."""


class DeviceKind(StrEnum):
    """Kinds of column."""

    GPU = "gpu"
    IGPU = "igpu"
    RPC = "rpc"
    RAM = "ram"


class KvHome(StrEnum):
    """Where the KV cache lives: with the block's home, or all of it in RAM (``-nkvo``)."""

    HOME = "home"
    RAM = "ram"


class Segment(StrEnum):
    """What a plan may need on a device besides the model itself; each is a stretch of its budget bar.

    ``REPACKED``: mapped weights that the processor rearranges lie in RAM twice, as long as there is room.
    ``CHECKPOINTS``: states of recurrent and sliding layers that the server keeps to go back to.
    """

    PROJECTOR = "projector"
    DRAFT = "draft"
    ADAPTERS = "adapters"
    REPACKED = "repacked"
    CHECKPOINTS = "checkpoints"


@dataclass(frozen=True, slots=True)
class Device:
    """One column of the board.

    ``name`` is the engine's own (CUDA0, Vulkan0, RPC0) or ``RAM``. ``buffer_name`` is what ``-ot`` wants
    (``RPC0[127.0.0.1:50099]``; equals ``name`` except for RPC). ``overhead_bytes`` is what the engine never prints
    (CUDA context and pools); 0 for RPC and RAM. ``reserve_bytes`` is left free on purpose. ``overhead_kind`` is
    ``estimated``, or ``calibrated`` when ``overhead_launches`` launches on this card told it; ``corrections`` were
    learned from this engine (``planner.learned_devices.with_learned``).
    """

    name: str
    kind: DeviceKind
    total_bytes: int | None
    free_bytes: int | None
    description: str = ""
    buffer_name: str = ""
    overhead_bytes: int = 0
    reserve_bytes: int = 0
    bandwidth_gbs: float | None = None
    pcie_gbs: float | None = None
    compute_tflops: float | None = None
    overhead_kind: str = "estimated"
    overhead_launches: int = 0
    corrections: tuple[Correction, ...] = ()

    @property
    def is_ram(self) -> bool:
        """Is this the host memory column?"""
        return self.kind is DeviceKind.RAM

    @property
    def override_name(self) -> str:
        """The buffer type name that ``-ot`` accepts for this device."""
        return "CPU" if self.is_ram else (self.buffer_name or self.name)


@dataclass(frozen=True, slots=True)
class DeviceSet:
    """The devices of a plan in the engine's order; RAM apart. ``gpus`` holds only those that are switched on."""

    gpus: tuple[Device, ...]
    ram: Device
    off: tuple[Device, ...] = ()
    rpc_servers: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[Device, ...]:
        """Every active column, GPUs first."""
        return (*self.gpus, self.ram)

    def get(self, name: str) -> Device:
        """The active device of that name; KeyError when there is none."""
        for device in self.all:
            if device.name == name:
                return device
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asked for. None means: not said, the planner's default holds (docs/cli.md).

    ``reserve_mib`` stays free on each card, ``keep_ram_mib`` in RAM. ``load_mode`` is a value of ``-lm``;
    ``kv_unified`` False gives every slot its own part of the context.
    ``mmproj_path``, ``draft_path`` and ``lora_paths`` name files beside the model; ``mtp`` drafts with the model's own
    MTP block. ``draft_device``: one device, ``none`` = RAM, None = the model's; ``draft_gpu_layers`` None = all.
    ``is_quiet``: half the threads, low priority, no busy waiting, so that a laptop stays cool (``planner.quiet``).
    """

    n_ctx: int | None = None
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    n_batch: int = 2048
    n_ubatch: int = 512
    flash_attn: str = "auto"
    n_slots: int | None = 1
    n_threads: int | None = None
    prompt_cache_mib: int | None = None
    reserve_mib: int | None = None
    kv_home: KvHome = KvHome.HOME
    n_gpu_layers: int | None = None
    preset: str = "fill"
    extra: tuple[str, ...] = ()
    load_mode: str | None = None
    kv_unified: bool | None = None
    mmproj_path: str | None = None
    mmproj_offload: bool = True
    draft_path: str | None = None
    draft_gpu_layers: int | None = None
    draft_device: str | None = None
    draft_cache_type_k: str = "f16"
    draft_cache_type_v: str = "f16"
    draft_max: int | None = None
    mtp: bool = False
    lora_paths: tuple[str, ...] = ()
    keep_ram_mib: int | None = None
    is_quiet: bool = False


@dataclass(frozen=True, slots=True)
class Placement:
    """Where every tensor lives, in exactly the terms that the engine can be told (docs/architecture.md).

    ``runs``: (device name, number of layer units) in the engine's device order, counted from the END of the model:
    the units are blocks 0..block_count-1 followed by the output unit; whatever no run covers is a prefix in RAM
    (llama-model.cpp:1591-1601). Sum of the runs = ``-ngl``. A run may be 0 long.
    ``overrides``: tensor name -> device name, only for tensors that do not stay at home (``-ot``).
    """

    block_count: int
    runs: tuple[tuple[str, int], ...] = ()
    overrides: Mapping[str, str] = field(default_factory=dict)
    kv_home: KvHome = KvHome.HOME

    @property
    def n_gpu_layers(self) -> int:
        """The value of ``-ngl``: layer units on any GPU, the output unit included."""
        return sum(n for _, n in self.runs)

    def home_of_unit(self, unit: int) -> str:
        """Home device of block ``unit``; ``unit == block_count`` is the output unit."""
        first = self.block_count + 1 - self.n_gpu_layers
        if unit < first:
            return RAM
        for name, n in self.runs:
            if unit < first + n:
                return name
            first += n
        raise IndexError(unit)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A move the engine cannot express; ``problem.code`` says why (``problem.move_*``)."""

    problem: Problem


@dataclass(frozen=True, slots=True)
class MoveResult:
    """A placement after a move. ``note`` tells when the move was snapped to the nearest one the engine can express."""

    placement: Placement
    note: Problem | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """A derived run of tensors with the same role and device and neighbouring blocks.

    ``id`` is ``experts:12-31``, ``experts:12``, ``experts:12:up``, ``attention:0-47``, ``dense_ffn:0``,
    ``shared:3-26``, ``router:0-47``, ``output``, ``embeddings``, ``other``... ``children`` are ids of the next level
    (blocks, then single tensors), empty on the last. ``kv_bytes`` is the KV that moves with the card (attention and
    recurrent cards only). ``first``/``last`` are block numbers or None.
    """

    id: str
    role: Role
    device: str
    first: int | None
    last: int | None
    n_bytes: int
    n_tensors: int
    kv_bytes: int = 0
    types: tuple[str, ...] = ()
    tensor_names: tuple[str, ...] = ()
    children: tuple[Card, ...] = ()
    movable: bool = True


@dataclass(frozen=True, slots=True)
class DeviceEstimate:
    """Predicted bytes on one device.

    ``formula``: what our formulas alone say, where a correction that was learned here has changed it; else None.
    ``overhead_kind`` and ``overhead_launches`` are the device's. ``segments``: what is here besides the model itself.
    """

    device: str
    kind: DeviceKind
    weights_by_role: Mapping[Role, int]
    kv_bytes: int
    compute_bytes: int
    overhead_bytes: int
    prompt_cache_bytes: int
    reserve_bytes: int
    total_capacity_bytes: int | None
    free_bytes: int | None
    formula: MemoryFigures | None = None
    overhead_kind: str = "estimated"
    overhead_launches: int = 0
    segments: Mapping[Segment, int] = field(default_factory=dict)

    @property
    def weights_bytes(self) -> int:
        """All weights on the device."""
        return sum(self.weights_by_role.values())

    @property
    def total_bytes(self) -> int:
        """What the plan needs here: weights + KV + compute + overhead + segments (+ prompt cache in RAM)."""
        model = self.weights_bytes + self.kv_bytes + self.compute_bytes
        return model + self.overhead_bytes + self.segments_bytes + self.prompt_cache_bytes

    @property
    def segments_bytes(self) -> int:
        """All of ``segments``."""
        return sum(self.segments.values())

    @property
    def other_programs_bytes(self) -> int | None:
        """What other programs hold now: capacity - free."""
        if self.total_capacity_bytes is None or self.free_bytes is None:
            return None
        return max(0, self.total_capacity_bytes - self.free_bytes)

    @property
    def left_bytes(self) -> int | None:
        """Free after the plan and the reserve; negative when over-full; None when free memory is unknown."""
        if self.free_bytes is None:
            return None
        return self.free_bytes - self.total_bytes - self.reserve_bytes

    @property
    def fits(self) -> bool | None:
        """total + reserve <= free; None when free memory is unknown."""
        left = self.left_bytes
        return None if left is None else left >= 0


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """Predicted bytes on every device, in the order of the columns."""

    devices: tuple[DeviceEstimate, ...]

    def get(self, name: str) -> DeviceEstimate:
        """The estimate of one device; KeyError when there is none."""
        for device in self.devices:
            if device.device == name:
                return device
        raise KeyError(name)

    @property
    def fits(self) -> bool | None:
        """Does every device fit? None when none is over-full and one is unknown."""
        answers = [d.fits for d in self.devices]
        if False in answers:
            return False
        return None if None in answers else True


@dataclass(frozen=True, slots=True)
class Override:
    """One ``-ot`` rule: an anchored, comma-free pattern, the device, and what it hits in this file."""

    pattern: str
    device: str
    buffer_name: str
    n_tensors: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class SpeedEstimate:
    """Predicted tok/s. None = a bandwidth is unknown. ``kind``: estimated, calibrated, unknown.

    ``limited_by``: ram, vram, sync (hand-overs), starts (of kernels on the GPU), pcie or None. ``n_runs``: measured
    runs of this computer behind a calibrated figure.
    """

    decode_tps: float | None
    prompt_tps: float | None
    kind: str
    limited_by: str | None
    ram_read_bytes_per_token: int
    n_runs: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that follows from (model, devices, wishes, placement). The board and the command are views of it.

    ``argv`` starts after the program's name. ``is_edited``: the user moved something after the preset.
    """

    model_path: str
    devices: DeviceSet
    wishes: Wishes
    n_ctx: int
    n_slots: int
    placement: Placement
    overrides: tuple[Override, ...]
    estimate: MemoryEstimate
    speed: SpeedEstimate
    argv: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    is_edited: bool = False
    files: SideFiles = NO_FILES

    @property
    def has_errors(self) -> bool:
        """Is there any problem that stops a launch?"""
        return any(p.severity is Severity.ERROR for p in self.problems)
