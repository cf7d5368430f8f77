"""Patterns as the engine's C++ regex judges them: what Python would let through is refused too."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.planner.ecma_regex import EcmaSyntaxError, to_python, without_counts

NAMES = [
    "token_embd.weight",
    "output_norm.weight",
    *(f"blk.{n}.{part}" for n in (0, 2, 9, 19, 20, 41) for part in (
        "attn_k.weight", "ffn_gate_inp.weight", "ffn_up_exps.weight", "ffn_gate_up_exps.weight", "ffn_up_shexp.weight",
        "exp_probs_b.bias",
    )),
]  # fmt: skip
GOOD = [
    "exps", r"\.ffn_(up|down|gate|gate_up)_(ch|)exps", r"^blk\.(1|2)\.", r"blk\.[0-9]{2}\.", "(?:up|down)_exps",
    "^(?!.*attn).*exps", "ffn_.*_exps.*", r"blk\.\d+\.ffn_up", r"[[:digit:]]\.ffn", r"[^.]+$", "a-b", r"\bblk", "x*?y",
    r"blk\.(\d)\.", "exps|attn", "[a-f_]+\\.weight", "blk.2.ffn_up_exps", "}", "]", r"(up|down)_exps\.weight$",
]  # fmt: skip
BAD = {
    "blk.(1|2.ffn_up_exps": ("unclosed_group", 4),
    "a)": ("unopened_group", 1),
    "*exps": ("nothing_to_repeat", 0),
    "a++": ("nothing_to_repeat", 2),
    "blk[0-9": ("unclosed_class", 3),
    "[z-a]": ("class_range", 1),
    "(?i)exps": ("not_ecmascript", 0),
    "(?P<n>a)": ("not_ecmascript", 0),
    "(?<=a)b": ("not_ecmascript", 0),
    "a{2": ("brace", 1),
    "a{3,2}": ("brace", 1),
    "x\\": ("escape_at_end", 1),
    r"\Ablk": ("escape", 0),
    r"(a)\2": ("escape", 3),
    "(a+)+$": ("too_complex", 4),
    ".*.*.*.*x": ("too_complex", 5),
    "(a|aa)*b": ("too_complex", 6),
    "(" * 60 + ")" * 60: ("too_complex", 40),
}


@pytest.mark.parametrize("pattern", GOOD)
def test_that_a_pattern_the_engine_takes_is_taken(pattern):
    assert re.compile(to_python(pattern))


@pytest.mark.parametrize("pattern", BAD)
def test_that_a_mistake_is_found_with_its_place(pattern):
    with pytest.raises(EcmaSyntaxError) as caught:
        to_python(pattern)
    assert (caught.value.reason, caught.value.position) == BAD[pattern]


@pytest.mark.slow
@given(st.text(alphabet="ab.*+?()[]{}|^$\\,-0d9:=<!_", max_size=14))
@settings(max_examples=300, deadline=None)
def test_that_whatever_is_taken_compiles_in_python(pattern):
    try:
        translated = to_python(pattern)
    except EcmaSyntaxError:
        return
    re.compile(translated)


@pytest.mark.parametrize(
    ("pattern", "better"),
    [(r"blk\.[0-9]{1,2}\.ffn", r"blk\.[0-9][0-9]?\.ffn"), (r"\d{2,}x", r"\d\d\d*x"), ("a,b", "a.b")],
)
def test_that_a_comma_is_written_out(pattern, better):
    assert without_counts(pattern) == better


PROGRAM = """
#include <iostream>
#include <regex>
#include <string>
int main() {
    std::string line;
    std::getline(std::cin, line);
    int n = std::stoi(line);
    std::string names[256];
    for (int i = 0; i < n; i++) std::getline(std::cin, names[i]);
    while (std::getline(std::cin, line)) {
        try {
            std::regex pattern(line);
            for (int i = 0; i < n; i++) std::cout << (std::regex_search(names[i], pattern) ? '1' : '0');
        } catch (const std::regex_error &) {
            std::cout << "error";
        }
        std::cout << std::endl;
    }
}
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_that_std_regex_judges_and_matches_the_same(tmp_path):
    (tmp_path / "judge.cpp").write_text(PROGRAM)
    subprocess.run(["g++", "-O0", "-std=c++17", "-o", "judge", "judge.cpp"], cwd=tmp_path, check=True, timeout=100)
    refused = [p for p, (reason, _) in BAD.items() if reason not in ("too_complex", "escape", "nothing_to_repeat")]
    asked = "\n".join([str(len(NAMES)), *NAMES, *GOOD, *refused])
    run = subprocess.run([tmp_path / "judge"], input=asked, capture_output=True, text=True, check=True, timeout=60)
    answers = run.stdout.splitlines()
    for pattern, answer in zip(GOOD, answers, strict=False):
        compiled = re.compile(to_python(pattern), re.ASCII)
        assert answer == "".join("01"[compiled.search(name) is not None] for name in NAMES), pattern
    assert answers[len(GOOD) :] == ["error"] * len(refused)


@pytest.mark.parametrize("pattern", ["\\b?", "\\B*", "(?=a)*", "(?!a)+", "a\\b{2}"])
def test_that_an_assertion_cannot_be_repeated(pattern):
    with pytest.raises(EcmaSyntaxError):
        to_python(pattern)


def test_that_an_assertion_by_itself_is_fine():
    assert to_python("\\ba(?=b)") == "\\ba(?=b)"
