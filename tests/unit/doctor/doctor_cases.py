"""Machines, plans and samples for the doctor's tests."""

from dataclasses import replace

from app.common.capabilities import Capabilities
from app.diagnose.doctor.types import Facts
from app.hardware.cpu_choice import CpuLimits, describe_cpu, plain_cores
from app.hardware.types import CoreKind, CpuCore, GpuInfo, HardwareSnapshot, MemoryInfo
from app.monitor.sample import Sample
from app.planner.plan import PlanInputs, make_plan
from app.planner.types import Device, DeviceKind, DeviceSet, Wishes
from app.work.engines import capabilities_of

MIB = 1 << 20
GIB = 1 << 30


def snapshot(*gpus, cpu=None, memory=None, **facts):
    cpu = cpu or describe_cpu("CPU", plain_cores(8), CpuLimits(), False)
    memory = memory or MemoryInfo(32 * GIB, 24 * GIB, "DDR5", 2, 2, 5600, 89.6)
    return HardwareSnapshot("2026-11-29T12:00:00+00:00", "Windows 11", cpu, memory, gpus, **facts)


def card(engine_name="CUDA0", total=12282 * MIB, **facts):
    return GpuInfo("RTX 4080 Laptop", "gpu", engine_name, total, total - 300 * MIB, **facts)


def hybrid_cpu():
    """Six P-cores with two threads each, then eight E-cores."""
    fast = tuple(CpuCore((2 * i, 2 * i + 1), CoreKind.P) for i in range(6))
    slow = tuple(CpuCore((12 + i,), CoreKind.E) for i in range(8))
    return describe_cpu("i7-13700H", (*fast, *slow), CpuLimits(), False)


def capabilities():
    return capabilities_of(None)


def inputs(model, gpu_mib=11000, ram_mib=30000, **wishes):
    gpu = Device("CUDA0", DeviceKind.GPU, 12282 * MIB, gpu_mib * MIB, "", "CUDA0", 300 * MIB, 256 * MIB)
    ram = Device("RAM", DeviceKind.RAM, 32 * GIB, ram_mib * MIB, reserve_bytes=1024 * MIB)
    return PlanInputs(model, DeviceSet((gpu,), ram), Wishes(n_ctx=16384, **wishes), capabilities(), 6)


def facts(model, **more):
    """A plan that fits, and whatever else a test tells. ``wishes`` and ``given`` (of ``inputs``) shape the plan."""
    given = more.pop("given", {})
    wishes = more.pop("wishes", {})
    told = inputs(model, **given, **wishes)
    return Facts(inputs=told, plan=make_plan(told), capabilities=capabilities(), **more)


def samples(*rows, period_s=1.0):
    """One sample a second; a missing figure is unknown."""
    return tuple(Sample(100.0 + i * period_s, row) for i, row in enumerate(rows))


def no_flags():
    return Capabilities(frozenset())


__all__ = ["capabilities", "card", "facts", "hybrid_cpu", "inputs", "no_flags", "replace", "samples", "snapshot"]
