"""What was learned is told on the settings page, and one button forgets it."""

import pytest

from app.planner.learned import Correction, Learned, MemoryFigures, Situation
from app.ui.pages.settings_learned import LearnedCard, learned_text
from tests.qt.fake_learning import FakeLearning

_SITUATION = Situation(8192, 512, "f16", "f16", 1, True, True, False)
_CORRECTION = Correction(_SITUATION, "a model", MemoryFigures(1, 2, 3), MemoryFigures(1, 2, 9))
LEARNED = Learned({("CUDA a", "b1"): (5, 6), ("CUDA a", "b2"): (7,)}, {("b1", "qwen3moe", "CUDA a"): (_CORRECTION,)})


@pytest.fixture
def learning(qapp):
    return FakeLearning()


@pytest.fixture
def card(qtbot, learning):
    made = LearnedCard(learning)
    qtbot.addWidget(made)
    return made


def test_that_there_is_nothing_to_forget_before_anything_was_learned(card):
    assert card.text.text().startswith("Nothing yet.")
    assert not card.forget.isEnabled()


def test_that_each_kind_is_one_sentence(card, learning):
    learning.show(LEARNED)
    assert card.text.text().splitlines() == [
        "Fixed overhead of 1 card, from 3 launches.",
        "1 estimate corrected by the engine.",
    ]
    assert learned_text(Learned({("CUDA a", "b1"): tuple(range(20))})) == "Fixed overhead of 1 card, from 8 launches."


def test_that_the_button_forgets_all_of_it(card, learning):
    learning.show(LEARNED)
    card.forget.click()
    assert learning.n_forgotten == 1
    assert not card.forget.isEnabled()
