"""Why a server ended: its exit code and its log -> one Problem, the root and not what followed from it.

The table is in ``failure_rules``; the codes are the ones that ``doctor`` shows. Three things decide:

* **runs**: a log may hold several starts; the last one counts, per router port.
* **readiness**: what was printed before a server became ready did not stop it (a trial pass of ``-fit`` prints real
  errors); only what can end a running server counts after that.
* **cascades**: one failure prints several lines. The first message opens a cascade; within it the most telling rule
  wins, so that "failed to allocate buffer for kv cache" names the failure and not the malloc before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from app.common.problem import ParamValue, Problem, Severity
from app.engine.failure_readers import Cascade
from app.engine.failure_rule import Rule
from app.engine.failure_rules import GENERIC, RULES
from app.engine.failure_warnings import HARMLESS, WARNINGS
from app.engine.failure_wrapped import unwrapped
from app.engine.line_shape import looks_for
from app.engine.loglines import CleanLine, clean_line, split_level

_MOST_EVIDENCE = 8
_LONGEST_EVIDENCE = 400
_CASCADE_LINES = 60
_EXIT_LINES = 40
"""Where a script or a wrapper writes how the program ended: at the very end."""
_LEADING_LINES = 12
"""How far before the first telling message its own details may stand (the size that could not be allocated)."""
_BEFORE_LINES = 200
_MOST_HITS = 200
"""A start that failed has said by then why; what repeats itself for ever is looked at no longer."""

_READY = re.compile(
    r"(?:llama_server|main): (?:model loaded|(?:server is )?listening on http)|^server is listening on http"
    r"|^model loaded \||llama runner started in|Starting Kobold API|Please connect to custom endpoint"
    r"|Load Text Model OK: True"
)
_START = re.compile(
    r"llama_server: initializing|^(?:main: )?build(?: =|:) \d+ \(|starting (?:llama server|runner)"
    r"|^Welcome to KoboldCpp|^(?:\[ *w?main\] )?build info \|"
)
_LOADS = re.compile(r"loaded meta data with \d{1,9} key-value pairs and \d{1,9} tensors from")
"""After a server was ready it loads no further model: another one has begun (LM Studio's log has no other mark)."""
_WORK = ("slot ", "srv ", "que ", "res ", "reasoning-budget")
_SHUTDOWN = ("cleaning up", "operator()", "exiting", "stopp", "terminat", "send_error")
_WORK_SLACK = 3
"""Lines of other threads that may still come after the message that ends everything."""
_MARKS = ("loaded", "listening", "initializing", "build", "start", "Start", "Welcome", "connect to", "OK: True")
is_worth_a_look = looks_for((
    "error", "fail", "alloc", "memory", "invalid", "unknown", "unable", "cannot", "could", "can't", "not ",
    "missing", "corrupt", "bounds", "in use", "denied", "killed", "fault", "illegal", "assert", "abort", "crash",
    "terminate", "lost", "exceed", "too ", "forbidden", "exit", "lock", "warn", "truncated", "only one",
    "unexpected", "requires", "insufficient", "wrong", "unrecognized", "compiled", "context shift", "cumem",
    "undefined", "refused", "virus", "no such", "mismatch", "hang", "xid", "no longer", "status=", "no gguf",
    "no device", "re-processing", "tensilelib", "expected", "no backends", "must ", "version", "without",
    "duplicate", "adapter", "reset", "extremely", "blocked", "row ", "fatal", "panic", "exception", "traceback",
    "contain mtp", "json schema", "got exc", "does not support", "needs", "clip model",
    "sigabrt", "sigsegv", "violation", "0xc0", "double free", "free()", "stack smashing", "timed out", "driver",
    "nvidia-container", "memory pressure", "oom_score", "correctly", "server socket", "recognized",
), foreign=True)  # fmt: skip
"""Most lines of a log are tables of metadata; one look spares them the whole table of rules. Windows says it in its own
language: what is not plain English is looked at."""
_has_mark = looks_for(_MARKS)
_ends = looks_for(_SHUTDOWN)

_WINDOWS_CODES = {
    0xC0000135: "engine_dll_missing",  # STATUS_DLL_NOT_FOUND
    0xC0000139: "engine_dll_wrong",  # STATUS_ENTRYPOINT_NOT_FOUND
    0xC000007B: "engine_dll_wrong",  # STATUS_INVALID_IMAGE_FORMAT
    0xC06D007E: "engine_dll_missing",  # a library that is loaded late was not found (delay-load helper)
    0xC06D007F: "engine_dll_wrong",  # it lacks a function
    0xC0000022: "engine_blocked",  # STATUS_ACCESS_DENIED
    0xC0000428: "engine_blocked",  # STATUS_INVALID_IMAGE_HASH
    0xC0000361: "engine_blocked",  # STATUS_ACCESS_DISABLED_BY_POLICY_DEFAULT
    0xC0000906: "engine_blocked",  # STATUS_VIRUS_INFECTED
    0xC0000907: "engine_blocked",  # STATUS_VIRUS_DELETED
    0xE06D7363: "engine_aborted",  # an exception of C++ that nobody caught
    0xC0000420: "engine_aborted",  # STATUS_ASSERTION_FAILURE
    0xC0000142: "engine_dll_wrong",  # STATUS_DLL_INIT_FAILED
    0xC000001D: "engine_cpu_unsupported",  # STATUS_ILLEGAL_INSTRUCTION
    0xC0000017: "host_oom",  # STATUS_NO_MEMORY
    0xC000009A: "host_oom",  # STATUS_INSUFFICIENT_RESOURCES
    0xC000012D: "commit_limit",  # STATUS_COMMITMENT_LIMIT
    0xC0000005: "engine_crashed",  # STATUS_ACCESS_VIOLATION
    0xC0000006: "engine_crashed",  # STATUS_IN_PAGE_ERROR
    0xC00000FD: "engine_crashed",  # STATUS_STACK_OVERFLOW
    0xC0000374: "engine_crashed",  # STATUS_HEAP_CORRUPTION
    0xC0000409: "engine_aborted",  # STATUS_STACK_BUFFER_OVERRUN, what abort() gives
}
_SIGNALS = {
    4: "engine_cpu_unsupported",  # SIGILL
    6: "engine_aborted",  # SIGABRT
    7: "engine_crashed",  # SIGBUS
    8: "engine_crashed",  # SIGFPE
    9: "engine_killed",  # SIGKILL; unasked it is nearly always the system's out-of-memory killer
    11: "engine_crashed",  # SIGSEGV
}
_DLL_NOT_FOUND_CUT = 53
"""0xC0000135 cut to eight bits (0x35), as shells between Windows and a POSIX layer give it (ollama#6804)."""

_TOLD_EXIT = re.compile(
    r"(?:[Ee]xit(?:ed)?(?: with)?(?:,? (?:code|status)){1,2}|\brc)\s*(?:[:=]\s*)?"
    r"(?P<code>0x[0-9a-fA-F]{8,16}|-?[0-9]{1,20})\b"
)


@dataclass(slots=True)
class _Hit:
    rank: int
    rule: Rule
    index: int
    match: re.Match[str]


@dataclass(slots=True)
class _Run:
    """One start of one server: where its lines are, what was found in them."""

    first: int
    is_ready: bool = False
    last_work: int = -1
    hits: list[_Hit] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the words of a log come to. ``exit_code``: as a wrapper or a script wrote it into the log."""

    failure: Problem | None
    warnings: tuple[Problem, ...]
    was_ready: bool
    exit_code: int | None


def judge(clean: Sequence[CleanLine]) -> Judgement:
    """Failure, warnings and readiness of the last run in a log; of several router ports, the one that failed."""
    failure: Problem | None = None
    is_ready = False
    streams: dict[str, list[CleanLine]] = {}
    for line in clean:
        streams.setdefault(line.stream, []).append(line)
    for mine in streams.values():
        run = _last_run(mine)
        if run is None:
            continue
        is_ready = is_ready or run.is_ready
        failure = failure or _nearer(_failure_of(run, mine), run, mine)
    return Judgement(failure, _warnings_of(clean), is_ready, _told_exit(clean))


def _nearer(failure: Problem | None, run: _Run, lines: Sequence[CleanLine]) -> Problem | None:
    """What says little may be half of a line that a terminal has broken."""
    if run.is_ready or failure is None or failure.code not in GENERIC:
        return failure
    first = run.hits[0].index
    for joined in unwrapped(lines[max(0, first - _LEADING_LINES) : first + _EXIT_LINES]):
        again = _last_run(joined)
        better = None if again is None else _failure_of(again, joined)
        if better is not None and better.code not in GENERIC:
            return better
    return failure


def find_failure(lines: Iterable[str]) -> Problem | None:
    """The cause of a failure as far as the log alone tells it; None for the log of a good run."""
    return judge([clean_line(line) for line in lines]).failure


def _warnings_of(clean: Iterable[CleanLine]) -> tuple[Problem, ...]:
    """Trouble that the engine lived with, each kind once, in the order of the table."""
    found: dict[str, Problem] = {}
    for line in clean:
        if not is_worth_a_look(line.text):
            continue
        for rule in WARNINGS:
            if rule.code not in found and (match := rule.pattern.search(line.text)) is not None:
                params = _tidied(rule.build(match, Cascade((line,))))
                found[rule.code] = Problem(rule.code, Severity.WARNING, params, (_readable(line.raw),))
                break
    order = [rule.code for rule in WARNINGS]
    return tuple(sorted(found.values(), key=lambda problem: order.index(problem.code)))


def _told_exit(clean: Sequence[CleanLine]) -> int | None:
    """The last one counts."""
    code = None
    for line in clean[-_EXIT_LINES:]:
        if "xit" in line.text or "rc" in line.text:
            for found in _TOLD_EXIT.finditer(line.text):
                code = int(found["code"], 16 if found["code"].startswith("0x") else 10)
    return None if code is None else _narrowed(code)


def _narrowed(code: int) -> int:
    """64-bit forms of NTSTATUS cut to their 32 bits. LM Studio prints them as floating point numbers, of which only
    every 2048th exists: what is left tells 0xC0000409 from the first kilobyte of codes (0xC0000005 and its like)."""
    if abs(code) <= 0x7FFFFFFF:
        return code
    narrow = code & 0xFFFFFFFF
    if code % 1000 == 0 and code > 1 << 63 and narrow not in _WINDOWS_CODES:
        offset = narrow - 0xC0000000
        return 0xC0000409 if 1024 <= offset < 3072 else 0xC0000005 if 0 <= offset < 1024 else narrow
    return narrow


def explain_exit(code: int | None, lines: Iterable[str]) -> Problem | None:
    """Why a server that nobody stopped ended. None for exit code 0.

    ``code`` as Python gives it: negative = signal on Linux; NTSTATUS values may come signed or unsigned; 128 + n is a
    shell's way to say signal n. The log's own words come first, then what the code means.
    """
    if code == 0:
        return None
    kept = list(lines)
    found = find_failure(kept)
    if found is not None and found.code != "engine_aborted":
        return found
    by_code = _code_of_exit(code, is_silent=not any(line.strip() for line in kept))
    if found is not None and by_code in (None, "engine_aborted"):
        return found
    params: dict[str, ParamValue] = {"code": None if code is None else exit_code_text(code)}
    if by_code == "engine_dll_missing":
        params["library"] = None
    elif by_code in ("host_oom", "commit_limit"):
        params |= {"device": "RAM", "n_bytes": None, "stage": None}
    elif by_code == "engine_aborted":
        params["why"] = None
    elif by_code == "engine_blocked":
        params["why"] = exit_code_text(code) if code is not None else None
    return Problem(by_code or "engine_exited", Severity.ERROR, params, _last_lines(kept))


def exit_code_text(code: int) -> str:
    """``0xC0000135`` for NTSTATUS values, ``signal 9`` for signals, else the number."""
    if code & 0xFFFFFFFF >= 0xC0000000 and (code > 0 or code < -0xFFFF):
        return f"0x{code & 0xFFFFFFFF:08X}"
    signal_number = _signal_of(code)
    return str(code) if signal_number is None else f"signal {signal_number}"


def _code_of_exit(code: int | None, is_silent: bool) -> str | None:
    if code is None:
        return None
    if (known := _WINDOWS_CODES.get(code & 0xFFFFFFFF)) is not None:
        return known
    if code == _DLL_NOT_FOUND_CUT and is_silent:
        return "engine_dll_missing"
    signal_number = _signal_of(code)
    return None if signal_number is None else _SIGNALS.get(signal_number)


def _signal_of(code: int) -> int | None:
    if -64 <= code < 0:
        return -code
    return code - 128 if 128 < code <= 128 + 64 else None


def _failure_of(run: _Run, lines: Sequence[CleanLine]) -> Problem | None:
    if not run.hits:
        return None
    first = run.hits[0].index
    cascade = [hit for hit in run.hits if hit.index <= first + _CASCADE_LINES]
    if all(hit.rule.code in GENERIC for hit in cascade):
        cascade = run.hits
    best = min(cascade, key=lambda hit: (hit.rank, hit.index))
    return _problem(best, lines, first, run)


def _last_run(lines: Sequence[CleanLine]) -> _Run | None:
    """Walk through the log once; what a server that became ready had said before is forgotten."""
    run: _Run | None = None
    for i, line in enumerate(lines):
        text = line.text
        if run is None:
            run = _Run(i)
        if _has_mark(text):
            if (run.is_ready or run.hits) and _begins(text, run.is_ready):
                run = _Run(i)
            if not run.is_ready and _READY.search(text) is not None:
                run.is_ready = True
                run.hits.clear()
                continue
        if run.is_ready and text.startswith(_WORK) and not _ends(text):
            run.last_work = i
        if not _is_settled(run, i) and is_worth_a_look(text):
            hit = _hit(text, i, run.is_ready)
            if hit is not None:
                run.hits.append(hit)
    if run is not None and run.is_ready:
        # a server that went on working has lived with it; at -lv 5 it may be a line of somebody's prompt
        run.hits = [hit for hit in run.hits if hit.index + _WORK_SLACK >= run.last_work]
    return run


def _begins(text: str, was_ready: bool) -> bool:
    return _START.search(text) is not None or (was_ready and _LOADS.search(text) is not None)


def _is_settled(run: _Run, index: int) -> bool:
    """Has the first cascade of a start that failed gone by, and did it name its cause? The rest only follows."""
    if run.is_ready or not run.hits or index <= run.hits[0].index + _CASCADE_LINES:
        return False
    return len(run.hits) >= _MOST_HITS or any(hit.rule.code not in GENERIC for hit in run.hits)


def _hit(text: str, index: int, is_ready: bool) -> _Hit | None:
    for rank, rule in enumerate(RULES):
        if (rule.while_running or not is_ready) and (match := rule.pattern.search(text)) is not None:
            if _is_only_a_warning(text):
                return None
            return _Hit(rank, rule, index, match)
    return None


def _is_only_a_warning(text: str) -> bool:
    return any(rule.pattern.search(text) is not None for rule in HARMLESS)


def _problem(hit: _Hit, lines: Sequence[CleanLine], first: int, run: _Run) -> Problem:
    start = max(run.first, min(first, hit.index) - _LEADING_LINES)
    around = Cascade(
        lines[start : hit.index + _CASCADE_LINES], lines[max(run.first, start - _BEFORE_LINES) : start], run.is_ready
    )
    params = _tidied(hit.rule.build(hit.match, around))
    return Problem(hit.rule.code, Severity.ERROR, params, _evidence(lines, hit.index, start))


def _tidied(params: Mapping[str, ParamValue]) -> dict[str, ParamValue]:
    """A reason stands in the middle of a sentence: without the blanks of a table, without the mark at its end."""
    why = params.get("why")
    return {**params, "why": " ".join(why.split()).rstrip(" .:;,")} if isinstance(why, str) else dict(params)


def _evidence(lines: Sequence[CleanLine], index: int, start: int) -> tuple[str, ...]:
    """The decisive line and the error lines around it, each once, in the order of the log."""
    end = min(index + _CASCADE_LINES, len(lines))
    found: dict[str, int] = {}
    for at in (index, *(at for at in range(start, end) if lines[at].level == "E")):
        found.setdefault(_readable(lines[at].raw), at)
    kept = list(found.items())[:_MOST_EVIDENCE]
    return tuple(text for text, _ in sorted(kept, key=lambda one: one[1]))


def _last_lines(raw: Sequence[str]) -> tuple[str, ...]:
    return tuple(_readable(line) for line in raw[-_MOST_EVIDENCE:])


def _readable(line: str) -> str:
    """The line as it stands; a line of ``--log-jsonl`` as the text in it."""
    text = split_level(line)[1] if line.startswith('{"type"') else line
    return text[:_LONGEST_EVIDENCE]
