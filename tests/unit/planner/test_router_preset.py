"""A router preset says what the command says, whatever the words hold, or is not written."""

import pytest

from app.engine.capabilities import FALLBACK
from app.planner.router_preset import PresetValueError, router_preset, section_name


def values_of(*argv):
    head, *lines = router_preset(["-m", "m.gguf", *argv], "m", FALLBACK).splitlines()
    assert head == "[m]"
    return dict(line.split(" = ", 1) if " = " in line else (line, None) for line in lines)


def test_that_no_adapter_is_lost_when_there_are_several():
    assert values_of("--lora", "one.gguf", "--lora", '"t,wo.gguf"')["lora"] == 'one.gguf,"t,wo.gguf"'
    rules = values_of("-ot", r"blk\.0\.=CPU", "-c", "512", "-ot", r"blk\.1\.=CUDA0,blk\.2\.=CPU")
    assert rules["override-tensor"] == r"blk\.0\.=CPU,blk\.1\.=CUDA0,blk\.2\.=CPU", "the first hit wins"


def test_that_of_other_options_the_last_one_counts():
    assert values_of("-c", "512", "--ctx-size", "1024")["ctx-size"] == "1024"


def test_that_an_empty_value_stays_empty_and_only_a_switch_is_true():
    said = values_of("--chat-template", "", "--jinja")
    assert said["chat-template"] == ""
    assert said["jinja"] == "true"


@pytest.mark.parametrize(
    "argv",
    [("--logit-bias", "1+1", "--logit-bias", "2-1"), ("--jinja\nmodel = other.gguf",), ("--jinja]",), ("-m", "a\nb"),
     ("-a b", "1")],
)  # fmt: skip
def test_that_what_the_file_cannot_say_is_refused(argv):
    with pytest.raises(PresetValueError):
        router_preset(argv, "m", FALLBACK)


def test_that_a_section_has_the_name_that_the_engine_will_know_it_by():
    assert section_name("qwen3:30b a3b [x];#y") == "qwen3-30b-a3b-x-y"
    assert section_name("a=b % c") == "a=b-%-c"
    assert section_name(" default ") == "default-model"
    assert section_name("\n]") == "model"
