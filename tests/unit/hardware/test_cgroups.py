"""Limits of containers, both versions of control groups."""

import pytest

from app.hardware.cgroup_linux import cpu_quota, memory_limit, parse_cpu_max, parse_memberships
from app.hardware.memory_linux import within_container
from app.hardware.ps import RamNow
from tests.tools.hardware_data import write_files

GIB = 1 << 30


@pytest.mark.parametrize(
    ("text", "expected"),
    [("400000 100000", 4.0), ("765000 100000", 7.65), ("max 100000", None), ("", None), ("5", None), ("1 0", None)],
)
def test_that_cpu_max_is_read(text, expected):
    assert parse_cpu_max(text) == expected


def test_that_the_tightest_group_above_counts(tmp_path):
    root = write_files(
        tmp_path,
        {
            "proc/self/cgroup": "0::/pod/box\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
            "sys/fs/cgroup/pod/cpu.max": "200000 100000\n",
            "sys/fs/cgroup/pod/box/cpu.max": "max 100000\n",
            "sys/fs/cgroup/pod/box/memory.max": f"{8 * GIB}\n",
            "sys/fs/cgroup/pod/box/memory.current": f"{3 * GIB}\n",
            "sys/fs/cgroup/pod/box/memory.stat": f"anon 5\ninactive_file {GIB}\n",
        },
    )
    assert cpu_quota(root) == 2.0
    limit = memory_limit(root)
    assert (limit.limit_bytes, limit.used_bytes) == (8 * GIB, 2 * GIB)
    assert within_container(RamNow(64 * GIB, 50 * GIB), root) == (RamNow(8 * GIB, 6 * GIB), True)
    assert within_container(RamNow(4 * GIB, 3 * GIB), root) == (RamNow(4 * GIB, 3 * GIB), False)


def test_that_a_path_of_the_host_falls_back_to_the_mounts_root(tmp_path):
    root = write_files(
        tmp_path,
        {
            "proc/self/cgroup": "0::/docker/abc\n",
            "sys/fs/cgroup/cgroup.controllers": "cpu\n",
            "sys/fs/cgroup/cpu.max": "400000 100000\n",
        },
    )
    assert cpu_quota(root) == 4.0


def test_that_version_1_is_read_and_its_huge_number_means_no_limit(tmp_path):
    root = write_files(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/a\n3:cpu,cpuacct:/a\n0::/\n",
            "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us": "150000\n",
            "sys/fs/cgroup/cpu/a/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    assert cpu_quota(root) == 1.5
    assert memory_limit(root) is None


def test_that_a_system_without_groups_has_no_limits(tmp_path):
    assert cpu_quota(tmp_path) is None
    assert memory_limit(tmp_path) is None
    assert parse_memberships("nonsense\n\n1:name=systemd:/x:y\n") == {"name=systemd": "/x:y"}
