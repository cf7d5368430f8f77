"""Every code that the window asks for exists: a sentence that is missing would only show when somebody gets there."""

import re
from pathlib import Path

from app.model.types import Role
from app.planner.presets import PRESETS
from app.session.state import EnginePhase
from app.settings.settings import SHELLS
from app.ui.board.budget import Part
from app.ui.pages.plan_choices import PRESETS as OFFERED
from app.words import ENTRIES

UI = Path(__file__).parents[2] / "app" / "ui"
CODE = re.compile(r'say\(\s*"([a-z_]+(?:\.[A-Za-z_-]+)+)"')


def test_that_every_code_written_in_the_window_exists():
    asked = {(path.name, code) for path in UI.rglob("*.py") for code in CODE.findall(path.read_text(encoding="utf-8"))}
    assert asked
    assert {(name, code) for name, code in asked if code not in ENTRIES} == set()


def test_that_every_composed_code_exists():
    codes = {f"board.part.{part.value}" for part in Part}
    codes |= {f"plan.preset.{name}" for name in OFFERED}
    codes |= {f"plan.shell.{shell}" for shell in SHELLS} | {f"plan.export.{shell}" for shell in SHELLS}
    codes |= {f"plan.engine.{phase.value}" for phase in EnginePhase}
    codes |= {f"plan.hindrance.{phase.value}" for phase in EnginePhase if phase is not EnginePhase.READY}
    codes |= {f"plan.limit.{name}" for name in ("ram", "vram", "sync", "pcie")}
    codes |= {f"plan.kind.{name}" for name in ("estimated", "calibrated", "measured", "unknown")}
    for name in ("context", "kv", "slots", "reserve", "ubatch", "threads", "preset"):
        codes |= {f"plan.wish.{name}", f"plan.wish.{name}.tip"}
    codes |= {f"card.kind.{kind}" for kind in ("embeddings", "output", "router", "norms", "shared", "experts", "other")}
    codes |= {
        f"card.kind.{role.value}" for role in (Role.ATTENTION, Role.RECURRENT, Role.DENSE_FFN, Role.MTP, Role.VISION)
    }
    assert codes - ENTRIES.keys() == set()


def test_that_the_page_offers_every_preset_that_the_planner_knows():
    assert set(OFFERED) == set(PRESETS)
