"""The loop asks at a steady pace, survives its samplers and stops at once."""

import queue
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.monitor.loop import MonitorLoop, Schedule
from app.monitor.sample import CallableSampler
from app.words import say_problem

PATIENCE_S = 20.0


class _Counter:
    name = "counter"

    def __init__(self):
        self.calls = 0
        self.closed = 0
        self.thread = None

    def sample(self):
        self.calls += 1
        self.thread = threading.current_thread()
        return {"count": float(self.calls)}

    def close(self):
        self.closed += 1


def test_that_delays_do_not_add_up():
    schedule = Schedule(start=100.0, period_s=0.5)
    dues = []
    for late in (0.1, 0.2, 0.05, 0.3):
        dues.append(schedule.due)
        schedule.advance(schedule.due + late)
    assert dues == [100.0, 100.5, 101.0, 101.5]


def test_that_missed_ticks_are_left_out_instead_of_caught_up():
    schedule = Schedule(0.0, 1.0)
    schedule.advance(3.7)
    assert schedule.due == 4.0


@given(st.floats(0.05, 10), st.lists(st.floats(0, 100), min_size=1, max_size=30))
def test_that_every_tick_lies_on_the_grid_after_now(period, delays):
    schedule, now = Schedule(5.0, period), 5.0
    for delay in delays:
        now = max(now, schedule.due) + delay
        schedule.advance(now)
        assert schedule.due >= now - 1e-6 * period - 1e-9
        assert schedule.due <= now + period * (1 + 1e-6) + 1e-9


def test_that_samples_arrive_until_stop_and_the_samplers_are_closed():
    counter, samples = _Counter(), queue.Queue()
    loop = MonitorLoop((counter, CallableSampler("fixed", lambda: {"x": None})), 0.001, samples.put)
    loop.start()
    got = [samples.get(timeout=PATIENCE_S) for _ in range(5)]
    loop.stop()
    assert [s.values["count"] for s in got] == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert all(s.values["x"] is None for s in got)
    times = [s.t_monotonic for s in got]
    assert times == sorted(times)
    assert counter.closed == 1
    assert not counter.thread.is_alive()
    calls = counter.calls
    loop.stop()
    assert counter.calls == calls


def test_that_a_long_period_does_not_delay_stop():
    samples = queue.Queue()
    loop = MonitorLoop((_Counter(),), 3600.0, samples.put)
    loop.start()
    samples.get(timeout=PATIENCE_S)
    stopper = threading.Thread(target=loop.stop)
    stopper.start()
    stopper.join(PATIENCE_S)
    assert not stopper.is_alive()


def test_that_nothing_is_asked_any_more_after_a_pause():
    counter, samples = _Counter(), queue.Queue()
    loop = MonitorLoop((counter,), 0.001, samples.put)
    loop.start()
    assert samples.get(timeout=PATIENCE_S).values == {"count": 1.0}
    loop.pause()
    calls = counter.calls
    loop.stop()
    assert (counter.calls <= calls + 1, counter.closed) == (True, 1)  # one may have been under way


def test_that_another_pace_holds_at_once():
    samples = queue.Queue()
    loop = MonitorLoop((_Counter(),), 3600.0, samples.put)
    loop.start()
    samples.get(timeout=PATIENCE_S)
    loop.set_period(0.001)
    assert [samples.get(timeout=PATIENCE_S).values["count"] for _ in range(3)] == [2.0, 3.0, 4.0]
    loop.set_period(3600.0)
    loop.stop()
    with pytest.raises(ValueError, match="positive"):
        loop.set_period(0.0)


def test_that_a_pace_set_while_paused_asks_nothing():
    counter = _Counter()
    loop = MonitorLoop((counter,), 3600.0, lambda _: None)
    loop.pause()
    loop.start()
    loop.set_period(0.001)
    loop.stop()
    assert counter.calls == 0


def test_that_a_loop_that_never_sampled_can_be_stopped():
    counter = _Counter()
    loop = MonitorLoop((counter,), 1.0, lambda _: None)
    loop.stop()
    loop.start()
    loop.stop()
    assert (counter.calls, counter.closed) == (0, 1)


def test_that_a_failing_sampler_leaves_gaps_and_is_reported_once():
    answers = iter([{"a": 1.0, "b": 2.0}, OSError("gone"), OSError("gone"), {"a": 3.0, "b": 4.0}])

    def read():
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    problems = []
    loop = MonitorLoop((CallableSampler("flaky", read), _Counter()), 1.0, lambda _: None, problems.append)
    rows = [loop.sample_once().values for _ in range(4)]
    assert [(r["a"], r["b"], r["count"]) for r in rows] == [
        (1.0, 2.0, 1.0), (None, None, 2.0), (None, None, 3.0), (3.0, 4.0, 4.0),
    ]  # fmt: skip
    (problem,) = problems
    assert (problem.code, problem.params["sampler"], problem.evidence) == (
        "sampler_failed",
        "flaky",
        ("OSError: gone",),
    )
    assert "flaky" in say_problem(problem)


def test_that_a_sampler_that_cannot_be_closed_does_not_keep_the_others_open():
    def refuse():
        raise RuntimeError("no")

    counter, problems, samples = _Counter(), [], queue.Queue()
    loop = MonitorLoop((CallableSampler("stuck", dict, refuse), counter), 0.001, samples.put, problems.append)
    loop.start()
    samples.get(timeout=PATIENCE_S)
    loop.stop()
    assert counter.closed == 1
    assert [p.code for p in problems] == ["sampler_failed"]


def test_that_the_callback_may_stop_the_loop():
    done = threading.Event()
    counter = _Counter()

    def on_sample(_sample):
        loop.stop()
        done.set()

    loop = MonitorLoop((counter,), 0.001, on_sample)
    loop.start()
    assert done.wait(PATIENCE_S)
    loop.stop()
    assert counter.calls == 1


def test_that_a_period_must_be_positive():
    with pytest.raises(ValueError, match="period_s"):
        MonitorLoop((), 0.0, lambda _: None)
    with pytest.raises(ValueError, match="period_s"):
        Schedule(0.0, -1.0)
