"""Facts of a machine with source and confidence, and two machines set side by side."""

import dataclasses

import pytest

from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import PowerInfo
from app.work.machine_compare import compare_machines
from app.work.machine_facts import CONFIDENCES, machine_groups
from tests.tools.hardware_data import DATA

MACHINES = sorted(DATA.glob("*.json"))


def _load(name):
    return load_snapshot(DATA / f"{name}.json")


def _facts(snapshot):
    return {fact.key: fact for group in machine_groups(snapshot) for fact in group.facts}


@pytest.mark.parametrize("path", MACHINES, ids=lambda p: p.stem)
def test_that_each_fact_has_a_key_of_its_own_and_an_unknown_one_says_what_would_reveal_it(path):
    groups = machine_groups(load_snapshot(path))
    facts = [fact for group in groups for fact in group.facts]
    assert len({fact.key for fact in facts}) == len(facts)
    for fact in facts:
        assert fact.confidence in CONFIDENCES
        assert (fact.value is None) == (fact.confidence == "unknown")
        assert fact.value != "0"
        if fact.value is None:
            assert fact.hint
            assert not fact.source
            assert fact.raw is None


def test_that_measured_told_and_worked_out_are_told_apart():
    facts = _facts(_load("desktop-two-unequal-gpus"))
    assert facts["memory.measured_gbs"].confidence == "measured"
    assert facts["memory.channels"].confidence == "estimated"
    assert facts["memory.speed_mts"].confidence == "told"
    assert (facts["memory.speed_mts"].raw, facts["memory.speed_mts"].unit) == (3200, "MT/s")


def test_that_a_rated_speed_is_only_an_estimate_of_the_one_it_runs_at():
    machine = _load("desktop-two-unequal-gpus")
    rated = dataclasses.replace(machine, sources={**machine.sources, "memory.speed_mts": "rated_speed"})
    assert _facts(rated)["memory.speed_mts"].confidence == "estimated"


def test_that_soldered_memory_is_called_so_and_offers_to_measure():
    machine = _load("laptop-igpu-only-ultra5")  # field report RAM-01: packages are no modules
    memory = dataclasses.replace(machine.memory, is_soldered=True, modules=8, kind="LPDDR5", measured_gbs=None)
    facts = _facts(dataclasses.replace(machine, memory=memory))
    assert facts["memory.modules"].value == "soldered LPDDR5, 8 packages"
    assert facts["memory.channels"].hint.startswith("Soldered:")


def test_that_a_sleeping_cards_unknown_facts_say_that_it_sleeps():
    facts = _facts(_load("laptop-hybrid-gpu-asleep"))
    asleep = [f for key, f in facts.items() if key.startswith("gpus.0.") and f.value is None]
    assert asleep
    assert {f.hint for f in asleep} == {"It sleeps. Look again while a program uses it, or launch a server."}


def test_that_empty_slots_are_told():
    machine = _load("desktop-single-channel")
    memory = dataclasses.replace(machine.memory, slots=4, modules=1)
    facts = _facts(dataclasses.replace(machine, memory=memory))
    assert facts["memory.modules"].value == "1 × DDR4 in 4 slots"


def test_that_a_measured_speed_tells_when_and_how_near_the_theory():
    machine = _load("desktop-two-unequal-gpus")
    memory = dataclasses.replace(machine.memory, measured_at="2026-11-29T12:30:00+01:00")
    hint = _facts(dataclasses.replace(machine, memory=memory))["memory.measured_gbs"].hint
    assert hint == "Measured 2026-11-29 12:30. 81 % of the theoretical."


def test_that_power_is_a_fact_and_unknown_power_no_battery():
    machine = _load("vm-no-gpu")
    facts = _facts(dataclasses.replace(machine, power=PowerInfo(on_battery=True)))
    assert (facts["power.on_battery"].value, facts["power.on_battery"].raw) == ("battery", True)
    assert facts["power.is_saving"].value is None


def test_that_a_machine_beside_itself_differs_in_nothing():
    for path in MACHINES:
        machine = load_snapshot(path)
        assert not [row for row in compare_machines(machine, machine) if row.differs]


def test_that_what_differs_is_marked_and_a_later_look_alone_is_no_difference():
    before = _load("desktop-single-channel")
    after = dataclasses.replace(
        before, taken_at="2027-01-01T00:00:00+00:00", memory=dataclasses.replace(before.memory, channels=2, modules=2)
    )
    rows = compare_machines(before, after)
    assert {row.key for row in rows if row.differs} == {"memory.channels", "memory.modules"}
    channels = next(row for row in rows if row.key == "memory.channels")
    assert (channels.left.value, channels.right.value) == ("1", "2")


def test_that_caches_nobody_told_are_unknown_and_never_absent():
    told = _load("laptop-lpddr5-rtx4070")
    silent = dataclasses.replace(told, cpu=dataclasses.replace(told.cpu, l3=()))
    (row,) = [row for row in compare_machines(told, silent) if row.key == "cpu.l3"]
    assert row.left.value == "24 MiB"
    assert (row.right.value, row.right.confidence) == (None, "unknown")


def test_that_the_same_card_is_compared_with_itself_whatever_its_place():
    two = _load("desktop-two-unequal-gpus")
    turned = dataclasses.replace(
        two,
        gpus=(two.gpus[1], two.gpus[0]),
        sources={key.replace("gpus.0", "gpus.x").replace("gpus.1", "gpus.0").replace("gpus.x", "gpus.1"): value
                 for key, value in two.sources.items()},
    )  # fmt: skip
    assert not [row.key for row in compare_machines(two, turned) if row.differs and row.key.startswith("gpus.")]


def test_that_a_card_less_is_not_there():
    two = _load("desktop-two-unequal-gpus")
    one = dataclasses.replace(two, gpus=two.gpus[:1])
    gone = [row for row in compare_machines(two, one) if row.key.startswith("gpus.1.")]
    assert gone
    assert all(row.right is None and row.differs == (row.left.value is not None) for row in gone)
