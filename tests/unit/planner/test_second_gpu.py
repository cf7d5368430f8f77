"""Is the second GPU worth it: whole plans beside each other, for writing and for prompts apart."""

from dataclasses import replace

import pytest

from app.engine.capabilities import FALLBACK
from app.planner.plan import PlanInputs, make_plan
from app.planner.second_gpu import Worth, second_gpu
from app.planner.trades import trades
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from app.words import Language, set_language
from app.work.card_answer import gain_text, second_gpu_text

GIB = 1 << 30


def _inputs(model, *free_gib, known=True, kind=DeviceKind.GPU, off=(), **wishes):
    gpus = tuple(
        Device(
            f"{'RPC' if kind is DeviceKind.RPC else 'CUDA'}{i}",
            kind,
            gib * GIB,
            gib * GIB,
            bandwidth_gbs=400.0 if known else None,
            pcie_gbs=12.0,
        )
        for i, gib in enumerate(free_gib)
    )
    ram = Device(RAM, DeviceKind.RAM, 96 * GIB, 80 * GIB, bandwidth_gbs=50.0 if known else None)
    on = tuple(gpu for i, gpu in enumerate(gpus) if i not in off)
    devices = DeviceSet(on, ram, tuple(gpu for i, gpu in enumerate(gpus) if i in off))
    return PlanInputs(model, devices, Wishes(**{"n_ctx": 8192, **wishes}), FALLBACK, 6)


def _answer(inputs):
    return second_gpu(inputs, make_plan(inputs))


@pytest.fixture(autouse=True)
def _english():
    set_language(Language.EN)


@pytest.mark.slow
def test_that_a_card_which_takes_experts_out_of_ram_is_worth_it(real_headers):
    inputs = _inputs(real_headers["deepseek-v2-lite"], 6, 3)
    answer = _answer(inputs)
    assert (answer.alone, answer.devices, answer.is_on) == ("CUDA0", ("CUDA1",), True)
    assert answer.decode is Worth.FASTER
    assert answer.decode_with == make_plan(inputs).speed.decode_tps
    alone = make_plan(replace(inputs, devices=replace(inputs.devices, gpus=inputs.devices.gpus[:1])))
    assert answer.decode_without == alone.speed.decode_tps
    assert answer.decode_factor == answer.decode_with / answer.decode_without > 1.05
    assert answer.ram_read_with_bytes < answer.ram_read_without_bytes
    assert (answer.prompt, answer.prompt_with) == (Worth.FASTER, None), "compute rates are unknown, copies are not"
    assert second_gpu_text(answer).startswith("With CUDA1 beside CUDA0 it writes about ")
    assert gain_text(answer).endswith(" tok/s")


def test_that_without_speeds_the_bytes_answer(real_headers):
    answer = _answer(_inputs(real_headers["deepseek-v2-lite"], 8, 6, known=False))
    assert answer.decode is Worth.MORE_IN_VRAM
    assert answer.prompt is Worth.MORE_IN_VRAM
    assert (answer.decode_with, answer.decode_factor) == (None, None)
    assert "nothing is read from RAM any more" in second_gpu_text(answer)


def test_that_a_card_too_many_gains_nothing(real_headers):
    answer = _answer(_inputs(real_headers["deepseek-v2-lite"], 16, 16))
    assert (answer.decode, answer.prompt) == (Worth.SAME, Worth.SAME)
    assert answer.decode_factor == 1.0
    assert gain_text(answer) == "writes no faster"


@pytest.mark.slow
def test_that_rpc_servers_leave_the_prompt_open(real_headers):
    answer = _answer(_inputs(real_headers["deepseek-v2-lite"], 5, 3, known=False, kind=DeviceKind.RPC))
    assert answer.decode is Worth.FASTER
    assert answer.prompt is Worth.UNKNOWN


def test_that_one_card_is_no_question_and_an_integrated_one_is_no_answer(real_headers):
    model = real_headers["deepseek-v2-lite"]
    assert _answer(_inputs(model, 8)) is None
    inputs = _inputs(model, 8, 8, off=(1,))
    inside = replace(inputs.devices.off[0], kind=DeviceKind.IGPU)
    assert _answer(replace(inputs, devices=replace(inputs.devices, off=(inside,)))) is None


@pytest.mark.slow
def test_that_a_card_which_is_off_is_answered_for_and_offered(real_headers):
    inputs = _inputs(real_headers["deepseek-v2-lite"], 6, 3, off=(1,))
    plan = make_plan(inputs)
    answer = second_gpu(inputs, plan)
    assert not answer.is_on
    (offer,) = [t for t in trades(inputs, plan) if t.code == "use_device"]
    assert (offer.value, offer.can_apply, offer.is_free) == ("CUDA1", True, False)
    assert offer.decode_gain_tps == pytest.approx(answer.decode_with - answer.decode_without)
    assert offer.expert_layers > 1
