"""Joins the chat box to the session: state in one direction, wishes in the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices, QGuiApplication, QImage

from app.common.problem import Problem, Severity
from app.session.chat_pictures import PICTURE_FILTER
from app.session.state import RunPhase
from app.ui.file_paths import ask_open_many
from app.ui.pages.run_chat import ChatPane
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class ChatLink(QObject):
    """Lives as long as the pane, whose child it is."""

    def __init__(self, session: AppSession, pane: ChatPane) -> None:
        super().__init__(pane)
        self._session = session
        self._pane = pane
        self._talk = session.talk
        pane.system.setPlainText(self._talk.system_prompt)
        pane.system_button.setChecked(bool(self._talk.system_prompt))
        pane.send_requested.connect(session.send_prompt)
        pane.stop_requested.connect(session.stop_answer)
        pane.again_requested.connect(self._on_again)
        pane.new_requested.connect(self._on_new)
        pane.page_requested.connect(self._on_page)
        pane.attach_requested.connect(self._on_attach)
        pane.system.textChanged.connect(self._on_system)
        pane.prompt.picture_dropped.connect(self._on_picture)
        pane.prompt.image_pasted.connect(self._on_image)
        pane.pictures.drop_requested.connect(self._on_drop)
        session.chat_changed.connect(self.refresh)
        session.run_changed.connect(self._on_run)
        self._talk.pending_changed.connect(self._on_pending)
        self._talk.server_known.connect(self._on_server)
        self._talk.page_known.connect(self._on_page_known)
        self._on_pending()
        self._on_server()

    @Slot()
    def refresh(self) -> None:
        """Show the conversation as it is."""
        self._pane.set_chat(self._session.chat, self._talk.turns)

    @Slot()
    def _on_run(self) -> None:
        plan = self._session.running_plan
        self._pane.set_demo(plan is not None and plan.model_path == str(self._session.paths.demo_model))
        if self._session.run.phase is not RunPhase.READY:
            self._on_server()

    @Slot()
    def _on_again(self) -> None:
        self._talk.again()

    @Slot()
    def _on_new(self) -> None:
        self._talk.begin_anew()
        self._pane.prompt.setFocus()

    @Slot()
    def _on_system(self) -> None:
        self._talk.system_prompt = self._pane.system.toPlainText()

    @Slot()
    def _on_server(self) -> None:
        self._pane.set_abilities(self._talk.n_ctx, takes_pictures=bool(self._talk.takes_pictures))

    # ---- pictures ------------------------------------------------------------------------------------------------

    @Slot()
    def _on_attach(self) -> None:
        kinds = f"{say('chat.pictures')} ({PICTURE_FILTER})"
        paths = ask_open_many(self._pane, say("chat.attach"), "", kinds)
        for path in paths:
            self._talk.add_picture(path)

    @Slot(str)
    def _on_picture(self, path: str) -> None:
        self._talk.add_picture(path)

    @Slot(object)
    def _on_image(self, image: object) -> None:
        assert isinstance(image, QImage)
        self._talk.add_image(say("chat.pasted_picture"), image)

    @Slot(int)
    def _on_drop(self, index: int) -> None:
        self._talk.drop_picture(index)

    @Slot()
    def _on_pending(self) -> None:
        self._pane.set_pictures(tuple(picture.name for picture in self._talk.pending))

    # ---- the engine's own page -----------------------------------------------------------------------------------

    @Slot()
    def _on_page(self) -> None:
        self._talk.ask_for_page()

    @Slot(str, object)
    def _on_page_known(self, url: str, problem: object) -> None:
        """The key goes to the clipboard, never into the address: a browser keeps addresses, and shows them."""
        if isinstance(problem, Problem):
            self._session.message_raised.emit(problem)
            return
        key = self._session.run.api_key
        if key is not None:
            QGuiApplication.clipboard().setText(key)
            self._session.message_raised.emit(Problem("chat_page_key", Severity.INFO))
        QDesktopServices.openUrl(QUrl(url))
