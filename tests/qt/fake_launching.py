"""The launch's part of a fake session: a test puts a question, and reads how it was answered."""

from PySide6.QtCore import QObject, Signal


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
