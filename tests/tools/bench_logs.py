"""The doctor's bench: short logs of our own making, in the shapes that engines and programs around them print.

A file of ``tests/data/doctor_bench`` holds many, each below a line ``=== NAME | CODE key=value ...``: the code of the
finding that must stand first (``none``: no finding of severity error) and parameters that it must have. ``@start``,
``@ready``, ``@work`` and ``@ends`` stand for the usual lines of a server, ``@alias CODE`` for a code that is as good.
"""

from dataclasses import dataclass

from tests.tools.engine_data import DATA

BENCH = DATA / "doctor_bench"
_WORK = [
    line
    for i in range(4)
    for line in (
        f"0.8{i}.000.000 I slot launch_slot_: id  0 | task {900 + i} | processing task, is_child = 0",
        f"0.8{i}.500.000 I slot      release: id  0 | task {900 + i} | stop processing: n_tokens = 300, truncated = 0",
        f"0.8{i}.500.100 I srv  update_slots: all slots are idle",
    )
]
_MACROS = {
    "@start": [
        "0.00.001.094 I srv  llama_server: initializing ...",
        "0.00.006.000 I srv    load_model: loading model '/m/m.gguf'",
    ],
    "@ready": [
        "0.01.652.000 I srv  llama_server: model loaded",
        "0.01.652.667 I srv  llama_server: listening on http://127.0.0.1:8080",
    ],
    "@work": _WORK,
    "@ends": [
        "0.00.008.227 E llama_model_load_from_file_impl: failed to load model",
        "0.00.008.501 E srv    load_model: failed to load model, '/m/m.gguf'",
        "0.00.008.965 E srv  llama_server: exiting due to model loading error",
    ],
}


@dataclass(frozen=True)
class BenchLog:
    """One log and what the doctor must say of it first. ``code`` None: nothing failed."""

    name: str
    code: str | None
    aliases: frozenset[str]
    params: dict[str, str]
    lines: tuple[str, ...]


def bench_logs() -> list[BenchLog]:
    """All of them, in the order of the files."""
    return [log for path in sorted(BENCH.glob("*.txt")) for log in _read(path)]


def _read(path):
    for part in path.read_text(encoding="utf-8").split("\n=== ")[1:]:
        head, _, body = part.partition("\n")
        name, _, wanted = head.partition(" | ")
        code, *pairs = wanted.split()
        lines, aliases = [], set()
        for line in body.rstrip("\n").split("\n"):
            if line.startswith("@alias "):
                aliases.add(line.split()[1])
            else:
                lines += _MACROS.get(line, [line])
        params = dict(pair.split("=", 1) for pair in pairs)
        yield BenchLog(
            f"{path.stem}: {name}", None if code == "none" else code, frozenset(aliases), params, tuple(lines)
        )
