"""Engines side by side behind the window: got, used, gone back from, and noticed when they change."""

import json
import sys
import threading

import pytest

from app.common.paths import app_paths
from app.hardware.snapshot_file import load_snapshot
from app.session.engine_getter import GetPhase
from app.session.engines_controller import EnginesController
from app.session.jobs import JobRunner
from app.settings import Settings
from app.work.engine_store import load_store
from tests.tools.file_server import FileServer
from tests.tools.hardware_data import DATA
from tests.tools.releases import DOWNLOADS, Mirror, fake_server, name_of, tar_gz

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell script is no program on Windows")


@pytest.fixture
def mirror():
    with FileServer() as server:
        yield Mirror(server)


@pytest.fixture
def engines(qapp, monkeypatch, mirror):
    monkeypatch.setattr("app.engine.locate._on_path", lambda: iter(()))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())
    jobs = JobRunner()
    settings = Settings(engine_mirror=mirror.base)
    hardware = load_snapshot(DATA / "vm-no-gpu.json")
    controller = EnginesController(jobs, app_paths(), lambda: hardware, lambda: settings)
    controller.told = []
    controller.failed.connect(controller.told.append)
    yield controller
    controller.close()
    jobs.close()


def own_engine(folder, **more):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "llama-server").write_bytes(fake_server(**more))
    (folder / "llama-server").chmod(0o755)
    return str(folder / "llama-server")


def wait(qtbot, condition):
    qtbot.waitUntil(lambda: bool(condition()), timeout=30_000)


def look(qtbot, engines, chosen):
    with qtbot.waitSignal(engines.changed, timeout=30_000):
        engines.look(chosen)


def test_that_an_engine_is_got_and_chosen(qtbot, engines, mirror):
    mirror.add("", {"llama-server": fake_server()})
    engines.load_packages()
    assert engines.get.phase is GetPhase.LISTING
    wait(qtbot, lambda: engines.get.phase is GetPhase.CHOOSING)
    assert engines.get.next_offer.package.key == "cpu"
    with qtbot.waitSignal(engines.engine_chosen, timeout=30_000) as chosen:
        engines.get_package(engines.get.next_offer)
    assert engines.get.phase is GetPhase.DONE
    assert chosen.args == [engines.get.engine.path]
    assert load_store(app_paths()).current == engines.get.engine.id


def test_that_a_package_that_fails_leaves_the_next_to_try(qtbot, engines, mirror):
    mirror.add("", {"llama-server": b"#!/bin/sh\nexit 3\n"})
    engines.load_packages()
    wait(qtbot, lambda: engines.get.phase is GetPhase.CHOOSING)
    engines.get_package(engines.get.next_offer)
    wait(qtbot, lambda: engines.get.problem is not None)
    assert (engines.get.phase, engines.get.problem.code) == (GetPhase.CHOOSING, "engine_broken")
    assert (engines.get.failed, engines.get.next_offer) == (("cpu",), None)


def test_that_a_transfer_is_cancelled_at_once_and_gone_on_with(qtbot, engines, mirror):
    mirror.add("", {"llama-server": fake_server(), "pad": bytes(range(256)) * 400})
    served = mirror.server.files[f"{DOWNLOADS}/{name_of('')}"]
    served.hold, served.hold_after = threading.Event(), 200
    engines.load_packages()
    wait(qtbot, lambda: engines.get.phase is GetPhase.CHOOSING)
    engines.get_package(engines.get.next_offer)
    wait(qtbot, lambda: engines.get.progress is not None and engines.get.progress.download is not None)
    engines.cancel_get()
    wait(qtbot, lambda: engines.get.phase is GetPhase.CHOOSING)
    assert engines.get.problem.code == "download_cancelled"
    served.hold.set()
    served.hold = None
    engines.get_package(engines.get.next_offer)
    wait(qtbot, lambda: engines.get.phase is GetPhase.DONE)


def test_that_a_mirror_that_does_not_answer_is_told(qtbot, engines, mirror):
    engines.load_packages()
    wait(qtbot, lambda: engines.get.problem is not None)
    assert (engines.get.phase, engines.get.problem.code) == (GetPhase.IDLE, "download_not_found")


def test_that_an_unknown_archive_waits_for_the_users_word(qtbot, engines, tmp_path):
    archive = tmp_path / "x.tar.gz"
    archive.write_bytes(tar_gz({"llama-server": fake_server(number=3)}))
    engines.bring_archive(str(archive))
    wait(qtbot, lambda: engines.get.phase is GetPhase.CONFIRMING)
    assert len(engines.get.archives[0].sha256) == 64
    engines.cancel_get()
    assert (engines.get.phase, engines.get.archives) == (GetPhase.IDLE, ())
    engines.bring_archive(str(archive))
    wait(qtbot, lambda: engines.get.phase is GetPhase.CONFIRMING)
    engines.install_brought()
    wait(qtbot, lambda: engines.get.phase is GetPhase.DONE)
    assert engines.get.engine.build_number == 3


