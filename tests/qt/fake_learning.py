"""Stands in for the learning controller: what was learned, and whether somebody asked to forget it."""

from PySide6.QtCore import QObject, Signal

from app.planner.learned import NOTHING_LEARNED


class FakeLearning(QObject):
    """Speaks like ``app.session.learning_controller.LearningController``."""

    changed = Signal()

    def __init__(self, parent=None):
        super().__init__(parent)
        self.learned = NOTHING_LEARNED
        self.n_forgotten = 0

    def show(self, learned):
        self.learned = learned
        self.changed.emit()

    def forget(self):
        self.n_forgotten += 1
        self.show(NOTHING_LEARNED)
