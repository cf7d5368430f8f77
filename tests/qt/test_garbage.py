"""Garbage is collected on the main thread: a dead window must not be destroyed by a thread that reads a file."""

import gc
import threading
import weakref

from app.ui.garbage import MainThreadGarbage


class Node:
    def __init__(self):
        self.me = self


def test_that_a_worker_thread_collects_nothing_and_the_main_thread_does(qtbot):
    garbage = MainThreadGarbage()
    assert not gc.isenabled()
    gone = weakref.ref(Node())
    thread = threading.Thread(target=lambda: [Node() for _ in range(5000)])
    thread.start()
    thread.join()
    assert gone() is not None
    for _ in range(3):  # the young generation is looked at first, then it is old enough for the next
        garbage.collect_due()
    qtbot.waitUntil(lambda: garbage.collect_due() or gone() is None)
    garbage.deleteLater()


def test_that_nothing_is_collected_before_it_is_due(qtbot):
    garbage = MainThreadGarbage()
    gc.collect()
    gone = weakref.ref(Node())
    garbage.collect_due()
    assert gone() is not None
    garbage.deleteLater()
