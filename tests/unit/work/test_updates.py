"""Looking for newer versions: from a local server that answers well, badly, not at all, or with malice."""

import json
import socket

import pytest

from app.common.paths import app_paths
from app.common.problem import ProblemError
from app.engine.release_choice import Target, this_target
from app.words import Language, say_problem, set_language
from app.work.downloads.types import Patience
from app.work.updates import check_update_address, look_for_updates, newest_app, newest_engine, newest_release
from tests.tools.file_server import FileServer
from tests.tools.releases import API, Mirror

QUICK = Patience(connect_s=2, silence_s=2, slow_s=0.2, tries=1, first_wait_s=0.01)
LINUX = Target("ubuntu", this_target().arch)
LIST = "/lanewise/releases"


def never():
    return False


@pytest.fixture
def server():
    with FileServer() as made:
        yield made


def release(tag, **more):
    page = f"https://example.org/lanewise/{tag}"
    return {"tag_name": tag, "html_url": page, "published_at": "2026-12-24T10:00:00Z", **more}


def put(server, *releases, **more):
    server.put(LIST, json.dumps(releases).encode(), content_type="application/json", **more)


def ask(server, here="0.1.0"):
    return newest_app(server.url(LIST), here, never, QUICK)


def test_that_the_highest_finished_version_is_told_with_its_page(server):
    put(
        server,
        release("v0.2.0"),
        release("v0.10.1"),
        release("v2.0.0", prerelease=True),
        release("v3.0.0", draft=True),
        release("nightly"),
    )
    found = ask(server)
    assert (found.here, found.newest, found.is_newer) == ("0.1.0", "0.10.1", True)
    assert found.page == "https://example.org/lanewise/v0.10.1"


@pytest.mark.parametrize(
    ("here", "is_newer"), [("0.2", False), ("0.2.0", False), ("0.1.9", True), ("1.0", False), (None, None), ("x", None)]
)
def test_that_versions_are_compared_as_numbers(server, here, is_newer):
    put(server, release("0.2.0"))
    assert ask(server, here).is_newer is is_newer


def test_that_a_single_release_is_a_list_too_and_an_empty_list_is_told():
    assert newest_release(json.dumps(release("v1.4")).encode()).newest == "1.4"
    assert newest_release(b"[]") is None
    assert newest_release(json.dumps([7, None, {"tag_name": 3}, {"tag_name": "v1" * 900}]).encode()) is None


@pytest.mark.parametrize(
    "page",
    [
        "javascript:alert(1)", "file:///etc/passwd", "https://user:word@host/", "https://host/\u202egpj.exe",
        "http://", "x" * 10, "https://host/" + "a" * 900, "https://host/a b", 7, None,
    ],
)  # fmt: skip
def test_that_a_page_that_is_no_plain_web_address_is_no_link(page):
    found = newest_release(json.dumps([release("v1.0", html_url=page)]).encode())
    assert (found.newest, found.page) == ("1.0", None)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"<!doctype html><title>Sign in</title>", "JSONDecodeError"),
        (b'{"message": "API rate limit exceeded"}', "API rate limit exceeded"),
        (b"7", "int"),
        (b"[" * 100_000, "RecursionError"),
        (b"\xff\xfe", "UnicodeDecodeError"),
    ],
)
def test_that_what_is_no_list_is_told_in_a_sentence(server, body, why):
    server.put(LIST, body)
    problem = ask(server).problem
    assert problem.code in ("update_list_bad", "download_is_page")
    assert why in say_problem(problem) or problem.code == "download_is_page"


def test_that_a_limit_of_requests_is_told_as_one(server):
    put(server, headers={"X-RateLimit-Remaining": "0"})
    server.files[LIST].statuses.append(403)
    assert ask(server).problem.code == "download_too_many"
    put(server)
    server.files[LIST].statuses.append(429)
    assert ask(server).problem.code == "download_too_many"


def test_that_an_answer_without_end_a_loop_and_nobody_are_told(server):
    server.put(LIST, b" " * (5 << 20))
    assert ask(server).problem.code == "download_too_long"
    served = server.put(LIST, location=server.url(LIST))
    served.statuses.extend([302] * 40)
    assert ask(server).problem.code == "download_redirects"
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    assert newest_app(f"http://127.0.0.1:{port}/", "1", never, QUICK).problem.code == "download_unreachable"


def test_that_the_proxy_of_the_system_is_asked(server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.base)
    monkeypatch.setenv("no_proxy", "")
    server.put("http://updates.invalid/list", json.dumps([release("v9.0")]).encode())
    assert newest_app("http://updates.invalid/list", "0.1.0", never, QUICK).newest == "9.0"
    assert server.asked[0][0] == "http://updates.invalid/list"


def test_that_the_engine_is_compared_by_its_build_and_only_with_packages_for_this_computer(server):
    mirror = Mirror(server)
    mirror.add("", {"llama-server": b""})
    found = newest_engine(app_paths(), mirror.base, "b11001", never, QUICK, LINUX)
    assert (found.newest, found.is_newer) == ("b11434", True)
    assert found.page == "https://github.com/ggml-org/llama.cpp/releases/tag/b11434"
    assert newest_engine(app_paths(), mirror.base, "b11434", never, QUICK, LINUX).is_newer is False
    assert newest_engine(app_paths(), mirror.base, None, never, QUICK, LINUX).is_newer is None
    elsewhere = newest_engine(app_paths(), mirror.base, "b1", never, QUICK, Target("win", "x64"))
    assert elsewhere.problem.code == "release_none_here"


@pytest.mark.parametrize("language", list(Language))
def test_that_one_answer_does_not_need_the_other(server, language):
    put(server, release("v1.0"))
    found = look_for_updates(server.url(LIST), "0.1.0", server.base, "b1", app_paths(), never, QUICK)
    assert found.app.newest == "1.0"
    assert found.engine.problem.code == "download_not_found"
    nobody = look_for_updates(None, "0.1.0", server.base, "b1", app_paths(), never, QUICK)
    set_language(language)
    assert nobody.app.problem.code == "update_no_address"
    assert say_problem(nobody.app.problem)
    assert [path for path, *_ in server.asked].count(LIST) == 1
    assert API in {path.partition("?")[0] for path, *_ in server.asked}


def test_that_stopping_ends_it():
    with pytest.raises(ProblemError) as caught:
        look_for_updates("http://127.0.0.1:9/", "1", None, None, app_paths(), lambda: True, QUICK)
    assert caught.value.problem.code == "download_cancelled"


def test_that_an_address_is_checked_when_it_is_typed():
    check_update_address("https://example.org/releases")
    with pytest.raises(ProblemError):
        check_update_address("ftp://example.org")
