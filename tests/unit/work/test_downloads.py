"""Files come whole or not at all, whatever the server does; what has arrived is kept."""

import errno
import hashlib
import io
import json
import random
import ssl
import threading
from collections import deque
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.common.problem import ProblemError
from app.words import say_problem
from app.work.downloads import part, space
from app.work.downloads.addresses import parse_address, proxy_for, shown
from app.work.downloads.fetch import fetch_bytes, fetch_files
from app.work.downloads.http import _explained, retry_after_s
from app.work.downloads.meter import Meter
from app.work.downloads.types import Patience, WantedFile
from tests.tools.file_server import FileServer

DATA = random.Random(7).randbytes(300_000)
SHA = hashlib.sha256(DATA).hexdigest()
HASTY = Patience(connect_s=5, silence_s=5, tries=4, first_wait_s=0.001, longest_wait_s=0.01)


@pytest.fixture
def server():
    with FileServer() as running:
        yield running


@pytest.fixture
def wanted(server, tmp_path):
    return WantedFile((server.url("/f.bin"),), tmp_path / "new" / "f.bin", len(DATA), SHA)


def fetch(*files, cancelled=lambda: False, told=None, patience=HASTY):
    return fetch_files(files, (told if told is not None else []).append, cancelled, patience)


def refusal(*files, **more):
    with pytest.raises(ProblemError) as caught:
        fetch(*files, **more)
    assert say_problem(caught.value.problem)
    return caught.value.problem


def left_over(wanted):
    return sorted(p.name for p in wanted.path.parent.iterdir())


def test_that_a_file_arrives_whole_and_nothing_else_stays(server, wanted):
    server.put("/f.bin", DATA)
    told = []
    (fetched,) = fetch(wanted, told=told)
    assert wanted.path.read_bytes() == DATA
    assert (fetched.sha256, fetched.size_bytes, fetched.was_there) == (SHA, len(DATA), False)
    assert left_over(wanted) == ["f.bin"]
    assert (told[-1].fraction, told[-1].done_bytes) == (1.0, len(DATA))


def test_that_it_goes_on_after_every_cut_and_never_asks_for_a_byte_twice(server, wanted):
    server.put("/f.bin", DATA, cuts=deque([1000, 70_000, 1, 100_000]))
    fetch(wanted)
    assert wanted.path.read_bytes() == DATA
    assert [asked[1] for asked in server.asked] == [
        None, "bytes=1000-", "bytes=71000-", "bytes=71001-", "bytes=171001-"
    ]  # fmt: skip


def test_that_cancelling_keeps_the_part_and_the_next_start_goes_on(server, wanted):
    served = server.put("/f.bin", DATA, hold=threading.Event(), hold_after=50_000)
    arrived = threading.Event()

    def on_progress(progress):
        if progress.file_bytes >= 50_000:
            arrived.set()

    with pytest.raises(ProblemError, match="download_cancelled"):
        fetch_files((wanted,), on_progress, arrived.is_set, HASTY)
    assert wanted.part.stat().st_size == 50_000
    served.hold = None
    fetch(wanted)
    assert wanted.path.read_bytes() == DATA
    assert server.asked[-1][1] == "bytes=50000-"


def test_that_a_part_without_a_published_hash_goes_on_only_with_the_same_version(server, wanted):
    wanted = replace(wanted, size_bytes=None, sha256=None)
    served = server.put("/f.bin", DATA, cuts=deque([1000, 0, 0, 0, 0]))
    assert refusal(wanted).code == "download_cut"
    assert json.loads(wanted.sidecar.read_text())["etag"] == '"1"'
    served.data, served.etag = DATA[::-1], '"2"'
    served.cuts.clear()
    fetch(wanted)
    assert server.asked[-1][1:] == ("bytes=1000-", '"1"')
    assert wanted.path.read_bytes() == DATA[::-1]


def test_that_a_server_without_ranges_or_names_begins_anew(server, wanted):
    server.put("/f.bin", DATA, ranges=False, etag=None, cuts=deque([1000]))
    fetch(replace(wanted, sha256=None))
    assert wanted.path.read_bytes() == DATA


def test_that_an_old_part_of_another_version_costs_one_more_round(server, wanted):
    wanted.path.parent.mkdir()
    wanted.part.write_bytes(b"x" * 1000)
    server.put("/f.bin", DATA)
    fetch(wanted)
    assert wanted.path.read_bytes() == DATA
    assert [asked[1] for asked in server.asked] == ["bytes=1000-", None]


