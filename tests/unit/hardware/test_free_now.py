"""Free memory read again: only the drivers that must be asked are, and a sleeping card is left asleep."""

import dataclasses
import sys

import pytest

from app.common.problem import fail
from app.hardware.free_now import FreeNow, engine_tells_free, is_asleep, read_free, with_free
from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import GpuInfo
from tests.tools.hardware_data import DATA

GIB = 1 << 30


class CountingNvml:
    """An open NVML that answers one figure and counts what it is asked."""

    opened = 0

    def __init__(self, free):
        CountingNvml.opened += 1
        self.asked, self.closed, self._free = 0, False, free

    def handle_of(self, uuid):
        return uuid

    def memory(self, handle, about=""):
        self.asked += 1
        return 12 * GIB, self._free, None

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def count_from_zero():
    CountingNvml.opened = 0


def _laptop():
    return load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")


def _power(root, pci_id, state):
    folder = root / "sys/bus/pci/devices" / pci_id / "power"
    folder.mkdir(parents=True)
    (folder / "runtime_status").write_text(f"{state}\n", encoding="utf-8")


def test_that_an_nvidia_card_is_asked_once_and_the_session_is_closed(tmp_path):
    snapshot = _laptop()
    sessions = []
    at = next(i for i, gpu in enumerate(snapshot.gpus) if gpu.uuid is not None)

    def open_session():
        sessions.append(CountingNvml(7 * GIB))
        return sessions[-1]

    now = read_free(snapshot, tmp_path, open_session)
    assert now.gpus == {at: 7 * GIB}
    assert [(s.asked, s.closed) for s in sessions] == [(1, True)]
    assert with_free(snapshot, now).gpus[at].free_bytes == 7 * GIB
    assert with_free(snapshot, now).memory.available_bytes == now.ram.available_bytes


@pytest.mark.skipif(sys.platform == "win32", reason="reads Linux' runtime power state")
@pytest.mark.parametrize(("state", "opened"), [("suspended", 0), ("active", 1), ("unsupported", 1)])
def test_that_nvml_is_not_opened_while_a_card_sleeps_and_unknown_counts_as_awake(tmp_path, state, opened):
    snapshot = _laptop()
    card = next(gpu for gpu in snapshot.gpus if gpu.uuid is not None)
    _power(tmp_path, card.pci_id, state)
    before = card.free_bytes
    now = read_free(snapshot, tmp_path, lambda: CountingNvml(1 * GIB))
    assert CountingNvml.opened == opened
    after = next(gpu for gpu in with_free(snapshot, now).gpus if gpu.uuid is not None)
    assert after.free_bytes == (before if not opened else 1 * GIB)
    assert after.is_asleep is {"suspended": True, "active": False, "unsupported": None}[state]


@pytest.mark.skipif(sys.platform == "win32", reason="reads Linux' runtime power state")
def test_that_a_card_without_an_address_is_not_said_to_sleep(tmp_path):
    assert is_asleep(GpuInfo("Card", "gpu", None, None, None), tmp_path) is None


def test_that_nothing_is_asked_of_nvml_on_a_machine_without_its_cards(tmp_path):
    read_free(load_snapshot(DATA / "vm-no-gpu.json"), tmp_path, lambda: CountingNvml(0))
    assert CountingNvml.opened == 0


def test_that_a_driver_that_is_gone_leaves_the_old_figure(tmp_path):
    snapshot = _laptop()

    def gone():
        raise fail("nvml_failed")

    now = read_free(snapshot, tmp_path, gone)
    assert now.gpus == {}
    assert [g.free_bytes for g in with_free(snapshot, now).gpus] == [g.free_bytes for g in snapshot.gpus]


def test_that_a_ram_that_cannot_be_read_leaves_the_old_figure(monkeypatch, tmp_path):
    def refuses():
        raise OSError

    monkeypatch.setattr("app.hardware.free_now.ram_now", refuses)
    snapshot = load_snapshot(DATA / "vm-no-gpu.json")
    memory = with_free(snapshot, read_free(snapshot, tmp_path)).memory
    promised = snapshot.memory.commit_free_bytes  # what can be promised is another question, and Windows answers it
    assert dataclasses.replace(memory, commit_free_bytes=promised) == snapshot.memory


def test_that_what_only_the_engine_knows_is_not_overwritten(tmp_path):
    snapshot = _laptop()
    sources = {**snapshot.sources, "gpus.0.free_bytes": "engine"}
    told = dataclasses.replace(snapshot, sources=sources)
    assert engine_tells_free(told, 0)
    fresh = with_free(told, FreeNow(None, {0: 1}, {}))
    assert fresh.gpus[0].free_bytes == snapshot.gpus[0].free_bytes
    assert not engine_tells_free(dataclasses.replace(snapshot, sources={"gpus.0": "nvml"}), 0)
