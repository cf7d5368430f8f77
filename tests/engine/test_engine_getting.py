"""An engine is got whole, checked, asked, and only then kept; the reason is told when it is not."""

import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from app.common.paths import app_paths
from app.common.problem import ProblemError
from app.engine.identity import EngineKind, knows_architecture
from app.engine.locate import find_engine
from app.engine.release import PUBLIC_RELEASES, Asset, parse_releases
from app.engine.release_choice import this_target
from app.hardware.types import GpuInfo
from app.words import say_problem
from app.work.downloads.types import Patience
from app.work.engine_archives import Verdict, install_archives, look_at_archive, matching_runtime
from app.work.engine_getting import (
    GetStep,
    asset_addresses,
    get_package,
    known_releases,
    listing_addresses,
    load_releases,
    offers_here,
)
from app.work.engine_knowing import has_changed
from app.work.engine_store import EngineSource
from tests.tools.file_server import FileServer
from tests.tools.releases import API, DOWNLOADS, Mirror, asset, fake_server, folder_tar_gz, listing, name_of, tar_gz

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell script is no program on Windows")

HASTY = Patience(connect_s=5, silence_s=5, tries=3, first_wait_s=0.001, longest_wait_s=0.01)
CARD = GpuInfo("NVIDIA GeForce RTX 3060", "gpu", None, 12 << 30, None, driver="595.10", compute_capability="8.6")
VULKAN = "Vulkan0: NVIDIA GeForce RTX 3060 (12288 MiB, 11000 MiB free)"
CUDA = "CUDA0: NVIDIA GeForce RTX 3060 (12288 MiB, 11000 MiB free)"


@pytest.fixture
def mirror():
    with FileServer() as server:
        yield Mirror(server)


@pytest.fixture
def paths():
    return app_paths()


def offered(mirror, paths, *gpus):
    return offers_here(load_releases(paths, mirror.base, lambda: False, HASTY), gpus)


def get(mirror, paths, offer, *gpus, cancelled=lambda: False, told=None):
    on_progress = (told if told is not None else []).append
    return get_package(offer.package, paths, gpus, on_progress, cancelled, mirror.base, HASTY)


def refusal(call):
    with pytest.raises(ProblemError) as caught:
        call()
    assert say_problem(caught.value.problem)
    return caught.value.problem


def test_that_a_package_is_fetched_unpacked_asked_and_kept(mirror, paths):
    mirror.add("", {"llama-server": fake_server(), "libllama.so.0": b"lib", "libllama.so": "libllama.so.0"})
    told = []
    (offer,) = offered(mirror, paths)
    known = get(mirror, paths, offer, told=told)
    assert Path(known.path).parent == paths.engines / f"b11434-ubuntu-cpu-{this_target().arch}"
    assert (known.kind, known.build_number, known.commit) == (EngineKind.MAINLINE, 11434, "0123abcd")
    assert (known.source, known.package, known.devices) == (EngineSource.DOWNLOADED, offer.package.main.name, ())
    assert list(dict.fromkeys(p.step for p in told)) == [
        GetStep.DOWNLOADING, GetStep.UNPACKING, GetStep.TESTING, GetStep.DONE
    ]  # fmt: skip
    assert find_engine(None, paths).path == known.path
    assert sorted(os.listdir(paths.engines)) == ["b11434-ubuntu-cpu-" + this_target().arch, "get.lock"]
    assert os.listdir(paths.cache / "downloads") == []


def test_that_the_real_engine_runs_out_of_an_archive_in_the_releases_layout(engine, mirror, paths):
    folder = Path(engine.path).resolve().parent
    mirror.put(name_of(""), folder_tar_gz(folder))
    (offer,) = offered(mirror, paths)
    known = get(mirror, paths, offer)
    assert Path(known.path).is_relative_to(paths.engines)
    assert known.kind is EngineKind.MAINLINE
    assert known.devices == ()
    assert "--override-tensor" in known.flags
    assert knows_architecture(Path(known.path), "qwen3moe") is True
    assert knows_architecture(Path(known.path), "no-such-architecture") is False
    assert not has_changed(known)
    with Path(known.path).open("ab") as program:
        program.write(b"updated in place")
    assert has_changed(known)


def test_that_a_second_time_costs_no_network(mirror, paths):
    mirror.add("", {"llama-server": fake_server()})
    (offer,) = offered(mirror, paths)
    first = get(mirror, paths, offer)
    asked = len(mirror.server.asked)
    assert get(mirror, paths, offer) == first
    assert len(mirror.server.asked) == asked


def test_that_an_installed_one_that_lost_a_part_is_fetched_anew(mirror, paths):
    mirror.add("", {"llama-server": fake_server()})
    (offer,) = offered(mirror, paths)
    first = get(mirror, paths, offer)
    Path(first.path).write_bytes(b"#!/bin/sh\nexit 1\n")
    again = get(mirror, paths, offer)
    assert (again.path, again.stamp.sha256) == (first.path, first.stamp.sha256)