def test_that_a_part_that_is_whole_is_only_checked(server, wanted):
    wanted.path.parent.mkdir()
    wanted.part.write_bytes(DATA)
    told = []
    fetch(wanted, told=told)
    assert server.asked == []
    assert told[0].file_bytes == len(DATA)
    assert told[0].bytes_per_s is None
    assert wanted.path.read_bytes() == DATA


def test_that_a_longer_part_of_something_else_is_thrown_away(server, wanted):
    wanted = replace(wanted, size_bytes=None)
    wanted.path.parent.mkdir()
    wanted.part.write_bytes(DATA + b"more")
    server.put("/f.bin", DATA)
    fetch(wanted)
    assert wanted.path.read_bytes() == DATA


def test_that_wrong_bytes_are_thrown_away_and_named(server, wanted):
    server.put("/f.bin", DATA[:-1] + b"!")
    problem = refusal(wanted)
    assert problem.code == "download_damaged"
    assert SHA in problem.evidence[0]
    assert wanted.part.stat().st_size == 0


def test_that_a_second_address_helps_where_the_first_lies(server, wanted, tmp_path):
    server.put("/f.bin", DATA[:-1] + b"!")
    server.put("/mirror/f.bin", DATA)
    fetch(replace(wanted, urls=(*wanted.urls, server.url("/gone"), server.url("/mirror/f.bin"))))
    assert wanted.path.read_bytes() == DATA


@pytest.mark.parametrize("size", [len(DATA) - 1, len(DATA) + 1])
def test_that_another_size_than_the_published_one_is_no_download(server, wanted, size):
    server.put("/f.bin", (DATA + b"!")[:size])
    problem = refusal(wanted)
    assert (problem.code, problem.params["found"]) == ("download_size_differs", size)
    assert not wanted.path.exists()


def test_that_a_body_without_length_ends_at_the_expected_size(server, wanted):
    server.put("/f.bin", DATA + b"more", length=False)
    assert refusal(wanted).code == "download_too_long"
    server.put("/f.bin", DATA, length=False)
    fetch(replace(wanted, size_bytes=None))
    assert wanted.path.read_bytes() == DATA


def test_that_a_length_that_is_a_lie_is_a_cut(server, wanted):
    server.put("/f.bin", DATA, told_length=len(DATA) + 5, ranges=False)
    assert refusal(replace(wanted, size_bytes=None, sha256=None)).code == "download_cut"


@pytest.mark.parametrize(
    ("status", "code"),
    [(404, "download_not_found"), (403, "download_forbidden"), (401, "download_forbidden"), (418, "download_http")],
)
def test_that_a_refusal_is_told_at_once(server, wanted, status, code):
    server.put("/f.bin", statuses=deque([status] * 9))
    assert refusal(wanted).code == code
    assert len(server.asked) == 1


def test_that_a_busy_server_is_asked_again_and_then_named(server, wanted):
    server.put("/f.bin", DATA, statuses=deque([503, 429]), headers={"Retry-After": "0"})
    fetch(wanted)
    assert wanted.path.read_bytes() == DATA
    wanted.path.unlink()
    server.put("/f.bin", DATA, statuses=deque([429] * 9))
    assert refusal(wanted).code == "download_too_many"
    assert len(server.asked) == 3 + HASTY.tries


@pytest.mark.parametrize(("status", "headers"), [(429, {"Retry-After": "3600"}), (403, {"X-RateLimit-Remaining": "0"})])
def test_that_a_server_that_wants_an_hour_of_peace_is_left_in_peace(server, wanted, status, headers):
    server.put("/f.bin", statuses=deque([status] * 9), headers=headers)
    assert refusal(wanted).code == "download_too_many"
    assert len(server.asked) == 1


def test_that_redirects_are_followed_but_not_in_circles(server, wanted):
    server.put("/f.bin", statuses=deque([302, 302]), location="/a?x=1")
    server.put("/a", statuses=deque([307]), location=server.url("/b b").replace(" ", "%20"))
    server.put("/b%20b", DATA)
    fetch(wanted)
    assert wanted.path.read_bytes() == DATA
    wanted.path.unlink()
    server.put("/a", statuses=deque([302] * 9), location="/f.bin")
    server.put("/f.bin", statuses=deque([302] * 9), location="/a")
    assert refusal(wanted).code == "download_redirects"


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "ftp://host/f", "//", "http://", "http://[", "gopher:x", ""]
)
def test_that_a_redirect_to_anything_but_the_web_is_refused(server, wanted, location):
    server.put("/f.bin", statuses=deque([302] * 9), location=location)
    assert refusal(wanted).code in ("download_redirect_refused", "download_redirects")


