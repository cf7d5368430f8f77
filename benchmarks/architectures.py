"""Every Mixture-of-Experts architecture of the engine (62 in b11434): classification, cache formula, compute buffers.

Run: python -m benchmarks.architectures [--json]
Names of tensors are those of src/models/*.cpp (tests/data/planner/arch_tensor_names.json). "verified": the recorded dry
runs of a real llama-server of this architecture agree to 1 MiB in weights, cache and compute buffers (the number of
figures follows); "estimated": an upper-side estimate, and every plan of such a model says so.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from app.model.hparams import NO_MEMORY
from app.model.reader import read_model
from app.model.roles import classify
from app.model.types import Role
from app.planner.graph.coverage import VERIFIED
from app.planner.kv import INEXACT
from app.planner.memory import estimate
from tests.tools.dry_run_cases import dry_runs
from tests.tools.sparse_models import make_sparse

MIB = 1 << 20
_NAMES = Path(__file__).parents[1] / "tests" / "data" / "planner" / "arch_tensor_names.json"
_NOT_IN_BLOCKS = (
    *("token_", "output", "rope_", "per_layer_token", "per_layer_model", "per_layer_proj", "enc.", "d2t", "fc"),
    *("selector_", "markov_", "conf_proj", "dense_2", "hrm."),
)
_WITH_EXPERTS = {"ernie4_5": "ernie4_5-moe", "nemotron_h": "nemotron_h_moe", "lfm2": "lfm2moe"}
"""Source files whose variant with experts has an architecture name of its own: that one is looked up."""


@dataclass(frozen=True)
class Row:
    """One architecture, by its source file's name.

    ``other``: names that no rule knows; ``exact``, ``figures``: recorded devices that agree.
    """

    architecture: str
    tensors: int
    other: tuple[str, ...]
    kv: str
    compute: str
    exact: int
    figures: int


def _placed(name: str) -> str:
    return name if name.startswith(_NOT_IN_BLOCKS) else f"blk.0.{name}"


def _recorded() -> tuple[Counter, Counter]:
    """Architecture -> devices compared, devices within 1 MiB in all three figures."""
    models: dict[str, object] = {}
    compared: Counter = Counter()
    exact: Counter = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for run in dry_runs():
            if run.model not in models:
                path = Path(folder) / f"{run.model}.gguf"
                make_sparse(run.model, path, has_vocabulary=False)
                models[run.model] = read_model(path)
            model = models[run.model]
            predicted = estimate(model, run.place(model), run.devices, run.settings)
            for name, told in run.mib.items():
                d = predicted.get(name)
                ours = (d.weights_bytes, d.kv_bytes, d.compute_bytes)
                compared[model.architecture] += 1
                exact[model.architecture] += all(0 <= a / MIB - b < 1.01 for a, b in zip(ours, told, strict=True))
    return compared, exact


def rows() -> list[Row]:
    """All architectures with experts, by name."""
    names = json.loads(_NAMES.read_text(encoding="utf-8"))
    compared, exact = _recorded()
    found = []
    for source in sorted(a for a in names if any("_exps" in name for name in names[a])):
        other = tuple(n for n in names[source] if classify(_placed(n), 1, 0)[0] is Role.OTHER)
        arch = _WITH_EXPERTS.get(source, source)
        kv = "verified" if arch in VERIFIED else "formula"
        kv = "no cache" if arch in NO_MEMORY else "estimated" if arch in INEXACT else kv
        compute = "verified" if arch in VERIFIED else "estimated"
        found.append(Row(source, len(names[source]), other, kv, compute, exact[arch], compared[arch]))
    return found


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    table = rows()
    if parser.parse_args().json:
        print(json.dumps([asdict(row) for row in table], indent=1))
        return 0
    print(f"{'architecture':17} tensors  classified  kv         compute    figures within 1 MiB  names in 'other'")
    for row in table:
        known = f"{row.tensors - len(row.other)} of {row.tensors}"
        figures = f"{row.exact} of {row.figures}" if row.figures else "—"
        print(f"{row.architecture:17} {row.tensors:7}  {known:10}  {row.kv:9}  {row.compute:9}  {figures:20}  "
              + " ".join(row.other))  # fmt: skip
    whole = sum(not row.other for row in table)
    print(f"\n{len(table)} architectures: {whole} classify fully; cache: "
          + ", ".join(f"{n} {kind}" for kind, n in Counter(row.kv for row in table).most_common())
          + "; compute buffers: "
          + ", ".join(f"{n} {kind}" for kind, n in Counter(row.compute for row in table).most_common()))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
