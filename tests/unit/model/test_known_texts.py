"""Vocabularies seen before: the end is found without the middle, and never elsewhere than by walking."""

import pytest

from app.common.problem import ProblemError
from app.model.gguf_writer import GgufWriter, ValueType
from app.model.known_texts import KnownTexts
from app.model.reader import read_model
from app.work.library.alike import AlikeHeaders
from app.work.library.summary import summarise
from app.work.library.types import FoundFile, Source

WORDS = tuple(f"word{n}{'!' * (n % 40)}" for n in range(9000))
MERGES = tuple(f"w o{n}" for n in range(9000))


def write(path, words=WORDS, merges=MERGES):
    writer = GgufWriter()
    writer.add("general.architecture", ValueType.STRING, "qwen3moe")
    writer.add("qwen3moe.block_count", ValueType.U32, 1)
    writer.add_array("tokenizer.ggml.tokens", ValueType.STRING, words)
    writer.add_array("tokenizer.ggml.merges", ValueType.STRING, merges)
    writer.add("qwen3moe.context_length", ValueType.U32, len(words))
    writer.add_tensor("token_embd.weight", (32, len(words)), "F16")
    writer.write(path)
    return path


@pytest.fixture
def walked(monkeypatch):
    """How many texts were walked one by one."""
    from app.model._cursor import Cursor

    counts = []
    real = Cursor.skip_strings

    def count(self, n):
        counts.append(n)
        real(self, n)

    monkeypatch.setattr(Cursor, "skip_strings", count)
    return counts


def test_that_the_same_vocabulary_is_walked_once(tmp_path, walked):
    texts = KnownTexts()
    first = read_model(write(tmp_path / "a.gguf"), texts.skip)
    assert sum(walked) == len(WORDS) + len(MERGES)
    walked.clear()
    second = read_model(write(tmp_path / "b.gguf"), texts.skip)
    assert sum(walked) < 2 * 4096
    assert (second.context_length, second.tensors) == (first.context_length, first.tensors)


@pytest.mark.parametrize(
    "words",
    [
        WORDS[:5000],
        (*WORDS, "more", "and more"),
        (*WORDS[:-1], "another last word"),
        (*WORDS[:4500], "a longer word in the middle", *WORDS[4501:]),
        (WORDS[0] + "x", *WORDS[1:]),
        tuple(reversed(WORDS)),
        WORDS[:2000],
    ],
)
def test_that_a_vocabulary_that_differs_anywhere_is_read_to_its_own_end(tmp_path, words):
    texts = KnownTexts()
    read_model(write(tmp_path / "a.gguf"), texts.skip)
    path = write(tmp_path / "b.gguf", words)
    for _ in range(2):
        assert read_model(path, texts.skip) == read_model(path)
    assert read_model(tmp_path / "a.gguf", texts.skip).context_length == len(WORDS)


def test_that_a_vocabulary_that_only_looks_like_a_known_one_is_no_damaged_file(tmp_path):
    """One text longer by as much as another one takes, in front of blank ones that are all the same bytes."""
    blank = (*WORDS[:3900], *[""] * 400, *WORDS[3900:])
    moved = [*blank[:3000], blank[3000] + 8 * "x", *blank[3001:]]
    del moved[3950]
    texts, alike = KnownTexts(), AlikeHeaders()
    paths = write(tmp_path / "a.gguf", blank, MERGES), write(tmp_path / "b.gguf", moved, MERGES)
    for path in paths:
        found = FoundFile(str(path), path.name, Source.FOLDER, str(tmp_path))
        summary, model = summarise(found, alike, texts)
        assert summary.problem is None
        assert model == read_model(path)


def test_that_a_file_cut_off_in_a_known_vocabulary_says_so(tmp_path):
    texts = KnownTexts()
    path = write(tmp_path / "a.gguf")
    read_model(path, texts.skip)
    half = tmp_path / "half.gguf"
    half.write_bytes(path.read_bytes()[:200_000])
    with pytest.raises(ProblemError, match="gguf_truncated_header"):
        read_model(half, texts.skip)


@pytest.mark.slow
def test_that_ever_new_vocabularies_do_not_fill_the_memory(tmp_path):
    texts = KnownTexts()
    for number in range(20):
        read_model(write(tmp_path / "a.gguf", (*WORDS[:4200], f"{number}", *WORDS[4201:])), texts.skip)
    assert sum(map(len, texts._walked.values())) <= 2 * 16
