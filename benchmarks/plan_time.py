"""How long a plan takes, cold: a file of 94 layers of 160 experts, one card and two.

Run: python benchmarks/plan_time.py [--runs 9] [--json], or with -m benchmarks.plan_time.
Cold: nothing is remembered of the model. The alternative beside it is what a simple calculator does, without compute
buffers, rules or proof: try every ``--n-cpu-moe N``, each time with one sum over all tensors. Target: 50 ms for one
card; twice the same plan. Milliseconds are of processor time, which other programs on the machine lengthen less.
"""

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # when run as a file, its own folder is all that Python looks in

from app.common.units import GIB, MIB
from app.engine.capabilities import FALLBACK
from app.model.reader import read_model
from app.model.types import ModelInfo, Role
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Plan, Wishes
from tests.tools.sparse_split import make_split_235b

_EXPERTS = 160


def large_model() -> ModelInfo:
    """Qwen3-235B's header with 160 experts in each of its 94 layers."""
    with tempfile.TemporaryDirectory() as folder:
        model = read_model(make_split_235b(folder, has_vocabulary=False))
    before = model.expert_count
    tensors = tuple(
        t._replace(shape=(*t.shape[:-1], _EXPERTS), n_bytes=t.n_bytes // before * _EXPERTS)
        if t.role in (Role.ROUTED_EXPERT, Role.ROUTER)
        else t
        for t in model.tensors
    )
    return replace(model, tensors=tensors, expert_count=_EXPERTS)


def devices(*free_gib: int) -> DeviceSet:
    """Cards of these sizes, their speeds unknown, and RAM enough."""
    gpus = tuple(Device(f"CUDA{i}", DeviceKind.GPU, gib * GIB, gib * GIB) for i, gib in enumerate(free_gib))
    return DeviceSet(gpus, Device(RAM, DeviceKind.RAM, 256 * GIB, 250 * GIB))


def cold_plan(model: ModelInfo, cards: DeviceSet) -> Plan:
    """A plan of a model that nobody has seen before."""
    return make_plan(PlanInputs(replace(model), cards, Wishes(n_ctx=8192), FALLBACK, n_threads=8))


def simple_search(model: ModelInfo, budget_bytes: int) -> int:
    """The fewest first expert layers in RAM that leave the sum of all other tensors within the budget."""
    for n_in_ram in range(model.block_count + 1):
        total = 0
        for tensor in model.tensors:
            in_ram = tensor.role is Role.EMBEDDING
            if tensor.role is Role.ROUTED_EXPERT and tensor.block is not None and tensor.block < n_in_ram:
                in_ram = True
            if not in_ram:
                total += tensor.n_bytes
        if total <= budget_bytes:
            return n_in_ram
    return model.block_count


def _milliseconds(work: Callable[[], object], n_runs: int) -> float:
    """Processor time, the median of some runs."""
    times = []
    for _ in range(n_runs):
        gc.collect()
        started = time.process_time()
        work()
        times.append((time.process_time() - started) * 1000)
    return statistics.median(times)


def measure(n_runs: int) -> dict:
    model = large_model()
    one, two = devices(24), devices(24, 12)
    simple = _milliseconds(lambda: simple_search(model, 22 * GIB), n_runs)
    ms = {name: _milliseconds(lambda cards=cards: cold_plan(model, cards), n_runs) for name, cards in
          (("one_card", one), ("two_cards", two))}  # fmt: skip
    plan = cold_plan(model, one)
    return {
        "layers": model.block_count,
        "experts": model.expert_count,
        "tensors": len(model.tensors),
        "file_gib": round(sum(t.n_bytes for t in model.tensors) / GIB, 1),
        "one_card_ms": round(ms["one_card"], 1),
        "two_cards_ms": round(ms["two_cards"], 1),
        "simple_search_ms": round(simple, 1),
        "one_card_ratio": round(ms["one_card"] / simple, 2),
        "two_cards_ratio": round(ms["two_cards"] / simple, 2),
        "deterministic": plan == cold_plan(model, one) and cold_plan(model, two) == cold_plan(model, two),
        "left_mib": (plan.estimate.get("CUDA0").left_bytes or 0) // MIB,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    told = measure(options.runs)
    if options.json:
        print(json.dumps(told, indent=1))
    else:
        for key, value in told.items():
            print(f"{key:18} {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
