"""Which model is planned next: those that somebody looks at first, each once however many files hold it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.model.types import ModelInfo


def next_of(waiting: Mapping[str, object], wanted: Iterable[str]) -> str:
    """The first wanted key that waits, else the one that has waited longest."""
    return next((key for key in wanted if key in waiting), next(iter(waiting)))


class PlansToMake:
    """Models by signature, with the files that wait for the verdict. True while a model can be planned."""

    def __init__(self) -> None:
        self._models: dict[str, ModelInfo] = {}
        self._files: dict[str, list[str]] = {}
        self._signatures: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._models)

    def add(self, signature: str, path: str, model: ModelInfo | None) -> None:
        """A file waits. ``model`` None: its header has to be read once more before it can be planned."""
        if self._signatures.get(path) != signature:
            self._files.setdefault(signature, []).append(path)
            self._signatures[path] = signature
        if model is not None:
            self._models.setdefault(signature, model)

    def take(self, wanted: Iterable[str]) -> tuple[str, ModelInfo, tuple[str, ...]]:
        """The signature, the model and the files of the next plan; LookupError where none can be made."""
        signatures = (self._signatures.get(path, "") for path in wanted)
        signature = next_of(self._models, signatures)
        model, paths = self._models.pop(signature), tuple(self._files.pop(signature))
        for path in paths:
            self._signatures.pop(path, None)  # a file that changed meanwhile waits under two signatures
        return signature, model, paths
