"""The ring buffer keeps the newest samples, in order, with gaps where a value is unknown."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.monitor.ring import RingBuffer
from app.monitor.sample import Sample


def _same(column, expected):
    return len(column) == len(expected) and all(
        (math.isnan(a) and b is None) or a == b for a, b in zip(column, expected, strict=True)
    )


def test_that_an_empty_buffer_has_no_values():
    ring = RingBuffer(3, ("a",))
    assert (len(ring), ring.keys(), list(ring.times()), list(ring.column("a"))) == (0, ("a",), [], [])
    assert ring.latest("a") is None


def test_that_the_oldest_samples_go_first():
    ring = RingBuffer(3)
    for t in range(5):
        ring.append(Sample(float(t), {"a": t * 10.0}))
    assert list(ring.times()) == [2.0, 3.0, 4.0]
    assert list(ring.column("a")) == [20.0, 30.0, 40.0]
    assert (len(ring), ring.written, ring.latest("a")) == (3, 5, 40.0)


def test_that_unknown_missing_and_new_values_are_gaps_and_not_zero():
    ring = RingBuffer(4)
    ring.append(Sample(0.0, {"a": 1.0}))
    ring.append(Sample(1.0, {"a": None, "b": 2.0}))
    ring.append(Sample(2.0, {"b": 3.0}))
    assert _same(ring.column("a"), [1.0, None, None])
    assert _same(ring.column("b"), [None, 2.0, 3.0])
    assert _same(ring.column("never"), [None, None, None])
    assert ring.latest("a") is None


def test_that_numpy_takes_a_column_without_copying():
    numpy = pytest.importorskip("numpy")
    ring = RingBuffer(4)
    ring.append(Sample(0.0, {"a": 1.5}))
    column = ring.column("a")
    assert numpy.shares_memory(numpy.asarray(column), numpy.frombuffer(column))
    assert numpy.asarray(column).dtype == numpy.float64


def test_that_a_column_handed_out_does_not_change():
    ring = RingBuffer(2)
    ring.append(Sample(0.0, {"a": 1.0}))
    column = ring.column("a")
    ring.append(Sample(1.0, {"a": 2.0}))
    assert list(column) == [1.0]


def test_that_clearing_forgets_samples_and_keeps_keys():
    ring = RingBuffer(2)
    ring.append(Sample(0.0, {"a": 1.0}))
    ring.clear()
    ring.append(Sample(1.0, {"b": 2.0}))
    assert (ring.keys(), list(ring.times())) == (("a", "b"), [1.0])
    assert _same(ring.column("a"), [None])


def test_that_a_buffer_needs_room():
    with pytest.raises(ValueError, match="capacity"):
        RingBuffer(0)


@given(
    capacity=st.integers(1, 7),
    rows=st.lists(
        st.dictionaries(st.sampled_from("abc"), st.none() | st.floats(allow_nan=False, allow_infinity=False)),
        max_size=25,
    ),
)
def test_that_it_behaves_like_the_end_of_a_list(capacity, rows):
    ring = RingBuffer(capacity)
    for t, row in enumerate(rows):
        ring.append(Sample(float(t), row))
    kept = list(enumerate(rows))[-capacity:]
    assert list(ring.times()) == [float(t) for t, _ in kept]
    for key in "abc":
        assert _same(ring.column(key), [row.get(key) for _, row in kept])
