"""Which cards of a new plan continue which old ones."""

from hypothesis import given
from hypothesis import strategies as st

from app.model.types import Role
from app.planner.types import Card
from app.ui.board.card_diff import match_cards


def run(first, last, kind="experts"):
    name = f"{kind}:{first}-{last}" if first != last else f"{kind}:{first}"
    return Card(name, Role.ROUTED_EXPERT, "CUDA0", first, last, 10, 3)


def test_that_cards_with_the_same_id_continue():
    cards = [run(0, 3, "attention"), run(0, 1), run(2, 3)]
    assert match_cards(cards, cards) == [0, 1, 2]


def test_that_a_run_that_shrank_continues_the_old_run():
    assert match_cards([run(0, 25)], [run(0, 20)]) == [0]


def test_that_a_run_that_was_split_continues_in_one_part():
    assert sorted(match_cards([run(0, 25)], [run(0, 4), run(6, 25)]), key=str) == [0, None]


def test_that_cards_of_another_kind_are_new():
    assert match_cards([run(0, 25)], [run(0, 25, "dense_ffn")]) == [None]


def test_that_runs_without_a_common_block_are_unrelated():
    assert match_cards([run(0, 4)], [run(5, 9)]) == [None]


def test_that_a_card_that_changed_places_is_new():
    old = [run(0, 1, "a"), run(0, 1, "b"), run(0, 1, "c")]
    matched = match_cards(old, [old[2], old[0], old[1]])
    kept = [i for i in matched if i is not None]
    assert kept == sorted(kept)
    assert len(kept) == 2


@given(st.permutations(range(7)), st.sets(st.integers(0, 6)))
def test_that_matched_positions_always_rise_and_are_distinct(order, dropped):
    old = [run(3 * i, 3 * i + 1) for i in range(7)]
    new = [old[i] for i in order if i not in dropped]
    kept = [i for i in match_cards(old, new) if i is not None]
    assert kept == sorted(set(kept))
    assert len(kept) >= (1 if new else 0)
