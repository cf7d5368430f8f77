"""What limits a machine and what would help: ratios of predictions, never constants; and the model behind them."""

import dataclasses
import json
import string

import pytest

from app.common.units import GIB
from app.diagnose.machine import judgement_sentences
from app.diagnose.machine_upgrades import variants
from app.hardware.snapshot_file import load_snapshot
from app.hardware.types import MemoryInfo
from app.model.reference import NAME, reference_model
from app.planner.types import Wishes
from app.words import ENTRIES, Language, say_in
from app.work.machine_verdict import judge_machine
from tests.tools.hardware_data import DATA

MACHINES = sorted(DATA.glob("*.json"))
TYPES = DATA.parent / "model" / "qwen3-30b-a3b-q4km.types.json"


def _load(name):
    return load_snapshot(DATA / f"{name}.json")


def _said(snapshot, judgement, language=Language.EN):
    return [say_in(language, s.code, **s.params) for s in judgement_sentences(snapshot, judgement)]


def _with_memory(snapshot, **changes):
    return dataclasses.replace(snapshot, memory=dataclasses.replace(snapshot.memory, **changes))


def _roomy(snapshot, **changes):
    """Enough RAM for the reference model, so that the speed decides and not the fit."""
    return _with_memory(snapshot, total_bytes=64 * GIB, available_bytes=58 * GIB, **changes)


def test_that_the_reference_model_has_the_types_of_the_published_file():
    published = json.loads(TYPES.read_text(encoding="utf-8"))
    assert {t.name: t.type_name for t in reference_model().tensors} == published
    assert round(reference_model().tensor_bytes / GIB, 1) == 17.3
    assert len(reference_model().expert_blocks) == 48


@pytest.mark.share(3)
@pytest.mark.parametrize("path", MACHINES, ids=lambda p: p.stem)
@pytest.mark.parametrize("language", list(Language))
def test_that_every_machine_gets_a_verdict_without_a_gap(path, language):
    snapshot = load_snapshot(path)
    said = _said(snapshot, judge_machine(snapshot), language)
    assert said
    assert all("—" not in text and "{" not in text for text in said)


@pytest.mark.slow
def test_that_a_second_module_gives_what_the_speed_model_says_and_less_than_twice():
    one = _roomy(_load("desktop-single-channel"))
    judgement = judge_machine(one)
    gain = next(g for g in judgement.gains if g.code == "second_module")
    two = judge_machine(_roomy(one, modules=2, channels=2, theoretical_gbs=2 * one.memory.theoretical_gbs))
    assert gain.decode_factor == pytest.approx(two.plan.speed.decode_tps / judgement.plan.speed.decode_tps)
    assert 1.3 < gain.decode_factor < 2
    assert judgement.decode_limit == "ram"
    assert any(f"×{gain.decode_factor:.1f}" in text for text in _said(one, judgement))


def test_that_soldered_and_two_channel_memory_offer_no_second_module():
    one = _load("desktop-single-channel")
    assert "second_module" in {v.code for v in variants(one)}
    for machine in (
        _with_memory(one, is_soldered=True),
        _with_memory(one, channels=2),
        _with_memory(one, channels=None),
    ):
        assert not {"second_module", "second_channel"} & {v.code for v in variants(machine)}


def test_that_two_modules_on_one_channel_are_to_be_moved_not_bought():
    (variant,) = [v for v in variants(_with_memory(_load("desktop-single-channel"), modules=2)) if "second" in v.code]
    assert (variant.code, variant.is_cheap) == ("second_channel", True)
    assert variant.snapshot.memory.total_bytes == _load("desktop-single-channel").memory.total_bytes


@pytest.mark.slow
def test_that_a_machine_too_small_is_told_the_cheapest_thing_that_makes_it_fit():
    small = _load("desktop-single-channel")
    judgement = judge_machine(small)
    assert judgement.plan.estimate.fits is False
    assert judgement.best.makes_fit
    assert judgement.best.is_cheap
    first, second = _said(small, judgement)
    assert first.startswith(f"{NAME} does not fit: ")
    assert second.startswith("A second RAM module would make it fit, and decode about ×1.")


