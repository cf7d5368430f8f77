"""The files beside the model are chosen and removed from one menu, and the plan counts them."""

import pytest

from app.model.reader import read_model
from app.planner.types import Segment, Wishes
from app.ui.pages.plan_companions import CompanionsButton, beside_text
from app.words import Language, set_language
from tests.qt.fake_session import FakeSession
from tests.qt.plan_models import laptop
from tests.tools.small_lora import write_lora
from tests.tools.small_moe import write_small_moe
from tests.tools.sparse_projector import make_projector


@pytest.fixture
def model(tmp_path):
    return read_model(write_small_moe(tmp_path / "m.gguf"))


@pytest.fixture
def session(qapp, model):
    return FakeSession(laptop(), model)


@pytest.fixture
def button(session, qtbot):
    button = CompanionsButton(session)
    qtbot.addWidget(button)
    session.plan_changed.connect(lambda: button.refresh(session.plan))
    button.refresh(session.plan)
    return button


def entries(button):
    button.menu().aboutToShow.emit()
    return {action.text(): action for action in button.menu().actions() if action.text()}


def choose(button, monkeypatch, entry, path):
    monkeypatch.setattr(button, "choose", lambda title: str(path))
    entries(button)[entry].trigger()


def test_that_a_projector_is_chosen_counted_and_removed(button, session, tmp_path, monkeypatch):
    assert button.text() == "Files: none"
    make_projector("gemma3", tmp_path / "mm.gguf", 512)
    choose(button, monkeypatch, "Choose a projector (mmproj)…", tmp_path / "mm.gguf")
    assert session.plan.wishes.mmproj_path == str(tmp_path / "mm.gguf")
    assert Segment.PROJECTOR in session.plan.estimate.get("CUDA0").segments
    assert button.text() == "Files: projector"
    entries(button)["Projector on the GPU"].trigger()
    assert "--no-mmproj-offload" in session.plan.argv
    entries(button)["Remove mm.gguf"].trigger()
    assert session.plan.wishes.mmproj_path is None
    assert button.text() == "Files: none"


def test_that_a_draft_and_adapters_are_chosen_and_removed(button, session, model, tmp_path, monkeypatch):
    lora = write_lora(tmp_path / "a.gguf", model, ["blk.0.attn_q.weight"])
    choose(button, monkeypatch, "Choose a draft model…", model.path)
    choose(button, monkeypatch, "Add a LoRA adapter…", lora)
    choose(button, monkeypatch, "Add a LoRA adapter…", lora)
    assert session.plan.wishes.lora_paths == (str(lora),)
    assert button.text() == "Files: draft model, 1 LoRA"
    assert button.accessibleName() == button.text()
    entries(button)["Remove a.gguf"].trigger()
    entries(button)["Remove m.gguf"].trigger()
    assert (session.plan.wishes.draft_path, session.plan.wishes.lora_paths) == (None, ())


def test_that_thinking_better_of_it_changes_nothing(button, session, monkeypatch):
    before = session.plan
    choose(button, monkeypatch, "Choose a draft model…", "")
    assert session.plan is before


def test_that_mtp_is_offered_only_for_a_model_that_has_it(button):
    assert not [text for text in entries(button) if "MTP" in text]


def test_that_the_kinds_are_named_in_both_languages():
    wishes = Wishes(mmproj_path="a", mtp=True, lora_paths=("b", "c"))
    assert beside_text(wishes) == "projector, MTP, 2 LoRAs"
    set_language(Language.ZH_CN)
    assert beside_text(wishes) == "多模态投影，MTP 草稿，2 个 LoRA"
