"""Why a card runs slower than it could: NVML's bits, asked by the newer or the older name, told by the doctor."""

import dataclasses

import pytest

from app.common.problem import Severity
from app.diagnose.doctor.examine import examine
from app.diagnose.doctor.run_rules import live_findings
from app.diagnose.doctor.types import Facts
from app.hardware.gpus_nvml import NvmlSession
from app.monitor.held_back import reasons_of
from app.monitor.nvml import NvmlSampler
from app.words import say_problem
from tests.tools.hardware_data import RTX_4080_LAPTOP, FakeNvml
from tests.unit.doctor.doctor_cases import card, samples, snapshot

NEW, OLD = "CurrentClocksEventReasons", "CurrentClocksThrottleReasons"


@pytest.mark.parametrize(
    ("mask", "codes"),
    [
        (None, ()),
        (0, ()),
        (1 | 2 | 16 | 256, ()),  # idle, application clocks, sync boost, display clock
        (4, ("power_cap",)),
        (4 | 32, ("power_cap", "heat")),
        (8, ("hardware",)),
        (8 | 64, ("heat",)),
        (8 | 128, ("supply",)),
        (512, ("supply",)),
    ],
)
def test_that_the_bits_are_read_as_reasons(mask, codes):
    assert reasons_of(mask) == codes


def sampled(**metrics):
    nvml = FakeNvml({**RTX_4080_LAPTOP, **metrics})
    uuid = RTX_4080_LAPTOP["uuid"]
    sampler = NvmlSampler((uuid,), {uuid: "CUDA0"}, lambda: NvmlSession(nvml))
    value = sampler.sample()["gpu.CUDA0.held_back"]
    sampler.close()
    return value


def test_that_the_newer_question_is_asked_first_and_the_older_where_it_is_not_known():
    assert sampled(**{NEW: 4 | 1, OLD: 64}) == 4.0
    assert sampled(**{OLD: 64}) == 64.0
    assert sampled(**{NEW: 1}) == 0.0, "idle is no trouble"
    assert sampled() is None


def busy(mask, count=10, util=97.0, **more):
    return samples(*[{"gpu.CUDA0.util": util, "gpu.CUDA0.held_back": mask, **more}] * count)


def found(rows):
    told = {f.code: f for f in examine(Facts(snapshot=snapshot(card()), samples=rows))}
    return {code: told[code] for code in told if code.startswith("held_back") or code == "throttled"}


@pytest.mark.parametrize(
    ("mask", "code", "severity"),
    [
        (64.0, "held_back_heat", Severity.WARNING),
        (128.0 + 8, "held_back_supply", Severity.WARNING),
        (8.0, "held_back_hardware", Severity.WARNING),
        (4.0, "held_back_power_cap", Severity.INFO),
        (4.0 + 64, "held_back_heat", Severity.WARNING),
    ],
)
def test_that_the_gravest_reason_of_a_busy_card_is_told(mask, code, severity):
    rows = busy(mask, **{"gpu.CUDA0.power_limit_w": 175.0})
    told = found(rows)
    assert list(told) == [code]
    assert told[code].severity is severity
    assert told[code].params["percent"] == 100
    live = [f.code for f in live_findings(Facts(snapshot=snapshot(card()), samples=rows))]
    assert (code in live) == (severity is Severity.WARNING), "a power limit is no reason to interrupt"


def test_that_idle_cards_short_slowdowns_and_silence_are_nothing_to_tell():
    assert found(busy(64.0, util=3.0)) == {}
    assert found(busy(None)) == {}
    assert found((*busy(0.0, 9), *busy(64.0, 1))) == {}
    assert found(busy(64.0, count=3)) == {}


def test_that_heat_is_told_once():
    rows = tuple(
        dataclasses.replace(s, values={**s.values, "gpu.CUDA0.temperature": 88.0, "gpu.CUDA0.clock": clock})
        for s, clock in zip(busy(64.0), (2500,) * 5 + (1200,) * 5, strict=True)
    )
    assert list(found(rows)) == ["throttled"]


def test_that_the_sentence_names_the_limit():
    told = found(busy(4.0, **{"gpu.CUDA0.power_limit_w": 175.0}))["held_back_power_cap"]
    assert "175 W" in say_problem(told)
