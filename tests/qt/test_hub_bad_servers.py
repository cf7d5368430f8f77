"""Getting a model as the window does it, from servers, links, networks and disks that do their worst."""

import contextlib
import hashlib
import sys
import threading
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.common.capabilities import Capabilities
from app.hardware.snapshot_file import load_snapshot
from app.planner.devices import DeviceWishes
from app.session.hub_controller import HubController, HubPhase
from app.session.jobs import JobRunner
from app.settings import Settings
from app.words import say_problem
from app.work.downloads.types import Patience
from app.work.library.judge import Judge
from tests.tools.file_server import FileServer
from tests.tools.hardware_data import DATA
from tests.tools.hub_pages import HTML, Hub

QUICK = Patience(connect_s=5.0, silence_s=5.0, tries=4, first_wait_s=0.01, longest_wait_s=0.02)
TINY = (DATA.parent / "tiny-moe-2l.gguf").read_bytes()
FILE = "small-Q4_K_M.gguf"
REPOSITORY = "me/small-GGUF"
RESOLVED = f"/{REPOSITORY}/resolve/main/{FILE}"


@pytest.fixture
def hub():
    with FileServer() as server:
        yield Hub(server)


@pytest.fixture
def cdn():
    """Another host, as the real hub sends everybody to."""
    with FileServer() as server:
        yield server


@pytest.fixture
def at(qtbot, hub, tmp_path):
    """The controller with the mirror's address set to the local hub, and what it does in one step each."""
    jobs = JobRunner()
    snapshot = load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")
    judge = Judge(snapshot, Capabilities(frozenset()), device_wishes=DeviceWishes({"CUDA0": 8000}, 16000))
    folder = tmp_path / "模型 models"
    settings = Settings(model_mirror=hub.base)
    made = HubController(jobs, lambda: judge, lambda: settings, lambda: folder)
    made.patience = QUICK

    def look(text=REPOSITORY):
        made.look(text)
        qtbot.waitUntil(lambda: not made.state.is_busy, timeout=20_000)
        return made.state

    def fetch(index=0):
        made.fetch(index)
        qtbot.waitUntil(lambda: not made.state.is_busy, timeout=20_000)
        return made.state

    yield SimpleNamespace(hub=made, look=look, fetch=fetch, folder=folder, jobs=jobs)
    made.close()
    jobs.close()


def code(state):
    return None if state.problem is None else state.problem.code


def served(hub, **more):
    hub.hugging_face(REPOSITORY, {FILE: TINY}, **more)
    return hub.server.files[RESOLVED]


def models(at):
    return sorted(path.name for path in at.folder.rglob("*") if path.suffix == ".gguf")


def test_that_a_connection_cut_again_and_again_still_ends_with_the_right_hash(at, hub):
    at_first = served(hub)
    at.look()
    at_first.cuts = deque([5000, 1, 70_000, 3])
    assert code(at.fetch()) is None
    assert at.hub.state.phase is HubPhase.DONE
    assert Path(at.hub.state.done.path).read_bytes() == TINY
    ranges = [asked for path, asked, _ in hub.server.asked if path == RESOLVED][1:]
    assert ranges == [None, "bytes=5000-", "bytes=5001-", "bytes=75001-", "bytes=75004-"]


def test_that_a_redirect_to_another_host_keeps_the_range_and_takes_no_secret_along(at, hub, cdn):
    hub.hugging_face(REPOSITORY, {FILE: TINY})
    first = hub.server.files[RESOLVED]
    first.location = cdn.url("/signed/blob?X-Sig=abc%2Fdef").replace("127.0.0.1", "localhost")
    first.headers = {"Set-Cookie": "session=1"}
    first.statuses.extend([302] * 20)
    blob = cdn.put("/signed/blob", TINY)
    blob.cuts = deque([len(TINY), 100_000])
    state = at.look()
    assert state.choices.model is not None, state.problem
    assert code(at.fetch()) is None
    assert Path(at.hub.state.done.path).read_bytes() == TINY
    asked = [wanted for _, wanted, _ in cdn.asked]
    assert asked[1:] == [None, "bytes=100000-"]
    assert all(path.endswith("X-Sig=abc%2Fdef") for path, *_ in cdn.asked)
    for head in cdn.heads:
        assert head["host"].startswith("localhost")
        assert not {"authorization", "cookie", "referer", "proxy-authorization"} & set(head)


