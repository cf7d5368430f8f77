"""What people reported about VRAM and processors, where several parts have to agree on the right answer."""

import sys

import pytest

from app.diagnose.machine_vram import withheld_findings
from app.engine.capabilities import FALLBACK
from app.hardware.cpu_choice import CpuLimits, describe_cpu, plain_cores
from app.hardware.devices import EngineDevice, with_engine_devices
from app.hardware.free_now import read_free
from app.hardware.gpus_nvml import NvmlSession, read_gpus
from app.hardware.types import GpuInfo, HardwareSnapshot, MemoryInfo
from app.monitor.nvml import NvmlSampler
from app.planner.command_import import read_command
from app.planner.command_plan import plan_of_command
from app.planner.plan import PlanInputs
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from app.words import say_problem
from tests.tools.hardware_data import RTX_4080_LAPTOP, FakeNvml, write_files

GIB, MIB = 1 << 30, 1 << 20


def _snapshot(*gpus):
    cpu = describe_cpu("CPU", plain_cores(8), CpuLimits(), False)
    sources = {f"gpus.{i}": "nvml" for i in range(len(gpus))}
    return HardwareSnapshot(
        "2026-01-01T00:00:00+00:00", "Windows 11 (build 22631)", cpu, MemoryInfo(64 * GIB, 60 * GIB), gpus, sources
    )


def test_that_the_monitor_watches_the_card_that_the_server_calls_cuda0():
    cards = (  # field report GPU-09: NVML counts by bus, CUDA by speed
        {**RTX_4080_LAPTOP, "name": "NVIDIA RTX 3050 6GB", "uuid": "GPU-aaaa", "memory": (6 * GIB, 5 * GIB, GIB)},
        {**RTX_4080_LAPTOP, "name": "NVIDIA RTX 4070 Ti 12GB", "uuid": "GPU-bbbb", "busId": "00000000:02:00.0",
         "memory": (12 * GIB, 9 * GIB, 3 * GIB)},
    )  # fmt: skip
    nvml = FakeNvml(*cards)
    listed = (
        EngineDevice("CUDA0", "NVIDIA RTX 4070 Ti 12GB", 12 * GIB, 9 * GIB, "CUDA0"),
        EngineDevice("CUDA1", "NVIDIA RTX 3050 6GB", 6 * GIB, 5 * GIB, "CUDA1"),
    )
    joined = with_engine_devices(_snapshot(*read_gpus(NvmlSession(nvml))), listed)
    names = {gpu.uuid: gpu.engine_name for gpu in joined.gpus}
    assert names == {"GPU-bbbb": "CUDA0", "GPU-aaaa": "CUDA1"}
    values = NvmlSampler(tuple(names), names, open_session=lambda: NvmlSession(nvml)).sample()
    assert (values["gpu.CUDA0.used"], values["gpu.CUDA1.used"]) == (3 * GIB, GIB)


def test_that_vram_that_windows_withholds_is_not_planned_with_and_is_explained():
    card = GpuInfo("NVIDIA GeForce RTX 2080 Ti", "gpu", None, 22528 * MIB, 21900 * MIB, uuid="GPU-1")
    device = EngineDevice("CUDA0", card.name, 22528 * MIB, 18739 * MIB, "CUDA0")  # field report GPU-15
    once = with_engine_devices(_snapshot(card), (device,))
    assert once.gpus[0].free_bytes == 18739 * MIB
    (finding,) = withheld_findings(once)
    assert finding.params["n_bytes"] == 3161 * MIB
    assert "3 161 MiB" in say_problem(finding).replace("\u202f", " ").replace("\xa0", " ")
    assert with_engine_devices(once, (device,)) == once
    freed = EngineDevice("CUDA0", card.name, 22528 * MIB, 21500 * MIB, "CUDA0")
    later = with_engine_devices(once, (freed,))
    assert (later.gpus[0].free_bytes, withheld_findings(later)) == (21900 * MIB, [])


@pytest.mark.skipif(sys.platform == "win32", reason="reads Linux' runtime power state")
def test_that_a_sleeping_card_is_not_woken_to_be_asked(tmp_path):
    gpu = GpuInfo("RTX 4080 Laptop", "gpu", "CUDA0", 12 * GIB, 11 * GIB, uuid="GPU-aaaa", pci_id="0000:01:00.0")
    opened = []
    state = {"sys/bus/pci/devices/0000:01:00.0/power/runtime_status": "suspended\n"}
    now = read_free(_snapshot(gpu), write_files(tmp_path, state), lambda: opened.append(1))  # field report GPU-07
    assert (opened, dict(now.gpus), dict(now.asleep)) == ([], {}, {0: True})


@pytest.fixture(scope="module")
def model(real_headers):
    return real_headers["qwen3-30b"]


def _plan(model, *argv):
    card = Device("CUDA0", DeviceKind.GPU, 24 * GIB, 24 * GIB, buffer_name="CUDA0")
    devices = DeviceSet((card,), Device(RAM, DeviceKind.RAM, 64 * GIB, 60 * GIB, buffer_name="CPU"))
    command = read_command(("llama-server", "-m", "x.gguf", *argv), FALLBACK, {})
    return plan_of_command(command, PlanInputs(model, devices, Wishes(), FALLBACK, n_threads=8)).plan


def test_that_four_slots_share_one_context_until_their_number_is_given(model):
    shared, divided, alone = (_plan(model, *argv) for argv in (  # field report GPU-20
        ("-c", "32768"), ("-c", "32768", "-np", "4"), ("-c", "32768", "-np", "1"),
    ))  # fmt: skip
    per_conversation = [
        plan.n_ctx if plan.wishes.kv_unified or plan.n_slots == 1 else plan.n_ctx // plan.n_slots
        for plan in (shared, divided, alone)
    ]
    assert [plan.n_slots for plan in (shared, divided, alone)] == [4, 4, 1]
    assert per_conversation == [32768, 8192, 32768]
    kv = [sum(d.kv_bytes for d in plan.estimate.devices) for plan in (shared, divided, alone)]
    assert kv[0] == kv[1] == kv[2] > 0


def test_that_pinning_never_rests_on_the_engines_own_options(model):
    plan = _plan(model, "-c", "4096")  # field report CPU-07: builds that accepted the mask and ignored it
    assert not [word for word in plan.argv if word.startswith(("--cpu-", "-C"))]
