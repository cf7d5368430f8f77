"""``fits``: the answer before a download, from architecture and size alone."""

import pytest

from tests.unit.cli.conftest import NO_GPU

MIB, GIB = 1 << 20, 1 << 30
SMALL = ("--device", "CUDA0=7600", "--ram-mib", "9216")
"""A card of 8 GB and 16 GB of RAM, 7 of them in use."""


@pytest.fixture
def fits(run):
    def call(*options):
        return run("fits", "--hardware", NO_GPU, *options)

    return call


def test_that_a_file_too_large_is_said_with_what_is_missing_and_what_would_fit(fits):
    said = fits("--arch", "qwen3moe", "--size-gib", "17.3", *SMALL, "--json")
    assert said.code == 1
    answer = said.json
    room = answer["room_bytes"]
    assert (7600 - 512 - 500 + 9216) * MIB < room < (7600 - 512 + 9216) * MIB, "less the reserve and the driver's part"
    assert answer["reckoned_as"] == "Qwen3-30B-A3B"
    assert answer["kv_bytes"] == 768 * MIB, "48 layers x 4 heads x 128 x K and V x f16 x 8192"
    assert answer["missing_bytes"] == round(17.3 * GIB) + (768 + 256) * MIB - room
    assert answer["file_fits_8k_bytes"] - answer["file_fits_16k_bytes"] == 768 * MIB
    assert answer["problems"][0]["code"] == "does_not_fit_memory"
    text = fits("--arch", "qwen3moe", "--size-gib", "17.3", *SMALL)
    assert text.code == 1
    assert "does not fit in memory" in text.out
    assert "at 16k" in text.out


def test_that_a_file_which_fits_is_exit_code_0_and_a_long_context_is_named(fits):
    assert fits("--arch", "qwen3moe", "--size-gib", "12", *SMALL).code == 0
    long = fits("--arch", "qwen3moe", "--size-gib", "12", "--ctx", "131072", *SMALL, "--json")
    assert long.code == 1
    assert long.json["problems"][0]["code"] == "context_too_long"
    assert fits("--arch", "qwen3moe", "--size-gib", "12", "--ctx", "49152", "--ctk", "q8_0", *SMALL).code == 0
    assert fits("--arch", "qwen3moe", "--size-gib", "12", "--ctx", "49152", *SMALL).code == 1


def test_that_the_size_chooses_the_model_of_an_architecture(fits):
    large = fits("--arch", "qwen3moe", "--size-gib", "130", *SMALL, "--json").json
    assert large["reckoned_as"] == "Qwen3-235B-A22B"
    assert fits("--arch", "deepseek2", "--size-gib", "10", *SMALL, "--json").json["reckoned_as"] == "DeepSeek-V2-Lite"


def test_that_an_unknown_architecture_asks_for_the_shape_of_its_cache(fits):
    said = fits("--arch", "newmoe", "--size-gib", "10", *SMALL)
    assert said.code == 2
    assert "--kv-heads" in said.sentence
    shaped = fits(
        "--arch",
        "newmoe",
        "--size-gib",
        "10",
        "--layers",
        "48",
        "--kv-heads",
        "4",
        "--head-size",
        "128",
        *SMALL,
        "--json",
    )
    assert (shaped.code, shaped.json["kv_bytes"], shaped.json["reckoned_as"]) == (0, 768 * MIB, None)


@pytest.mark.parametrize("size", ["0", "-3", "17,3", "nan", "1e3", "٣"])
def test_that_a_size_which_is_none_is_refused(fits, size):
    assert fits("--arch", "qwen3moe", f"--size-gib={size}", *SMALL).code == 2


def test_that_without_a_size_an_example_is_shown(fits):
    said = fits("--arch", "qwen3moe", *SMALL)
    assert said.code == 2
    assert "--size-gib 17.3" in said.sentence


@pytest.mark.slow
def test_that_a_plan_of_a_file_too_large_says_the_same(run, moe):
    said = run("plan", moe, "--json", "--hardware", NO_GPU, "--device", "CUDA0=600", "--ram-mib", "8", "--ctx", "4096")
    assert said.code == 1
    problem = next(p for p in said.json["problems"] if p["code"] == "does_not_fit_memory")
    assert problem["params"]["missing_bytes"] > 0


def test_that_the_cache_preset_is_refused_by_name_for_an_engine_without_it(run, moe):
    said = run("plan", moe, "--hardware", NO_GPU, "--device", "CUDA0=4096", "--preset", "cache")
    assert said.code == 2
    assert "--moe-cache-mib" in said.sentence