def test_that_an_engine_that_does_not_see_the_card_is_not_kept_and_the_next_is_tried(mirror, paths):
    mirror.add("cuda-12.8-", {"llama-server": fake_server(), "libggml-cuda.so": b"x"})
    mirror.put(f"cudart-{name_of('cuda-12.8-')}", tar_gz({"libcudart.so.12": b"x", "libcublas.so.12": b"y"}))
    mirror.add("vulkan-", {"llama-server": fake_server([VULKAN]), "libggml-vulkan.so": b"x"})
    first, second = offered(mirror, paths, CARD)
    assert (first.package.key, second.package.key) == ("cuda-12.8", "vulkan")
    problem = refusal(lambda: get(mirror, paths, first, CARD))
    assert (problem.code, problem.params["gpu"]) == ("engine_sees_no_card", CARD.name)
    assert os.listdir(paths.engines) == ["get.lock"]
    known = get(mirror, paths, second, CARD)
    assert known.devices == ("Vulkan0: NVIDIA GeForce RTX 3060 (12288 MiB)",)
    assert known.backends == ("vulkan",)


def test_that_the_runtime_lies_beside_the_server(mirror, paths):
    mirror.add("cuda-12.8-", {"llama-server": fake_server([CUDA]), "libggml-cuda.so": b"x"})
    mirror.put(f"cudart-{name_of('cuda-12.8-')}", tar_gz({"libcudart.so.12": b"x", "libcublas.so.12": b"y"}))
    (offer, *_) = offered(mirror, paths, CARD)
    known = get(mirror, paths, offer, CARD)
    assert known.stamp.libraries == ("libcublas.so.12", "libcudart.so.12", "libggml-cuda.so")


@pytest.mark.parametrize(
    ("server", "code"),
    [
        (b"#!/bin/sh\nexit 3\n", "engine_broken"),
        (b"no program", "engine_wrong_platform"),
        (b"#!/bin/sh\necho \"x: version \\`GLIBC_2.39' not found\" >&2; exit 1\n", "engine_dll_wrong"),
        (b"#!/bin/sh\necho 'x: error while loading shared libraries: libgomp.so.1: cannot open' >&2; exit 127\n",
         "engine_dll_missing"),
    ],
)  # fmt: skip
def test_that_an_engine_that_does_not_run_here_is_not_kept(mirror, paths, server, code):
    mirror.add("", {"llama-server": server})
    (offer,) = offered(mirror, paths)
    assert refusal(lambda: get(mirror, paths, offer)).code == code
    assert os.listdir(paths.engines) == ["get.lock"]
    assert find_engine(None, paths) is None or "lanewise" not in find_engine(None, paths).path


def test_that_an_archive_without_a_server_or_with_a_hostile_name_installs_nothing(mirror, paths):
    mirror.add("", {"readme": b"x"})
    assert refusal(lambda: get(mirror, paths, offered(mirror, paths)[0])).code == "archive_no_server"
    mirror.assets.clear()
    mirror.add("", {"llama-server": fake_server(), "../../../evil": b"x"})
    assert refusal(lambda: get(mirror, paths, offered(mirror, paths)[0])).code == "archive_unsafe"
    assert os.listdir(paths.engines) == ["get.lock"]


def test_that_wrong_bytes_are_never_unpacked(mirror, paths):
    data = mirror.add("", {"llama-server": fake_server()})
    mirror.server.put(f"{DOWNLOADS}/{name_of('')}", data[:-8] + bytes(8))
    assert refusal(lambda: get(mirror, paths, offered(mirror, paths)[0])).code == "download_damaged"
    assert os.listdir(paths.engines) == ["get.lock"]


def test_that_cancelling_keeps_the_part_for_next_time(mirror, paths):
    data = mirror.add("", {"llama-server": fake_server(), "pad": os.urandom(100_000)})
    served = mirror.server.files[f"{DOWNLOADS}/{name_of('')}"]
    served.hold, served.hold_after = threading.Event(), 50_000
    (offer,) = offered(mirror, paths)
    part = paths.cache / "downloads" / (name_of("") + ".part")
    wants_out = lambda: part.exists() and part.stat().st_size >= 50_000  # noqa: E731
    assert refusal(lambda: get(mirror, paths, offer, cancelled=wants_out)).code == "download_cancelled"
    served.hold = None
    get(mirror, paths, offer)
    assert mirror.server.asked[-1][1] == "bytes=50000-"
    assert len(data) > 100_000


def test_that_a_killed_installation_leaves_nothing_behind(mirror, paths):
    (paths.engines / ".get-old" / "part-0").mkdir(parents=True)
    mirror.add("", {"llama-server": fake_server()})
    get(mirror, paths, offered(mirror, paths)[0])
    assert not (paths.engines / ".get-old").exists()


def test_that_a_mirror_may_take_the_whole_address_behind_its_own(mirror, paths):
    name, data = name_of(""), tar_gz({"llama-server": fake_server()})
    url = f"https://official.example{DOWNLOADS}"
    mirror.server.put(f"/{PUBLIC_RELEASES}".partition("?")[0], listing(asset(name, data, url)))
    mirror.server.put(f"/{url}/{name}", data)
    get(mirror, paths, offered(mirror, paths)[0])
    assert known_releases(paths)[0].tag == "b11434"


