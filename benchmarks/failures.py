"""Every failure that can be produced on this machine: what the doctor said, the fix, and how the next launch went.

Run: python benchmarks/failures.py --engine FOLDER [--json], or with -m benchmarks.failures. Linux only (limits and
permissions are set with prlimit and setpriv).
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # when run as a file, its own folder is all that Python looks in

from app.common.paths import app_paths
from app.engine.locate import engine_at
from tests.tools.failing_runs import CHEAP, MORE, Outcome, Workshop


@dataclass(frozen=True, slots=True)
class Row:
    """One failure of the table."""

    failure: str
    code: str
    said: str
    evidence: str
    fix: str | None
    second: str | None


def row_of(outcome: Outcome) -> Row:
    """The table's row of an outcome."""
    evidence = outcome.finding.evidence[0] if outcome.finding.evidence else ""
    return Row(outcome.name, outcome.finding.code, outcome.sentence, evidence, outcome.fix, outcome.second)


def main(arguments: Sequence[str] | None = None) -> int:
    """Produce all failures and print the table; 1 when a fix did not lead to a running server."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    engine = engine_at(Path(options.engine))
    if engine is None:
        parser.error(f"there is no llama-server in {options.engine}")
    rows = []
    for case in (*CHEAP, *MORE):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(row_of(case(Workshop(engine, app_paths(), folder))))
        if not options.json:
            print_row(rows[-1])
    if options.json:
        print(json.dumps([{name: getattr(row, name) for name in Row.__slots__} for row in rows], indent=1))
    bad = [row for row in rows if row.second not in (None, "ready")]
    print(
        f"{len(rows)} failures, {sum(r.fix is not None for r in rows)} with a fix, {len(bad)} fixes failed",
        file=sys.stderr,
    )
    return 1 if bad else 0


def print_row(row: Row) -> None:
    """One failure for people."""
    print(f"{row.failure}\n  {row.code}: {row.said}")
    if row.fix is not None:
        print(f"  fix: {row.fix} -> {row.second}")
    print(f"  | {row.evidence[:150]}")


if __name__ == "__main__":
    sys.exit(main())
