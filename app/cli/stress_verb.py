"""``stress``: launches the plan, fills its context once, tells the peak memory of every device, ends the server."""

from __future__ import annotations

import queue
import threading
from argparse import Namespace
from dataclasses import asdict, dataclass
from pathlib import Path

from app.cli.arguments import VerbParser, add_wishes
from app.cli.console import print_error, print_json, print_note, print_problems, print_text, table
from app.cli.inputs import PlanCase, plan_case
from app.cli.learning import learning_store
from app.cli.values import LARGEST_CONTEXT, whole
from app.common.paths import app_paths
from app.common.problem import Problem, ProblemError, Severity
from app.common.units import size_text
from app.engine.identity import stamp_of
from app.engine.locate import EngineBinary
from app.planner.types import RAM
from app.words import say
from app.work.stress import StressCancelledError, StressEngine, StressProgress, stress_plan
from app.work.stress_stamp import PeakUse, StressStamp, keep_stamp

_LOOK_S = 0.2
_TELL_EVERY = 10


@dataclass(frozen=True, slots=True)
class _Ended:
    """How the work's thread ended: with a stamp, with an error, or cancelled (neither)."""

    stamp: StressStamp | None = None
    error: Exception | None = None


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    add_wishes(parser)
    parser.group("stress").option("--depth", "N", whole("--depth", 1, LARGEST_CONTEXT))


def run(options: Namespace) -> int:
    """0 when the prompt went through and nothing ran short, 1 when it did not."""
    case = plan_case(options, "stress")
    print_problems(case.problems, least=Severity.ERROR)
    if case.engine is None or options.hardware is not None:
        print_error(Problem("launch_without_engine" if case.engine is None else "saved_machine_not_launched"))
        return 1
    if case.has_errors:
        print_note(say("cli.launch.refused"))
        return 1
    ended = _work(case, case.engine.binary, options)
    if isinstance(ended.error, ProblemError):
        print_error(ended.error.problem)
        return 1
    if ended.error is not None:
        raise ended.error
    if ended.stamp is None:
        print_note(say("stress.cancelled"))
        return 1
    _keep(ended.stamp)
    if options.json:
        print_json(stress_json(ended.stamp))
    else:
        print_text(stress_text(ended.stamp))
    return 0 if ended.stamp.is_safe else 1


def _work(case: PlanCase, binary: EngineBinary, options: Namespace) -> _Ended:
    """In a thread of its own, so that Ctrl-C is answered at once; the server is gone when this returns."""
    stop = threading.Event()
    told: queue.SimpleQueue[StressProgress | _Ended] = queue.SimpleQueue()

    def work() -> None:
        try:
            engine = _engine(case, binary)
            stamp = stress_plan(case.plan, binary, engine, case.hardware, app_paths(), options.depth, told.put, stop)
            told.put(_Ended(stamp))
        except StressCancelledError:
            told.put(_Ended())
        except Exception as error:  # told or raised by the thread that waits
            told.put(_Ended(error=error))

    thread = threading.Thread(target=work, name="stress", daemon=True)
    thread.start()
    shown = -1
    while True:
        try:
            item = told.get(timeout=_LOOK_S)
        except queue.Empty:
            continue
        except KeyboardInterrupt:
            stop.set()
            continue
        if isinstance(item, _Ended):
            thread.join()
            return item
        shown = _show(item, shown, is_quiet=options.json)


def _show(progress: StressProgress, shown: int, *, is_quiet: bool) -> int:
    """Every tenth of the way is a line on standard error."""
    if progress.phase == "loading":
        if not is_quiet:
            print_note(say("stress.loading"))
        return shown
    step = _TELL_EVERY * progress.done // max(1, progress.total)
    if step > shown and not is_quiet:
        print_note(say("stress.filling", done=progress.done, total=progress.total))
    return max(step, shown)


def _engine(case: PlanCase, binary: EngineBinary) -> StressEngine:
    build = case.engine.capabilities.build if case.engine is not None else None
    try:
        return StressEngine(build or "", stamp_of(Path(binary.path)).sha256)
    except (OSError, ProblemError):
        return StressEngine(build or "")


def _keep(stamp: StressStamp) -> None:
    try:
        keep_stamp(learning_store(), stamp)
    except ProblemError as error:
        print_problems((error.problem,), least=Severity.WARNING)


def stress_json(stamp: StressStamp) -> dict[str, object]:
    """The JSON of the contract (docs/cli.md, "stress --json")."""
    return {
        "depth": stamp.depth,
        "slot_ctx": stamp.slot_ctx,
        "safe": stamp.is_safe,
        "margin": stamp.margin_bytes,
        "seconds": stamp.seconds,
        "prompt_tok_per_s": stamp.prompt_tps,
        "decode_tok_per_s": stamp.decode_tps,
        "at": stamp.at,
        "engine": {"build": stamp.engine_build or None, "sha256": stamp.engine_sha256 or None},
        "devices": [_peak_json(peak) for peak in stamp.peaks],
    }


def _peak_json(peak: PeakUse) -> dict[str, object]:
    told = asdict(peak)
    return {
        "name": told["device"],
        "peak": told["peak_bytes"],
        "margin": told["margin_bytes"],
        "planned": told["planned_bytes"],
        "spilled": told["spilled_bytes"],
        "source": told["source"],
    }


def stress_text(stamp: StressStamp) -> str:
    """A sentence and a table."""
    rows = [("", say("stress.peak"), say("stress.margin"), say("cli.column.plan"), "")]
    rows += [
        (
            say("board.ram") if peak.device == RAM else peak.device,
            size_text(peak.peak_bytes),
            size_text(peak.margin_bytes),
            size_text(peak.planned_bytes),
            say(f"stress.source.{peak.source}"),
        )
        for peak in stamp.peaks
    ]
    code = "stress.safe" if stamp.is_safe else "stress.unsafe"
    sentence = say(code, depth=stamp.depth, margin=stamp.margin_bytes)
    return "\n".join((sentence, *table(rows, right=frozenset((1, 2, 3)))))
