"""The list of engines survives damage, keeps what came before, and deletes nothing that is the user's."""

import json
import os
import sys
from dataclasses import replace

import pytest

from app.common.paths import app_paths
from app.common.problem import ProblemError, fail
from app.engine.identity import EngineKind, FileStamp
from app.work import engine_registry
from app.work.engine_registry import forget_engine, note_plan, use_engine
from app.work.engine_store import (
    EngineSource,
    EngineStore,
    KnownEngine,
    load_store,
    save_store,
    store_file,
    update_store,
)


def engine(path, engine_id="b1", source=EngineSource.OWN):
    stamp = FileStamp("ab" * 32, 1, 1, ("libllama.so",))
    return KnownEngine(engine_id, str(path), EngineKind.MAINLINE, "1 (abc)", 1, "abc", ("cpu",), None, stamp, source)


@pytest.fixture
def paths():
    return app_paths()


@pytest.fixture
def servers(tmp_path):
    made = []
    for name in ("a", "b", "c"):
        path = tmp_path / name / "llama-server"
        path.parent.mkdir()
        path.write_text("x")
        made.append(engine(path, name))
    return made


def test_that_the_list_is_read_as_it_was_written(paths, servers):
    store = EngineStore(engines=tuple(servers)).using("a").using("b")
    save_store(paths, store)
    assert load_store(paths) == store
    assert not list(store_file(paths).parent.glob("*.tmp"))


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"engines": 5}', '{"engines": [{"id": 1}]}', "[" * 99999, "\ufffe"])
def test_that_a_damaged_list_is_set_aside(paths, text):
    store_file(paths).parent.mkdir(parents=True)
    store_file(paths).write_text(text, encoding="utf-8")
    assert load_store(paths) == EngineStore()
    assert (store_file(paths).parent / "engines.json.bad").exists()


@pytest.mark.parametrize("make", ["mkdir", "mkfifo"])
def test_that_what_is_no_file_is_set_aside_and_nobody_waits_for_it(paths, servers, make):
    if not hasattr(os, make):
        pytest.skip("pipes in a folder are a matter of Unix")
    store_file(paths).parent.mkdir(parents=True)
    getattr(os, make)(store_file(paths))
    assert load_store(paths) == EngineStore()
    save_store(paths, EngineStore(engines=tuple(servers)))
    assert len(load_store(paths).engines) == 3


def test_that_what_was_in_use_before_can_be_gone_back_to(servers):
    store = EngineStore(engines=tuple(servers)).using("a").using("b").using("c").using("c")
    assert (store.current, store.previous) == ("c", ("b", "a"))
    assert store.go_back_to.id == "b"
    assert store.using("b").go_back_to.id == "c"
    os.unlink(servers[1].path)
    assert store.go_back_to.id == "a"
    assert store.without("a").go_back_to is None


def test_that_an_engine_of_the_users_own_is_never_deleted(paths, servers):
    save_store(paths, EngineStore(engines=tuple(servers)))
    forget_engine("a", paths)
    assert os.path.isfile(servers[0].path)
    assert [e.id for e in load_store(paths).engines] == ["b", "c"]


@pytest.mark.skipif(sys.platform == "win32", reason="making a link needs rights there")
def test_that_a_downloaded_one_is_deleted_but_not_through_a_link(paths, tmp_path, servers):
    own = paths.engines / "b7-ubuntu-cpu-x64"
    own.mkdir(parents=True)
    (own / "llama-server").write_text("x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "llama-server").write_text("x")
    (paths.engines / "link").symlink_to(outside)
    downloaded = [engine(own / "llama-server", "x"), engine(paths.engines / "link" / "llama-server", "y")]
    up = engine(paths.engines / ".." / "llama-server", "z")
    save_store(paths, EngineStore(engines=(*downloaded, up)))
    for engine_id in ("x", "y", "z"):
        forget_engine(engine_id, paths)
    assert not own.exists()
    assert (outside / "llama-server").exists()
    assert paths.engines.is_dir()


def test_that_an_id_that_is_none_is_told(paths, servers):
    for call in (use_engine, forget_engine):
        with pytest.raises(ProblemError, match="engine_unknown_id"):
            call("nothing", paths)
    save_store(paths, EngineStore(engines=(replace(servers[0], path="/gone"),)))
    with pytest.raises(ProblemError, match="engine_missing_file"):
        use_engine("a", paths)


def test_that_plans_remember_their_engine_and_only_the_latest(paths, servers):
    save_store(paths, EngineStore(engines=tuple(servers)))
    note_plan("/p/1.json", servers[0].path, paths)
    note_plan("/p/1.json", servers[1].path, paths)
    note_plan("/p/2.json", "/nobody/knows", paths)
    note_plan("/p/2.json", None, paths)
    assert [(p.path, p.engine_id) for p in load_store(paths).plans] == [("/p/1.json", "b")]


def test_that_nothing_is_written_when_nothing_changed(paths):
    update_store(paths, lambda store: store)
    assert not store_file(paths).exists()


def test_that_a_list_that_cannot_be_written_is_told(paths, servers):
    paths.data.parent.mkdir(parents=True)
    paths.data.write_text("a file where the folder should be")
    with pytest.raises(ProblemError, match="engine_list_not_saved"):
        save_store(paths, EngineStore(engines=tuple(servers)))


def test_that_a_newer_list_is_read_as_far_as_it_is_understood(paths, servers):
    save_store(paths, EngineStore(engines=tuple(servers)))
    data = json.loads(store_file(paths).read_text())
    data["new"] = 1
    data["engines"][0]["new"] = 2
    store_file(paths).write_text(json.dumps(data))
    assert load_store(paths).engines == tuple(servers)


def test_that_engines_are_listed_although_the_list_cannot_be_kept(tmp_path, paths, servers, monkeypatch):
    save_store(paths, EngineStore(engines=tuple(servers)))

    def refuse(*_):
        raise fail("engine_list_not_saved", path="x", why="No space left on device")

    monkeypatch.setattr(engine_registry, "update_store", refuse)
    listed = engine_registry.look_at_engines(paths, str(tmp_path / "none"))
    assert [e.id for e in listed.store.engines] == ["a", "b", "c"]
    assert listed.problems[-1].code == "engine_list_not_saved"
