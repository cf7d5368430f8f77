"""What the library knows of a file, as frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from app.common.problem import Problem
from app.planner.file_verdict import FileVerdict


class Source(StrEnum):
    """Whose folder a file lies in; ``library.source.<value>`` are the words."""

    FOLDER = "folder"
    LANEWISE = "lanewise"
    LM_STUDIO = "lm_studio"
    HUGGING_FACE = "hugging_face"
    OLLAMA = "ollama"
    MODELSCOPE = "modelscope"
    LLAMA_CPP = "llama_cpp"


class EntryRole(StrEnum):
    """What a file is: one of the reader's roles, or one that is no whole GGUF file."""

    MODEL = "model"
    PROJECTOR = "projector"
    ADAPTER = "adapter"
    VOCAB = "vocab"
    IMATRIX = "imatrix"
    CONTROL_VECTOR = "control_vector"
    OTHER = "other"
    UNFINISHED = "unfinished"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder to look through; those of other programs are only read."""

    path: Path
    source: Source


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that may be a model, before its header is read.

    ``name``: what the program that keeps it calls it, else the file's name. ``unfinished``: its name or its companion
    says that it is half a download. ``note``: what is odd about where it lies (a blob without a manifest).
    """

    path: str
    name: str
    source: Source
    place: str
    unfinished: bool = False
    note: Problem | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What a header says, small enough to keep for hundreds of files.

    ``files``: every part, the first is the one the engine is given. ``signature``: files with the same one have the
    same tensors and settings, so the same verdict; None where there is none to give. ``parameters`` and
    ``active_parameters``: weights in all and those a token uses; None for what is no model.
    """

    role: EntryRole
    files: tuple[str, ...]
    file_bytes: int
    title: str = ""
    architecture: str | None = None
    quant: str | None = None
    parameters: int | None = None
    active_parameters: int | None = None
    expert_layers: int = 0
    context_length: int | None = None
    signature: str | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the library. ``beside``: projectors and adapters in the folder of a model. ``waits``: its plan is
    still to be made; the verdict, if there is one, is a first one."""

    name: str
    source: Source
    place: str
    summary: Summary
    verdict: FileVerdict | None = None
    note: Problem | None = None
    beside: tuple[str, ...] = ()
    waits: bool = False

    @property
    def path(self) -> str:
        """The file, or the first part of a split model."""
        return self.summary.files[0]

    @property
    def is_model(self) -> bool:
        """Can it be opened as a model?"""
        return self.summary.role is EntryRole.MODEL and self.summary.problem is None


@dataclass(frozen=True, slots=True)
class ScanNote:
    """A place that could not be looked through, or not to its end."""

    place: Place
    problem: Problem
