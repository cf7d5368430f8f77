"""The right package for each machine, and nothing out of a listing that is not plainly a package."""

import json
import random

import pytest

from app.common.problem import ProblemError
from app.engine.release import MOST_LISTING_BYTES, build_number, parse_releases
from app.engine.release_choice import Target, cuda_of_driver, driver_major, offers
from app.hardware.types import GpuInfo
from app.words import say
from tests.tools.releases import OTHER_NAMES, WINDOWS_NAMES, asset, listing

WINDOWS, UBUNTU = Target("win", "x64"), Target("ubuntu", "x64")
RELEASES = parse_releases(listing(*(asset(name) for name in (*WINDOWS_NAMES, *OTHER_NAMES))))


def card(name, capability=None, driver=None, kind="gpu", **more):
    return GpuInfo(name, kind, None, 8 << 30, None, compute_capability=capability, driver=driver, **more)


def best(target, *gpus):
    found = offers(RELEASES, target, gpus)
    assert all(say(f"engine.offer.{offer.reason}", **offer.params) for offer in found)
    return found


@pytest.mark.parametrize(
    ("gpu", "package"),
    [
        (card("NVIDIA GeForce RTX 4060 Laptop GPU", "8.9", "591.44"), "cuda-13.4"),
        (card("NVIDIA GeForce RTX 4060 Laptop GPU", "8.9", "581.15"), "cuda-13.4"),  # machine code: any driver of 13
        (card("NVIDIA GeForce RTX 2060", "7.5", "581.15"), "cuda-12.4"),  # PTX of 13.4 needs a newer driver
        (card("NVIDIA GeForce RTX 3060", "8.6", "560.94"), "cuda-12.4"),
        (card("NVIDIA GeForce RTX 3060", "8.6", "32.0.15.6094"), "cuda-12.4"),
        (card("NVIDIA GeForce RTX 3060", "8.6", "531.14"), "cuda-12.4"),
        (card("NVIDIA GeForce GTX 1060", "6.1", "531.14"), "vulkan"),  # PTX of 12.4 needs 550
        (card("NVIDIA GeForce GTX 1060", "6.1", "581.15"), "cuda-12.4"),
        (card("NVIDIA GeForce GTX 680", "3.0", "474.11"), "vulkan"),
        (card("NVIDIA GeForce RTX 5070", "12.0", "591.44"), "cuda-13.4"),
        (card("NVIDIA GeForce RTX 3060", "8.6", None), "cuda-12.4"),
        (card("AMD Radeon RX 7600"), "vulkan"),
        (card("Intel(R) Arc(TM) A770"), "vulkan"),
        (card("Intel(R) UHD Graphics", kind="igpu"), "vulkan"),
        (card("llvmpipe", is_software=True), "cpu"),
        (card("10.0.0.1", kind="rpc"), "cpu"),
    ],
)
def test_that_each_card_gets_the_package_that_works_for_it(gpu, package):
    first = best(WINDOWS, gpu)[0]
    assert first.package.key == package
    assert first.suits


def test_that_a_package_that_cannot_work_is_listed_last_and_says_why():
    found = {offer.package.key: offer for offer in best(WINDOWS, card("GTX 1060", "6.1", "581.15"))}
    assert list(found) == ["cuda-12.4", "vulkan", "cpu", "cuda-13.4", "rocm-10.0"]
    assert (found["cuda-13.4"].suits, found["cuda-13.4"].reason) == (False, "cuda_card_too_old")
    assert found["rocm-10.0"].reason == "rocm_no_card"


@pytest.mark.parametrize(
    ("capability", "reason", "needed"),
    [("8.9", "cuda_driver_too_old", 580), ("8.0", "cuda_driver_not_new_enough", None)],
)
def test_that_an_old_driver_is_told_which_one_is_needed(capability, reason, needed):
    found = {offer.package.key: offer for offer in best(WINDOWS, card("RTX", capability, "572.16"))}
    assert (found["cuda-13.4"].reason, found["cuda-13.4"].params["needed"]) == (reason, needed)


def test_that_a_machine_without_a_card_gets_the_processor_build():
    assert best(UBUNTU)[0].package.key == "cpu"
    assert best(Target("macos", "arm64"))[0].package.key == "metal"
    assert offers(RELEASES, Target("ubuntu", None), ()) == ()


