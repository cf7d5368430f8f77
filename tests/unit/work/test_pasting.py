"""A pasted command: read in any shell, judged for the open model, bounded whatever it is."""

import pytest

from app.common.problem import ProblemError, Severity
from app.engine.capabilities import FALLBACK
from app.planner.command_import import MOST_WORDS
from app.planner.pasted import MOST_CHARACTERS
from app.planner.plan import PlanInputs
from app.planner.tensor_rules import MOST_RULES
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Wishes
from app.work.pasting import check_paste
from tests.unit.planner.synthetic_boards import SPLIT_EXPERTS, model_of, moe_names

GIB = 1 << 30
RAM_DEVICE = Device(RAM, DeviceKind.RAM, 64 * GIB, 50 * GIB, buffer_name="CPU")
ONE_CARD = DeviceSet((Device("CUDA0", DeviceKind.GPU, 24 * GIB, 24 * GIB, buffer_name="CUDA0"),), RAM_DEVICE)


@pytest.fixture(scope="module")
def inputs():
    model = model_of(moe_names(4, SPLIT_EXPERTS), 4)
    return PlanInputs(model, ONE_CARD, Wishes(), FALLBACK, n_threads=8)


def codes(check):
    return [problem.code for problem in check.problems]


@pytest.mark.parametrize(
    "text",
    [
        "llama-server -m m.gguf -ngl 99 \\\n  -ot 'exps=CPU' \\\n  -c 4096 --jinja",
        "llama-server.exe -m m.gguf -ngl 99 ^\n  -ot exps=CPU ^\n  -c 4096 --jinja",
        '& ".\\llama-server.exe" -m m.gguf -ngl 99 `\n  -ot "exps=CPU" `\n  -c 4096 --jinja',
    ],
)
def test_that_every_shells_form_gives_the_same_plan(inputs, text):
    check = check_paste(text, inputs)
    assert [rule.moved for rule in check.report.rules] == [12]
    assert check.report.plan.n_ctx == 4096
    assert check.report.plan.wishes.extra == ("--jinja",)


def test_that_a_command_for_another_file_is_told(inputs):
    assert "paste_other_model" in codes(check_paste(r"llama-server -m D:\models\other.gguf -c 8", inputs))
    here = inputs.model.path.rpartition("/")[2]
    assert "paste_other_model" not in codes(check_paste(f"llama-server -m /models/{here} -c 8", inputs))


def test_that_rpc_servers_the_board_does_not_have_are_told(inputs):
    check = check_paste("llama-server -m m.gguf --rpc 10.0.0.2:50052 -c 8", inputs)
    (told,) = [p for p in check.problems if p.code == "paste_rpc_servers"]
    assert told.params["servers"] == "10.0.0.2:50052"


def test_that_a_server_other_computers_can_reach_is_told(inputs):
    assert "paste_listens" in codes(check_paste("llama-server -m m.gguf -c 8 --host 0.0.0.0", inputs))
    for host in ("", "--host 127.0.0.1", "--host localhost", "--host /run/llama.sock"):
        assert "paste_listens" not in codes(check_paste(f"llama-server -m m.gguf -c 8 {host}", inputs))


def test_that_a_text_without_a_command_is_one_problem(inputs):
    for text, code in (("", "import_empty"), ("hello", "import_no_options"), ("llama-server -m 'x", "import_quote")):
        with pytest.raises(ProblemError) as error:
            check_paste(text, inputs)
        assert error.value.problem.code == code


def test_that_a_nested_list_is_no_command_and_no_crash(inputs):
    for text, code in (("[" * 100_000, "import_json"), ('["-c", [', "import_json"), ('["-c", "8', "import_quote")):
        with pytest.raises(ProblemError) as error:
            check_paste(text, inputs)
        assert error.value.problem.code == code


def test_that_a_paste_beyond_any_command_line_is_refused(inputs):
    with pytest.raises(ProblemError) as error:
        check_paste("llama-server " + "-c 8 " * (MOST_CHARACTERS // 5), inputs)
    assert error.value.problem.code == "import_too_long"


@pytest.mark.slow
def test_that_thousands_of_rules_are_bounded_and_told(inputs):
    n_rules = MOST_RULES + 1000
    check = check_paste(f"llama-server -m m.gguf -c 8 -ngl 99 -ot {','.join(['exps=CPU'] * n_rules)}", inputs)
    (told,) = [p for p in check.problems if p.code == "import_too_many_rules"]
    assert (told.severity, told.params["n"]) == (Severity.ERROR, n_rules)
    assert len(check.report.rules) == MOST_RULES
    assert [rule.moved for rule in check.report.rules[:2]] == [12, 0]


@pytest.mark.slow
def test_that_thousands_of_stray_words_are_bounded_and_told(inputs):
    check = check_paste("llama-server -m m.gguf -c 8 " + "stray " * MOST_WORDS, inputs)
    assert check.problems[0].severity is Severity.ERROR
    assert "import_too_many_words" in codes(check)
    assert codes(check).count("import_stray") == 1  # the same problem is told once
