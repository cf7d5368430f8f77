"""How the benchmarks of the live page judge: pairs against the drift of a machine, an interval instead of a guess."""

import random

import pytest

from benchmarks.soak import steps_of
from benchmarks.watching_cost import Block, interval_of_median, paired_differences, summary, verdict_of


def blocks_of(n_pairs, effect_percent, noise_percent=0.0, drift=0.0):
    """Watched, alone, alone, watched... on a machine that slows down all the while."""
    draw = random.Random(7)
    blocks = []
    for i in range(2 * n_pairs):
        is_watched = i % 4 in (0, 3)
        speed = 1000.0 * (1 - drift * i) * (1 + effect_percent / 100 * is_watched)
        speeds = tuple(speed * (1 + draw.gauss(0, noise_percent) / 100) for _ in range(9))
        blocks.append(Block(is_watched, 1.4 if is_watched else 0.2, speeds))
    return blocks


def test_that_a_steady_slowdown_of_the_machine_is_not_the_watchers():
    differences = paired_differences(blocks_of(16, 0.0, drift=0.005))
    assert sum(differences) / len(differences) == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize(
    ("effect", "noise", "verdict"),
    [(0.0, 1.0, "within noise"), (-1.0, 0.2, "small"), (-5.0, 1.0, "slower"), (0.0, 40.0, "too noisy to say")],
)
def test_that_the_verdict_is_what_the_interval_proves(effect, noise, verdict):
    told = summary(blocks_of(18, effect, noise), idle=0.1, server_cpus=(1,))
    assert told["verdict"] == verdict
    assert told["beyond_idle_percent"] == pytest.approx(1.3)
    assert (told["pairs"], told["requests"]) == (18, 324)


def test_that_a_pair_without_requests_is_left_out_and_no_pair_is_no_interval():
    empty = Block(True, 1.0, ())
    assert paired_differences([empty, Block(False, 1.0, (5.0,))]) == []
    assert interval_of_median([]) == (0.0, 0.0)
    assert interval_of_median([3.0] * 5) == (3.0, 3.0)
    assert verdict_of(-3.0, -2.5) == "slower"


def test_that_a_soaks_warm_up_is_two_minutes_or_a_tenth():
    for seconds, warm_up in ((3600.0, 360.0), (600.0, 120.0), (20.0, 10.0)):
        steps = steps_of(seconds)
        assert (steps[0], len(steps)) == (warm_up, 10)
        assert sum(steps) == pytest.approx(seconds)