def test_that_the_runtime_belongs_to_its_package():
    cuda = best(WINDOWS, card("RTX 3060", "8.6", "560.94"))[0].package
    assert [a.name for a in cuda.assets] == [
        "llama-b11434-bin-win-cuda-12.4-x64.zip", "cudart-llama-bin-win-cuda-12.4-x64.zip"
    ]  # fmt: skip
    assert (cuda.id, cuda.cuda) == ("b11434-win-cuda-12.4-x64", (12, 4))
    linux = {offer.package.key: offer for offer in best(UBUNTU, card("RTX 3060", "8.6", "595.1"))}
    assert linux["cuda-12.8"].package.runtime.name == "cudart-llama-b11434-bin-ubuntu-cuda-12.8-x64.tar.gz"
    assert linux["cuda-13.4"].reason == "cuda_no_runtime"


def test_that_a_release_whose_files_are_still_being_uploaded_is_passed_over():
    new = json.loads(listing(asset("llama-b11435-bin-win-cpu-x64.zip", state="starter"), tag="b11435"))
    old = json.loads(listing(asset("llama-b11434-bin-win-cpu-x64.zip")))
    draft = json.loads(listing(asset("llama-b11436-bin-win-cpu-x64.zip"), tag="b11436", draft=True))
    releases = parse_releases(json.dumps(draft + new + old).encode())
    assert offers(releases, WINDOWS, ())[0].package.tag == "b11434"


@pytest.mark.parametrize(
    "bad",
    [
        {"name": "../llama-b1-bin-win-cpu-x64.zip"}, {"name": "llama-b1-bin-win-cpu-x64.zip\n"}, {"name": 5},
        {"name": "llama-../x-bin-win-cpu-x64.zip"}, {"size": -1}, {"size": "7"}, {"size": True}, {"size": 1 << 60},
        {"browser_download_url": "file:///etc/passwd"}, {"browser_download_url": None}, {"state": "new"},
    ],
)  # fmt: skip
def test_that_an_entry_that_is_no_plain_file_is_left_out(bad):
    assert parse_releases(listing({**asset("llama-b11434-bin-win-cpu-x64.zip"), **bad}))[0].packages == ()


@pytest.mark.parametrize("digest", [None, 7, "sha256:zz", "md5:" + "0" * 64, ["sha256"]])
def test_that_a_digest_that_is_none_is_unknown(digest):
    (package,) = parse_releases(listing(asset("llama-b11434-bin-win-cpu-x64.zip", digest=digest)))[0].packages
    assert package.main.sha256 is None


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[" * 100_000, b"7", b'"x"', b'{"message": "API rate limit exceeded"}', b"\xff\xfe", b"null",
     b" " * (MOST_LISTING_BYTES + 1)],
)  # fmt: skip
def test_that_anything_but_a_listing_is_told(data):
    with pytest.raises(ProblemError, match="release_list_bad"):
        parse_releases(data)


def test_that_odd_releases_are_left_out_and_never_raise():
    odd = [None, 5, [], {}, {"tag_name": "../x", "assets": []}, {"tag_name": "b1", "assets": 7},
           {"tag_name": "b2", "assets": [None, 3, {}, {"name": {}}]}]  # fmt: skip
    assert [release.tag for release in parse_releases(json.dumps(odd).encode())] == ["b2"]
    chooser = random.Random(3)
    text = listing(*(asset(name) for name in WINDOWS_NAMES))
    for _ in range(200):
        broken = bytearray(text)
        for _ in range(3):
            broken[chooser.randrange(len(broken))] = chooser.randrange(256)
        try:
            parse_releases(bytes(broken))
        except ProblemError as error:
            assert error.problem.code == "release_list_bad"  # noqa: PT017


@pytest.mark.parametrize(
    ("driver", "major", "cuda"),
    [("560.94", 560, (12, 6)), ("550.54.14", 550, (12, 4)), ("32.0.15.6094", 560, (12, 6)), ("999.1", 999, (13, 2)),
     ("31.0.15.3667", 536, (12, 2)), (None, None, None), ("", None, None), ("abc", None, None), ("390.1", 390, None)],
)  # fmt: skip
def test_that_a_driver_tells_its_cuda(driver, major, cuda):
    assert driver_major(driver) == major
    assert cuda_of_driver(driver) == cuda


def test_that_a_build_has_a_number():
    assert (build_number("b11434"), build_number("v1.2"), build_number("b")) == (11434, None, None)
