"""What dry runs and launches teach about memory, between the store of observations and the planner's ``Learned``.

Two kinds are kept. ``verify``: per engine build, architecture, device and situation, the formula's figures beside the
engine's, where they differ beyond tolerance; the newest wins, and figures that agree remove what was kept.
``overhead``: per card and engine build, what recent launches took beyond the printed buffers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.common.jsonable import from_json, to_json
from app.common.problem import Problem, ProblemError
from app.diagnose.buffers import BufferRow, tolerance_bytes
from app.hardware.types import HardwareSnapshot
from app.model.types import ModelInfo
from app.planner.learned import RECENT_LAUNCHES, Correction, Learned, MemoryFigures, Situation, situation_of
from app.planner.learned_devices import learning_keys
from app.planner.memory import model_id
from app.planner.plan import kv_settings, other_wishes
from app.planner.types import DeviceEstimate, KvHome, Plan
from app.work.engines import EngineHandle, capabilities_of
from app.work.learned import LearnedStore, Observation
from app.work.speed_history import SPEED, load_speeds, machine_of
from app.work.verifying import ROUNDING, Verification, VerifiedDevice

VERIFY = "verify"
OVERHEAD = "overhead"
MEMORY_KINDS = (VERIFY, OVERHEAD)
_WHATS = ("weights", "kv", "compute")


@dataclass(frozen=True, slots=True)
class LoadedLearning:
    """What there is, and why there is not more."""

    learned: Learned
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class PlanContext:
    """A plan as the store needs to know it: with which engine, of which model, on which devices.

    ``keys``: device name -> ``planner.learned_devices.learning_key``; devices without one teach nothing.
    """

    plan: Plan
    model: ModelInfo
    engine: str
    keys: Mapping[str, str]
    machine: str = ""

    @property
    def situation(self) -> Situation:
        """What the plan's figures depend on."""
        wishes = self.plan.wishes
        in_ram = self.plan.placement.kv_home is KvHome.RAM
        kv = kv_settings(self.model, wishes)
        return situation_of(kv, wishes.flash_attn != "off", in_ram, other_wishes(wishes))

    def correction_key(self, device: str) -> str | None:
        """The store's key for one device's figures; None when nothing can be kept of it."""
        key = self.keys.get(device)
        if key is None:
            return None
        parts = [self.engine, self.model.architecture, key, to_json(self.situation)]
        return json.dumps(parts, ensure_ascii=False, sort_keys=True)


def plan_context(plan: Plan, model: ModelInfo, snapshot: HardwareSnapshot, engine: EngineHandle | None) -> PlanContext:
    """The context of a plan for this machine and engine."""
    keys = learning_keys(plan.devices, snapshot)
    return PlanContext(plan, model, capabilities_of(engine).build or "", keys, machine_of(snapshot))


def load_learned(store: LearnedStore) -> LoadedLearning:
    """Everything that was learned about memory; never raises."""
    verified, launched = store.load(VERIFY), store.load(OVERHEAD)
    corrections: dict[tuple[str, str, str], list[Correction]] = {}
    for observation in verified.observations:
        found = _correction(observation)
        if found is not None:
            corrections.setdefault(found[0], []).append(found[1])
    overheads: dict[tuple[str, str], list[int]] = {}
    for observation in launched.observations:
        card, engine, n_bytes = (observation.value.get(name) for name in ("card", "engine", "bytes"))
        if isinstance(card, str) and isinstance(engine, str) and isinstance(n_bytes, int):
            overheads.setdefault((card, engine), []).append(n_bytes)
    learned = Learned(
        {key: tuple(runs) for key, runs in overheads.items()},
        {key: tuple(found) for key, found in corrections.items()},
        load_speeds(store),
    )
    return LoadedLearning(learned, verified.problem or launched.problem)


def _correction(observation: Observation) -> tuple[tuple[str, str, str], Correction] | None:
    """None for what another version wrote and this one does not understand."""
    try:
        engine, architecture, device, _ = json.loads(observation.key)
        return (str(engine), str(architecture), str(device)), from_json(Correction, dict(observation.value))
    except (ValueError, TypeError):
        return None


# --- learning ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Told:
    """The engine's figures of one device. ``rounding``: bytes to which they are known, beyond the usual tolerance."""

    device: str
    figures: MemoryFigures
    rounding: int = 0


