"""Gets an official llama.cpp: which package and why, progress, cancel, what went wrong, and what Windows may ask."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import (
    QButtonGroup,
    QDialog,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.common.problem import ProblemError
from app.engine.release_choice import Offer
from app.session.engine_getter import GetPhase, GetState
from app.ui.file_paths import ask_open
from app.ui.theme.fonts import mono_font
from app.ui.widgets.buttons import PlainButton, PrimaryButton
from app.ui.widgets.frames import ScrollCard
from app.ui.widgets.labels import Chip, DimLabel, SectionTitle, set_look
from app.ui.widgets.problem_lines import ProblemLines
from app.words import say
from app.work.downloads.types import DownloadProgress
from app.work.engine_getting import GetProgress, check_mirror
from app.work.engine_store import KnownEngine

if TYPE_CHECKING:
    from app.session.app_session import AppSession

_CHARACTERS = 96
_STEPS = 1000


def show_get_engine(session: AppSession, parent: QWidget) -> GetEngineDialog:
    """Open the window over the one that ``parent`` belongs to; one at a time."""
    window = parent.window()
    opened = [child for child in window.findChildren(GetEngineDialog) if child.isVisible()]
    dialog = opened[0] if opened else GetEngineDialog(session, window)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.open()
    return dialog


def package_title(offer: Offer) -> str:
    """'CUDA 12.4 · b11434 · 620 MiB'."""
    package = offer.package
    name = say(f"engine.backend.{package.backend}") + (f" {package.version}" if package.version else "")
    return say("engines.package", name=name, tag=package.tag, size=package.size_bytes)


def progress_text(progress: GetProgress) -> str:
    """One line: what is going on, how much of it, how fast, how long still."""
    download = progress.download
    if download is None:
        return say(
            f"engine.get.{progress.step}", done=progress.unpacked_bytes, id=progress.package, name=progress.package
        )
    return download_text(download)


def download_text(download: DownloadProgress) -> str:
    """The same of any download."""
    parts = [say("engine.get.downloading", name=download.name)]
    if download.retry:
        return "  ·  ".join([*parts, say("download.retrying", n=download.retry)])
    return "  ·  ".join([*parts, *_figures(download)])


def _figures(download: DownloadProgress) -> list[str]:
    code = "download.progress" if download.total_bytes is not None else "download.progress_unknown"
    figures = [say(code, done=download.done_bytes, total=download.total_bytes)]
    if download.bytes_per_s is not None:
        figures.append(say("download.speed", speed=download.bytes_per_s))
    left = download.seconds_left
    if left is not None:
        is_long = left >= 90
        n = round(left / 60) if is_long else max(1, round(left))
        figures.append(say("download.left_minutes" if is_long else "download.left_seconds", n=n))
    return figures


class OfferChoice(QWidget):
    """A package as a radio button with its reason."""

    def __init__(self, offer: Offer, *, is_best: bool, has_failed: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.offer = offer
        self.button = QRadioButton(package_title(offer))
        reason = say("engines.tried") if has_failed else say(f"engine.offer.{offer.reason}", **offer.params)
        self.button.setAccessibleDescription(reason)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.button)
        if is_best:
            head.addWidget(Chip(say("engines.recommended")))
        head.addStretch(1)
        note = DimLabel(reason, wrap=True)
        note.setIndent(24)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 4, 8, 4)
        column.setSpacing(2)
        column.addLayout(head)
        column.addWidget(note)


class GetEngineDialog(QDialog):
    """Follows ``session.engines.get``. The network is used when the user clicks, and not before."""

    def __init__(
        self, session: AppSession, parent: QWidget | None, *, for_windows: bool = sys.platform == "win32"
    ) -> None:
        super().__init__(parent)
        self._session = session
        self._engines = session.engines
        self.setWindowTitle(say("engines.get_title"))
        if self._engines.get.phase is GetPhase.DONE:
            self._engines.forget_offers()
        self.choices: list[OfferChoice] = []
        self._shown: tuple[object, ...] | None = None
        self._phase = self._engines.get.phase
        self._group = QButtonGroup(self)
        self._make_parts()
        self._lay_out(for_windows)
        self._connect()
        self.refresh()

    def _make_parts(self) -> None:
        self.mirror = QLineEdit(self._session.settings.engine_mirror or "")
        self.mirror.setPlaceholderText(say("engines.mirror_none"))
        self.mirror.setAccessibleName(say("engines.mirror"))
        self.offers = ScrollCard(say("engines.packages"))
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(say("engines.get_title"))
        self.status = DimLabel(wrap=True)
        self.hash = QLineEdit()
        self.hash.setReadOnly(True)
        self.hash.setFont(mono_font(self.hash.font()))
        self.hash.setAccessibleName("SHA-256")
        self.trouble = ProblemLines(with_evidence=True)
        self.archive = PlainButton(say("engines.archive"), look="large")
        self.archive.setToolTip(say("engines.archive_tip"))
        self.cancel = PlainButton(say("ui.close"), look="large")
        self.go = PrimaryButton(say("engines.show"))

    def _lay_out(self, for_windows: bool) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 18)
        column.setSpacing(8)
        column.addWidget(SectionTitle(say("engines.get_title"), factor=1.2))
        column.addWidget(DimLabel(say("engines.intro"), wrap=True))
        row = QHBoxLayout()
        row.setSpacing(10)
        label = QLabel(say("engines.mirror"))
        label.setBuddy(self.mirror)
        row.addWidget(label)
        row.addWidget(self.mirror, 1)
        column.addLayout(row)
        column.addWidget(self.offers, 1)
        column.addWidget(self.status)
        column.addWidget(self.hash)
        column.addWidget(self.bar)
        column.addLayout(self.trouble)
        if for_windows:
            column.addWidget(DimLabel(say("engines.windows"), wrap=True))
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.archive)
        foot.addStretch(1)
        foot.addWidget(self.cancel)
        foot.addWidget(self.go)
        column.addLayout(foot)
        width = self.fontMetrics().horizontalAdvance("0") * _CHARACTERS
        self.resize(width, round(width * 0.72))

    def _connect(self) -> None:
        self.go.clicked.connect(self._on_go)
        self.go.setDefault(True)
        self.go.setFocus()
        self.cancel.clicked.connect(self._on_cancel)
        self.archive.clicked.connect(self._on_archive)
        self.mirror.editingFinished.connect(self._on_mirror)
        self._engines.get_changed.connect(self.refresh)

    @property
    def chosen(self) -> Offer | None:
        """The package that is marked."""
        return next((choice.offer for choice in self.choices if choice.button.isChecked()), None)

    @Slot()
    def refresh(self) -> None:
        """Show the state of the transfer."""
        get = self._engines.get
        is_busy = get.phase in (GetPhase.LISTING, GetPhase.GETTING)
        self._show_offers(get)
        self._show_progress(get)
        self.trouble.show_problem(get.problem)
        for widget in (self.mirror, self.archive):
            widget.setEnabled(not is_busy)
        self.offers.setEnabled(not is_busy)
        self.hash.setVisible(get.phase is GetPhase.CONFIRMING)
        self.hash.setText("  ".join(archive.sha256 for archive in get.archives))
        self.cancel.setText(say("engines.cancel" if is_busy or get.phase is GetPhase.CONFIRMING else "ui.close"))
        usual = "engines.install" if get.offers else "engines.show"
        self.go.setText(say("engines.confirm" if get.phase is GetPhase.CONFIRMING else usual))
        self.go.setVisible(get.phase is not GetPhase.DONE)
        self.go.setEnabled(not is_busy and (get.phase is not GetPhase.CHOOSING or self.chosen is not None))
        self._lead_focus(get.phase)

    def _lead_focus(self, phase: GetPhase) -> None:
        """While the list or an archive is on its way only Cancel can be pressed, and has the focus. It must not keep it
        when there is something to get, or when it has become Close: Enter would close the window. An archive that
        nobody knows is confirmed by a choice of the user's own, so there it stays."""
        has_changed, self._phase = phase is not self._phase, phase
        is_parked = self.focusWidget() in (None, self, self.cancel)
        is_leading = is_parked and phase is not GetPhase.CONFIRMING
        if has_changed and is_leading and self.go.isEnabled() and not self.go.isHidden():
            self.go.setFocus()

    def _show_offers(self, get: GetState) -> None:
        shown = (get.offers, get.failed, get.engine)
        if shown == self._shown:
            return
        self._shown = shown
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(6, 6, 6, 6)
        column.setSpacing(4)
        self.choices = []
        for button in self._group.buttons():
            self._group.removeButton(button)
        best = get.next_offer
        for offer in get.offers:
            has_failed = offer.package.key in get.failed
            choice = OfferChoice(offer, is_best=offer is best, has_failed=has_failed)
            choice.button.setChecked(offer is best)
            choice.button.toggled.connect(self._on_chosen)
            self._group.addButton(choice.button)
            self.choices.append(choice)
            column.addWidget(choice)
        if get.engine is not None:
            for label in _done_labels(get.engine):
                column.addWidget(label)
        elif not self.choices:
            column.addWidget(DimLabel(say("engines.nothing_yet"), wrap=True))
        column.addStretch(1)
        self.offers.set_content(content)

    def _show_progress(self, get: GetState) -> None:
        progress = get.progress
        is_busy = get.phase in (GetPhase.LISTING, GetPhase.GETTING)
        self.bar.setVisible(is_busy)
        fraction = progress.download.fraction if progress is not None and progress.download is not None else None
        self.bar.setRange(0, 0 if fraction is None else _STEPS)
        if fraction is not None:
            self.bar.setValue(round(fraction * _STEPS))
        self.status.setText(_status_text(get))
        self.status.setVisible(bool(self.status.text()))

    @Slot()
    def _on_chosen(self) -> None:
        self.go.setEnabled(self._engines.get.phase is not GetPhase.GETTING and self.chosen is not None)

    @Slot()
    def _on_go(self) -> None:
        phase = self._engines.get.phase
        if phase is GetPhase.CONFIRMING:
            self._engines.install_brought()
        elif phase is GetPhase.CHOOSING:
            if self.chosen is not None:
                self._engines.get_package(self.chosen)
        elif phase is GetPhase.IDLE and self._on_mirror():
            self._engines.load_packages()

    @Slot()
    def _on_cancel(self) -> None:
        if self._engines.get.phase in (GetPhase.LISTING, GetPhase.GETTING, GetPhase.CONFIRMING):
            self._engines.cancel_get()
        else:
            self.reject()

    @Slot()
    def _on_archive(self) -> None:
        path = ask_open(self, say("engines.archive_title"), "", "*.zip *.tar.gz")
        if path:
            self._engines.bring_archive(path)

    @Slot()
    def _on_mirror(self) -> bool:
        """Keep the mirror's address; False when it is none."""
        text = self.mirror.text().strip()
        try:
            if text:
                check_mirror(text)
        except ProblemError as error:
            self.trouble.show_problem(error.problem)
            return False
        if text != (self._session.settings.engine_mirror or ""):
            self._session.change_settings(engine_mirror=text or None)
            self._engines.forget_offers()
        return True

    @override
    def reject(self) -> None:
        """Escape ends a transfer, as Cancel does; what has arrived is kept."""
        self._engines.cancel_get()
        super().reject()


def _status_text(get: GetState) -> str:
    if get.phase is GetPhase.LISTING:
        return say("engine.get.listing")
    if get.phase is GetPhase.CONFIRMING:
        return say("engines.compare", name=", ".join(archive.path.name for archive in get.archives))
    return progress_text(get.progress) if get.progress is not None else ""


def _done_labels(engine: KnownEngine) -> tuple[QLabel, ...]:
    """That it is installed, what it sees, and where it lies."""
    head = QLabel(say("engines.done", name=engine.label))
    head.setWordWrap(True)
    set_look(head, "ok")
    devices = engine.devices or (say("engines.devices_none"),)
    return (head, *(DimLabel(text, wrap=True) for text in (*devices, engine.path)))
