"""Requests out of a server's log: their timings, what they ended with, and what ran beside them."""

from app.engine.timings import RequestLog
from tests.tools.engine_data import log_lines


def _begin(task, slot=0):
    return f"0.01 I slot launch_slot_: id  {slot} | task {task} | processing task, is_child = 0"


def _timing(task, kind, n, tps):
    word = "prompt eval time" if kind == "prompt" else "       eval time"
    return (
        f"0.02 I slot print_timing: id  0 | task {task} | {word} =     {1000 * n / tps:.2f} ms / {n:5} tokens "
        f"({1000 / tps:8.2f} ms per token, {tps:8.2f} tokens per second)"
    )


def _end(task, n):
    return f"0.03 I slot      release: id  0 | task {task} | stop processing: n_tokens = {n}, truncated = 0"


def _requests(lines):
    log = RequestLog()
    return [request for line in lines if (request := log.on_line(line)) is not None]


def test_that_a_real_log_gives_its_requests():
    requests = _requests(log_lines("gen-rpc-exps-cpu.log"))
    assert requests
    first = requests[0]
    assert (first.number, first.prompt.tokens, first.decode.tokens) == (0, 15, 32)
    assert first.n_context == 15 + 32 - 1
    assert first.was_alone
    assert first.decode.tps > 0


def test_that_requests_at_the_same_time_are_told_apart_and_are_not_alone():
    lines = [
        _begin(1), _begin(5, slot=1), _timing(1, "prompt", 300, 100.0), _timing(5, "decode", 40, 10.0), _end(5, 60),
        _timing(1, "decode", 20, 9.0), _end(1, 320), _begin(9), _timing(9, "decode", 30, 20.0), _end(9, 31),
    ]  # fmt: skip
    five, one, nine = _requests(lines)
    assert [r.was_alone for r in (five, one, nine)] == [False, False, True]
    assert [r.number for r in (five, one, nine)] == [1, 0, 2]
    assert (one.prompt.tokens, one.decode.tps, five.prompt) == (300, 9.0, None)


def test_that_a_request_which_never_ended_and_foreign_lines_tell_nothing():
    assert _requests([_begin(1), _timing(1, "decode", 20, 9.0), "eval time = nonsense", _end(7, 20)]) == []
