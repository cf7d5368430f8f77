"""The file of what was learned: newest first, bounded, and never in the way when it is broken."""

import os
import sqlite3
import threading
from pathlib import Path

import pytest

from app.common.problem import ProblemError
from app.work import learned
from app.work.learned import LearnedStore, try_add


@pytest.fixture
def store(tmp_path: Path) -> LearnedStore:
    ticks = iter(range(1000, 100000))
    return LearnedStore(tmp_path / "数据 data" / "learned.sqlite", lambda: float(next(ticks)))


def _values(store: LearnedStore, kind: str, key: str | None = None) -> list[object]:
    loaded = store.load(kind, key)
    assert loaded.problem is None
    return [observation.value["n"] for observation in loaded.observations]


def test_that_nothing_is_known_and_no_file_is_made_before_something_was_learned(store: LearnedStore) -> None:
    assert store.load("speed").observations == ()
    store.forget()
    store.remove("speed", "a")
    assert not store.path.exists()


def test_that_the_newest_observations_of_a_key_stay_newest_first(store: LearnedStore) -> None:
    for n in range(5):
        store.add("speed", "a", {"n": n}, keep=3)
    store.add("speed", "b", {"n": 9}, keep=3)
    assert _values(store, "speed", "a") == [4, 3, 2]
    assert _values(store, "speed") == [9, 4, 3, 2]
    assert [o.at for o in store.load("speed", "b").observations] == [1005.0]


def test_that_kinds_do_not_mix_and_are_forgotten_one_by_one_or_all(store: LearnedStore) -> None:
    store.add("speed", "a", {"n": 1})
    store.add("verify", "a", {"n": 2})
    store.add("overhead", "显卡", {"n": 3, "名": ["é", None, 1.5]})
    assert store.load("overhead").observations[0].value == {"n": 3, "名": ["é", None, 1.5]}
    store.remove("verify", "a")
    assert (_values(store, "verify"), _values(store, "speed")) == ([], [1])
    store.forget("speed")
    assert (_values(store, "speed"), _values(store, "overhead")) == ([], [3])
    store.forget()
    assert _values(store, "overhead") == []


def test_that_a_kind_does_not_grow_without_end(store: LearnedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned, "MOST_ROWS_PER_KIND", 4)
    for n in range(9):
        store.add("verify", f"key {n}", {"n": n})
    assert _values(store, "verify") == [8, 7, 6, 5]


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be looked at" * 9, b"SQLite format 3\0junk"]
)
def test_that_a_damaged_file_is_told_set_aside_and_begun_anew(store: LearnedStore, content: bytes) -> None:
    store.path.parent.mkdir(parents=True)
    store.path.write_bytes(content)
    loaded = store.load("speed")
    assert loaded.observations == ()
    assert loaded.problem is not None
    assert loaded.problem.code == "learned_damaged"
    assert Path(str(loaded.problem.params["kept"])).read_bytes() == content
    store.add("speed", "a", {"n": 1})
    assert _values(store, "speed") == [1]


def test_that_writing_into_a_damaged_file_sets_it_aside_too(store: LearnedStore) -> None:
    store.path.parent.mkdir(parents=True)
    store.path.write_bytes(b"x" * 5000)
    store.add("speed", "a", {"n": 1})
    assert _values(store, "speed") == [1]
    assert store.path.with_name("learned.sqlite.bad").read_bytes() == b"x" * 5000


def test_that_a_file_of_a_newer_version_is_left_alone(store: LearnedStore) -> None:
    store.add("speed", "a", {"n": 1})
    with sqlite3.connect(store.path) as db:
        db.execute("PRAGMA user_version = 7")
    db.close()
    problem = store.load("speed").problem
    assert problem is not None
    assert (problem.code, problem.params["reason"]) == ("learned_unreadable", "format 7")
    with pytest.raises(ProblemError) as caught:
        store.add("speed", "a", {"n": 2})
    assert caught.value.problem.code == "learned_not_saved"
    with sqlite3.connect(store.path) as db:
        assert db.execute("SELECT count(*) FROM observations").fetchone() == (1,)
    db.close()


def test_that_a_place_where_nothing_can_be_written_is_a_problem_not_an_exception(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    store = LearnedStore(tmp_path / "file" / "learned.sqlite")
    problem = try_add(store, "speed", "a", {"n": 1})
    assert problem is not None
    assert problem.code == "learned_not_saved"
    assert store.load("speed").observations == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_that_a_pipe_in_its_place_does_not_hang(store: LearnedStore) -> None:
    store.path.parent.mkdir(parents=True)
    os.mkfifo(store.path)
    problem = store.load("speed").problem
    assert problem is not None
    assert problem.params["reason"] == "no regular file"


def test_that_rows_edited_by_hand_are_passed_over(store: LearnedStore) -> None:
    store.add("speed", "a", {"n": 1}, keep=9)
    with sqlite3.connect(store.path) as db:
        for text in ("{", "[1]", "null", "[" * 90000):
            db.execute("INSERT INTO observations (kind, key, at, value) VALUES ('speed', 'a', 1.0, ?)", (text,))
    db.close()
    assert _values(store, "speed") == [1]


def test_that_a_value_that_is_no_json_or_huge_is_a_bug_of_the_caller(store: LearnedStore) -> None:
    with pytest.raises(ValueError, match="JSON"):
        store.add("speed", "a", {"n": float("nan")})
    with pytest.raises(ValueError, match="characters"):
        store.add("speed", "a", {"n": "x" * 70000})


def test_that_several_writers_at_once_lose_nothing(store: LearnedStore) -> None:
    def write(name: str) -> None:
        for n in range(5):
            store.add("speed", name, {"n": n}, keep=9)

    writers = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(_values(store, "speed")) == 15
