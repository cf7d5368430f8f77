"""What is said of a file before its plan is made never promises more than the plan holds."""

import random

import pytest

from app.common.capabilities import Capabilities
from app.common.units import GIB, MIB
from app.model.reader import read_model
from app.planner.file_verdict import FileVerdict, VerdictKind, file_verdict
from app.planner.first_verdict import first_verdict
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from tests.tools.sparse_models import NAMES, make_sparse

_CHECKPOINTS = Capabilities(frozenset({"-ctxcp"}))
_USUAL = Wishes()
_SEED = 8
_MACHINES = 3
_RANK = {kind: rank for rank, kind in enumerate(VerdictKind)}


def machine(card_bytes: tuple[int, ...], ram_bytes: int, **more: object) -> DeviceSet:
    cards = tuple(Device(f"CUDA{i}", DeviceKind.GPU, n, n) for i, n in enumerate(card_bytes))
    return DeviceSet(cards, Device(RAM, DeviceKind.RAM, ram_bytes, ram_bytes, **more))


def both(model, devices, wishes=_USUAL) -> tuple[FileVerdict | None, FileVerdict]:
    """The first verdict and the plan's, without the cards where these only hinder, as the library has it."""
    found = []
    for tried in (devices, DeviceSet((), devices.ram)):
        plan = make_plan(PlanInputs(model, tried, wishes, _CHECKPOINTS, n_threads=8))
        found.append(file_verdict(plan, model))
    with_cards, without = found
    best = without if not with_cards.runs and _RANK[without.kind] < _RANK[with_cards.kind] else with_cards
    return first_verdict(model, devices, wishes), best


def assert_safe(first, planned):
    """``first`` promises nothing that ``planned`` does not hold, and forbids nothing that it allows."""
    assert first.is_first
    assert not planned.is_first
    if not first.runs:
        assert not planned.runs
        assert first.missing_bytes > 0
        return
    assert planned.runs
    assert _RANK[planned.kind] <= _RANK[first.kind]
    if planned.kind is first.kind is VerdictKind.EXPERTS_IN_RAM:
        assert planned.expert_layers_in_ram <= first.expert_layers_in_ram
    if planned.kind is first.kind is VerdictKind.LAYERS_IN_RAM:
        assert planned.layers_in_ram <= first.layers_in_ram


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.mark.share(2)
@pytest.mark.parametrize("name", NAMES)
def test_that_no_machine_makes_a_first_verdict_promise_more_than_the_plan(name, folder):
    path = folder / f"{name}.gguf"
    make_sparse(name, path, has_vocabulary=False)
    model, chance = read_model(path), random.Random(f"{_SEED}{name}")
    size = model.tensor_bytes
    for _ in range(_MACHINES):
        card = chance.choice((0, round(size * chance.uniform(0.02, 1.3)), round(chance.uniform(2, 26) * GIB)))
        cards = (card,) if card else ()
        devices = machine(cards, round(size * chance.uniform(0.05, 1.5)))
        wishes = Wishes(n_ctx=chance.choice((None, 4096, 16384)))
        first, planned = both(model, devices, wishes)
        if first is not None:
            assert_safe(first, planned)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["qwen3-30b", "gpt-oss-20b", "deepseek-v2-lite"])
def test_that_two_cards_are_never_promised_more_than_the_plan_finds(name, folder):
    path = folder / f"two-{name}.gguf"
    make_sparse(name, path, has_vocabulary=False)
    model = read_model(path)
    for first_gib, second_gib in ((8, 4), (6, 6), (24, 12)):
        found, planned = both(model, machine((first_gib * GIB, second_gib * GIB), 32 * GIB))
        assert found is not None
        assert_safe(found, planned)


@pytest.fixture(scope="module")
def qwen(folder):
    make_sparse("qwen3-30b", folder / "q.gguf", has_vocabulary=False)
    return read_model(folder / "q.gguf")


def test_that_every_kind_is_told_where_sums_decide(qwen):
    def kind(card_gib, ram_gib):
        cards = (round(card_gib * GIB),) if card_gib else ()
        found = first_verdict(qwen, machine(cards, round(ram_gib * GIB)), Wishes())
        return None if found is None else found.kind

    assert kind(24, 16) is VerdictKind.GPU
    assert kind(8, 32) is VerdictKind.EXPERTS_IN_RAM
    assert kind(1.8, 32) is VerdictKind.LAYERS_IN_RAM
    assert kind(0, 32) is VerdictKind.RAM
    assert kind(4, 8) is VerdictKind.TOO_BIG
    assert kind(0, 18) is None, "the weights have room, the buffers may not"


def test_that_a_large_card_is_no_room_for_what_stays_in_ram(qwen):
    """The prompt cache is always there, however much of the model the card takes."""
    wishes = Wishes(prompt_cache_mib=4096)
    found, planned = both(qwen, machine((60 * GIB,), 4 * GIB), wishes)
    assert not planned.runs
    assert found is None or not found.runs
    assert first_verdict(qwen, machine((60 * GIB,), 8 * GIB), wishes).kind is VerdictKind.GPU


def test_that_first_layers_are_close_to_the_plans(qwen):
    first, planned = both(qwen, machine((8 * GIB,), 32 * GIB))
    assert 0 <= first.expert_layers_in_ram - planned.expert_layers_in_ram <= 3


def test_that_what_sums_cannot_know_is_left_to_the_plan(qwen):
    devices = machine((8 * GIB,), 32 * GIB)
    assert first_verdict(qwen, devices, Wishes()) is not None
    for wishes in (Wishes(n_gpu_layers=3), Wishes(preset="all-cpu"), Wishes(mmproj_path="x"), Wishes(mtp=True)):
        assert first_verdict(qwen, devices, wishes) is None
    unknown = DeviceSet((), Device(RAM, DeviceKind.RAM, None, None))
    assert first_verdict(qwen, unknown, Wishes()) is None
    reserved = machine((8 * GIB,), 32 * GIB, reserve_bytes=30 * GIB)
    assert first_verdict(qwen, reserved, Wishes()).kind is VerdictKind.TOO_BIG
    assert first_verdict(qwen, reserved, Wishes()).missing_bytes > 100 * MIB