def test_that_addresses_follow_from_the_mirror():
    official = Asset("x.zip", 1, "https://github.example/o/r/releases/download/b1/x.zip")
    assert listing_addresses(None) == (PUBLIC_RELEASES,)
    assert listing_addresses("https://m.example/list.json") == ("https://m.example/list.json",)
    assert asset_addresses(official, None) == (official.url,)
    assert asset_addresses(official, "https://m.example/a/") == (
        "https://m.example/a/o/r/releases/download/b1/x.zip",
        "https://m.example/a/https://github.example/o/r/releases/download/b1/x.zip",
    )
    assert asset_addresses(official, "https://m.example/list.json")[0] == (
        "https://m.example/o/r/releases/download/b1/x.zip"
    )


def test_that_a_listing_that_nobody_can_give_is_told(mirror, paths):
    assert refusal(lambda: load_releases(paths, mirror.base, lambda: False, HASTY)).code == "download_not_found"
    mirror.server.put(API, b"{}")
    assert refusal(lambda: load_releases(paths, mirror.base, lambda: False, HASTY)).code == "release_list_bad"
    mirror.server.put(API, b"[]")
    releases = load_releases(paths, mirror.base, lambda: False, HASTY)
    assert refusal(lambda: offers_here(releases, ())).code == "release_none_here"


def bring(paths, folder, name, data):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return look_at_archive(folder / name, paths, lambda: False)


def test_that_an_archive_fetched_by_hand_is_checked_against_the_list(mirror, paths, tmp_path):
    data = mirror.add("", {"llama-server": fake_server()})
    load_releases(paths, mirror.base, lambda: False, HASTY)
    archive = bring(paths, tmp_path / "dl", name_of(""), data)
    assert archive.verdict is Verdict.PUBLISHED
    known = install_archives((archive,), (), paths, (), lambda p: None, lambda: False)
    assert known.id == f"b11434-ubuntu-cpu-{this_target().arch}"
    assert archive.path.exists()
    other = bring(paths, tmp_path / "dl", name_of(""), tar_gz({"llama-server": fake_server(number=1)}))
    assert other.verdict is Verdict.DIFFERS
    install = lambda: install_archives((other,), (other.sha256,), paths, (), lambda p: None, lambda: False)  # noqa: E731
    assert refusal(install).code == "archive_not_published"


def test_that_an_older_cuda_runtime_is_unknown_and_not_false(paths, tmp_path):
    name = "cudart-llama-bin-win-cuda-12.4-x64.zip"
    main = asset("llama-b11434-bin-win-cuda-12.4-x64.zip")
    releases = parse_releases(listing(main, asset(name, b"PK new")))
    (tmp_path / name).write_bytes(b"PK old")
    assert look_at_archive(tmp_path / name, paths, lambda: False, releases).verdict is Verdict.UNKNOWN
    (tmp_path / name).write_bytes(b"PK new")
    assert look_at_archive(tmp_path / name, paths, lambda: False, releases).verdict is Verdict.PUBLISHED


def test_that_an_unknown_archive_needs_its_hash_confirmed(paths, tmp_path):
    archive = bring(paths, tmp_path / "dl", "my build.tar.gz", tar_gz({"bin/llama-server": fake_server(number=9)}))
    assert archive.verdict is Verdict.UNKNOWN

    def install(*confirmed):
        return install_archives((archive,), confirmed, paths, (), lambda p: None, lambda: False)

    problem = refusal(install)
    assert (problem.code, problem.params["sha256"]) == ("archive_unconfirmed", archive.sha256)
    known = install(archive.sha256)
    assert (known.id, known.build_number) == (f"archive-{archive.sha256[:8]}", 9)


def test_that_the_runtime_beside_an_archive_is_found(paths, tmp_path):
    name = "llama-b7-bin-win-cuda-12.4-x64.zip"
    archive = bring(paths, tmp_path / "dl", name, tar_gz({"llama-server": b"x"}))
    assert matching_runtime(archive) is None
    (tmp_path / "dl" / "cudart-llama-bin-win-cuda-12.4-x64.zip").write_bytes(b"PK")
    assert matching_runtime(archive).name == "cudart-llama-bin-win-cuda-12.4-x64.zip"
    runtime = replace(archive, path=matching_runtime(archive))
    assert runtime.is_runtime
    only_runtime = lambda: install_archives((runtime,), (runtime.sha256,), paths, (), lambda p: None, lambda: False)  # noqa: E731
    assert refusal(only_runtime).code == "archive_no_server"


@pytest.mark.parametrize("data", [b"", b"text", None])
def test_that_a_file_that_is_no_archive_is_told(paths, tmp_path, data):
    if data is not None:
        (tmp_path / "a.zip").write_bytes(data)
    problem = refusal(lambda: look_at_archive(tmp_path / "a.zip", paths, lambda: False))
    assert problem.code == ("archive_missing" if data is None else "archive_kind")
