"""Which llama-server a program is, from what it says and from the files beside it."""

import sys

import pytest

from app.common.capabilities import Capabilities
from app.common.problem import ProblemError
from app.engine.identity import (
    EngineKind,
    backends_of,
    build_of,
    has_cuda_runtime,
    kind_of,
    knows_architecture,
    quick_look,
    stamp_of,
)

MAINLINE = frozenset({"-ngl", "--gpu-layers", "--n-gpu-layers", "--host", "--list-devices"})


@pytest.mark.parametrize(
    ("flags", "kind"),
    [
        (MAINLINE, EngineKind.MAINLINE),
        (MAINLINE | {"-fmoe", "-rtr", "-mla", "-amb"}, EngineKind.IK),
        (MAINLINE | {"-ser"}, EngineKind.MAINLINE),  # one alone may come to mainline some day
        (frozenset({"--model", "--port"}), EngineKind.OTHER),
        (frozenset(), EngineKind.OTHER),
    ],
)
def test_that_the_kind_follows_from_the_options(flags, kind):
    assert kind_of(Capabilities(flags)) is kind


@pytest.mark.parametrize(
    ("version", "number", "commit"),
    [
        ("0.6.0 (build 11434, commit 0123abcd)", 11434, "0123abcd"),
        ("0.6.0-dev (build 0, commit unknown)", None, None),
        ("7502 (c0ffee12)", 7502, "c0ffee12"),
        ("b11434", 11434, None),
        ("3640 (unknown)", 3640, None),
        ("something else", None, None),
        (None, None, None),
    ],
)
def test_that_every_form_of_a_version_is_read(version, number, commit):
    assert build_of(version) == (number, commit)


@pytest.mark.parametrize(
    ("libraries", "devices", "backends"),
    [
        (("ggml-base.dll", "ggml-cpu-haswell.dll", "ggml-cuda.dll", "llama.dll"), (), ("cpu", "cuda")),
        (("libggml-base.so.0.26.0", "libggml-cpu.so.0.26.0", "libggml-rpc.so.0.26.0"), ("RPC0",), ("cpu", "rpc")),
        (("libggml-vulkan.so",), ("Vulkan0",), ("vulkan",)),
        ((), ("CUDA0", "CUDA1"), ("cuda",)),
        ((), ("ROCm0",), ("hip",)),
        ((), (), ("cpu",)),
    ],
)
def test_that_backends_follow_from_libraries_and_devices(libraries, devices, backends):
    assert backends_of(libraries, devices) == backends


def test_that_the_cuda_runtime_is_two_libraries():
    assert has_cuda_runtime(("cudart64_12.dll", "cublas64_12.dll", "cublasLt64_12.dll"))
    assert has_cuda_runtime(("libcudart.so.12", "libcublas.so.12"))
    assert not has_cuda_runtime(("cudart64_12.dll", "ggml-cuda.dll"))


@pytest.fixture
def folder(tmp_path):
    for name, data in (("llama-server", b"program"), ("libllama.so.0", b"code"), ("libcudart.so.12", b"nv")):
        (tmp_path / name).write_bytes(data)
    if sys.platform != "win32":  # where making a link needs rights
        (tmp_path / "libllama.so").symlink_to("libllama.so.0")
    (tmp_path / "libpng.so").write_bytes(b"somebody else's")
    return tmp_path


def test_that_the_hash_covers_the_program_and_its_own_libraries(folder):
    first = stamp_of(folder / "llama-server")
    assert first.libraries == ("libcudart.so.12", "libllama.so.0")
    assert quick_look(folder / "llama-server") == (first.size_bytes, first.mtime_ns)
    (folder / "libpng.so").write_bytes(b"other")
    (folder / "libcudart.so.12").write_bytes(b"vn")
    assert stamp_of(folder / "llama-server").sha256 == first.sha256
    (folder / "libllama.so.0").write_bytes(b"edoc")
    assert stamp_of(folder / "llama-server").sha256 != first.sha256


def test_that_a_program_that_is_gone_is_told(tmp_path):
    assert quick_look(tmp_path / "llama-server") is None
    with pytest.raises(ProblemError, match="engine_not_found"):
        stamp_of(tmp_path / "llama-server")


@pytest.mark.skipif(sys.platform == "win32", reason="making a link needs rights there")
def test_that_a_link_to_the_program_is_the_same_engine(folder, tmp_path_factory):
    link = tmp_path_factory.mktemp("links") / "llama-server"
    link.symlink_to(folder / "llama-server")
    assert stamp_of(link).libraries == stamp_of(folder / "llama-server").libraries


@pytest.mark.parametrize("place", ["libllama.so.0", "llama-server"])
def test_that_known_architectures_are_read_from_the_table(folder, place):
    (folder / place).write_bytes(b"\0llama\0qwen2moe\0qwen3moe\0")
    if place == "llama-server":
        (folder / "libllama.so").unlink(missing_ok=True)
        (folder / "libllama.so.0").unlink()
    server = folder / "llama-server"
    assert knows_architecture(server, "qwen3moe") is True
    assert knows_architecture(server, "glm-dsa") is False


@pytest.mark.parametrize("architecture", ["", "a\0b", "../x", "x" * 99, "QWEN"])
def test_that_an_odd_architecture_is_unknown(folder, architecture):
    (folder / "libllama.so.0").write_bytes(b"\0llama\0qwen2moe\0")
    assert knows_architecture(folder / "llama-server", architecture) is None


def test_that_a_build_without_the_table_is_unknown(folder):
    assert knows_architecture(folder / "llama-server", "qwen3moe") is None
    (folder / "libllama.so.0").write_bytes(b"")
    assert knows_architecture(folder / "llama-server", "qwen3moe") is None
