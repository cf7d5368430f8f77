"""500 GGUF files listed with verdicts: cold (nothing remembered) and warm, beside a bare walk that reads the magic.

    python -m benchmarks.library [FILES]

The files have real headers (tensor tables and vocabularies of public models, the weights are holes) in several
quantisations, spread over folders. ``distinct`` counts different tensor tables: files that share one share a verdict.
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from app.hardware.snapshot_file import load_snapshot
from app.work.engines import capabilities_of
from app.work.library.judge import Judge
from app.work.library.scan import scan_library
from app.work.library.store import LibraryStore
from app.work.library.types import Place, Source
from tests.tools.hardware_data import DATA
from tests.tools.sparse_models import NAMES, make_sparse

ROUNDS = 2
SOURCES = tuple(name for name in NAMES[:18] if name not in ("deepseek-v3", "glm45-air"))
HEADER = 32 << 20


def make_files(root: Path, count: int) -> int:
    """Copies of every model's header under many names; returns how many different models there are."""
    originals = root.parent / "originals"
    originals.mkdir()
    made = []
    for name in SOURCES:
        path = originals / f"{name}.gguf"
        try:
            make_sparse(name, path)
        except ValueError:
            continue
        made.append(path)
    for number in range(count):
        source = made[number % len(made)]
        target = root / f"folder-{number % 23}" / f"{source.stem}-{number}.gguf"
        target.parent.mkdir(exist_ok=True)
        with source.open("rb") as old, target.open("wb") as new:
            new.write(old.read(HEADER))
            new.truncate(source.stat().st_size)
    return len(made)


def bare_walk(root: Path) -> int:
    """What a list without headers would cost."""
    found = 0
    for folder, _, files in os.walk(root):
        for name in files:
            if name.endswith(".gguf"):
                with open(os.path.join(folder, name), "rb") as file:
                    found += file.read(4) == b"GGUF"
    return found


def timed(work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    judge = Judge(load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json"), capabilities_of(None))
    with tempfile.TemporaryDirectory() as folder:
        root, store = Path(folder) / "models", Path(folder) / "library.json"
        root.mkdir()
        distinct = make_files(root, count)
        place = (Place(root, Source.FOLDER),)

        def scan() -> None:
            found = scan_library(place, judge, LibraryStore(store), lambda: False)
            assert len(found.files) == count
            assert all(entry.verdict is not None for entry in found.files), "every file has a verdict"

        bare, cold, warm = [], [], []
        for _ in range(ROUNDS):
            bare.append(timed(lambda: bare_walk(root)))
            store.unlink(missing_ok=True)
            cold.append(timed(scan))
            warm.append(timed(scan))
    print(f"{count} files of {distinct} models, seconds, best and median of {ROUNDS} rounds in turn (disk cache warm)")
    for what, times in (("os.walk and the magic", bare), ("cold, with verdicts", cold), ("warm, with verdicts", warm)):
        print(f"  {what:24}{min(times):8.3f}{statistics.median(times):8.3f}")


if __name__ == "__main__":
    main()
