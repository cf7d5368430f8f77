"""The files beside the model: projector, draft model, LoRA adapters, chosen and removed from one menu."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from app.planner.types import Plan, Wishes
from app.ui.file_paths import ask_open
from app.ui.widgets.buttons import PlainButton
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession


class CompanionsButton(PlainButton):
    """Says which files there are; its menu chooses and removes them. Every choice is a wish to the session."""

    def __init__(self, session: AppSession, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self._session = session
        self._menu = QMenu(self)
        self._menu.setToolTipsVisible(True)
        self._menu.aboutToShow.connect(self._fill)
        self.setMenu(self._menu)
        self.setToolTip(say("plan.beside.tip"))

    def refresh(self, plan: Plan) -> None:
        """Show what this plan has."""
        self.setText(say("plan.beside", files=beside_text(plan.wishes)))
        self.setAccessibleName(self.text())

    @Slot()
    def _fill(self) -> None:
        self._menu.clear()
        plan, model = self._session.plan, self._session.model
        if plan is None or model is None:
            return
        wishes = plan.wishes
        self._file("mmproj", wishes.mmproj_path)
        if wishes.mmproj_path is not None:
            offload = self._menu.addAction(say("plan.beside.mmproj_gpu"))
            offload.setCheckable(True)
            offload.setChecked(wishes.mmproj_offload)
            offload.toggled.connect(lambda on: self._session.set_wishes(mmproj_offload=on))
        self._menu.addSeparator()
        self._file("draft", wishes.draft_path)
        if model.nextn_count:
            mtp = self._menu.addAction(say("plan.beside.mtp"))
            mtp.setCheckable(True)
            mtp.setChecked(wishes.mtp)
            mtp.toggled.connect(lambda on: self._session.set_wishes(mtp=on))
        self._menu.addSeparator()
        self._add("plan.beside.lora", self._on_add_lora)
        for path in wishes.lora_paths:
            remove = self._add("plan.beside.remove", self._remover(path), name=PurePath(path).name)
            remove.setToolTip(path)

    def _add(self, code: str, chosen: Callable[[], None], **params: str) -> QAction:
        action = self._menu.addAction(say(code, **params))
        action.triggered.connect(chosen)
        return action

    def _file(self, kind: str, path: str | None) -> None:
        """Choose a file of this kind, or remove the one that there is."""
        field = {"mmproj": "mmproj_path", "draft": "draft_path"}[kind]
        self._add(f"plan.beside.{kind}", lambda: self._choose_into(field, kind))
        if path is not None:
            wish: dict[str, str | None] = {field: None}
            remove = self._add("plan.beside.remove", lambda: self._session.set_wishes(**wish), name=PurePath(path).name)
            remove.setToolTip(path)

    def _choose_into(self, field: str, kind: str) -> None:
        path = self.choose(say(f"plan.beside.{kind}"))
        if path:
            self._session.set_wishes(**{field: path})

    @Slot()
    def _on_add_lora(self) -> None:
        path, plan = self.choose(say("plan.beside.lora")), self._session.plan
        if path and plan is not None and path not in plan.wishes.lora_paths:
            self._session.set_wishes(lora_paths=(*plan.wishes.lora_paths, path))

    def _remover(self, path: str) -> Callable[[], None]:
        """What takes one adapter away."""

        def remove() -> None:
            plan = self._session.plan
            if plan is not None:
                self._session.set_wishes(lora_paths=tuple(p for p in plan.wishes.lora_paths if p != path))

        return remove

    def choose(self, title: str) -> str:
        """Ask for a GGUF file, beginning in the model's folder; empty when the user thought better of it."""
        model = self._session.model
        start = str(Path(model.path).parent) if model is not None else ""
        return ask_open(self, title, start, "GGUF (*.gguf)")


def beside_text(wishes: Wishes) -> str:
    """The kinds of files that there are, in words."""
    parts = []
    if wishes.mmproj_path is not None:
        parts.append(say("board.part.projector"))
    if wishes.draft_path is not None or wishes.mtp:
        parts.append(say("plan.beside.kind_draft" if wishes.draft_path is not None else "plan.beside.kind_mtp"))
    if wishes.lora_paths:
        parts.append(say("plan.beside.kind_lora", n=len(wishes.lora_paths)))
    return say("cli.comma").join(parts) or say("plan.beside.none")
