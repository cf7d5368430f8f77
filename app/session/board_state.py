"""The undoable part of the session: what the user asked for and where they put things, as one frozen value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from PySide6.QtGui import QUndoCommand
from typing_extensions import override

from app.planner.plan import PlanInputs
from app.planner.types import Placement, Wishes

SLIDER_MERGE_ID = 1


@dataclass(frozen=True, slots=True)
class ServerWords:
    """How a loaded plan or command has the server reached; None leaves Lanewise's own choice."""

    host: str | None = None
    port: int | None = None
    alias: str | None = None
    api_key: str | None = None

    @staticmethod
    def of(told: PlanInputs, usual: PlanInputs) -> ServerWords:
        """What ``told`` says otherwise than ``usual``."""
        return ServerWords(
            told.host if told.host != usual.host else None,
            told.port if told.port != usual.port else None,
            told.alias if told.alias != usual.alias else None,
            told.api_key if told.api_key != usual.api_key else None,
        )

    def onto(self, usual: PlanInputs) -> PlanInputs:
        """The inputs with these words in place of the usual ones."""
        return replace(
            usual,
            host=self.host or usual.host,
            port=usual.port if self.port is None else self.port,
            alias=self.alias or usual.alias,
            api_key=self.api_key or usual.api_key,
        )


@dataclass(frozen=True, slots=True)
class BoardState:
    """``placement`` None: the preset decides, and decides anew when a wish changes. ``gpus``: names of the cards that
    are on, None = the usual ones (``planner.devices``)."""

    wishes: Wishes = field(default_factory=Wishes)
    placement: Placement | None = None
    gpus: tuple[str, ...] | None = None
    server: ServerWords = field(default_factory=ServerWords)


class ChangeBoard(QUndoCommand):
    """One step of undo: the whole value before and after, so there is no inverse logic to get wrong."""

    def __init__(
        self, before: BoardState, after: BoardState, text: str, apply: Callable[[BoardState], None], merge_id: int = -1
    ) -> None:
        super().__init__(text)
        self.before = before
        self.after = after
        self._apply = apply
        self._merge_id = merge_id

    @override
    def redo(self) -> None:
        self._apply(self.after)

    @override
    def undo(self) -> None:
        self._apply(self.before)

    @override
    def id(self) -> int:
        return self._merge_id

    @override
    def mergeWith(self, other: QUndoCommand) -> bool:
        if not isinstance(other, ChangeBoard) or other.id() != self._merge_id:
            return False
        self.after = other.after
        return True
