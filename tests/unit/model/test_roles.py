"""Every tensor name of every architecture that the engine knows has one right role.

data/model/architectures.json: the names that each architecture's source file creates (llama.cpp b11434), for block 3
where they belong to a block, and the role of each, looked through one by one.
"""

import json
from pathlib import Path

import pytest

from app.model.roles import classify, role_in_layer
from app.model.types import LayerFacts, Role

DATA = json.loads((Path(__file__).parents[2] / "data" / "model" / "architectures.json").read_text("utf-8"))
ARCHITECTURES = DATA["architectures"]
ROLE_OF = {name: Role(role) for role, names in DATA["roles"].items() for name in names}
MOE = sorted(a for a, names in ARCHITECTURES.items() if any("_exps." in name for name in names))


def test_that_every_tensor_of_every_architecture_has_its_role():
    for architecture, names in ARCHITECTURES.items():
        for name in names:
            expected = (ROLE_OF[name], 3 if "blk.3." in name else None)
            assert classify(name, 48, 0) == expected, (architecture, name)


def test_that_all_62_moe_architectures_are_covered():
    assert len(MOE) == 62


def test_that_every_moe_architecture_has_a_router_and_its_experts_apart():
    for architecture in MOE:
        names = ARCHITECTURES[architecture]
        roles = {name: classify(name, 48, 0)[0] for name in names}
        experts = {name for name, role in roles.items() if role is Role.ROUTED_EXPERT}
        shared = {name for name, role in roles.items() if role is Role.SHARED_EXPERT}
        assert experts == {n for n in names if ("_exps." in n or "_chexps." in n) and "norm" not in n}, architecture
        assert shared == {n for n in names if "_shexp." in n}, architecture
        assert Role.ROUTER in roles.values(), architecture


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("blk.7.ffn_gate_inp.weight", Role.ROUTER),
        ("blk.7.ffn_gate_inp.bias", Role.ROUTER),
        ("blk.7.ffn_gate_inp_shexp.weight", Role.SHARED_EXPERT),
        ("blk.7.exp_probs_b.bias", Role.ROUTER),
        ("blk.7.exp_probs_b", Role.ROUTER),
        ("blk.7.ffn_gate_tid2eid.weight", Role.ROUTER),
        ("blk.7.ffn_gate_up_exps.weight", Role.ROUTED_EXPERT),
        ("blk.7.ffn_down_exps.bias", Role.ROUTED_EXPERT),
        ("blk.7.ffn_up_exps.scale", Role.ROUTED_EXPERT),
        ("blk.7.ffn_up_exps.input_scale", Role.ROUTED_EXPERT),
        ("blk.7.ffn_gate_chexps.weight", Role.ROUTED_EXPERT),
        ("blk.7.ffn_gate.3.weight", Role.ROUTED_EXPERT),
        ("blk.7.ffn_norm_exps.weight", Role.NORM),
        ("blk.7.ffn_gate.weight", Role.DENSE_FFN),
        ("blk.7.attn_sinks.weight", Role.ATTENTION),
        ("blk.7.indexer.proj.weight", Role.ATTENTION),
        ("blk.7.hc_ffn_fn.weight", Role.ATTENTION),
        ("blk.7.shortconv.conv.weight", Role.RECURRENT),
        ("blk.7.ssm_a", Role.RECURRENT),
        ("output.weight", Role.OUTPUT),
        ("output_norm.weight", Role.NORM),
        ("rope_freqs.weight", Role.OTHER),
        ("v.blk.0.attn_q.weight", Role.VISION),
        ("mm.0.weight", Role.VISION),
        ("blk.7.something_new.weight", Role.OTHER),
        ("blk.99999.attn_q.weight", Role.OTHER),
        ("blk..attn_q.weight", Role.OTHER),
        ("blk.٣.attn_q.weight", Role.OTHER),
        ("", Role.OTHER),
    ],
)
def test_that_careful_cases_have_the_right_role(name, role):
    assert classify(name, 48, 0)[0] is role


def test_that_everything_in_the_last_nextn_blocks_is_mtp():
    assert classify("blk.46.ffn_up_exps.weight", 48, 2) == (Role.MTP, 46)
    assert classify("blk.47.attn_norm.weight", 48, 2) == (Role.MTP, 47)
    assert classify("blk.45.ffn_up_exps.weight", 48, 2) == (Role.ROUTED_EXPERT, 45)


def test_that_linear_attention_is_recurrent_by_the_block_it_lies_in():
    linear = LayerFacts(16, 0, 128, 128, recurrent=True)
    full = LayerFacts(16, 4, 128, 128)
    both = LayerFacts(16, 4, 128, 128, recurrent=True)
    assert role_in_layer(Role.ATTENTION, linear) is Role.RECURRENT
    assert role_in_layer(Role.ATTENTION, full) is Role.ATTENTION
    assert role_in_layer(Role.ATTENTION, both) is Role.ATTENTION
    assert role_in_layer(Role.ROUTED_EXPERT, linear) is Role.ROUTED_EXPERT
