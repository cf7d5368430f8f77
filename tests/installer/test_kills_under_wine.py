"""A killed Windows Lanewise takes its llama-server.exe along: a share of ``python -m benchmarks.kill_tests --wine``."""

from __future__ import annotations

from pathlib import Path

from benchmarks.kill_tests import TINY_MODEL, kill_rounds, lanewise_command, plain_command
from benchmarks.kill_tests_wine import running
from installer.windows.wine_prefix import WinePrefix


def test_that_no_server_outlives_a_lanewise_that_is_terminated_at_any_moment(
    prefix: WinePrefix, display: str, llama_server: Path
) -> None:
    with running(prefix, llama_server, display) as arena:
        ours = kill_rounds(arena, lanewise_command(arena), TINY_MODEL, kills=3, seed=10, longest_s=1.0)
        arena.grace_s = 1.0  # the parent that takes no precautions shows that a server that is left is seen
        plain = kill_rounds(arena, plain_command(arena), TINY_MODEL, kills=1, seed=3, longest_s=0.1)
    assert (ours.kills, ours.orphans) == (3, 0)
    assert ours.with_server >= 2  # the third dies at any moment of its start
    assert (plain.with_server, plain.orphans) == (1, 1)
