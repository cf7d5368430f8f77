"""500 GGUF files listed with verdicts: cold (nothing remembered) and warm, beside a bare walk that reads the magic.

    python -m benchmarks.library [FILES] [--alike]

The files have real headers (tensor tables and vocabularies of public models, the weights are holes), spread over
folders. No two are alike: other layers, experts, quantisations and vocabularies. ``--alike``: copies of nineteen
models, as a person's folders hold them. Seconds are of the clock and of the processor; the second count on a busy
machine.
"""

import argparse
import gc
import os
import statistics
import tempfile
import time
from pathlib import Path

from app.hardware.snapshot_file import load_snapshot
from app.work.engines import capabilities_of
from app.work.library.judge import Judge
from app.work.library.scan import scan_library
from app.work.library.store import LibraryStore
from app.work.library.types import Place, Source
from tests.tools.distinct_models import SOURCES, make_distinct
from tests.tools.hardware_data import DATA

ROUNDS = 2
HEADER = 32 << 20


def make_alike(root: Path, count: int) -> None:
    """Copies of every model's header under many names."""
    made = make_distinct(root.parent / "originals", len(SOURCES))
    for number in range(count):
        source = made[number % len(made)]
        target = root / f"folder-{number % 23}" / f"{source.stem}-{number}.gguf"
        target.parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as old, target.open("wb") as new:
            new.write(old.read(HEADER))
            new.truncate(source.stat().st_size)


def bare_walk(root: Path) -> int:
    """What a list without headers would cost."""
    found = 0
    for folder, _, files in os.walk(root):
        for name in files:
            if name.endswith(".gguf"):
                with open(os.path.join(folder, name), "rb") as file:
                    found += file.read(4) == b"GGUF"
    return found


class Times:
    """Clock and processor seconds since the start, by what was reached."""

    def __init__(self) -> None:
        self.reached: dict[str, list[tuple[float, float]]] = {}
        self.start()

    def start(self) -> None:
        self._clock, self._processor = time.perf_counter(), time.process_time()

    def note(self, what: str) -> None:
        now = (time.perf_counter() - self._clock, time.process_time() - self._processor)
        self.reached.setdefault(what, []).append(now)


def look(root: Path, store: Path, judge: Judge, times: Times, kind: str, count: int) -> None:
    """One search: noted when every file is listed with its first verdict, and when every plan has been made."""
    listed: set[str] = set()

    def on_batch(new) -> None:
        before = len(listed)
        listed.update(entry.path for entry in new)
        if before < count == len(listed):
            times.note(f"{kind}, all listed with first verdicts")

    gc.collect()
    times.start()
    found = scan_library((Place(root, Source.FOLDER),), judge, LibraryStore(store), lambda: False, on_batch)
    times.note(f"{kind}, with the verdicts of plans")
    assert len(found.files) == count
    assert all(e.verdict is not None and not e.verdict.is_first for e in found.files), "every file has its verdict"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="?", type=int, default=500)
    parser.add_argument("--alike", action="store_true")
    options = parser.parse_args()
    judge, times = Judge(load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json"), capabilities_of(None)), Times()
    gc.disable()  # as the window does, which collects in its pauses
    with tempfile.TemporaryDirectory() as folder:
        root, store = Path(folder) / "models", Path(folder) / "library.json"
        (make_alike if options.alike else make_distinct)(root, options.files)
        for _ in range(ROUNDS):
            times.start()
            bare_walk(root)
            times.note("os.walk and the magic")
            store.unlink(missing_ok=True)
            look(root, store, judge, times, "cold", options.files)
            look(root, store, judge, times, "warm", options.files)
    print(f"{options.files} files, best and median of {ROUNDS} rounds (disk cache warm): clock s, processor s")
    for what, found in times.reached.items():
        if what == "warm, all listed with first verdicts":
            continue
        clock, processor = zip(*found, strict=True)
        figures = (min(clock), statistics.median(clock), min(processor), statistics.median(processor))
        print(f"  {what:40}" + "".join(f"{figure:9.3f}" for figure in figures))


if __name__ == "__main__":
    main()
