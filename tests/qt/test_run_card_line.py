"""The line of figures beside the curves: only what is known, spilled memory in another tone, gone with the run."""

import numpy as np
import pytest

from app.monitor.sample import Sample
from app.session.state import RunPhase, RunState
from app.ui.pages.run import RunPage
from app.ui.pages.run_card_line import LiveLine, live_told
from tests.qt import page_fixtures as fx

GIB = 1 << 30
FULL = {
    "gpu.CUDA0.util": 97.2,
    "gpu.CUDA0.temperature": 71.0,
    "gpu.CUDA0.power_w": 142.4,
    "gpu.CUDA0.clock": 2505.0,
    "gpu.CUDA0.process": 10.5 * GIB,
    "gpu.Intel(R) Iris(R) Xe.util": 3.0,
    "swap.used": 0.0,
}


def test_that_what_is_known_of_the_plans_cards_is_told_and_no_more():
    told = live_told(FULL, ("CUDA0",))
    assert told.text == "CUDA0  load 97 % · 71 °C · 142 W · 2 505 MHz · server 10.5 GiB"
    assert told.tone == "dim"
    assert live_told({"gpu.CUDA0.util": None}, ("CUDA0",)).text == ""
    assert live_told({}, ()).text == ""


def test_that_spilled_memory_changes_the_tone_and_small_change_does_not():
    assert live_told({**FULL, "gpu.CUDA0.shared": 1.0 * (20 << 20)}, ("CUDA0",)).tone == "dim"
    told = live_told({**FULL, "gpu.CUDA0.shared": 1.5 * GIB}, ("CUDA0",))
    assert told.tone == "warning"
    assert "1 536 MiB spilled to RAM" in told.text


def test_that_swap_and_commit_are_told_when_they_say_something():
    assert live_told({"swap.used": 2.0 * GIB, "ram.commit_free": 3.0 * GIB}, ()).text == (
        "swap 2 048 MiB · commit left 3 072 MiB"
    )


def test_that_the_servers_own_counter_stands_in_for_the_driver_that_tells_none():
    assert "server 1 024 MiB" in live_told({"gpu.Vulkan0.dedicated": 1.0 * GIB}, ("Vulkan0",)).text


def test_that_the_line_shows_itself_with_the_first_figure(qtbot):
    line = LiveLine(lambda *_: (np.empty(0), np.empty(0)))
    qtbot.addWidget(line)
    line.set_names(("CUDA0",), {"gpu.CUDA0.util"})
    line.take({"ram.used": 5.0})
    assert line.isHidden()
    line.take(FULL)
    assert not line.isHidden()
    assert "142 W" in line.text
    line.clear()
    assert line.isHidden()
    assert line.text == ""


@pytest.mark.parametrize("name", ["CUDA0", "NVIDIA GeForce RTX 4080 Laptop GPU"])
def test_that_the_run_page_feeds_it_by_the_name_that_is_sampled(qtbot, name):
    session = fx.running_session()
    names = {g.name for g in session.hardware.gpus} | {"CUDA0"}
    page = RunPage(session)
    qtbot.addWidget(page)
    page.show()
    wanted = name if name in names else next(g.name for g in session.hardware.gpus if g.engine_name == "CUDA0")
    session.sample_added.emit(Sample(1.0, {f"gpu.{wanted}.power_w": 99.0}))
    page.live.redraw()
    assert "99 W" in page.live.text
    session.run = RunState(RunPhase.STOPPED)
    session.run_changed.emit()
    assert page.live.text == ""
    session.setParent(page)


def test_that_what_holds_a_card_back_is_said_beside_its_clock():
    told = live_told({"gpu.CUDA0.clock": 1200.0, "gpu.CUDA0.held_back": 64.0}, ("CUDA0",))
    assert told.text == "CUDA0  1 200 MHz · held back by heat"
    assert "held back" not in live_told({"gpu.CUDA0.clock": 1200.0, "gpu.CUDA0.held_back": 0.0}, ("CUDA0",)).text