def test_that_a_login_page_is_no_file(server, wanted):
    server.put("/f.bin", b"<html>please log in</html>", content_type="text/html; charset=utf-8")
    assert refusal(replace(wanted, size_bytes=None, sha256=None)).code == "download_is_page"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "x", "http://", "http://a b/", "ftp://h/f", "http://h:99999/f"])
def test_that_an_address_that_is_none_is_told_before_anything_is_written(tmp_path, url):
    assert refusal(WantedFile((url,), tmp_path / "f" / "f.bin")).code == "download_address_bad"
    assert not (tmp_path / "f").exists()


def test_that_nobody_listening_is_told_after_some_tries(tmp_path):
    wanted = WantedFile(("http://127.0.0.1:1/f",), tmp_path / "f")
    told = []
    assert refusal(wanted, told=told).code == "download_unreachable"
    assert [progress.retry for progress in told if progress.retry] == [1, 2, 3]


@pytest.mark.slow
def test_that_a_server_that_does_not_encrypt_is_no_https_server(server, tmp_path):
    server.put("/f", DATA)
    problem = refusal(WantedFile((server.url("/f").replace("http://", "https://"),), tmp_path / "f"))
    assert problem.code == "download_tls"
    assert not (tmp_path / "f").exists()


def test_that_a_throttled_transfer_tells_its_speed_while_it_waits(server, wanted):
    served = server.put("/f.bin", DATA, hold=threading.Event(), hold_after=50_000)
    told = []

    def on_progress(progress):
        told.append(progress)
        if progress.file_bytes >= 50_000 and len([p for p in told if p.file_bytes == progress.file_bytes]) >= 3:
            served.hold.set()

    fetch_files((wanted,), on_progress, lambda: False, HASTY)
    waiting = [progress.bytes_per_s for progress in told if progress.file_bytes == 50_000]
    assert len(waiting) >= 3
    assert waiting[-1] < waiting[0] or waiting[0] is None
    assert wanted.path.read_bytes() == DATA


def test_that_a_file_that_is_there_is_used_or_left_alone(server, wanted):
    wanted.path.parent.mkdir()
    wanted.path.write_bytes(DATA)
    (fetched,) = fetch(wanted)
    assert fetched.was_there
    assert server.asked == []
    wanted.path.write_bytes(b"the user's own")
    assert refusal(wanted).code == "download_exists"
    assert wanted.path.read_bytes() == b"the user's own"


def test_that_several_files_count_as_one_download(server, tmp_path):
    files = []
    for i in range(3):
        served = server.put(f"/{i}", DATA[: 1000 * (i + 1)])
        files.append(WantedFile((server.url(f"/{i}"),), tmp_path / f"m-{i}", len(served.data), served.sha256))
    told = []
    fetch(*files, told=told)
    assert (told[-1].done_bytes, told[-1].total_bytes, told[-1].file_number) == (6000, 6000, 3)
    assert all(file.path.stat().st_size == file.size_bytes for file in files)


def test_that_a_disk_that_is_too_small_is_told_before_the_first_byte(server, wanted, monkeypatch):
    monkeypatch.setattr(space, "free_bytes", lambda folder: 1000)
    problem = refusal(wanted)
    assert (problem.code, problem.params["free"]) == ("download_no_space", 1000)
    assert server.asked == []


class SmallDisk(io.FileIO):
    """A file on a disk with room for 100 000 bytes."""

    def write(self, data):
        if self.tell() + len(data) > 100_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


def test_that_a_disk_that_fills_up_keeps_what_is_there(server, wanted, monkeypatch):
    server.put("/f.bin", DATA, cuts=deque([60_000]))
    monkeypatch.setattr(part, "open", lambda path, mode: SmallDisk(path, "a+"), raising=False)
    problem = refusal(wanted)
    assert problem.code == "download_no_space"
    assert problem.params["free"] > 0
    assert wanted.part.stat().st_size >= 60_000
    monkeypatch.undo()
    fetch(wanted)
    assert wanted.path.read_bytes() == DATA


def test_that_a_folder_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "file").write_text("no folder")
    server.put("/f", DATA)
    assert refusal(WantedFile((server.url("/f"),), tmp_path / "file" / "f")).code == "download_disk"


