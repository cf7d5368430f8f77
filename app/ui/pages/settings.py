"""The settings page: language, theme, engine, plans, privacy, licences. Every change holds at once and is saved."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import metadata
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.common.problem import Problem
from app.engine.toolchain import build_tools_problem
from app.settings import CLOSINGS, LANGUAGES, PINNINGS, SAMPLE_RATES, SHELLS, THEMES
from app.ui.pages.settings_engine import EngineCard
from app.ui.pages.settings_engines import EnginesCard
from app.ui.pages.settings_everyday import EverydayCard
from app.ui.pages.settings_form import FormCard
from app.ui.pages.settings_learned import LearnedCard
from app.ui.pages.settings_updates import UpdatesCard
from app.ui.widgets.combo import Combo
from app.ui.widgets.labels import DimLabel, SectionTitle
from app.words import say

if TYPE_CHECKING:
    from app.session.app_session import AppSession

LICENCES = (
    ("llama.cpp", "MIT"),
    ("Qt, PySide6", "LGPL-3.0"),
    ("pyqtgraph", "MIT"),
    ("NumPy", "BSD-3-Clause"),
    ("psutil", "BSD-3-Clause"),
    ("nvidia-ml-py", "BSD"),
    ("HTTPX", "BSD-3-Clause"),
    ("py-cpuinfo", "MIT"),
    ("typing_extensions", "PSF-2.0"),
)
"""What Lanewise uses, and each one's own licence."""

_RESERVES_MIB = (0, 256, 512, 1024, 2048)
_CONTROL_CHARACTERS = 24


