"""The launch order: the plan's command, the key apart from it, and the CPUs that its threads need."""

from types import SimpleNamespace

import pytest

from app.common.paths import app_paths
from app.engine.locate import EngineBinary
from app.hardware.cpu_choice import CpuLimits, describe_cpu
from app.hardware.types import CoreKind, CpuCore
from app.work.launching import launch_spec

CORES = (
    *(CpuCore((2 * i, 2 * i + 1), CoreKind.P) for i in range(2)),
    *(CpuCore((n,), CoreKind.E) for n in range(4, 12)),
)
CPU = describe_cpu("2 P-cores and 8 E-cores", CORES, CpuLimits(), False)


@pytest.mark.parametrize(
    ("argv", "cpus"),
    [
        ((), 4),
        (("-t", "2"), 4),
        (("-t", "4", "-tb", "4"), 4),
        (("-t", "2", "-tb", "10"), 12),
        (("--threads", "10"), 12),
        (("-t", "-1"), 4),
    ],
)
def test_that_a_plan_gets_as_many_cpus_as_its_threads_need(argv, cpus):
    spec = launch_spec(SimpleNamespace(argv=argv), EngineBinary("llama-server"), CPU, app_paths(), "k")
    assert spec.cpus == tuple(range(cpus))
    assert spec.argv == argv


def test_that_the_key_is_not_in_the_command_line():
    plan = SimpleNamespace(argv=("-c", "4096", "--api-key", "typed", "-t", "2"))
    spec = launch_spec(plan, EngineBinary("llama-server"), CPU, app_paths(), "made")
    assert spec.argv == ("-c", "4096", "-t", "2")
    assert spec.api_key == "made"