def test_that_two_downloads_of_one_file_do_not_mix(server, wanted):
    hold = threading.Event()
    served = server.put("/f.bin", DATA, hold=hold, hold_after=10)
    began = threading.Event()
    first = threading.Thread(target=lambda: fetch_files((wanted,), lambda p: began.set(), lambda: False, HASTY))
    first.start()
    assert began.wait(20)
    while not server.asked:
        began.wait(0.01)
    assert refusal(wanted).code == "download_busy"
    served.hold = None
    hold.set()
    first.join()
    assert wanted.path.read_bytes() == DATA
    assert left_over(wanted) == ["f.bin"]


@pytest.mark.parametrize("text", ["[", "{}", '{"etag": 5, "sha256": null}', "[" * 9999, '{"size_bytes": true}'])
def test_that_a_damaged_sidecar_only_costs_the_part(server, wanted, text):
    wanted = replace(wanted, sha256=None)
    wanted.path.parent.mkdir()
    wanted.part.write_bytes(b"x" * 10)
    wanted.sidecar.write_text(text)
    server.put("/f.bin", DATA)
    fetch(wanted)
    assert wanted.path.read_bytes() == DATA


def test_that_a_small_answer_is_bounded(server):
    server.put("/list", b"[1, 2]")
    assert fetch_bytes(server.url("/list"), 100, lambda: False, HASTY) == b"[1, 2]"
    server.put("/list", b"x" * 101)
    with pytest.raises(ProblemError, match="download_too_long"):
        fetch_bytes(server.url("/list"), 100, lambda: False, HASTY)


def test_that_a_proxy_of_the_environment_is_used_and_its_password_not_shown(server, tmp_path, monkeypatch):
    server.put("http://files.example/f", DATA)
    monkeypatch.setenv("http_proxy", server.base.replace("http://", "http://me:secret@"))
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    fetch(WantedFile(("http://files.example/f",), tmp_path / "f", len(DATA), SHA))
    assert (tmp_path / "f").read_bytes() == DATA
    assert proxy_for(parse_address("http://files.example/f")).authorization.startswith("Basic ")
    monkeypatch.setenv("http_proxy", "socks5://me:secret@host:1080")
    problem = refusal(WantedFile(("http://files.example/g",), tmp_path / "g"))
    assert problem.code == "download_proxy_kind"
    assert "secret" not in str(problem)


def test_that_an_address_is_shown_without_secrets():
    assert shown("https://user:pw@host/path/f.bin?token=abc") == "https://host/path/f.bin"
    assert len(shown("https://host/" + "x" * 999)) == 120


def test_that_a_certificate_that_proves_nothing_is_not_tried_again():
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_message = "self-signed certificate"
    explained = _explained(error, "host")
    assert isinstance(explained, ProblemError)
    assert (explained.problem.code, explained.problem.params["why"]) == (
        "download_certificate", "self-signed certificate"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), (None, None), ("soon", None), ("Sun, 29 Nov 2026 10:00:30 GMT", 30.0), ("-3", None)],
)
def test_that_a_servers_wish_for_patience_is_read(value, seconds):
    assert retry_after_s(value, datetime(2026, 11, 29, 10, 0, 0, tzinfo=UTC)) == seconds


def test_that_speed_and_time_left_come_from_the_last_seconds(tmp_path):
    now = [0.0]
    told = []
    meter = Meter((WantedFile(("http://h/f",), tmp_path / "f", 1000),), told.append, lambda: now[0])
    meter.begin(0)
    for second in range(11):
        now[0] = float(second)
        meter.at(second * 10 if second < 6 else 50 + (second - 5) * 100)
    assert told[-1].bytes_per_s == pytest.approx(100, rel=0.2)
    assert told[-1].seconds_left == pytest.approx((1000 - 550) / told[-1].bytes_per_s)


@pytest.mark.slow
def test_that_ten_random_cuts_cost_no_byte_twice(server, wanted):
    chooser = random.Random(20261129)
    for _ in range(5):
        wanted.path.unlink(missing_ok=True)
        places = sorted(chooser.sample(range(1, len(DATA)), 10))
        server.put("/f.bin", DATA, cuts=deque(b - a for a, b in zip([0, *places], places, strict=False)))
        server.asked.clear()
        fetch(wanted)
        assert wanted.path.read_bytes() == DATA
        assert [asked[1] for asked in server.asked] == [None, *(f"bytes={place}-" for place in places)]
