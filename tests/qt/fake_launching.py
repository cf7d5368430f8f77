"""The launch's part of a fake session: a test puts a question, and reads how it was answered."""

from PySide6.QtCore import QObject, Signal

from app.session.stress_controller import StressState
from app.work.stress import StressProgress


class FakeLaunching(QObject):
    """What ``AppSession.launching`` shows."""

    changed = Signal()
    message_raised = Signal(object)

    def __init__(self, wished):
        super().__init__()
        self._wished = wished
        self.question = None

    def ask(self, question):
        self.question = question
        self.changed.emit()

    def answer(self, answer):
        self._wished.append(("answer", answer.code))
        self.ask(None)

    def dismiss(self):
        self._wished.append(("dismiss",))
        self.ask(None)


class FakeStress(QObject):
    """What ``AppSession.stress`` shows; a test sets the stamp and the progress."""

    changed = Signal()
    failed = Signal(object)

    def __init__(self, wished):
        super().__init__()
        self._wished = wished
        self.state = StressState()
        self.may_start = False
        self.stamp = None

    @property
    def is_running(self):
        return self.state.progress is not None

    def stamp_of(self, _plan):
        return self.stamp

    def start(self, depth=None):
        self._wished.append(("stress", depth))
        self.show(StressState(StressProgress("filling", 1024, 4096)))

    def cancel(self):
        self._wished.append(("stress_cancel",))
        self.show(StressState())

    def show(self, state=None, stamp=None):
        self.state, self.stamp = state or StressState(), stamp
        self.changed.emit()


class FakeRuns(QObject):
    """What ``AppSession.runs`` shows of the kept runs."""

    changed = Signal()
    requests_changed = Signal()
    failed = Signal(object)

    def __init__(self, wished):
        super().__init__()
        self._wished = wished
        self.runs = ()
        self.requests = ()

    def tell(self, *requests):
        self.requests = requests
        self.requests_changed.emit()

    def load(self):
        self._wished.append(("load_runs",))

    def forget(self):
        self._wished.append(("forget_runs",))
        self.show(())

    def show(self, runs):
        self.runs = tuple(runs)
        self.changed.emit()


class FakeUpdates(QObject):
    """What ``AppSession.updates`` shows; a test sets the answer."""

    changed = Signal()
    is_busy = False
    answer = None
    problem = None

    def __init__(self, wished):
        super().__init__()
        self._wished = wished

    def look(self, version):
        self._wished.append(("look_for_updates", version))

    def cancel(self):
        self._wished.append(("stop_looking",))

    def show(self, answer=None, problem=None, *, is_busy=False):
        self.answer, self.problem, self.is_busy = answer, problem, is_busy
        self.changed.emit()
