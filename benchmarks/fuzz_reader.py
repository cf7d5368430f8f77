"""A long fuzzing run over the model reader: 200 000 damaged headers by default.

    python -m benchmarks.fuzz_reader [--count 200000] [--seed 1] [--json]

Every input must give a ModelInfo or a ProblemError, in less than a second and with less than 256 MB. An input that does
not is written beside the working directory as ``fuzz-N.gguf``, and becomes a test.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
import tracemalloc
from collections import Counter
from pathlib import Path

from app.common.problem import ProblemError
from app.model.reader import read_model
from tests.tools.gguf_bytes import mutations, small_moe

_MAX_SECONDS = 1.0
_MAX_BYTES = 256 << 20


def fuzz(count: int, seed: int) -> tuple[Counter[str], list[str], float]:
    """Outcome codes and how often each came, failures, and the slowest read in seconds."""
    original = small_moe()
    header_bytes = original.index(b"blk.1.ffn_down_exps.weight") + 60
    outcomes: Counter[str] = Counter()
    failures: list[str] = []
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fuzz.gguf"
        for number, content in enumerate(mutations(seed, count, original, header_bytes)):
            path.write_bytes(content)
            tracemalloc.reset_peak()
            started = time.perf_counter()
            try:
                read_model(path)
                outcomes["read"] += 1
            except ProblemError as error:
                outcomes[error.problem.code] += 1
            except Exception:  # the very thing that is looked for
                failures.append(f"{number}: {traceback.format_exc(limit=-2)}")
                Path(f"fuzz-{number}.gguf").write_bytes(content)
            elapsed = time.perf_counter() - started
            slowest = max(slowest, elapsed)
            if elapsed > _MAX_SECONDS or tracemalloc.get_traced_memory()[1] > _MAX_BYTES:
                failures.append(f"{number}: {elapsed:.2f} s, peak {tracemalloc.get_traced_memory()[1]} bytes")
                Path(f"fuzz-{number}.gguf").write_bytes(content)
    return outcomes, failures, slowest


def main() -> int:
    """The command line; exit code 1 when any input failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    tracemalloc.start()
    outcomes, failures, slowest = fuzz(options.count, options.seed)
    if options.json:
        result = {"count": options.count, "outcomes": outcomes, "failures": failures, "slowest_s": round(slowest, 4)}
        json.dump(result, sys.stdout, indent=1)
        print()
    else:
        for code, times in outcomes.most_common():
            print(f"{times:>9}  {code}")
        print(f"{len(failures):>9}  failures; slowest read {1000 * slowest:.1f} ms")
        print("\n".join(failures[:10]))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
