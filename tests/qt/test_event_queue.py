"""Events of other threads reach the window in order, together, and each one."""

import threading

import pytest

from app.session.event_queue import EventQueue


@pytest.fixture
def taken(qapp):
    return []


def test_that_a_burst_from_another_thread_arrives_in_order_in_this_one(qtbot, taken):
    here = threading.get_ident()
    queue = EventQueue(lambda item: taken.append((item, threading.get_ident())))
    thread = threading.Thread(target=lambda: [queue.put(i) for i in range(2000)])
    thread.start()
    qtbot.waitUntil(lambda: len(taken) == 2000)
    thread.join()
    assert taken == [(i, here) for i in range(2000)]


def test_that_what_waits_together_wakes_the_window_once(qtbot, taken):
    woken = []
    queue = EventQueue(taken.append)
    queue._woken.connect(lambda: woken.append(len(taken)))
    for i in range(50):
        queue.put(i)
    qtbot.waitUntil(lambda: len(taken) == 50)
    assert len(woken) == 1


def test_that_an_error_in_one_event_loses_no_other(qtbot, taken):
    def handle(item):
        if item == 1:
            raise ValueError("one is broken")
        taken.append(item)

    queue = EventQueue(handle)
    with qtbot.captureExceptions() as errors:
        for i in range(4):
            queue.put(i)
        qtbot.waitUntil(lambda: taken == [0, 2, 3])
    assert [str(error) for _, error, _ in errors] == ["one is broken"]


def test_that_an_event_put_by_a_handler_comes_after_those_before_it(qtbot, taken):
    queue = EventQueue(lambda item: (taken.append(item), item == 0 and queue.put(9)))
    queue.put(0)
    queue.put(1)
    qtbot.waitUntil(lambda: len(taken) == 3)
    assert taken == [0, 1, 9]


def test_that_a_handler_that_lets_the_window_work_meanwhile_breaks_nothing(qtbot, qapp, taken):
    def handle(item):
        taken.append(item)
        if item == 0:
            queue.put(3)
            qapp.processEvents()

    queue = EventQueue(handle)
    for i in range(3):
        queue.put(i)
    with qtbot.captureExceptions() as errors:
        qtbot.waitUntil(lambda: len(taken) == 4)
    assert (taken, errors) == ([0, 1, 2, 3], [])
