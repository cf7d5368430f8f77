"""Speeds of this computer's own runs: watched during a launch, kept in the store, read for the next plan.

What counts: a request that ran alone, while other programs left the processor free, with at least 16 tokens written
(64 for a server's first, whose weights may still come from the disk); a prompt of at least 256 new tokens, the first
of a mapped file excepted. A draft model or MTP makes several tokens of one, and a quiet plan holds the processor back:
such a launch teaches no speed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from app.common.jsonable import from_json, to_json
from app.engine.timings import Request, RequestLog, without_prompt
from app.hardware.types import HardwareSnapshot
from app.model.types import ModelInfo
from app.planner.placement import locations
from app.planner.plan import kv_settings
from app.planner.speed_run import RECENT_RUNS, SpeedRun
from app.planner.token_work import card_crossings, token_work, whole_prompt
from app.planner.types import Plan

if TYPE_CHECKING:
    from app.work.learned import LearnedStore

SPEED = "speed"
_LEAST_WRITTEN, _LEAST_WRITTEN_FIRST = 16, 64
_LEAST_PROMPT = 256
_OTHERS_SHARE = 0.15
_OTHERS_CPUS = 0.75
"""Other programs that use more than this share of the processor, and more than this many CPUs, slow a run down."""
_DRAFTS = ("-md", "--model-draft", "--spec", "--draft", "-hfd")
_MOST_KEPT = 32
"""Requests of one launch; more say nothing new."""


class SpeedWatch:
    """Takes a launch's log lines and samples as they come; ``requests`` are those that count. One thread at a time."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._log = RequestLog()
        self._others: list[float] = []

    def on_line(self, line: str) -> None:
        """One line of the server's output."""
        was_busy = self._log.is_busy
        request = self._log.on_line(line)
        if not was_busy and self._log.is_busy:
            self._others = []
        if request is not None and self._counts(request) and len(self.requests) < _MOST_KEPT:
            self.requests.append(request)

    def on_sample(self, values: Mapping[str, float | None]) -> None:
        """What the processor does beside the server: ``cpu.<n>`` and ``server.cpu`` in percent of one CPU."""
        server = values.get("server.cpu")
        cpus = [v for name, v in values.items() if name.startswith("cpu.") and name[4:].isdigit() and v is not None]
        if self._log.is_busy and server is not None and cpus:
            busy = max(0.0, sum(cpus) - server) / 100
            self._others.append(busy if busy > max(_OTHERS_CPUS, _OTHERS_SHARE * len(cpus)) else 0.0)

    def _counts(self, request: Request) -> bool:
        if not request.was_alone or (self._others and sum(map(bool, self._others)) * 2 > len(self._others)):
            return False
        least = _LEAST_WRITTEN if request.number else _LEAST_WRITTEN_FIRST
        has_decode = request.decode is not None and request.decode.tokens >= least and bool(request.decode.tps)
        has_prompt = request.prompt is not None and request.prompt.tokens >= _LEAST_PROMPT and bool(request.prompt.tps)
        return has_decode or has_prompt


def machine_of(snapshot: HardwareSnapshot) -> str:
    """The computer, as far as its speed goes: processor and RAM."""
    memory = snapshot.memory
    gib = round((memory.total_bytes or 0) / 2**30)
    return f"{snapshot.cpu.name or ''} {gib} GiB {memory.kind or ''} {memory.channels or ''}".strip()


def speed_run(
    request: Request, plan: Plan, model: ModelInfo, machine: str, engine: str, keys: Mapping[str, str]
) -> SpeedRun | None:
    """The request as a run of this plan; None when the plan uses a device of which nothing can be kept."""
    placement, devices = plan.placement, plan.devices
    where, kv = locations(model, placement), kv_settings(model, plan.wishes)
    decode = request.decode
    least = _LEAST_WRITTEN if request.number else _LEAST_WRITTEN_FIRST
    has_decode = decode is not None and decode.tokens >= least
    depth = max(0, request.n_context - (decode.tokens // 2 if decode is not None else 0))
    work = token_work(model, placement, devices, kv, where, depth)
    read = {name: n_bytes for name, n_bytes in work.read_bytes.items() if n_bytes}
    if any(name not in keys for name in read):
        return None
    run = SpeedRun(
        machine=machine,
        engine=engine,
        model=f"{model.architecture} {model.name or ''} {model.file_bytes}",
        read_bytes={keys[name]: n_bytes for name, n_bytes in read.items()},
        ram_weight_bytes=work.ram_weight_bytes,
        hand_overs=work.hand_overs,
        gpu_blocks=work.gpu_blocks,
        decode_tps=decode.tps if decode is not None and has_decode else None,
    )
    prompt = request.prompt
    if prompt is None or prompt.tokens < _LEAST_PROMPT or not prompt.tps:
        return run if run.decode_tps else None
    batch = whole_prompt(model, where, prompt.tokens, kv.n_ubatch, card_crossings(model, placement))
    offloads = "--no-op-offload" not in plan.wishes.extra
    return replace(
        run,
        prompt_tokens=prompt.tokens,
        prompt_copy_bytes=batch.copy_bytes if offloads else 0.0,
        prompt_flops=batch.flops,
        prompt_row_bytes=batch.row_bytes,
        prompt_host_flops=batch.host_flops,
        prompt_tps=prompt.tps,
    )


def learn_speeds(
    store: LearnedStore,
    plan: Plan,
    model: ModelInfo,
    machine: str,
    engine: str,
    keys: Mapping[str, str],
    watch: SpeedWatch,
) -> bool:
    """Keep what a launch showed; True when there was something. Raises ProblemError as ``LearnedStore.add`` does."""
    if plan.wishes.is_quiet or any(argument.startswith(_DRAFTS) for argument in plan.argv):
        return False
    is_mapped = _is_mapped(plan.argv)
    kept = False
    for request in watch.requests:
        told = without_prompt(request) if is_mapped and request.number == 0 else request
        run = speed_run(told, plan, model, machine, engine, keys)
        if run is not None:
            key = json.dumps([machine, engine, run.model, sorted(run.read_bytes)], ensure_ascii=False)
            store.add(SPEED, key, to_json(run), keep=RECENT_RUNS)
            kept = True
    return kept


def load_speeds(store: LearnedStore) -> tuple[SpeedRun, ...]:
    """All runs, newest first; what another version wrote and this one does not understand is left out."""
    found = []
    for observation in store.load(SPEED).observations:
        try:
            found.append(from_json(SpeedRun, dict(observation.value)))
        except (ValueError, TypeError):
            continue
    return tuple(run for run in found if run.is_sane)


def _is_mapped(argv: tuple[str, ...]) -> bool:
    """Does the server map the file, so that its first prompt may wait for the disk?"""
    if "-lm" in argv:
        return "mmap" in argv[argv.index("-lm") + 1]
    return "--no-mmap" not in argv
