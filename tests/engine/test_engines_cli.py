"""``engines``: list, get, use, go back, forget; what nobody asked for never uses the network."""

import json
import socket
import sys

import pytest

from app.__main__ import main
from app.common.paths import app_paths
from app.settings.store import load_settings
from tests.tools.file_server import FileServer
from tests.tools.hardware_data import DATA
from tests.tools.releases import Mirror, fake_server, name_of, tar_gz

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell script is no program on Windows")

NO_GPU, LAPTOP = str(DATA / "vm-no-gpu.json"), str(DATA / "laptop-rtx4080-i7-13700h.json")
CUDA = "CUDA0: NVIDIA GeForce RTX 4080 Laptop GPU (12282 MiB, 11000 MiB free)"


@pytest.fixture
def mirror():
    with FileServer() as server:
        yield Mirror(server)


@pytest.fixture
def run(capfd, monkeypatch):
    """(exit code, JSON or text, standard error); PATH and the usual folders hold no engine."""
    monkeypatch.setattr("app.engine.locate._on_path", lambda: iter(()))
    monkeypatch.setattr("app.engine.locate.usual_folders", lambda: ())

    def call(*arguments, hardware=NO_GPU):
        code = main(["engines", *map(str, arguments), "--hardware", hardware])
        said = capfd.readouterr()
        return code, json.loads(said.out) if "--json" in arguments and said.out else said.out, said.err

    return call


def own_engine(folder, **more):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "llama-server").write_bytes(fake_server(**more))
    (folder / "llama-server").chmod(0o755)
    return folder


def test_that_without_an_engine_the_next_step_is_named(run):
    code, out, _ = run()
    assert code == 0
    assert "lanewise engines --get" in out


def test_that_getting_using_going_back_and_forgetting_go_together(run, mirror, tmp_path):
    mirror.add("", {"llama-server": fake_server()})
    own = own_engine(tmp_path / "my engine", number=9)
    code, listed, _ = run("--add", own, "--json")
    assert (code, [e["source"] for e in listed["engines"]]) == (0, ["own"])
    run("--use", listed["engines"][0]["id"])
    code, got, err = run("--get", "--mirror", mirror.base, "--json")
    assert code == 0, err
    new = got["engine"]
    assert (new["build_number"], new["kind"], new["source"], new["current"]) == (11434, "mainline", "downloaded", True)
    assert "100 %" in err
    assert load_settings(app_paths().settings_file).engine_path == new["path"]
    _, listed, _ = run("--json")
    assert (listed["current"], listed["previous"]) == (new["id"], listed["engines"][1]["id"])
    code, back, _ = run("--back", "--json")
    assert (code, back["engine"]["build_number"]) == (0, 9)
    code, listed, _ = run("--forget", new["id"], "--json")
    assert [e["build_number"] for e in listed["engines"]] == [9]
    assert not (app_paths().engines / new["id"]).exists()
    run("--forget", listed["engines"][0]["id"])
    assert (own / "llama-server").exists()


def test_that_a_package_that_does_not_see_the_card_leads_to_the_next(run, mirror):
    mirror.add("cuda-12.8-", {"llama-server": fake_server(), "libggml-cuda.so": b"x"})
    mirror.put(f"cudart-{name_of('cuda-12.8-')}", tar_gz({"libcudart.so.12": b"x", "libcublas.so.12": b"y"}))
    vulkan = "Vulkan0: NVIDIA GeForce RTX 4080 Laptop GPU (12282 MiB, 11000 MiB free)"
    mirror.add("vulkan-", {"llama-server": fake_server([vulkan]), "libggml-vulkan.so": b"x"})
    code, got, err = run("--get", "--mirror", mirror.base, "--json", hardware=LAPTOP)
    assert (code, got["engine"]["backends"]) == (0, ["vulkan"])
    assert "does not see" in err
    code, _, err = run("--get", "cuda", "--mirror", mirror.base, hardware=LAPTOP)
    assert (code, "does not see" in err) == (1, True)


def test_that_packages_say_why(run, mirror):
    mirror.add("", {"llama-server": fake_server()})
    mirror.add("vulkan-", {"llama-server": fake_server()})
    code, found, _ = run("--packages", "--mirror", mirror.base, "--json")
    assert code == 0
    assert [(p["package"], p["suits"], p["reason"]) for p in found["packages"]] == [
        ("cpu", True, "cpu"), ("vulkan", False, "vulkan_no_card")
    ]  # fmt: skip
    _, text, _ = run("--packages", "--mirror", mirror.base, "--lang", "zh_CN")
    assert "需要显卡" in text
    code, _, err = run("--get", "cuda-99", "--mirror", mirror.base)
    assert (code, "cpu, vulkan" in err) == (2, True)


def test_that_an_archive_fetched_by_hand_needs_a_look_first(run, tmp_path):
    archive = tmp_path / "build 中文.tar.gz"
    archive.write_bytes(tar_gz({"llama-server": fake_server(number=5)}))
    code, _, err = run("--get", "--from", archive)
    assert code == 1
    sha256 = err.strip().rsplit(" ", 1)[1]
    code, got, _ = run("--get", "--from", archive, "--confirm", sha256.upper(), "--json")
    assert (code, got["engine"]["build_number"], got["engine"]["package"]) == (0, 5, archive.name)


def test_that_a_rebuilt_engine_is_noticed_and_its_warnings_are_told(run, tmp_path):
    own = own_engine(tmp_path / "e")
    run("--add", own)
    own_engine(tmp_path / "e", number=12000)
    _, listed, _ = run("--json", hardware=LAPTOP)
    assert [(c["id"], c["before"] != c["after"]) for c in listed["changed"]] == [(listed["engines"][0]["id"], True)]
    assert listed["engines"][0]["build_number"] == 12000
    assert [w["code"] for w in listed["engines"][0]["warnings"]] == ["engine_cpu_only"]
    assert run("--json")[1]["changed"] == []
    (own / "libggml-cuda.so").write_bytes(b"x")
    (warning,) = run("--json", hardware=LAPTOP)[1]["engines"][0]["warnings"]
    assert warning["code"] in ("engine_no_cuda_runtime", "engine_cuda_no_card")
    (own / "llama-server").unlink()
    (engine,) = run("--json")[1]["engines"]
    assert [w["code"] for w in engine["warnings"]] == ["engine_missing_file"]


def test_that_an_engine_through_vulkan_is_told_about_the_one_with_cuda(run, tmp_path):
    cuda, vulkan = own_engine(tmp_path / "c", devices=[CUDA]), own_engine(tmp_path / "v")
    (vulkan / "libggml-vulkan.so").write_bytes(b"x")
    run("--add", cuda)
    _, listed, _ = run("--add", vulkan, "--json", hardware=LAPTOP)
    warnings = {e["backends"][0]: [w["code"] for w in e["warnings"]] for e in listed["engines"]}
    assert warnings == {"cuda": [], "vulkan": ["engine_vulkan_but_cuda"]}


def test_that_listing_never_uses_the_network(run, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket, "create_connection", refuse)
    own_engine(tmp_path / "e")
    assert run("--add", tmp_path / "e")[0] == 0
    assert run("--json")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [("--use", "x"), ("--forget", "../.."), ("--use", "x", "--back"), ("--add", "/nowhere"), ("--get", "--from", "/no"),
     ("--get", "--mirror", "file:///etc")],
)  # fmt: skip
def test_that_bad_input_is_one_sentence(run, arguments):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_that_nothing_to_go_back_to_is_a_no(run):
    assert run("--back")[0] == 1