def test_that_a_name_and_password_in_a_link_are_neither_sent_on_nor_shown(at, hub):
    hub.server.put("/files/small.gguf", TINY)
    at.look(hub.server.url("/files/small.gguf").replace("http://", "http://me:geheim@"))
    at.fetch()
    assert not any("authorization" in head for head in hub.server.heads)
    missing = at.look(hub.server.url("/files/gone.gguf").replace("http://", "http://me:geheim@"))
    assert "geheim" not in say_problem(missing.problem)


def test_that_a_circle_of_redirects_and_one_out_of_the_web_are_told(at, hub):
    file = served(hub)
    at.look()
    for location, expected in ((hub.server.url(RESOLVED), "download_redirects"), ("file:///etc/passwd", None)):
        file.location = location
        file.statuses = deque([302] * 20)
        assert code(at.fetch()) == (expected or "download_redirect_refused")
        file.statuses.clear()
    assert models(at) == []


@pytest.mark.parametrize("lie", ["size", "hash", "length", "bytes"])
def test_that_no_lie_becomes_a_model_and_the_list_stays_for_another_try(at, hub, lie):
    lies = {"size": {"size_of": lambda data: len(data) + 7}, "hash": {"hash_of": lambda _: "ab" * 32}}.get(lie, {})
    file = served(hub, **lies)
    at.look()
    if lie == "length":
        file.told_length = len(TINY) + 1000
    if lie == "bytes":
        file.data = TINY[:-9] + b"\1" * 9
    state = at.fetch()
    expected = {"size": "download_size_differs", "length": "download_size_differs"}.get(lie, "download_damaged")
    assert code(state) == expected
    assert state.phase is HubPhase.CHOOSING
    assert state.choices.choices
    assert models(at) == []
    served(hub)
    at.look()
    assert code(at.fetch()) is None
    assert models(at) == [FILE]


def test_that_a_login_page_instead_of_the_file_is_named_with_or_without_its_content_type(at, hub):
    file = served(hub)
    at.look()
    file.content_type, file.data = "text/html; charset=utf-8", HTML
    assert code(at.fetch()) in ("download_is_page", "download_size_differs")
    hub.server.put("/files/page.gguf", HTML + b" " * 600, content_type="text/html")
    at.look(hub.server.url("/files/page.gguf"))
    assert code(at.fetch()) == "download_is_page"
    hub.server.files["/files/page.gguf"].content_type = "application/octet-stream"
    assert code(at.fetch()) == "not_gguf_web_page"
    assert models(at) == []


def test_that_a_file_that_ends_early_without_a_hash_is_no_model(at, hub):
    hub.server.put("/files/half.gguf", TINY[: len(TINY) // 2], length=False)
    state = at.look(hub.server.url("/files/half.gguf"))
    state = at.fetch()
    assert code(state) is not None
    assert code(state).startswith(("truncated", "file_", "gguf_", "model_", "not_", "header_")), code(state)
    assert models(at) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://huggingface.co/datasets/me/words", "hub_link_no_model"),
        ("https://huggingface.co/blog/moe", "hub_link_no_model"),
        ("https://github.com/ggml-org/llama.cpp", "hub_link_no_model"),
        ("ein Modell bitte", "hub_link_none"),
        ("file:///home/me/x.gguf", "download_address_bad"),
    ],
)
def test_that_a_page_that_is_no_model_asks_nobody(at, hub, text, expected):
    state = at.look(text)
    assert code(state) == expected
    assert state.phase is HubPhase.IDLE
    assert say_problem(state.problem)
    assert hub.server.asked == []


def test_that_a_page_behind_a_good_address_is_told(at, hub):
    assert code(at.look()) == "hub_repository_missing"
    hub.server.put(f"/api/models/{REPOSITORY}/tree/main?recursive=true", HTML, content_type="text/html")
    assert code(at.look()) == "hub_no_listing"
    hub.hugging_face(REPOSITORY, {"README.md": b"words", "model.safetensors": b"x"})
    state = at.look()
    assert code(state) == "hub_no_gguf"
    assert state.choices is None