@pytest.mark.slow
def test_that_programs_on_the_card_are_named_with_what_closing_them_gives():
    two = _load("desktop-two-unequal-gpus")
    gain = next(g for g in judge_machine(two).gains if g.code == "close_programs")
    assert gain.params["bytes"] == two.gpus[0].total_bytes - two.gpus[0].free_bytes
    assert 1.05 <= gain.decode_factor < 1.5


def test_that_the_drivers_own_memory_is_not_blamed_on_programs():
    two = _load("desktop-two-unequal-gpus")
    card = two.gpus[0]
    held = dataclasses.replace(card, reserved_bytes=card.total_bytes - card.free_bytes)
    codes = {v.code for v in variants(dataclasses.replace(two, gpus=(held, *two.gpus[1:])))}
    assert "close_programs" not in codes


def test_that_a_laptops_card_is_not_to_be_exchanged():
    assert "more_vram" not in {v.code for v in variants(_load("laptop-rtx4080-i7-13700h"))}
    assert "more_vram" in {v.code for v in variants(_load("desktop-two-unequal-gpus"))}


def test_that_a_card_the_engine_cannot_use_is_the_first_thing_to_mend():
    laptop = _roomy(_load("laptop-rtx4080-i7-13700h"))
    unusable = dataclasses.replace(
        laptop,
        engine_asked=True,
        gpus=tuple(dataclasses.replace(g, engine_name=None, buffer_name=None) for g in laptop.gpus),
    )
    judgement = judge_machine(unusable)
    assert judgement.best.code == "usable_gpu"
    assert judgement.prompt_limit == "cpu"
    assert "RTX 4080" in " ".join(_said(unusable, judgement))


def test_that_prompts_with_experts_in_ram_wait_for_the_link():
    assert judge_machine(_load("laptop-rtx4080-i7-13700h")).prompt_limit == "pcie"


def test_that_graphics_inside_the_processor_are_limited_by_ram_and_a_soldered_machine_gets_no_card():
    mini = _load("laptop-ryzen-ai-max-395")
    judgement = judge_machine(_with_memory(mini, is_soldered=True))
    assert judgement.decode_limit == "ram"
    assert "new_gpu" not in {gain.code for gain in judgement.gains}


def test_that_an_unmeasured_machine_is_asked_to_measure_instead_of_guessing():
    vm = _roomy(_load("vm-no-gpu"), measured_gbs=None)
    judgement = judge_machine(vm)
    assert judgement.plan.speed.decode_tps is None
    assert _said(vm, judgement)[0] == f"How fast {NAME} would decode is not known: measure the RAM speed."


def test_that_a_tiny_model_is_called_too_small_and_no_bandwidth_is_blamed():
    big = reference_model()
    kept = tuple(t._replace(n_bytes=32) for t in big.tensors)
    tiny = dataclasses.replace(big, name="Tiny", tensors=kept)
    vm = _load("vm-no-gpu")
    assert _said(vm, judge_machine(vm, tiny, Wishes(n_ctx=64)))[0].startswith("Tiny is too small for a prediction")


def test_that_the_open_model_is_judged_instead_of_the_reference():
    model = dataclasses.replace(reference_model(), name="My own MoE")
    judgement = judge_machine(_load("laptop-rtx4080-i7-13700h"), model)
    assert (judgement.model, judgement.is_reference) == ("My own MoE", False)
    assert "My own MoE" in _said(_load("laptop-rtx4080-i7-13700h"), judgement)[0]


def test_that_a_machine_that_tells_nothing_is_judged_without_an_error():
    bare = dataclasses.replace(_load("vm-no-gpu"), memory=MemoryInfo(None, None), sources={})
    assert judge_machine(bare).gains == ()


def test_that_every_kind_of_gain_has_its_sentences():
    for code in ("second_module", "second_channel", "usable_gpu", "close_programs", "more_vram", "new_gpu"):
        kinds = ["fit", "decode.best"]
        cheap = ("second_module", "second_channel", "usable_gpu", "close_programs")
        for kind in [*kinds, *(["decode.cheap"] if code in cheap else [])]:
            english, chinese = ENTRIES[f"machine.help.{code}.{kind}"]
            fields = [{f for _, f, _, _ in string.Formatter().parse(text) if f} for text in (english, chinese)]
            assert fields[0] == fields[1]
