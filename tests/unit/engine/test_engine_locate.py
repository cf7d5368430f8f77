"""Where engines are looked for, and in which order."""

import os

import pytest

from app.common.paths import AppPaths
from app.common.problem import ProblemError
from app.engine import locate
from app.engine.locate import MARKER, SERVER_NAME, find_engine, installed_engines


@pytest.fixture
def paths(tmp_path):
    return AppPaths(tmp_path / "config", tmp_path / "data", tmp_path / "cache")


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch, tmp_path):
    """No engine anywhere but where a test puts one."""
    monkeypatch.delenv("LANEWISE_ENGINE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(locate, "usual_folders", lambda: (tmp_path / "usual",))


def put_server(folder, *more):
    folder.mkdir(parents=True, exist_ok=True)
    for name in (SERVER_NAME, *more):
        (folder / name).write_text("")
        (folder / name).chmod(0o755)
    return folder / SERVER_NAME


def put_cached(paths, name, at):
    folder = paths.engines / name
    put_server(folder)
    (folder / MARKER).write_text("{}")
    os.utime(folder / MARKER, (at, at))
    return folder / SERVER_NAME


def test_that_a_bare_machine_has_no_engine(paths):
    assert find_engine(None, paths) is None


def test_that_a_named_program_is_taken_with_its_helpers(paths, tmp_path):
    suffix = ".exe" if SERVER_NAME.endswith(".exe") else ""
    server = put_server(tmp_path / "大 模型" / "bin", f"ggml-rpc-server{suffix}", f"llama-fit-params{suffix}")
    engine = find_engine(str(server), paths)
    assert engine.path == str(server)
    assert engine.rpc_server == str(server.parent / f"ggml-rpc-server{suffix}")
    assert engine.fit_params == str(server.parent / f"llama-fit-params{suffix}")


@pytest.mark.parametrize("below", ["", "bin", "build/bin", "build/bin/Release"])
def test_that_a_named_folder_is_searched_where_builds_put_it(paths, tmp_path, below):
    server = put_server(tmp_path / "llama" / below)
    assert find_engine(str(tmp_path / "llama"), paths).path == str(server)
    assert find_engine(str(tmp_path / "llama"), paths).rpc_server is None


def test_that_a_named_place_without_engine_is_an_error_and_not_a_surprise(paths, tmp_path, monkeypatch):
    put_cached(paths, "b1", 1)
    for wrong in (tmp_path / "nothing", tmp_path):
        with pytest.raises(ProblemError) as caught:
            find_engine(str(wrong), paths)
        assert caught.value.problem.code == "engine_not_found"
        assert caught.value.problem.params["path"] == str(wrong)
    monkeypatch.setenv("LANEWISE_ENGINE", str(tmp_path / "gone"))
    with pytest.raises(ProblemError, match="engine_not_found"):
        find_engine(None, paths)


def test_that_the_order_is_named_variable_cache_path_usual_folders(paths, tmp_path, monkeypatch):
    usual = put_server(tmp_path / "usual" / "build" / "bin")
    assert find_engine(None, paths).path == str(usual)
    on_path = put_server(tmp_path / "path")
    assert find_engine(None, paths).path == str(on_path)
    put_cached(paths, "b1", at=100)
    newest = put_cached(paths, "b2", at=200)
    assert find_engine(None, paths).path == str(newest)
    by_variable = put_server(tmp_path / "variable")
    monkeypatch.setenv("LANEWISE_ENGINE", str(tmp_path / "variable"))
    assert find_engine(None, paths).path == str(by_variable)
    named = put_server(tmp_path / "named")
    assert find_engine(str(named), paths).path == str(named)


def test_that_an_unfinished_build_is_no_engine(paths):
    put_server(paths.engines / "b1")
    assert installed_engines(paths) == ()
    assert find_engine(None, paths) is None


def test_that_the_usual_folders_need_not_exist():
    assert locate.usual_folders()


@pytest.mark.parametrize("named", ["/" + "x" * 300, "~nobody-of-that-name/llama", "nul\0", "llama-server\n"])
def test_that_a_place_that_cannot_exist_is_not_found(paths, named):
    with pytest.raises(ProblemError, match="engine_not_found"):
        find_engine(named, paths)
