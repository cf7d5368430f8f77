"""Options from real help texts, and the fallback made of one of them."""

from app.engine.capabilities import FALLBACK, parse_help
from tests.tools.engine_data import LOGS

OLD = (LOGS / "help-b11434.txt").read_text()
NEW = (LOGS / "help-b11549.txt").read_text()


def test_that_every_spelling_of_an_option_is_found():
    flags = parse_help(OLD)
    assert {"-ngl", "--gpu-layers", "--n-gpu-layers"} <= flags
    assert {"-kvo", "--kv-offload", "-nkvo", "--no-kv-offload"} <= flags
    assert {"-lm", "--load-mode", "-ot", "--override-tensor", "-fit", "--list-devices", "-h", "--usage"} <= flags
    assert len(flags) == 413


def test_that_removed_options_are_absent():
    assert not {"--mlock", "--no-mmap", "--mmap"} & parse_help(OLD)


def test_that_values_and_descriptions_are_no_options():
    assert not {"--threads)", "-", "--no-", "--spec-ngram-*-size-n"} & parse_help(OLD)
    assert parse_help("-m,    --model FNAME     see --other\n         --indented\n----- title -----\n") == {
        "-m",
        "--model",
    }


def test_that_a_newer_build_differs_only_in_its_new_option():
    assert parse_help(NEW) - parse_help(OLD) == {"--moe-cache-mib"}
    assert parse_help(OLD) - parse_help(NEW) == set()


def test_that_the_fallback_is_the_help_of_b11434():
    assert FALLBACK.flags == parse_help(OLD)
    assert FALLBACK.build is None
    assert FALLBACK.first("--mlock", "-lm") == "-lm"
