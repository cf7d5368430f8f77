"""How fast a header is read: our reader beside a plain mmap-and-skip loop and the ``gguf`` package, in one run.

    python -m benchmarks.header [--json] [--skip-gguf] [--engine LLAMA_SERVER] [MODEL.gguf]

Without a file it makes the header-faithful sparse Qwen3-30B-A3B (579 tensors, 152 k tokens, 151 k merges). The plain
loop only skips: it makes no tensor list, checks nothing and trusts every number; it is the floor in plain Python.
Times are the best of several runs with the file in the page cache. Target: ours within 1.2x of the plain loop, and
below 2 ms from the header cache.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

from app.model.cache import read_model_cached
from app.model.reader import read_model
from tests.tools.sparse_models import make_sparse

_SCALAR_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def plain_loop(path: str) -> int:
    """Walk over the whole header with mmap and struct and keep nothing; gives where it ends."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        u64 = struct.Struct("<Q").unpack_from
        u32 = struct.Struct("<I").unpack_from
        n_tensors, n_keys = struct.unpack_from("<QQ", data, 8)
        at = 24
        for _ in range(n_keys):
            at += 8 + u64(data, at)[0]
            (kind,) = u32(data, at)
            at += 4
            if kind == 8:
                at += 8 + u64(data, at)[0]
            elif kind == 9:
                (element,) = u32(data, at)
                (count,) = u64(data, at + 4)
                at += 12
                if element == 8:
                    for _ in range(count):
                        at += 8 + u64(data, at)[0]
                else:
                    at += _SCALAR_BYTES[element] * count
            else:
                at += _SCALAR_BYTES[kind]
        for _ in range(n_tensors):
            at += 8 + u64(data, at)[0]
            at += 4 + 8 * u32(data, at)[0] + 12
        return at


def best_ms(function: Callable[[], object], runs: int) -> float:
    """The shortest of several runs, in milliseconds."""
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        function()
        times.append(time.perf_counter() - started)
    return 1000 * min(times)


def peak_mib(function: Callable[[], object]) -> float:
    """Most memory that Python held during one run, in MiB."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


def read_with_gguf(path: str) -> None:
    """The reference reader of the ``gguf`` package."""
    import gguf

    gguf.GGUFReader(path)


def engine_ms(engine: str, path: str) -> float:
    """Time until llama-server's own dry run (``-fit on``) has told its first memory figures; then it is stopped."""
    arguments = [engine, "-m", path, "-fit", "on", "-c", "4096", "--log-jsonl", "--no-warmup", "--port", "0"]
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "XDG_CONFIG_HOME": home}
        with subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, encoding="utf-8"
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if "fit_memory_breakdown" in line:
                    break
            elapsed = 1000 * (time.perf_counter() - started)
            process.kill()
    return elapsed


def measure(path: str, *, runs: int, with_gguf: bool, engine: str | None) -> list[dict[str, object]]:
    """One row per way of reading."""
    rows: list[dict[str, object]] = []

    def add(name: str, ms: float, memory: float | None) -> None:
        rows.append({"name": name, "ms": round(ms, 2), "peak_mib": None if memory is None else round(memory, 2)})

    plain = best_ms(lambda: plain_loop(path), runs)
    ours = best_ms(lambda: read_model(path), runs)
    add("plain mmap-and-skip loop", plain, peak_mib(lambda: plain_loop(path)))
    add("lanewise read_model", ours, peak_mib(lambda: read_model(path)))
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        read_model_cached(path, cache)
        add("lanewise header cache", best_ms(lambda: read_model_cached(path, cache), runs), None)
    if with_gguf:
        add("gguf package", best_ms(lambda: read_with_gguf(path), 1), None)
    if engine is not None:
        add("engine's dry run", engine_ms(engine, path), None)
    for row in rows:
        row["ratio"] = round(float(str(row["ms"])) / plain, 3)
    return rows


def main() -> int:
    """The command line; exit code 1 when ours is slower than 1.2x of the plain loop."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--skip-gguf", action="store_true", help="leave the slow reference out (7 s)")
    parser.add_argument("--engine", help="a llama-server, to time its dry run too")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.model or str(Path(folder) / "qwen3-30b.gguf")
        if options.model is None:
            make_sparse("qwen3-30b", path)
        rows = measure(path, runs=options.runs, with_gguf=not options.skip_gguf, engine=options.engine)
    if options.json:
        json.dump({"file": os.path.basename(path), "rows": rows}, sys.stdout, indent=1)
        print()
    else:
        print(f"{'':28}{'ms':>10}{'x plain':>10}{'peak MiB':>10}")
        for row in rows:
            memory = "" if row["peak_mib"] is None else row["peak_mib"]
            print(f"{row['name']:28}{row['ms']:>10}{row['ratio']:>10}{memory:>10}")
    return 0 if float(str(rows[1]["ratio"])) <= 1.2 else 1


if __name__ == "__main__":
    raise SystemExit(main())
