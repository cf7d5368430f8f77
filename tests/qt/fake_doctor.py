"""A doctor for the tests of pages and window: shows what it is told, writes down what is wished."""

import dataclasses

from PySide6.QtCore import QObject, Signal

from app.session.doctor_controller import DoctorState


class FakeDoctor(QObject):
    """Speaks like ``app.session.doctor_controller.DoctorController``."""

    changed = Signal()
    failure_explained = Signal()

    def __init__(self, parent=None):
        super().__init__(parent)
        self.state = DoctorState()
        self.wished = []
        self.applies = True

    def show(self, **state):
        self.state = dataclasses.replace(self.state, **state)
        self.changed.emit()

    def watch(self, on):
        self.wished.append(("watch", on))

    def examine(self):
        self.wished.append(("examine",))

    def open_log(self, path):
        self.wished.append(("open_log", path))

    def read_text(self, text):
        self.wished.append(("read_text", text))

    def close_log(self):
        self.wished.append(("close_log",))

    def apply(self, index):
        self.wished.append(("apply", index))
        return self.applies

    def apply_and_launch(self, index):
        self.wished.append(("apply_and_launch", index))

    def report(self):
        return "the report"
