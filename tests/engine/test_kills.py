"""A Lanewise that is killed takes its server along: a small share of ``benchmarks/kill_tests.py``."""

import pytest

from benchmarks.kill_tests import TINY_MODEL, ThisSystem, kill_rounds, lanewise_command

pytestmark = pytest.mark.engine


def test_that_no_server_outlives_a_lanewise_that_is_killed_at_any_moment(engine):
    arena = ThisSystem(engine.path)
    result = kill_rounds(arena, lanewise_command(arena), TINY_MODEL, kills=4, seed=7, longest_s=2.0)
    assert result.orphans == 0
    assert result.kills == 4
