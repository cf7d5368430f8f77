"""Windows' CPU sets: ids of logical CPUs and back; what is damaged tells less, it raises nothing."""

import struct

import pytest

from app.engine.cpu_sets import cpus_of, ids_of


def entry(cpu_set, cpu, kind=0, size=32):
    head = struct.pack("<IIIHB", size, kind, cpu_set, cpu // 64, cpu % 64)
    return head + bytes(size - len(head))


SETS = b"".join(entry(256 + i, i) for i in range(8)) + entry(400, 64)


def test_that_ids_and_cpus_belong_together_across_processor_groups():
    assert ids_of(SETS, (0, 2, 64)) == (256, 258, 400)
    assert cpus_of(SETS, (400, 258, 256)) == (0, 2, 64)
    assert ids_of(SETS, (500,)) == ()


@pytest.mark.parametrize("data", [b"", b"\0" * 64, SETS[:-5], b"\xff" * 40])
def test_that_a_damaged_table_ends_where_it_is_damaged(data):
    assert len(cpus_of(data, range(1000))) <= 8


def test_that_entries_of_another_kind_are_passed_over():
    assert ids_of(entry(1, 0, kind=3) + entry(2, 0), (0,)) == (2,)