def from_verification(verification: Verification) -> tuple[Told, ...]:
    """What a dry run tells; nothing where it put tensors elsewhere, for then it spoke of another placement."""
    if verification.unconfirmed:
        return ()
    return tuple(Told(d.name, d.engine, ROUNDING) for d in verification.devices if d.engine is not None)


def from_buffers(rows: Iterable[BufferRow], plan: Plan) -> tuple[Told, ...]:
    """What a launch's own buffers tell. Where the engine printed nothing or only a mapped span, the plan's figure."""
    estimates = {d.device: d for d in plan.estimate.devices}
    told = {name: dict.fromkeys(_WHATS, -1) for name in estimates}
    for row in rows:
        if row.device in told and row.what in _WHATS and row.agrees is not None and row.actual_bytes is not None:
            told[row.device][row.what] = row.actual_bytes
    return tuple(
        Told(
            name,
            MemoryFigures(*(_or(figure, getattr(formula_of(estimates[name]), what)) for what, figure in f.items())),
        )
        for name, f in told.items()
        if any(figure >= 0 for figure in f.values())
    )


def _or(figure: int, instead: int) -> int:
    return instead if figure < 0 else figure


def formula_of(estimate: DeviceEstimate) -> MemoryFigures:
    """Our own figures, without what was learned."""
    if estimate.formula is not None:
        return estimate.formula
    return MemoryFigures(estimate.weights_bytes, estimate.kv_bytes, estimate.compute_bytes)


def is_taken_over(told: VerifiedDevice, estimate: DeviceEstimate) -> bool:
    """Are the figures that are shown now the engine's, because they were learned from this very answer?"""
    if told.engine is None or estimate.formula is None:
        return False
    shown = MemoryFigures(estimate.weights_bytes, estimate.kv_bytes, estimate.compute_bytes)
    return VerifiedDevice(told.name, shown, told.engine).agrees


def learn_figures(store: LearnedStore, context: PlanContext, told: Iterable[Told]) -> bool:
    """Keep where the formula is wrong, forget where it is right; did anything change? Raises ``learned_not_saved``.

    A plan whose placement the engine decides (``fit``) teaches nothing.
    """
    if context.plan.wishes.preset == "fit":
        return False
    known = {observation.key: observation.value for observation in reversed(store.load(VERIFY).observations)}
    is_changed = False
    for device in told:
        key = context.correction_key(device.device)
        estimate = next((d for d in context.plan.estimate.devices if d.device == device.device), None)
        if key is None or estimate is None:
            continue
        ours = formula_of(estimate)
        engine = _where_they_differ(ours, device)
        if engine != ours:
            correction = to_json(Correction(context.situation, model_id(context.model), ours, engine))
            if known.get(key) != correction:
                store.add(VERIFY, key, correction)
                is_changed = True
        elif key in known:
            store.remove(VERIFY, key)
            is_changed = True
    return is_changed


def _where_they_differ(ours: MemoryFigures, told: Told) -> MemoryFigures:
    """The engine's figures, and ours for those that agree."""
    figures = []
    for what in _WHATS:
        mine, theirs = getattr(ours, what), getattr(told.figures, what)
        agrees = abs(theirs - mine) <= tolerance_bytes(what, mine) + told.rounding
        figures.append(mine if agrees else theirs)
    return MemoryFigures(*figures)


def learn_overheads(store: LearnedStore, context: PlanContext, overheads: Mapping[str, int]) -> bool:
    """Keep what a launch took beyond its buffers, device name -> bytes. Raises ``learned_not_saved``."""
    is_changed = False
    for device, n_bytes in overheads.items():
        card = context.keys.get(device)
        if card is None:
            continue
        key = json.dumps([card, context.engine], ensure_ascii=False)
        store.add(OVERHEAD, key, {"card": card, "engine": context.engine, "bytes": n_bytes}, keep=RECENT_LAUNCHES)
        is_changed = True
    return is_changed


def forget_memory(store: LearnedStore) -> Problem | None:
    """Forget all of it; the problem when the file cannot be written."""
    try:
        store.forget(*MEMORY_KINDS, SPEED)
    except ProblemError as error:
        return error.problem
    return None
