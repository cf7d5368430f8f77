"""The controllers around getting and having models, made for one session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.common.capabilities import Capabilities
from app.session.first_run_controller import FirstRunController
from app.session.hub_controller import HubController
from app.session.jobs import JobRunner
from app.session.library_controller import LibraryController, LibrarySurroundings
from app.work.engines import EngineHandle, capabilities_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.session.app_session import AppSession


def models_parts(
    session: AppSession, jobs: JobRunner, engine: Callable[[], EngineHandle | None]
) -> tuple[LibraryController, HubController, FirstRunController]:
    """Library, hub and first run. The session's learning has been made before."""

    def capabilities() -> Capabilities:
        return capabilities_of(engine())

    around = LibrarySurroundings(
        lambda: session.hardware, capabilities, lambda: session.learning.learned, lambda: session.settings
    )
    library = LibraryController(jobs, session.paths, around, session)
    hub = HubController(jobs, library.judge, lambda: session.settings, lambda: library.download_folder, session)
    library.failed.connect(session.message_raised)
    return library, hub, FirstRunController(lambda: session.settings, session.change_settings, session)
