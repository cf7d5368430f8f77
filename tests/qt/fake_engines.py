"""Engines for the tests of pages and windows: two of them, and a transfer that the test moves on."""

import dataclasses

from PySide6.QtCore import QObject, Signal

from app.common.problem import Problem, Severity
from app.engine.identity import EngineKind, FileStamp
from app.engine.release import parse_releases
from app.engine.release_choice import Target, offers
from app.hardware.types import GpuInfo
from app.session.engine_getter import GetState
from app.work.engine_registry import EngineList
from app.work.engine_store import EngineSource, EngineStore, KnownEngine
from tests.tools.releases import WINDOWS_NAMES, asset, listing

NAME = "NVIDIA GeForce RTX 4080 Laptop GPU"
CARD = GpuInfo(NAME, "gpu", None, 12 << 30, None, driver="572.16", compute_capability="8.9")
FOLDER = "C:\\Users\\student\\AppData\\Local\\Lanewise\\cache\\engines"


def engine(number, backend, engine_id, source=EngineSource.DOWNLOADED, devices=()):
    """One engine as it would be after a look."""
    stamp = FileStamp(f"{number:08d}{backend:0<8}".encode().hex().ljust(64, "0"), 52_000_000, 1, ())
    path = f"{FOLDER}\\{engine_id}\\llama-server.exe"
    kind, build = EngineKind.MAINLINE, f"{number} (0123abc)"
    return KnownEngine(engine_id, path, kind, build, number, "0123abc", ("cpu", backend), devices, stamp, source)


CUDA = engine(11434, "cuda", "b11434-win-cuda-12.4-x64", devices=(f"CUDA0: {NAME} (12281 MiB)",))
VULKAN = engine(10809, "vulkan", "b10809-win-vulkan-x64", devices=(f"Vulkan0: {NAME} (12281 MiB)",))
WARNING = Problem("engine_vulkan_but_cuda", Severity.WARNING, {"gpu": NAME, "other": CUDA.id})
SIZES = {"cudart": 391_443_627, "cuda": 253_938_543, "vulkan": 31_457_280, "rocm": 310_000_000}


def windows_offers():
    """What the listing of b11434 offers to a laptop with an RTX 4080."""
    assets = []
    for name in WINDOWS_NAMES:
        size = next((n for word, n in SIZES.items() if word in name), 17_825_792)
        assets.append({**asset(name), "size": size})
    return offers(parse_releases(listing(*assets)), Target("win", "x64"), (CARD,))


class FakeEngines(QObject):
    """Speaks like ``app.session.engines_controller.EnginesController``; ``wished`` records the wishes."""

    changed = Signal()
    get_changed = Signal()
    failed = Signal(object)

    def __init__(self, parent=None):
        super().__init__(parent)
        self.wished = []
        self.list = EngineList(EngineStore())
        self.get = GetState()

    @property
    def before(self):
        store = self.list.store
        return store.find(store.previous[0]) if store.previous else None

    def show(self, *known, current=None, previous=()):
        store = EngineStore(engines=known, current=current, previous=previous)
        self.list = EngineList(store)
        self.changed.emit()

    def show_get(self, **state):
        self.get = dataclasses.replace(self.get, **state)
        self.get_changed.emit()

    def warnings(self, engine):
        return (WARNING,) if engine is VULKAN else ()

    def use(self, engine_id):
        self.wished.append(("use", engine_id))

    def forget(self, engine_id):
        self.wished.append(("forget", engine_id))

    def add(self, place):
        self.wished.append(("add", place))

    def go_back(self):
        self.wished.append(("go_back",))

    def load_packages(self):
        self.wished.append(("load_packages",))

    def forget_offers(self):
        self.wished.append(("forget_offers",))

    def get_package(self, offer):
        self.wished.append(("get_package", offer.package.key))

    def bring_archive(self, path):
        self.wished.append(("bring_archive", path))

    def install_brought(self):
        self.wished.append(("install_brought",))

    def cancel_get(self):
        self.wished.append(("cancel_get",))
