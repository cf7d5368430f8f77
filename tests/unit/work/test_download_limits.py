"""A server that trickles, or that never ends its head, is given up; what it brought is kept."""

import hashlib
import threading
from dataclasses import replace

import pytest

from app.common.problem import ProblemError
from app.words import say_problem
from app.work.downloads.fetch import fetch_bytes, fetch_files
from app.work.downloads.limits import Pace
from app.work.downloads.types import Patience, WantedFile
from tests.tools.file_server import FileServer

DATA = bytes(range(256)) * 800
SHA = hashlib.sha256(DATA).hexdigest()
USUAL = Patience()
HASTY = Patience(connect_s=5, silence_s=5, slow_s=0.05, tries=2, first_wait_s=0.001, longest_wait_s=0.01)


@pytest.fixture
def server():
    with FileServer() as running:
        yield running


@pytest.fixture
def wanted(server, tmp_path):
    return WantedFile((server.url("/f.bin"),), tmp_path / "f.bin", len(DATA), SHA)


def refusal(wanted):
    with pytest.raises(ProblemError) as caught:
        fetch_files([wanted], lambda _: None, lambda: False, HASTY)
    return caught.value.problem


def reads(*rows):
    """The verdicts of a pace over reads of (seconds, bytes)."""
    now = [0.0]
    pace = Pace(USUAL, lambda: now[0])
    verdicts = []
    for seconds, n_bytes in rows:
        pace.began()
        now[0] += seconds
        verdicts.append(pace.got(n_bytes))
    return verdicts


def test_that_a_byte_every_half_second_is_a_stall_after_half_a_minute():
    assert reads(*[(0.5, 1)] * 60) == [True] * 59 + [False]


def test_that_a_slow_line_a_pause_and_a_busy_disk_are_none():
    assert all(reads(*[(1.0, 1100)] * 100))
    assert all(reads((25.0, 1 << 20), (25.0, 1), (9.0, 1 << 16)))
    assert all(reads(*[(0.0, 1)] * 10_000))


def test_that_one_read_that_hangs_beyond_a_sockets_own_patience_is_told():
    now = [0.0]
    pace = Pace(USUAL, lambda: now[0])
    now[0] = 500.0
    assert not pace.hangs()
    pace.began()
    now[0] += 59.0
    assert not pace.hangs()
    now[0] += 2.0
    assert pace.hangs()


def test_that_a_mirror_that_trickles_is_given_up_and_keeps_what_came(server, wanted):
    server.put("/f.bin", DATA, trickle=threading.Event())
    problem = refusal(wanted)
    assert problem.code == "download_slow"
    assert "less than 1 KiB a second" in say_problem(problem)
    assert len(server.asked) == HASTY.tries
    assert 0 < wanted.part.stat().st_size < 2000


def test_that_another_mirror_goes_on_where_a_trickling_one_was_left(server, wanted):
    server.put("/f.bin", DATA, trickle=threading.Event())
    server.put("/mirror/f.bin", DATA)
    both = replace(wanted, urls=(*wanted.urls, server.url("/mirror/f.bin")))
    (fetched,) = fetch_files([both], lambda _: None, lambda: False, HASTY)
    assert fetched.sha256 == SHA
    assert server.asked[-1][1].startswith("bytes=")


def test_that_a_head_of_more_than_64_kib_is_refused_at_once(server, wanted):
    server.put("/f.bin", DATA, headers={f"X-{i}": "x" * 2000 for i in range(40)})
    problem = refusal(wanted)
    assert problem.code == "download_head_too_large"
    assert "64 KiB" in say_problem(problem)
    assert len(server.asked) == 1
    server.put("/one", DATA, headers={"X-1": "x" * 70_000})
    with pytest.raises(ProblemError) as caught:
        fetch_bytes(server.url("/one"), 1 << 20, lambda: False, HASTY)
    assert caught.value.problem.code == "download_head_too_large"


def test_that_a_head_of_fifty_kib_is_none_of_ours_to_refuse(server, wanted):
    server.put("/f.bin", DATA, headers={f"X-{i}": "x" * 2000 for i in range(25)})
    (fetched,) = fetch_files([wanted], lambda _: None, lambda: False, HASTY)
    assert fetched.sha256 == SHA
