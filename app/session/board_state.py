"""The undoable part of the session: what the user asked for and where they put things, as one frozen value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtGui import QUndoCommand
from typing_extensions import override

from app.planner.types import Placement, Wishes

SLIDER_MERGE_ID = 1


@dataclass(frozen=True, slots=True)
class BoardState:
    """``placement`` None: the preset decides, and decides anew when a wish changes. ``gpu``: None = the roomiest,
    "" = none, else its name."""

    wishes: Wishes = field(default_factory=Wishes)
    placement: Placement | None = None
    gpu: str | None = None


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
