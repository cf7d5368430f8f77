"""Moving cards: nothing is lost, the rest stays, and what the engine cannot say is snapped or refused with a reason."""

from hypothesis import given
from hypothesis import strategies as st

from app.model.types import Role
from app.planner.cards import cards_by_device, tensors_of
from app.planner.moves import move
from app.planner.overrides import compile_overrides, prove
from app.planner.placement import (
    all_in_ram,
    all_on_gpu,
    expert_layers_in_ram,
    home_of,
    homes,
    locations,
    with_experts_in_ram,
)
from app.planner.types import RAM, MoveResult, Refusal
from tests.unit.planner.synthetic_boards import (
    EXPERT_BIASES,
    FUSED_EXPERTS,
    ONE_GPU,
    QWEN3,
    SHARED_EXPERTS,
    SPLIT_EXPERTS,
    moe,
)

GPU = "CUDA0"
MODELS = (
    moe(6),
    moe(5, experts=(*SPLIT_EXPERTS, *EXPERT_BIASES), tied=True),
    moe(7, experts=(*FUSED_EXPERTS, *SHARED_EXPERTS), dense_leading=2),
)


def _flat(cards):
    for card in cards:
        yield card
        yield from _flat(card.children)


def _columns(model, placement):
    return cards_by_device(model, placement, [GPU, RAM], dict.fromkeys(range(model.block_count), 100))


@st.composite
def _walks(draw):
    """A model and a walk of moves, each of a card that is on the board at that moment."""
    model = draw(st.sampled_from(MODELS))
    placement = draw(st.sampled_from((all_on_gpu(model, ONE_GPU), all_in_ram(model, ONE_GPU))))
    for _ in range(draw(st.integers(0, 6))):
        shown = [c.id for column in _columns(model, placement).values() for c in _flat(column)]
        ids = draw(st.lists(st.sampled_from(shown), min_size=1, max_size=3))
        result = move(model, ONE_GPU, placement, ids, draw(st.sampled_from((GPU, RAM))))
        placement = result.placement if isinstance(result, MoveResult) else placement
    return model, placement


@given(_walks())
def test_that_no_walk_of_moves_loses_or_doubles_a_tensor(walk):
    model, placement = walk
    top = [name for column in _columns(model, placement).values() for card in column for name in card.tensor_names]
    assert sorted(top) == sorted(t.name for t in model.tensors)
    for column in _columns(model, placement).values():
        for card in _flat(column):
            if card.children:
                below = [name for child in card.children for name in child.tensor_names]
                assert sorted(below) == sorted(card.tensor_names)
                assert sum(c.n_bytes for c in card.children) == card.n_bytes
                if card.children[0].id.count(":") == 1:  # blocks carry KV, parts of a block do not
                    assert sum(c.kv_bytes for c in card.children) == card.kv_bytes


@given(_walks())
def test_that_every_reachable_board_can_be_told_to_the_engine(walk):
    model, placement = walk
    assert 0 <= placement.n_gpu_layers <= model.block_count + 1
    assert prove(model, placement, ONE_GPU, compile_overrides(model, placement, ONE_GPU)) is None


@given(_walks())
def test_that_card_ids_are_unique_over_all_columns_and_name_their_tensors(walk):
    model, placement = walk
    cards = [c for column in _columns(model, placement).values() for c in _flat(column)]
    by_id = {}
    for card in cards:
        assert by_id.setdefault(card.id, card.tensor_names) == card.tensor_names
        assert sorted(t.name for t in tensors_of(model, card.id)) == sorted(card.tensor_names)


@given(_walks(), st.data())
def test_that_a_moved_card_is_where_it_was_asked_to_be_and_nothing_else_of_its_weight_moved(walk, data):
    model, placement = walk
    movable = [c for column in _columns(model, placement).values() for c in _flat(column) if c.movable]
    card = data.draw(st.sampled_from(movable))
    device = data.draw(st.sampled_from((GPU, RAM)))
    result = move(model, ONE_GPU, placement, (card.id,), device)
    if isinstance(result, Refusal):
        return
    before, after = locations(model, placement), locations(model, result.placement)
    assert {after[name] for name in card.tensor_names} == {device}
    follows = {Role.ATTENTION, Role.RECURRENT, Role.ROUTER, Role.NORM}
    for tensor in model.tensors:
        if tensor.name not in card.tensor_names and tensor.role not in follows:
            assert after[tensor.name] == before[tensor.name], tensor.name


@given(_walks())
def test_that_kv_follows_the_home_and_is_shown_once(walk):
    model, placement = walk
    shown = {device: sum(c.kv_bytes for c in column) for device, column in _columns(model, placement).items()}
    in_ram = sum(1 for b in range(model.block_count) if placement.home_of_unit(b) == RAM)
    for device, blocks in ((RAM, in_ram), (GPU, model.block_count - in_ram)):
        attention_elsewhere = [
            b
            for b in range(model.block_count)
            if placement.home_of_unit(b) == device
            and any(
                locations(model, placement)[t.name] != device
                for t in model.tensors
                if t.block == b and t.role is Role.ATTENTION
            )
        ]
        assert shown[device] <= blocks * 100
        assert shown[device] >= (blocks - len(attention_elsewhere)) * 100


