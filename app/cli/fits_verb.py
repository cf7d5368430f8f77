"""``fits``: would a file of this architecture and size fit into this machine, before it is downloaded."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass

from app.cli.arguments import VerbParser, add_devices
from app.cli.console import print_json, print_text, problem_line
from app.cli.inputs import chosen_engine, device_wishes_of, machine_for
from app.cli.plan_json import problem_json
from app.cli.values import LARGEST_CONTEXT, whole
from app.common.problem import Problem, fail
from app.common.units import GIB, MIB
from app.planner.devices import device_set
from app.planner.known_models import KnownModel, known_architectures, likeliest
from app.planner.kv import CACHE_TYPES
from app.planner.sizing import Needs, largest_file_bytes, no_room_problem, pool_bytes
from app.planner.types import DeviceSet
from app.words import say

_COMPUTE_BYTES = 256 * MIB
"""Compute buffers and host buffer of an ordinary plan; 24-300 MiB over the recorded dry runs at 512 tokens."""
_SIZE = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")
_EXAMPLE = "fits --arch qwen3moe --size-gib 17.3"


@dataclass(frozen=True, slots=True)
class _Question:
    """What was asked: the file's size and how its cache grows. ``known`` None: the user told the cache's shape."""

    file_bytes: int
    n_ctx: int
    kv_bytes: Callable[[int], int]
    known: KnownModel | None


def add_options(parser: VerbParser) -> None:
    """The options of this verb."""
    group = parser.group("file_to_be")
    group.option("--arch", "NAME")
    group.option("--size-gib", "X", _gib)
    group.option("--ctx", "N", whole("--ctx", 1, LARGEST_CONTEXT), 8192)
    group.option("--ctk", "TYPE", default="f16")
    group.option("--layers", "N", whole("--layers", 1, 100_000))
    group.option("--kv-heads", "N", whole("--kv-heads", 1, 100_000))
    group.option("--head-size", "N", whole("--head-size", 1, 100_000))
    add_devices(parser)


def run(options: Namespace) -> int:
    """Print the answer; 0 = it fits, 1 = it does not, or nobody knows."""
    question = _question(options)
    engine = chosen_engine(options)
    hardware = machine_for(options, engine)
    devices = device_set(hardware, device_wishes_of(options, hardware))
    needs = Needs(question.file_bytes, question.kv_bytes, _COMPUTE_BYTES)
    problem = no_room_problem(devices, needs, question.n_ctx)
    room = pool_bytes(devices)
    if options.json:
        print_json(_told(question, devices, needs, problem))
    else:
        print_text(_text(question, room, problem))
    return 0 if room is not None and problem is None else 1


def _question(options: Namespace) -> _Question:
    """Raises ProblemError for what is missing or unknown."""
    if options.size_gib is None:
        raise fail("fits_size_missing", example=_EXAMPLE)
    if options.ctk not in CACHE_TYPES:
        raise fail("kv_type_unknown", cache_type=options.ctk, known=", ".join(CACHE_TYPES))
    elements, size = CACHE_TYPES[options.ctk]
    share = size / elements / 2  # of f16
    shape = (options.layers, options.kv_heads, options.head_size)
    if all(shape):
        layers, heads, head = shape
        per_token, base, known = round(layers * heads * head * 2 * 2 * share), 0, None
    else:
        known = likeliest(options.arch, options.size_gib) if options.arch else None
        if known is None:
            raise fail("fits_arch_unknown", arch=options.arch or "—", known=", ".join(known_architectures()))
        per_token, base = round(known.kv_token_bytes * share), known.kv_base_bytes
    return _Question(options.size_gib, options.ctx, lambda n_ctx: base + n_ctx * per_token, known)


def _told(question: _Question, devices: DeviceSet, needs: Needs, problem: Problem | None) -> dict[str, object]:
    room = pool_bytes(devices)
    missing = None if problem is None else problem.params.get("missing_bytes")
    return {
        "architecture": None if question.known is None else question.known.architecture,
        "reckoned_as": None if question.known is None else question.known.name,
        "file_bytes": question.file_bytes,
        "context": question.n_ctx,
        "kv_bytes": question.kv_bytes(question.n_ctx),
        "room_bytes": room,
        "fits": None if room is None else problem is None,
        "missing_bytes": 0 if room is not None and problem is None else missing,
        "file_fits_8k_bytes": largest_file_bytes(devices, needs, 8192),
        "file_fits_16k_bytes": largest_file_bytes(devices, needs, 16384),
        "problems": [] if problem is None else [problem_json(problem)],
    }


def _text(question: _Question, room: int | None, problem: Problem | None) -> str:
    if room is None:
        return say("fits.unknown")
    if problem is not None:
        line = problem_line(problem)
    else:
        left = room - question.file_bytes - question.kv_bytes(question.n_ctx) - _COMPUTE_BYTES
        line = say("fits.yes", n_ctx=question.n_ctx, left=left)
    if question.known is None:
        return line
    return f"{line}\n{say('fits.reckoned', name=question.known.name, kv=question.kv_bytes(question.n_ctx))}"


def _gib(text: str) -> int:
    """GiB with decimals as bytes."""
    if _SIZE.fullmatch(text) is None or float(text) <= 0:
        raise fail("cli_not_a_number", option="--size-gib", text=text)
    return round(float(text) * GIB)
