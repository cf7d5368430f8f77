"""The controllers around getting and having models, made when somebody first looks at models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.common.capabilities import Capabilities
from app.session.hub_controller import HubController
from app.session.jobs import JobRunner
from app.session.library_controller import LibraryController, LibrarySurroundings
from app.work.engines import EngineHandle, capabilities_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.session.app_session import AppSession


@dataclass(frozen=True, slots=True)
class ModelsParts:
    """What a session has of them."""

    library: LibraryController
    hub: HubController

    def close(self) -> None:
        """End a search and a download."""
        self.library.close()
        self.hub.close()


def models_parts(session: AppSession, jobs: JobRunner, engine: Callable[[], EngineHandle | None]) -> ModelsParts:
    """Library and hub. The session's learning has been made before."""

    def capabilities() -> Capabilities:
        return capabilities_of(engine())

    around = LibrarySurroundings(
        lambda: session.hardware, capabilities, lambda: session.learning.learned, lambda: session.settings
    )
    library = LibraryController(jobs, session.paths, around, session)
    hub = HubController(jobs, library.judge, lambda: session.settings, lambda: library.download_folder, session)
    library.failed.connect(session.message_raised)
    return ModelsParts(library, hub)