def test_that_a_move_to_where_a_card_is_changes_nothing():
    placement = all_on_gpu(QWEN3, ONE_GPU)
    result = move(QWEN3, ONE_GPU, placement, ("experts:0-47",), GPU)
    assert isinstance(result, MoveResult)
    assert result.placement == placement


def test_that_dragging_a_parent_with_its_child_moves_each_tensor_once():
    placement = all_on_gpu(QWEN3, ONE_GPU)
    both = move(QWEN3, ONE_GPU, placement, ("experts:0-47", "experts:3", "experts:3:up"), RAM)
    parent = move(QWEN3, ONE_GPU, placement, ("experts:0-47",), RAM)
    assert both == parent


def test_that_attention_in_the_middle_snaps_to_a_prefix_and_says_what_went_along():
    placement = all_on_gpu(QWEN3, ONE_GPU)
    result = move(QWEN3, ONE_GPU, placement, ("attention:10-20",), RAM)
    assert isinstance(result, MoveResult)
    assert result.placement.n_gpu_layers == 49 - 21
    assert result.note.code == "move_snapped_ram"
    assert result.note.params == {"first": 0, "last": 9, "n": 10, "device": RAM}
    experts = {d for n, d in locations(QWEN3, result.placement).items() if "_exps" in n}
    assert experts == {GPU}, "the experts of the moved blocks stay where the user had them"


def test_that_a_prefix_of_attention_moves_without_a_note():
    result = move(QWEN3, ONE_GPU, all_on_gpu(QWEN3, ONE_GPU), ("attention:0-7",), RAM)
    assert isinstance(result, MoveResult)
    assert result.note is None
    assert result.placement.n_gpu_layers == 41


def test_that_token_embeddings_are_refused_with_the_reason():
    result = move(QWEN3, ONE_GPU, all_on_gpu(QWEN3, ONE_GPU), ("embeddings",), GPU)
    assert isinstance(result, Refusal)
    assert result.problem.code == "move_embeddings"


def test_that_a_tied_output_head_is_refused():
    model = moe(4, tied=True)
    result = move(model, ONE_GPU, all_on_gpu(model, ONE_GPU), ("output",), RAM)
    assert isinstance(result, Refusal)
    assert result.problem.code == "move_output_tied"


def test_that_an_unknown_card_or_device_is_refused():
    placement = all_on_gpu(QWEN3, ONE_GPU)
    for ids, device, code in (
        (("experts:90",), RAM, "move_unknown_card"),
        (("nonsense",), RAM, "move_unknown_card"),
        (("experts:1",), "CUDA7", "move_no_device"),
    ):
        result = move(QWEN3, ONE_GPU, placement, ids, device)
        assert isinstance(result, Refusal)
        assert result.problem.code == code


def test_that_the_output_head_moves_as_an_override_and_comes_back():
    there = move(QWEN3, ONE_GPU, all_on_gpu(QWEN3, ONE_GPU), ("output",), RAM)
    assert isinstance(there, MoveResult)
    assert there.placement.n_gpu_layers == 49
    assert there.placement.overrides["output.weight"] == RAM
    back = move(QWEN3, ONE_GPU, there.placement, ("output",), GPU)
    assert isinstance(back, MoveResult)
    assert back.placement == all_on_gpu(QWEN3, ONE_GPU)


def test_that_a_split_block_shows_a_card_for_each_part():
    result = move(QWEN3, ONE_GPU, all_on_gpu(QWEN3, ONE_GPU), ("experts:3:up",), RAM)
    assert isinstance(result, MoveResult)
    columns = _columns(QWEN3, result.placement)
    assert [c.id for c in columns[RAM] if c.role is Role.ROUTED_EXPERT] == ["experts:3:up"]
    on_gpu = [c.id for c in columns[GPU] if c.role is Role.ROUTED_EXPERT]
    assert on_gpu == ["experts:0-2", "experts:3:down", "experts:3:gate", "experts:4-47"]
    assert expert_layers_in_ram(QWEN3, result.placement) == (3,)


@given(st.integers(0, 48))
def test_that_the_slider_places_exactly_that_many_layers(n):
    blocks = QWEN3.expert_blocks
    placement = with_experts_in_ram(QWEN3, all_on_gpu(QWEN3, ONE_GPU), ONE_GPU, frozenset(blocks[48 - n :]))
    assert expert_layers_in_ram(QWEN3, placement) == tuple(range(48 - n, 48))


def test_that_the_engine_homes_are_a_prefix_in_ram_then_the_gpu():
    for n in range(QWEN3.block_count + 2):
        placement = all_on_gpu(QWEN3, ONE_GPU)
        placement = type(placement)(placement.block_count, ((GPU, n),))
        listed = homes(placement)
        assert listed == (RAM,) * (49 - n) + (GPU,) * n
        embedding = next(t for t in QWEN3.tensors if t.role is Role.EMBEDDING)
        assert home_of(embedding, listed) == RAM