class SettingsPage(QWidget):
    """Two columns of cards; controls show the session's settings and pass changes to it."""

    def __init__(
        self,
        session: AppSession,
        parent: QWidget | None = None,
        *,
        build_problem: Callable[[], Problem | None] = build_tools_problem,
    ) -> None:
        super().__init__(parent)
        self._session = session
        self.language = Combo()
        self.theme = Combo()
        self.shell = Combo()
        self.reserve = Combo()
        self.closing = Combo()
        self.pinning = Combo()
        self.rate = Combo()
        self.engine = EngineCard(build_problem())
        self.engines = EnginesCard(session.engines)
        self.updates = UpdatesCard(session, _version)
        width = self.fontMetrics().horizontalAdvance("0") * _CONTROL_CHARACTERS
        for control in (self.language, self.theme, self.shell, self.reserve, self.closing, self.pinning, self.rate):
            control.setMinimumWidth(width)
        body = QWidget()
        self._lay_out(body)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setAccessibleName(say("settings.title"))
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidget(body)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(scroll)
        self._connect()
        self._on_settings()
        self._on_engine()

    def _lay_out(self, body: QWidget) -> None:
        left, right = QVBoxLayout(), QVBoxLayout()
        left.addWidget(self._look_card())
        left.addWidget(self._plan_card())
        left.addWidget(EverydayCard(self._session))
        left.addWidget(LearnedCard(self._session.learning))
        left.addWidget(self._privacy_card())
        right.addWidget(self.engine)
        right.addWidget(self.engines)
        right.addWidget(self.updates)
        right.addWidget(self._about_card())
        columns = QHBoxLayout()
        columns.setSpacing(10)
        for column, share in ((left, 9), (right, 11)):
            column.setSpacing(10)
            column.addStretch(1)
            columns.addLayout(column, share)
        layout = QVBoxLayout(body)
        layout.setContentsMargins(16, 10, 16, 14)
        layout.setSpacing(10)
        layout.addWidget(SectionTitle(say("settings.title"), factor=1.3))
        layout.addLayout(columns, 1)

    def _look_card(self) -> FormCard:
        card = FormCard(say("settings.look"))
        card.add_row(say("settings.language"), self.language)
        card.add_row(say("settings.theme"), self.theme)
        card.add_row(say("settings.closing"), self.closing)
        card.add_row(say("settings.rate"), self.rate, say("settings.rate_note"))
        return card

    def _plan_card(self) -> FormCard:
        card = FormCard(say("settings.plans"))
        card.add_row(say("settings.shell"), self.shell, say("settings.shell_note"))
        card.add_row(say("settings.reserve"), self.reserve, say("settings.reserve_note"))
        card.add_row(say("settings.pinning"), self.pinning, say("settings.pinning_note"))
        return card

    @staticmethod
    def _privacy_card() -> FormCard:
        card = FormCard(say("settings.privacy"))
        for code in ("settings.privacy_local", "settings.privacy_server", "settings.privacy_prompts"):
            text = QLabel(say(code))
            text.setWordWrap(True)
            card.add_wide(text)
        return card

    @staticmethod
    def _about_card() -> FormCard:
        card = FormCard(say("settings.about"))
        version = _version()
        text = QLabel(say("settings.about_text", version=version) if version else say("settings.about_source"))
        text.setWordWrap(True)
        card.add_wide(text)
        card.add_wide(DimLabel(say("settings.licences"), wrap=True))
        names = " · ".join(f"{name} ({licence})" for name, licence in LICENCES)
        licences = DimLabel(names, wrap=True)
        licences.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        card.add_wide(licences)
        return card

    def _connect(self) -> None:
        session = self._session
        self.language.currentIndexChanged.connect(self._on_language)
        self.theme.currentIndexChanged.connect(self._on_theme)
        self.shell.currentIndexChanged.connect(self._on_shell)
        self.reserve.currentIndexChanged.connect(self._on_reserve)
        self.closing.currentIndexChanged.connect(self._on_closing)
        self.pinning.currentIndexChanged.connect(self._on_pinning)
        self.rate.currentIndexChanged.connect(self._on_rate)
        self.engine.path_chosen.connect(session.choose_engine)
        self.engine.build_requested.connect(session.build_engine)
        self.engines.get_requested.connect(self.get_engine)
        self.updates.get_requested.connect(self.get_engine)
        session.settings_changed.connect(self._on_settings)
        session.engine_changed.connect(self._on_engine)

    @Slot()
    def get_engine(self) -> None:
        """Open the window that fetches an official llama.cpp."""
        from app.ui.dialogs.get_engine import show_get_engine

        show_get_engine(self._session, self)

    @Slot()
    def _on_settings(self) -> None:
        """Show the settings without sending them back."""
        settings = self._session.settings
        self.language.set_choices([(say(f"settings.language_{v}"), v) for v in LANGUAGES], settings.language)
        self.theme.set_choices([(say(f"settings.theme_{v}"), v) for v in THEMES], settings.theme)
        self.shell.set_choices([(say(f"settings.shell_{v}"), v) for v in SHELLS], settings.shell)
        self.reserve.set_choices(_reserve_choices(settings.reserve_mib), settings.reserve_mib)
        closings = [(say(f"settings.closing_{v}"), v) for v in CLOSINGS]
        self.closing.set_choices(closings, settings.close_with_server)
        pinnings = [(say(f"settings.pinning_{v}"), v) for v in pinning_choices(settings.pinning, sys.platform)]
        self.pinning.set_choices(pinnings, settings.pinning)
        rates = [(say(f"settings.rate_{v}"), v) for v in SAMPLE_RATES]
        self.rate.set_choices(rates, settings.samples_per_second)

    @Slot()
    def _on_engine(self) -> None:
        self.engine.set_state(self._session.engine, self._session.settings.engine_path)

    @Slot()
    def _on_language(self) -> None:
        self._session.change_settings(language=self.language.currentData())

    @Slot()
    def _on_theme(self) -> None:
        self._session.change_settings(theme=self.theme.currentData())

    @Slot()
    def _on_shell(self) -> None:
        self._session.change_settings(shell=self.shell.currentData())

    @Slot()
    def _on_reserve(self) -> None:
        self._session.change_settings(reserve_mib=self.reserve.currentData())

    @Slot()
    def _on_closing(self) -> None:
        self._session.change_settings(close_with_server=self.closing.currentData())

    @Slot()
    def _on_pinning(self) -> None:
        self._session.change_settings(pinning=self.pinning.currentData())

    @Slot()
    def _on_rate(self) -> None:
        self._session.change_settings(samples_per_second=self.rate.currentData())


def pinning_choices(current: str, platform: str) -> tuple[str, ...]:
    """CPU sets are Windows' alone; a settings file from there keeps its choice."""
    return tuple(v for v in PINNINGS if v != "soft" or platform == "win32" or v == current)


def _reserve_choices(current: int | None) -> list[tuple[str, object]]:
    values = sorted({*_RESERVES_MIB, *(() if current is None else (current,))})
    return [(say("settings.reserve_auto"), None), *((say("settings.mib", n=n), n) for n in values)]


def _version() -> str | None:
    try:
        return metadata.version("lanewise")
    except metadata.PackageNotFoundError:  # a source tree that was never installed
        return None
