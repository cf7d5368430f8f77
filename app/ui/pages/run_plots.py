"""The row of curves of the run page: VRAM, decode, prompt, RAM, CPU cores."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from PySide6.QtCore import QElapsedTimer, QTimer, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget
from typing_extensions import override

from app.hardware.types import CpuCore, HardwareSnapshot
from app.planner.types import Plan
from app.ui.pages.run_series import cpu_figures, decode_series, prompt_series, ram_series, vram_capacity, vram_series
from app.ui.plots.core_strip import CoreStrip
from app.ui.plots.data import SeriesReader
from app.ui.plots.depth_plot import DepthPlot
from app.ui.plots.figures_table import FiguresTable
from app.ui.plots.live_plot import LivePlot
from app.ui.plots.numbers_button import NumbersButton
from app.ui.plots.scale import PlotUnit
from app.ui.plots.title_choice import TitleChoice, ViewHolder
from app.ui.plots.value import ValueText
from app.ui.theme.fonts import scaled, tabular
from app.ui.theme.manager import ThemeManager
from app.ui.widgets.frames import CardFrame
from app.ui.widgets.labels import ElidedLabel, SectionTitle
from app.words import say

_WITHOUT_SAMPLE_MS = 1000
LEAST_MS = 350
"""Between two drawings for samples, so that there are never three a second: of five samples every other is drawn."""


class CorePanel(QWidget):
    """The core strip with its title and the server's own CPU share; drawn together with the plots."""

    def __init__(self, theme: ThemeManager, reader: SeriesReader, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._cores: tuple[CpuCore, ...] = ()
        self.strip = CoreStrip(theme)
        self.table = FiguresTable(say("plot.cores"), lambda: cpu_figures(self._cores), reader, self)
        self.button = NumbersButton(theme, say("plot.numbers_of", title=say("plot.cores")))
        self.button.clicked.connect(self.table.show)
        self._value = ValueText("8 888 %")
        self._note = ElidedLabel(say("run.cores_note"))
        self._note.setProperty("look", "dim")
        self._note.setFont(tabular(scaled(self.font(), 0.88)))
        self._newest: tuple[Mapping[int, float | None], float | None] = ({}, None)
        head = QHBoxLayout()
        title = SectionTitle(say("plot.cores"))
        title.setToolTip(say("run.cores_tip"))
        head.addWidget(title)
        head.addStretch(1)
        head.setSpacing(6)
        head.addWidget(self._value)
        head.addWidget(self.button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(head)
        layout.addWidget(self._note)
        layout.addWidget(self.strip, 1)

    def set_cores(self, cores: Sequence[CpuCore], marked: Collection[int]) -> None:
        """The machine's cores, and those that the server runs on."""
        self._cores = tuple(cores)
        self.strip.set_cores(cores)
        self.strip.set_marked(marked)

    def take(self, load: Mapping[int, float | None], server: float | None) -> None:
        """Keep the newest sample; it is drawn at the next redraw."""
        self._newest = (load, server)

    @Slot()
    def redraw(self) -> None:
        """Draw the newest sample."""
        load, server = self._newest
        self.strip.set_load(load)
        text = "—" if server is None else f"{server:.0f} %"
        if text != self._value.text():
            self._value.setText(text)
            self._value.setToolTip(say("run.server_cpu", percent=text))

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.redraw()


class RunPlots(QWidget):
    """Five still panels in one row; nothing in here changes its size while a server runs.

    All are drawn together, once for each sample (``tick``), while they are seen. When none comes, the curves move on
    once a second.
    """

    def __init__(self, reader: SeriesReader, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        theme = ThemeManager.of_app()
        self.vram = LivePlot(say("run.plot_vram"), PlotUnit.BYTES, reader, theme)
        views = (say("run.view_time"), say("run.view_depth"))
        over_time = TitleChoice(theme, say("run.plot_decode"), views, 0)
        depth_title = TitleChoice(theme, say("run.depth_title"), views, 1)
        self.decode = LivePlot(say("run.plot_decode"), PlotUnit.SPEED, reader, theme, head=over_time)
        self.by_depth = DepthPlot(depth_title, theme)
        self.decode_views = ViewHolder((self.decode, self.by_depth), (over_time, depth_title))
        self.prompt = LivePlot(say("run.plot_prompt"), PlotUnit.SPEED, reader, theme)
        self.ram = LivePlot(say("run.plot_ram"), PlotUnit.BYTES, reader, theme)
        self.cores = CorePanel(theme, reader)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        panels = (self.vram, self.decode_views, self.prompt, self.ram, self.cores)
        for panel, stretch in zip(panels, (12, 10, 9, 15, 10), strict=True):
            card = CardFrame(margin=9, spacing=0)
            card.body.addWidget(panel)
            layout.addWidget(card, stretch)
        self._is_live = True
        self._drawn = QElapsedTimer()
        self._timer = QTimer(self)
        self._timer.setInterval(_WITHOUT_SAMPLE_MS)
        self._timer.timeout.connect(self.tick)

    @property
    def plots(self) -> tuple[LivePlot, ...]:
        """Those with curves."""
        return (self.vram, self.decode, self.prompt, self.ram)

    @property
    def is_redrawing(self) -> bool:
        """Do the curves move on by themselves?"""
        return self._timer.isActive()

    @Slot()
    def take_sample(self) -> None:
        """There is a new sample: draw it, unless the last drawing was a moment ago. The next sample or the timer draws
        what was left out."""
        if not self._drawn.isValid() or self._drawn.hasExpired(LEAST_MS):
            self.tick()

    @Slot()
    def tick(self) -> None:
        """There may be a new sample: draw it, if anybody can see it."""
        if not self.isVisible() or self.window().isMinimized():
            return
        self._drawn.start()
        for plot in self.plots:
            if plot.isVisible():
                plot.take_sample()
        self.cores.redraw()
        self._update_timer()

    def _update_timer(self) -> None:
        """From now on: a sample that comes puts the next move off."""
        if self._is_live and self.isVisible():
            self._timer.start()
        else:
            self._timer.stop()

    @override
    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._update_timer()

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def set_plan(self, plan: Plan | None, hardware: HardwareSnapshot | None, keys: Collection[str]) -> None:
        """Choose curves and dashed lines for a plan; ``keys``: what is sampled now."""
        self.vram.set_series(vram_series(plan, hardware, keys), vram_capacity(plan))
        self.vram.set_empty_text(say("run.no_gpu" if plan is not None and not plan.devices.gpus else "plot.no_data"))
        self.decode.set_series(decode_series(plan))
        self.by_depth.set_plan(None if plan is None else plan.speed.decode_tps, None if plan is None else plan.n_ctx)
        self.prompt.set_series(prompt_series(plan))
        total = hardware.memory.total_bytes if hardware is not None else None
        self.ram.set_series(ram_series(plan), None if total is None else float(total))

    def set_cores(self, cores: Sequence[CpuCore], marked: Collection[int]) -> None:
        """The machine's cores, and those that the server runs on."""
        self.cores.set_cores(cores, marked)

    def set_span(self, seconds: float) -> None:
        """Show the last ``seconds`` in every plot."""
        for plot in self.plots:
            plot.set_span(seconds)

    def set_live(self, is_live: bool) -> None:
        """While a server runs the plots move; afterwards their last picture stays, but the cores show no old load."""
        for plot in self.plots:
            plot.set_live(is_live)
        if not is_live:
            self.cores.take({}, None)
            self.cores.redraw()
        self._is_live = is_live
        self._update_timer()
