"""``download``: the list with verdicts, the file, and what goes wrong, through a mirror on this computer."""

import json

import pytest

from tests.tools.file_server import FileServer
from tests.tools.hardware_data import DATA
from tests.tools.hub_pages import Hub
from tests.unit.cli.conftest import LAPTOP

TINY = (DATA.parent / "tiny-moe-2l.gguf").read_bytes()


@pytest.fixture
def hub():
    with FileServer() as server:
        made = Hub(server)
        made.hugging_face(
            "me/tiny-GGUF", {"tiny-Q4_K_M.gguf": TINY, "tiny-Q8_0.gguf": TINY, "mmproj-F16.gguf": b"GGUF"}
        )
        yield made


@pytest.fixture
def download(run, hub):
    def call(link, *options):
        return run("download", link, "--hardware", LAPTOP, "--mirror", hub.base, *options)

    return call


def test_that_the_list_has_a_verdict_for_each_file_and_fetches_nothing(download, hub, lanewise_home):
    said = download("me/tiny-GGUF", "--list", "--json")
    assert said.code == 0
    files = {row["name"]: row for row in said.json["files"]}
    assert files["tiny-Q4_K_M"]["verdict"] == "gpu"
    assert files["tiny-Q4_K_M"]["basis"] == "header"
    assert files["mmproj-F16"]["role"] == "projector"
    assert [row["chosen"] for row in said.json["files"]].count(True) == 1
    assert not list(lanewise_home.rglob("*.gguf"))
    text = download("me/tiny-GGUF", "--list").out
    assert "Fits on the GPU" in text


def test_that_a_quantisation_is_fetched_checked_and_listed_by_models(download, run, lanewise_home):
    said = download("https://huggingface.co/me/tiny-GGUF", "--quant", "q4_k_m", "--json")
    assert said.code == 0
    events = [json.loads(line) for line in said.out.splitlines()]
    assert events[0]["event"] == "files"
    done = events[-1]
    assert (done["event"], done["checked"], done["bytes"]) == ("done", True, len(TINY))
    listed = run("models", "--json", "--hardware", LAPTOP).json
    assert [(row["path"], row["source"]) for row in listed] == [(done["path"], "lanewise")]
    assert download("me/tiny-GGUF:Q4_K_M").code == 0, "what is there is not fetched again"


def test_that_a_folder_may_be_named(download, tmp_path):
    assert download("me/tiny-GGUF", "--pick", "tiny-Q8_0.gguf", "--into", tmp_path).code == 0
    assert (tmp_path / "me" / "tiny-GGUF" / "tiny-Q8_0.gguf").read_bytes() == TINY


def test_that_what_cannot_be_got_is_exit_code_1_with_one_sentence(download):
    said = download("me/none-GGUF")
    assert said.code == 1
    assert "has no public repository me/none-GGUF" in said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("https://huggingface.co/datasets/a/b", "no model's page"),
        ("what", "is no link"),
        ("https://huggingface.co:99999/a/b", "no web address"),
    ],
)
def test_that_a_bad_link_is_exit_code_2(download, link, words):
    said = download(link)
    assert said.code == 2
    assert words in said.sentence


def test_that_a_file_that_is_not_there_is_exit_code_2_with_what_there_is(download):
    said = download("me/tiny-GGUF", "--quant", "Q2_K")
    assert said.code == 2
    assert "Q4_K_M, Q8_0" in said.sentence


def test_that_the_link_may_not_be_missing(run):
    said = run("download")
    assert said.code == 2
    assert "link is missing" in said.sentence