def test_that_going_back_is_one_step(qtbot, engines, tmp_path):
    first, second = own_engine(tmp_path / "1", number=1), own_engine(tmp_path / "2", number=2)
    look(qtbot, engines, first)
    look(qtbot, engines, second)
    assert [e.build_number for e in engines.list.store.engines] == [1, 2]
    with qtbot.waitSignal(engines.engine_chosen, timeout=30_000) as chosen:
        engines.go_back()
    assert chosen.args == [first]
    look(qtbot, engines, first)
    assert engines.list.store.go_back_to.path == second
    with qtbot.waitSignal(engines.changed, timeout=30_000):
        engines.forget(engines.list.store.at(second).id)
    assert engines.list.store.go_back_to is None


def test_that_an_update_in_place_is_noticed_before_a_launch(qtbot, engines, tmp_path):
    server = own_engine(tmp_path / "e", number=1)
    look(qtbot, engines, server)
    launched = []
    engines.check(lambda: launched.append(1))
    wait(qtbot, lambda: launched == [1])
    own_engine(tmp_path / "e", number=20000)
    with qtbot.waitSignal(engines.outdated, timeout=30_000):
        engines.check(lambda: launched.append(2))
    assert launched == [1]
    look(qtbot, engines, server)
    wait(qtbot, lambda: engines.told)
    (problem,) = engines.told
    assert (problem.code, problem.params["after"]) == ("engine_changed", "0.6.0 (build 20000, commit 0123abcd)")


def test_that_the_saved_plans_of_a_changed_engine_are_checked_again(qtbot, engines, tmp_path):
    server = own_engine(tmp_path / "e", number=1)
    look(qtbot, engines, server)
    plan = tmp_path / "old.json"
    plan.write_text(json.dumps({"format": "other"}), encoding="utf-8")
    engines.note_plan(str(plan), server)
    wait(qtbot, lambda: load_store(app_paths()).plans)
    own_engine(tmp_path / "e", number=2, extra="echo '--new-option'")
    look(qtbot, engines, server)
    wait(qtbot, lambda: engines.told)
    (line,) = engines.told[0].evidence
    assert line.startswith("old.json: ")
    assert "--new-option" in engines.list.store.engines[0].flags


def test_that_a_model_too_new_for_the_engine_is_told_once(qtbot, engines, tmp_path):
    server = own_engine(tmp_path / "e", number=1)
    (tmp_path / "e" / "libllama.so").write_bytes(b"\0llama\0qwen2moe\0qwen3moe\0")
    look(qtbot, engines, server)
    engines.use_model("qwen3moe")
    engines.use_model("glm-dsa")
    wait(qtbot, lambda: engines.told)
    assert [(p.code, p.params["architecture"]) for p in engines.told] == [("engine_lacks_architecture", "glm-dsa")]
    assert engines.told[0] in engines.warnings(engines.list.current)
    with qtbot.waitSignal(engines.changed, timeout=30_000):
        engines.use_model("qwen3moe")
    assert "engine_lacks_architecture" not in [p.code for p in engines.warnings(engines.list.current)]


def test_that_the_cards_of_a_saved_machine_say_nothing_about_the_engine_here(qtbot, engines, tmp_path):
    engines._hardware = lambda: load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")
    engines.is_saved = lambda: True
    look(qtbot, engines, own_engine(tmp_path / "e"))
    engines.hardware_known()
    assert engines.told == []
    engines.is_saved = lambda: False
    engines.hardware_known()
    assert [problem.code for problem in engines.told] == ["engine_cpu_only"]


def test_that_an_engine_in_use_that_leaves_the_card_idle_is_told_once(qtbot, engines, tmp_path):
    server = own_engine(tmp_path / "e")
    look(qtbot, engines, server)
    assert engines.told == []
    engines._hardware = lambda: load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")
    engines.hardware_known()
    engines.hardware_known()
    look(qtbot, engines, server)
    assert [problem.code for problem in engines.told] == ["engine_cpu_only"]
    (tmp_path / "e" / "libggml-cuda.so").write_bytes(b"x")
    look(qtbot, engines, server)
    wait(qtbot, lambda: len(engines.told) == 3)
    assert {"engine_changed"} < {problem.code for problem in engines.told}
    assert len({problem.code for problem in engines.told} & {"engine_no_cuda_runtime", "engine_cuda_no_card"}) == 1
