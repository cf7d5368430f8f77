"""The files that come beside a model: projector (mmproj), LoRA adapter, control vector. Only headers are read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from app.common.problem import Problem
from app.model._file_role import FileRole, role_of
from app.model._files import open_model_file
from app.model._header import parse_header
from app.model._layout import place_tensors
from app.model.types import MetaValue, ModelInfo


@dataclass(frozen=True, slots=True)
class SideTensor:
    """One tensor of such a file; ``shape`` in ggml order."""

    name: str
    shape: tuple[int, ...]
    n_bytes: int


@dataclass(frozen=True, slots=True)
class SideFile:
    """What the planner must know of it. ``metadata`` keeps scalars and short arrays under their full keys."""

    path: str
    role: FileRole
    file_bytes: int
    tensors: tuple[SideTensor, ...]
    metadata: Mapping[str, MetaValue] = field(default_factory=dict)

    @property
    def architecture(self) -> str:
        """``general.architecture``; empty when it does not say."""
        return self.text("general.architecture") or ""

    @property
    def tensor_bytes(self) -> int:
        """Sum of all tensors' bytes."""
        return sum(tensor.n_bytes for tensor in self.tensors)

    def text(self, key: str) -> str | None:
        """A text value."""
        value = self.metadata.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str) -> int | None:
        """A whole number that is not negative."""
        value = self.metadata.get(key)
        is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
        return int(value) if is_number and isinstance(value, int) else None


@dataclass(frozen=True, slots=True)
class SideFiles:
    """What was read of the files that a plan names. ``problems``: those that could not be used, and why."""

    projector: SideFile | None = None
    draft: ModelInfo | None = None
    adapters: tuple[SideFile, ...] = ()
    problems: tuple[Problem, ...] = ()


NO_FILES = SideFiles()


def read_side_file(path: str | os.PathLike[str]) -> SideFile:
    """Read the header of any GGUF that is one file. Raises the ProblemErrors of ``read_model``."""
    text = os.fsdecode(path)
    with open_model_file(text) as cursor:
        header = parse_header(cursor)
    tensors = tuple(SideTensor(t.raw.name, t.raw.shape, t.n_bytes) for t in place_tensors(header, text))
    return SideFile(text, role_of(header), header.file_bytes, tensors, header.metadata)
