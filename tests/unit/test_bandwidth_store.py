"""A measured RAM speed is kept for its machine, with its date, and for no other one."""

import dataclasses

import pytest

from app.hardware.snapshot_file import load_snapshot, snapshot_from_text, snapshot_to_json
from app.work.bandwidth_store import KIND, bandwidth_key, keep_bandwidth, with_bandwidth, with_known_bandwidth
from app.work.learned import LearnedStore
from tests.tools.hardware_data import DATA

DAY = 1_796_000_000.0


@pytest.fixture
def store(tmp_path):
    return LearnedStore(tmp_path / "本机" / "learned.sqlite", clock=lambda: DAY)


@pytest.fixture
def machine():
    return load_snapshot(DATA / "desktop-single-channel.json")


def test_that_the_next_start_knows_the_figure_and_its_date(store, machine):
    assert with_known_bandwidth(machine, store).memory.measured_gbs is None
    assert keep_bandwidth(machine, 18.237, store) is None
    again = with_known_bandwidth(machine, store)
    assert again.memory.measured_gbs == 18.24
    assert again.memory.measured_at.startswith("2026-11-")
    assert again.sources["memory.measured_gbs"] == "measured"


def test_that_the_newest_of_several_measurements_counts(store, machine):
    for gbs in (18.0, 17.0, 19.0):
        keep_bandwidth(machine, gbs, store)
    assert with_known_bandwidth(machine, store).memory.measured_gbs == 19.0


def test_that_a_second_module_makes_it_another_machine(store, machine):
    keep_bandwidth(machine, 18.0, store)
    memory = dataclasses.replace(machine.memory, modules=2, channels=2, total_bytes=2 * machine.memory.total_bytes)
    assert with_known_bandwidth(dataclasses.replace(machine, memory=memory), store).memory.measured_gbs is None


def test_that_a_few_mebibytes_more_are_the_same_machine(machine):
    memory = dataclasses.replace(machine.memory, total_bytes=machine.memory.total_bytes - (20 << 20))
    assert bandwidth_key(dataclasses.replace(machine, memory=memory)) == bandwidth_key(machine)


def test_that_a_snapshots_own_figure_is_not_replaced(store, machine):
    keep_bandwidth(machine, 18.0, store)
    measured = with_bandwidth(machine, 21.0, None)
    assert with_known_bandwidth(measured, store) is measured


@pytest.mark.parametrize("nonsense", [{"gbs": -1.0}, {"gbs": "fast"}, {"gbs": True}, {}, {"gbs": 0}])
def test_that_nonsense_in_the_file_is_not_believed(store, machine, nonsense):
    store.add(KIND, bandwidth_key(machine), nonsense)
    assert with_known_bandwidth(machine, store).memory.measured_gbs is None


def test_that_a_folder_that_cannot_be_written_is_told(tmp_path, machine):
    (tmp_path / "file").write_text("")
    trouble = keep_bandwidth(machine, 18.0, LearnedStore(tmp_path / "file" / "learned.sqlite"))
    assert trouble.code == "learned_not_saved"


def test_that_the_date_survives_in_a_snapshot_file(machine):
    import json

    measured = with_bandwidth(machine, 21.0, "2026-11-29T12:00:00+01:00")
    assert snapshot_from_text(json.dumps(snapshot_to_json(measured))).memory == measured.memory
