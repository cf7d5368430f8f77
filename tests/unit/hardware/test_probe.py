"""The look at this very computer, and what happens when parts of it fail."""

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.hardware import cpu_linux, gpus_linux, gpus_nvml, memory_linux, probe, ps
from app.hardware.types import GpuInfo
from tests.tools.hardware_data import RTX_4080_LAPTOP, FakeNvml, NvmlError


def test_that_this_computer_is_described():
    snapshot = probe.probe()
    assert snapshot.cpu.logical_count >= 1
    assert 1 <= snapshot.cpu.recommended_threads <= len(snapshot.cpu.recommended_cpus)
    assert 0 < snapshot.memory.available_bytes <= snapshot.memory.total_bytes <= psutil.virtual_memory().total
    assert snapshot.sources["memory.total_bytes"] in ("psutil", "cgroup")
    assert snapshot.os
    assert "+" in snapshot.taken_at or "-" in snapshot.taken_at[10:]
    assert not snapshot.engine_asked


def test_that_looking_imports_no_numpy_and_no_qt():
    code = (
        "import sys; from app.hardware.probe import probe; probe(); "
        "print([m for m in ('numpy', 'PySide6', 'cpuinfo') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
        timeout=60,
    )
    loaded = result.stdout.strip()
    assert "numpy" not in loaded
    assert "PySide6" not in loaded


@pytest.mark.skipif(sys.platform == "win32", reason="the Linux probes")
def test_that_every_probe_may_fail_and_each_is_reported_once(monkeypatch):
    def broken(*_args):
        raise RuntimeError("broken on purpose")

    for module, name in (
        (cpu_linux, "read_cpu"),
        (cpu_linux, "read_limits"),
        (memory_linux, "read_modules"),
        (gpus_linux, "read_gpus"),
        (gpus_nvml, "open_nvml"),
        (ps, "ram_now"),
        (probe, "_os_name"),
        (probe, "_name_from_cpuinfo"),
    ):
        monkeypatch.setattr(module, name, broken)
    snapshot = probe.probe()
    codes = [p.code for p in snapshot.problems]
    assert set(codes) == {
        "cpu_probe_failed", "memory_probe_failed", "memory_modules_failed", "gpu_probe_failed", "os_probe_failed",
    }  # fmt: skip
    assert len(codes) == len(set(codes))
    assert {text for p in snapshot.problems for text in p.evidence} == {"RuntimeError: broken on purpose"}
    assert snapshot.memory.total_bytes is None
    assert snapshot.gpus == ()
    assert snapshot.cpu.recommended_threads >= 1


@pytest.mark.skipif(sys.platform == "win32", reason="the Linux probes")
def test_that_a_missing_nvidia_library_is_news_only_beside_an_nvidia_card(monkeypatch):
    monkeypatch.delenv("WINDIR", raising=False)
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(init_error=12))
    assert "nvml_missing" not in [p.code for p in probe.probe().problems]
    card = GpuInfo("NVIDIA AD104M", "gpu", None, None, None, pci_id="0000:01:00.0")
    monkeypatch.setattr(gpus_linux, "read_gpus", lambda: (card,))
    snapshot = probe.probe()
    assert "nvml_missing" in [p.code for p in snapshot.problems]
    assert snapshot.gpus == (card,)


@pytest.mark.skipif(sys.platform == "win32", reason="the Linux probes")
def test_that_nvml_and_sysfs_are_joined_and_the_session_is_closed(monkeypatch):
    nvml = FakeNvml(RTX_4080_LAPTOP)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    seen = GpuInfo("NVIDIA AD104M", "gpu", None, None, None, pci_id="0000:01:00.0")
    monkeypatch.setattr(gpus_linux, "read_gpus", lambda: (seen,))
    snapshot = probe.probe()
    assert [g.name for g in snapshot.gpus] == ["NVIDIA GeForce RTX 4080 Laptop GPU"]
    assert snapshot.sources["gpus.0"] == "nvml"
    assert nvml.opened == 0


def test_that_the_fake_errors_behave_like_the_bindings():
    import pynvml

    assert pynvml.NVML_ERROR_NOT_SUPPORTED == FakeNvml.NVML_ERROR_NOT_SUPPORTED
    assert pynvml.NVML_ERROR_LIBRARY_NOT_FOUND == FakeNvml.NVML_ERROR_LIBRARY_NOT_FOUND
    assert pynvml.NVML_CLOCK_MEM == FakeNvml.NVML_CLOCK_MEM
    assert pynvml.nvmlMemory_v2 == FakeNvml.nvmlMemory_v2
    assert pynvml.NVMLError(3).value == NvmlError(3).value


def test_that_every_nvml_function_we_call_exists_in_the_binding():
    import pynvml

    nvml = FakeNvml(RTX_4080_LAPTOP)
    gpus_nvml.read_gpus(gpus_nvml.NvmlSession(nvml))
    assert [name for name in nvml.calls if not hasattr(pynvml, name)] == []


@pytest.mark.parametrize(
    ("major", "build", "expected"),
    [(10, 22631, "Windows 11 (build 22631)"), (10, 19045, "Windows 10 (build 19045)")],
)
def test_that_windows_11_is_told_by_its_build(major, build, expected):
    assert probe.windows_name(major, build) == expected


def test_that_a_linux_is_named_by_its_distribution():
    text = 'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n'
    assert probe.linux_name(text, "6.1.0") == "Debian GNU/Linux 12 (bookworm), Linux 6.1.0"
    assert probe.linux_name("", "6.1.0") == "Linux 6.1.0"
