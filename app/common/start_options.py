"""What the window is started with; the command line fills it in, ``app.ui.start`` obeys it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowOptions:
    """None and empty mean: not said. ``language`` (``en``, ``zh_CN``) and ``theme`` (``light``, ``dark``, ``system``)
    hold for this start only and are not saved.

    ``hardware``: path of a saved machine snapshot. ``engine``: a llama-server or a folder with one. ``rpc_servers``:
    HOST:PORT each. ``build_engine``: build llama.cpp in the background if there is none. ``smoke``: open the window,
    paint it once and close it. ``tour``: folder for the pictures of the guided tour.
    ``new_window``: open another window although one runs. ``tray``: begin hidden there. ``launch``: launch the plan of
    the file as soon as it can be.
    """

    model: str | None = None
    language: str | None = None
    theme: str | None = None
    hardware: str | None = None
    engine: str | None = None
    rpc_servers: tuple[str, ...] = ()
    build_engine: bool = False
    smoke: bool = False
    tour: str | None = None
    new_window: bool = False
    tray: bool = False
    launch: bool = False

    @property
    def may_hand_over(self) -> bool:
        """Does the start ask for nothing that only a window of its own can do?"""
        return self == WindowOptions(model=self.model)
