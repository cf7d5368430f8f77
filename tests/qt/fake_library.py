"""Models, a hub and a first run for the tests of pages and windows; the test moves them on."""

import dataclasses
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.planner.file_verdict import FileVerdict, VerdictKind
from app.session.first_run_controller import FirstRunController
from app.session.hub_controller import HubState
from app.work.hub.choices import Choice, Choices, VerdictBasis
from app.work.hub.fetching import Space
from app.work.hub.links import HubLink, Site
from app.work.hub.listing import RemoteFile, RemoteSet
from app.work.library.suggest import Suggestion
from app.work.library.types import Entry, EntryRole, Place, Source, Summary

GIB = 1 << 30


def verdict(kind, in_ram=0, layers=48, tps=None, missing=None):
    return FileVerdict(VerdictKind(kind), 8192, layers, in_ram, 0, layers + 1, tps, missing)


def entry(name, size, quant, found, source=Source.FOLDER, role=EntryRole.MODEL, params=(30.5e9, 3.3e9), **more):
    path = f"D:\\models\\{name}"
    total, active = params
    told = (None if total is None else int(total), None if active is None else int(active))
    summary = Summary(role, (path,), round(size * GIB), name, "qwen3moe", quant, *told, 48, 40960)
    return Entry(name, source, "D:\\models", summary, found, **more)


DENSE = FileVerdict(VerdictKind.LAYERS_IN_RAM, 8192, 0, None, 58, 81, 1.9, None)
ENTRIES = (
    entry("Qwen3-30B-A3B-Q4_K_M.gguf", 17.3, "Q4_K_M", verdict("experts_in_ram", 21, 48, 53.0)),
    entry("gpt-oss-20b-mxfp4.gguf", 11.3, "MXFP4", verdict("gpu", 0, 24, 98.0), Source.LM_STUDIO,
          params=(20.9e9, 4.2e9)),
    entry("deepseek-v2:16b", 9.7, "Q4_K_M", verdict("gpu", 0, 26, 128.0), Source.OLLAMA, params=(15.7e9, 2.7e9)),
    entry("unsloth/Qwen3-235B-A22B-GGUF · Q4_K_M", 132.0, "Q4_K_M", verdict("too_big", 94, 94, None, 96 * GIB),
          Source.HUGGING_FACE, params=(235e9, 22e9)),
    entry("llama-3-70b-q4.gguf", 39.6, "Q4_K_M", DENSE, params=(70.6e9, 70.6e9)),
    entry("mmproj-F16.gguf", 0.8, None, None, role=EntryRole.PROJECTOR, params=(None, None)),
    entry("Qwen3-Next-80B.gguf.part", 12.0, None, None, role=EntryRole.UNFINISHED, params=(None, None)),
)  # fmt: skip
SUGGESTIONS = (
    Suggestion("DeepSeek-V2-Lite", "Q4_K_M", "bartowski/DeepSeek-Coder-V2-Lite-Instruct-GGUF", "deepseek2",
               round(9.7 * GIB), 15_706_484_224, 2_661_150_208, verdict("gpu", 0, 26, 128.0), is_example=True),
    Suggestion("Qwen3-30B-A3B", "Q5_K_M", "unsloth/Qwen3-30B-A3B-Instruct-2507-GGUF", "qwen3moe", round(20.2 * GIB),
               30_532_122_624, 3_353_032_704, verdict("experts_in_ram", 27, 48, 43.0)),
    Suggestion("gpt-oss-20b", "MXFP4", "ggml-org/gpt-oss-20b-GGUF", "gpt-oss", round(11.3 * GIB),
               20_914_757_184, 4_187_440_704, verdict("gpu", 0, 24, 98.0)),
    Suggestion("Qwen1.5-MoE-A2.7B", "Q8_0", None, "qwen2moe", round(14.2 * GIB), 14_315_784_192, 2_689_173_504,
               verdict("experts_in_ram", 17, 24, 8.0)),
)  # fmt: skip


class FakeLibrary(QObject):
    """Speaks like ``app.session.library_controller.LibraryController``."""

    changed = Signal()
    suggested = Signal()
    failed = Signal(object)

    def __init__(self, wished, parent=None):
        super().__init__(parent)
        self.wished = wished
        self.entries = ()
        self.notes = ()
        self.places = ()
        self.suggestions = None
        self.is_scanning = False
        self.was_scanned = True
        self.told = ()
        self.looked_at = ()
        self.download_folder = Path("D:/models")

    def show(self, entries=ENTRIES, suggestions=SUGGESTIONS, *, scanning=False):
        self.entries, self.suggestions, self.is_scanning = tuple(entries), suggestions, scanning
        self.places = (Place(Path("D:/models"), Source.FOLDER), Place(Path("C:/Users/s/.ollama/models"), Source.OLLAMA))
        self.changed.emit()
        self.suggested.emit()

    def ensure(self):
        self.wished.append(("ensure",))

    def scan(self):
        self.wished.append(("scan",))

    def look_at(self, paths):
        self.looked_at = paths

    def cancel(self):
        self.wished.append(("cancel_scan",))

    def problems(self):
        return self.told


def choices(quant_sizes=(("Q4_K_M", 17.3), ("Q8_0", 30.3))):
    link = HubLink(Site.HUGGING_FACE, "https://huggingface.co", "unsloth/Qwen3-30B-A3B-GGUF")
    made = []
    for quant, size in quant_sizes:
        file = RemoteFile(f"Qwen3-30B-A3B-{quant}.gguf", round(size * GIB), "0" * 64)
        found = verdict("experts_in_ram", 21, 48, 53.0) if size < 20 else verdict("too_big", 48, 48, None, 3 * GIB)
        basis = VerdictBasis.HEADER if size < 20 else VerdictBasis.SCALED
        made.append(Choice(RemoteSet(f"Qwen3-30B-A3B-{quant}", (file,), quant), found, basis))
    projector = RemoteFile("mmproj-F16.gguf", GIB, None)
    made.append(Choice(RemoteSet("mmproj-F16", (projector,), "F16", is_projector=True)))
    return Choices(link, tuple(made))


class FakeHub(QObject):
    """Speaks like ``app.session.hub_controller.HubController``."""

    changed = Signal()
    fetched = Signal(str)

    def __init__(self, wished, parent=None):
        super().__init__(parent)
        self.wished = wished
        self.state = HubState()
        self.room = Space(17 * GIB, 200 * GIB)

    def show(self, **state):
        self.state = dataclasses.replace(self.state, **state)
        self.changed.emit()

    def look(self, text):
        self.wished.append(("look", text))

    def fetch(self, index, *, with_projector=False):
        self.wished.append(("fetch", index, with_projector))

    def space(self, index, *, with_projector=False):
        return self.room

    def cancel(self):
        self.wished.append(("cancel_hub",))

    def forget(self):
        self.state = HubState()


def add_models(session, wished):
    """Give a fake session its library, hub and first run."""
    session.library = FakeLibrary(wished, session)
    session.hub = FakeHub(wished, session)
    session.first_run = FirstRunController(lambda: session.settings, session.change_settings, session)
