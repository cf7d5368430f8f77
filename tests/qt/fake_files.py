"""Stands for the session's plan files and paste box where a test needs no more than their state."""

from PySide6.QtCore import QObject, Signal

from app.work.exporting import command_text


class FakePlanFiles(QObject):
    """Speaks like ``app.session.plan_files_controller.PlanFilesController``; ``wished`` records what was asked for."""

    changed = Signal()
    comparison_changed = Signal()

    def __init__(self, wished, parent=None):
        super().__init__(parent)
        self.wished = wished
        self.path = None
        self.is_modified = False
        self.comparison = None

    def __getattr__(self, name):
        if name in ("save", "open", "export", "compare_with_before", "compare_with_file", "stop_comparing"):
            return lambda *args: self.wished.append((name, *args))
        raise AttributeError(name)

    def command_text(self, argv, shell):
        return command_text(None, argv, shell)


class FakeShelf(QObject):
    """Speaks like ``app.session.plan_shelf_controller.PlanShelfController``; wishes are written down."""

    changed = Signal()

    def __init__(self, wished, parent=None):
        super().__init__(parent)
        self.wished = wished
        self.plans = ()
        self.shows_all = False

    def __getattr__(self, name):
        if name not in ("look", "keep", "relabel", "remove", "open", "export_router", "show_all"):
            raise AttributeError(name)
        return lambda *args: self.wished.append((f"shelf_{name}", *args))


class FakePaste(QObject):
    """Speaks like ``app.session.paste_controller.PasteController``: nothing was pasted."""

    changed = Signal()
    offered = Signal(str)

    def __init__(self, parent=None):
        super().__init__(parent)
        self.text = ""
        self.result = None
        self.problem = None
        self.is_checking = False

    def check(self, text):
        self.text = text
