"""How fast a header is read: our reader beside a plain mmap-and-skip loop and the ``gguf`` package, in one run.

    python -m benchmarks.header [--json] [--skip-gguf] [--engine LLAMA_SERVER] [MODEL.gguf]

Without a file it makes the header-faithful sparse Qwen3-30B-A3B (579 tensors, 152 k tokens, 151 k merges) and
Qwen3-235B-A22B in six parts (1 131 tensors). The plain loop only skips: it makes no tensor list, checks nothing and
trusts every number; it is the floor in plain Python. Times are the best of several runs with the file in the page
cache; the peak is what Python held at most during one run. The engine's dry run is timed to its first memory figures.
Targets: the 30B within 1.2x of the plain loop and below 2 ms from the header cache, the 235B within 100 ms, no more
than 30 MB held.
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
from tests.tools.sparse_split import make_split_235b

SPLIT = "qwen3-235b, 6 parts"
LARGEST_RATIO = 1.2
LARGEST_CACHED_MS = 2.0
LARGEST_SPLIT_MS = 100.0
LARGEST_PEAK_MIB = 30e6 / 2**20
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


def read_parts_with_gguf(parts: tuple[str, ...]) -> None:
    """The reference reader of the ``gguf`` package, file by file."""
    import gguf

    for part in parts:
        gguf.GGUFReader(part)


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


def rows_of(name: str, parts: tuple[str, ...], options: argparse.Namespace) -> list[dict[str, object]]:
    """One row per way of reading one model; what only knows single files reads part after part."""
    rows: list[dict[str, object]] = []

    def add(way: str, ms: float, memory: float | None) -> None:
        peak = None if memory is None else round(memory, 2)
        rows.append({"model": name, "name": way, "ms": round(ms, 2), "peak_mib": peak})

    def plain() -> None:
        for part in parts:
            plain_loop(part)

    path, runs = parts[0], options.runs
    floor, ours = best_ms(plain, runs), best_ms(lambda: read_model(path), runs)
    add("plain mmap-and-skip loop", floor, peak_mib(plain))
    add("lanewise read_model", ours, peak_mib(lambda: read_model(path)))
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        read_model_cached(path, cache)
        cached = best_ms(lambda: read_model_cached(path, cache), runs)
        add("lanewise header cache", cached, peak_mib(lambda: read_model_cached(path, cache)))
    if not options.skip_gguf:
        add("gguf package", best_ms(lambda: read_parts_with_gguf(parts), 1), None)
    if options.engine is not None:
        add("engine's dry run", engine_ms(options.engine, path), None)
    for row in rows:
        row["ratio"] = round(float(str(row["ms"])) / floor, 3)
    return rows


def missed_targets(rows: list[dict[str, object]]) -> list[str]:
    """What of the targets at the top of this file does not hold in these rows."""
    missed = []
    for row in rows:
        ms, peak = float(str(row["ms"])), float(str(row["peak_mib"] or 0))
        is_split = row["model"] == SPLIT
        if row["name"] == "lanewise read_model":
            if is_split and ms > LARGEST_SPLIT_MS:
                missed.append(f"{row['model']}: {ms} ms > {LARGEST_SPLIT_MS}")
            if not is_split and float(str(row["ratio"])) > LARGEST_RATIO:
                missed.append(f"{row['model']}: {row['ratio']} of the plain loop > {LARGEST_RATIO}")
            if peak > LARGEST_PEAK_MIB:
                missed.append(f"{row['model']}: {peak} MiB > {LARGEST_PEAK_MIB}")
        if row["name"] == "lanewise header cache" and not is_split and ms > LARGEST_CACHED_MS:
            missed.append(f"{row['model']}: {ms} ms from the cache > {LARGEST_CACHED_MS}")
    return missed


def _models(options: argparse.Namespace, folder: Path) -> list[tuple[str, tuple[str, ...]]]:
    if options.model is not None:
        return [(os.path.basename(options.model), read_model(options.model).parts)]
    single = str(folder / "qwen3-30b.gguf")
    make_sparse("qwen3-30b", single)
    return [("qwen3-30b", (single,)), (SPLIT, read_model(make_split_235b(folder)).parts)]


def main() -> int:
    """The command line; exit code 1 when a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--skip-gguf", action="store_true", help="leave the slow reference out (7 s a model)")
    parser.add_argument("--engine", help="a llama-server, to time its dry run too")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for name, parts in _models(options, Path(folder)) for row in rows_of(name, parts, options)]
    missed = missed_targets(rows)
    if options.json:
        json.dump({"rows": rows, "missed": missed}, sys.stdout, indent=1)
        print()
    else:
        print(f"{'':26}{'':28}{'ms':>10}{'x plain':>10}{'peak MiB':>10}")
        for row in rows:
            memory = "" if row["peak_mib"] is None else row["peak_mib"]
            print(f"{row['model']:26}{row['name']:28}{row['ms']:>10}{row['ratio']:>10}{memory:>10}")
        print(*(f"missed: {text}" for text in missed), sep="\n", end="\n" if missed else "")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