def test_that_two_hundred_files_in_nested_folders_are_listed_and_namesakes_do_not_meet(at, hub):
    other = TINY[:-1] + bytes([TINY[-1] ^ 1])
    files = {
        f"deep/er/{quant}/n-{n:03d}-{quant}.gguf": b"x" * (n + 1) for n in range(98) for quant in ("Q4_K_M", "Q8_0")
    }
    files |= {"Q4_K_M/model.gguf": TINY, "Q8_0/Model.gguf": other, "top-Q6_K.gguf": TINY, "README.md": b"r"}
    hub.hugging_face(REPOSITORY, files, per_page=60)
    choices = at.look().choices.choices
    assert len(choices) == 199
    by_path = {choice.set.files[0].path: index for index, choice in enumerate(choices)}
    for path, data in (("Q4_K_M/model.gguf", TINY), ("Q8_0/Model.gguf", other), ("top-Q6_K.gguf", TINY)):
        assert code(at.fetch(by_path[path])) is None, path
        assert Path(at.hub.state.done.path).read_bytes() == data
    base = at.folder / "me" / "small-GGUF"
    here = sorted(str(path.relative_to(base)) for path in base.rglob("*.gguf"))
    assert here == [str(Path("Q4_K_M/model.gguf")), str(Path("Q8_0/Model.gguf")), "top-Q6_K.gguf"]


@pytest.mark.skipif(sys.platform == "win32", reason="a limit of Unix stands in for the full disk")
def test_that_a_disk_that_ends_keeps_what_came_and_the_rest_comes_later(at, hub):
    import resource

    served(hub)
    at.look()
    with file_limit(resource, 200_000):
        state = at.fetch()
    assert code(state) == "download_file_too_large"
    (part,) = at.folder.rglob("*.part")
    assert 0 < part.stat().st_size <= 200_000
    there = part.stat().st_size
    asked = len(hub.server.asked)
    assert code(at.fetch()) is None
    assert [wanted for _, wanted, _ in hub.server.asked[asked:]] == [f"bytes={there}-"]
    assert hashlib.sha256(Path(at.hub.state.done.path).read_bytes()).digest() == hashlib.sha256(TINY).digest()


@contextlib.contextmanager
def file_limit(resource, n_bytes):
    """No file of this process may become longer: the kernel refuses the write, as a full or small disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_that_a_disk_without_room_is_told_before_a_byte_is_asked_for(at, hub, monkeypatch):
    served(hub)
    at.look()
    asked = len(hub.server.asked)
    monkeypatch.setattr("app.work.downloads.space.free_bytes", lambda _: 1000)
    assert code(at.fetch()) == "download_no_space"
    assert len(hub.server.asked) == asked
    assert models(at) == []


def test_that_a_slow_server_shows_progress_and_cancelling_ends_it_at_once(at, hub, qtbot):
    file = served(hub)
    at.look()
    file.hold, file.hold_after = threading.Event(), 50_000
    at.hub.fetch(0)
    qtbot.waitUntil(lambda: at.hub.state.progress is not None and at.hub.state.progress.done_bytes >= 50_000)
    assert at.hub.state.progress.total_bytes == len(TINY)
    at.hub.cancel()
    qtbot.waitUntil(lambda: not at.hub.state.is_busy, timeout=3000)
    assert code(at.hub.state) == "download_cancelled"
    file.hold.set()
    file.hold = None
    (part,) = at.folder.rglob("*.part")
    assert part.stat().st_size == 50_000
    assert code(at.fetch()) is None


def test_that_a_server_that_trickles_is_given_up_with_what_came(at, hub):
    at.hub.patience = Patience(tries=2, first_wait_s=0.01, longest_wait_s=0.02, slow_s=0.2, least_bytes_per_s=1e6)
    file = served(hub)
    at.look()
    file.trickle = threading.Event()
    assert code(at.fetch()) == "download_slow"
    file.trickle.set()
    file.trickle = None
    at.hub.patience = QUICK
    assert code(at.fetch()) is None


def test_that_the_proxy_of_the_environment_carries_the_list_the_header_and_the_file(at, hub, monkeypatch):
    served(hub)
    official = "http://hub.invalid"
    for path in list(hub.server.files):
        hub.server.files[f"{official}{path}"] = hub.server.files[path]
    monkeypatch.setenv("http_proxy", hub.base.replace("http://", "http://me:geheim@"))
    monkeypatch.setenv("no_proxy", "")
    state = at.look(f"{official}/{REPOSITORY}/tree/main")
    assert state.choices.model is not None, state.problem
    assert code(at.fetch()) is None
    assert models(at) == [FILE]
    assert all(path.startswith(official) for path, *_ in hub.server.asked)
    assert all(head["proxy-authorization"].startswith("Basic ") for head in hub.server.heads)


def test_that_a_hub_that_counts_requests_is_told_as_such(at, hub):
    file = served(hub)
    at.look()
    file.statuses.extend([429] * 10)
    assert code(at.fetch()) == "download_too_many"
    file.statuses.clear()
    file.statuses.extend([503, 500])
    assert code(at.fetch()) is None
