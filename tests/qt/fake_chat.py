"""The conversation of a fake session: a test sets what was said, and reads what was wished."""

from PySide6.QtCore import QObject, Signal

from app.session.state import ChatPhase, ChatState


class FakeTalk(QObject):
    """What ``AppSession.talk`` shows."""

    server_known = Signal()
    page_known = Signal(str, object)
    pending_changed = Signal()
    changed = Signal()

    def __init__(self, wished, session):
        super().__init__(session)
        self._wished, self._session = wished, session
        self.turns, self.pending = (), ()
        self.system_prompt = ""
        self.takes_pictures = self.n_ctx = None

    def follow(self, old, new):
        """A question after one that is over: the old one becomes a turn, as the real conversation does it."""
        if old.question and old.phase is ChatPhase.IDLE and new.phase is not ChatPhase.IDLE:
            self.turns = (*self.turns, old)

    def begin_anew(self):
        self._wished.append(("new_chat",))
        self.turns = ()
        self._session.chat = ChatState(ChatPhase.IDLE)
        self._session.chat_changed.emit()

    def again(self):
        self._wished.append(("again",))

    def ask_for_page(self):
        self._wished.append(("engine_page",))

    def add_picture(self, path):
        self._wished.append(("picture", path))

    def add_image(self, name, image):
        self._wished.append(("image", name, image.width()))

    def drop_picture(self, index):
        self.pending = self.pending[:index] + self.pending[index + 1 :]
        self.pending_changed.emit()
