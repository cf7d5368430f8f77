"""The chat stream and the slots of a real server, replayed."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.slotrate import SlotRate, SlotSample, parse_slots
from app.engine.sse import ChatDelta, ChatDone, ChatTimings, PromptProgress, parse_chat_chunk, sse_data
from tests.tools.engine_data import HTTP

STREAM = (HTTP / "http-chat-stream-timings_per_token.sse").read_bytes()


def events_of(chunks):
    return [event for data in sse_data(chunks) for event in parse_chat_chunk(data)]


def test_that_a_real_stream_gives_progress_text_figures_and_the_end():
    events = events_of([STREAM])
    assert events[0] == PromptProgress(done=13, total=46)
    assert "".join(e.text for e in events if isinstance(e, ChatDelta)).endswith("5")
    timings = [e for e in events if isinstance(e, ChatTimings)]
    assert timings[0].predicted_tps is None
    assert timings[-1].predicted_n == 8
    assert timings[-1].predicted_tps == pytest.approx(506.07, abs=0.01)
    assert timings[-1].prompt_n == 33
    assert [e for e in events if isinstance(e, ChatDone)] == [ChatDone("length")]


@given(st.lists(st.integers(1, len(STREAM)), max_size=20))
def test_that_the_cut_of_the_packets_does_not_matter(cuts):
    borders = [0, *sorted(cuts), len(STREAM)]
    chunks = [STREAM[a:b] for a, b in itertools.pairwise(borders)]
    assert events_of(chunks) == events_of([STREAM])


def test_that_thinking_is_apart_from_the_answer():
    chunk = {"choices": [{"delta": {"reasoning_content": "hm", "content": None}, "finish_reason": None}]}
    assert parse_chat_chunk(json.dumps(chunk).encode()) == [ChatDelta("", "hm")]


def test_that_comments_and_what_follows_the_end_are_ignored():
    assert list(sse_data([b": ping\n\nevent: x\ndata: 1\r\n\ndata: [DONE]\n\ndata: 2\n\n"])) == [b"1"]


def test_that_a_line_without_end_is_refused():
    with pytest.raises(ValueError, match="too long"):
        list(sse_data(b"data: " + b"x" * 1_000_000 for _ in range(10)))


def test_that_the_servers_own_error_is_raised_with_its_words():
    with pytest.raises(ValueError, match="context size"):
        parse_chat_chunk(b'{"error": {"code": 500, "message": "exceeds context size"}}')


KEYS = ["choices", "delta", "timings", "prompt_progress", "content", "predicted_ms", "finish_reason"]
LEAVES = st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3)
TREES = st.recursive(
    LEAVES, lambda x: st.lists(x, max_size=2) | st.dictionaries(st.sampled_from(KEYS), x, max_size=3), max_leaves=6
)


@given(st.dictionaries(st.sampled_from(KEYS), TREES, max_size=4))
def test_that_any_object_is_read(data):
    assert isinstance(parse_chat_chunk(json.dumps(data).encode()), list)


@pytest.mark.parametrize("data", [b"3", b"[]", b"{", b"\xff", b"", b"[" * 100_000])
def test_that_what_is_no_object_is_refused(data):
    with pytest.raises(ValueError, match=r"."):
        parse_chat_chunk(data)


def test_that_absurd_figures_are_unknown_ones():
    huge = b"1" + b"0" * 400
    data = b'{"timings": {"predicted_ms": %b, "predicted_n": %b, "prompt_per_second": 1e999}}' % (huge, huge)
    (timings,) = parse_chat_chunk(data)
    assert (timings.predicted_ms, timings.predicted_n, timings.prompt_tps) == (0.0, 0, None)
    (slot,) = parse_slots([{"id": 0, "is_processing": True, "id_task": 1, "next_token": {"n_decoded": 10**400}}], 0.0)
    assert slot.n_decoded is None


def test_that_live_speed_is_the_difference_of_decoded_tokens():
    rate = SlotRate()
    polls = json.loads((HTTP / "http-live-poll.json").read_text())
    speeds = [rate.update(parse_slots([p["busy"]] if p["busy"] else [], p["t"])) for p in polls]
    assert speeds[0][0].tps is None
    assert speeds[1][0].tps == pytest.approx((409 - 233) / (polls[1]["t"] - polls[0]["t"]))
    assert speeds[1][0].used_tokens == 417
    assert speeds[1][0].fill == pytest.approx(417 / 4096)


def test_that_a_slot_of_the_real_server_is_read():
    (busy,) = parse_slots(json.loads((HTTP / "http-slots-busy.json").read_text()), 1.0)
    assert (busy.slot, busy.is_busy, busy.task, busy.n_decoded, busy.n_ctx) == (0, True, 79, 233, 4096)
    (idle,) = parse_slots(json.loads((HTTP / "http-slots-idle.json").read_text())["body"], 1.0)
    assert (idle.is_busy, idle.task, idle.n_decoded) == (False, None, None)


def sample(at_s, task, n, busy=True):
    return SlotSample(at_s, 0, busy, 4096, task, n, 10 + n)


def test_that_a_new_request_starts_a_new_count():
    rate = SlotRate()
    rate.update([sample(0.0, 1, 100)])
    assert rate.update([sample(1.0, 2, 5)])[0].tps is None
    assert rate.update([sample(2.0, 2, 15)])[0].tps == 10


def test_that_a_slot_that_was_not_seen_writing_has_no_speed_yet():
    rate = SlotRate()
    (speed,) = rate.update([SlotSample(0.0, 0, False, 4096)])
    assert (speed.tps, speed.fill) == (None, None)
    for at_s in (1.0, 2.0):  # it reads its prompt
        assert rate.update([sample(at_s, 1, 0)])[0].tps is None


def test_that_a_slot_that_rests_after_it_wrote_does_nothing_a_second():
    rate = SlotRate()
    rate.update([sample(0.0, 1, 5)])
    (speed,) = rate.update([SlotSample(1.0, 0, False, 4096)])
    assert (speed.tps, speed.fill) == (0.0, None)


def test_that_two_looks_at_the_same_moment_give_no_speed():
    rate = SlotRate()
    rate.update([sample(1.0, 1, 5)])
    assert rate.update([sample(1.0, 1, 9)])[0].tps is None


@pytest.mark.parametrize("entry", [None, 3, {}, {"id": "x"}, {"id": 1, "next_token": [3]}, {"id": 1, "n_ctx": -5}])
def test_that_strange_slots_do_no_harm(entry):
    assert all(s.n_ctx is None for s in parse_slots([entry], 0.0))


def _looks(*looks):
    rate = SlotRate()
    return [rate.update([SlotSample(at, 0, task is not None, 4096, task, n)])[0].tps for at, task, n in looks]


def test_that_a_slow_answer_is_no_row_of_zeros_between_its_tokens():
    looks = ((0.0, 7, 1), (0.5, 7, 2), (1.0, 7, 2), (1.5, 7, 3), (2.0, 7, 3))
    assert _looks(*looks) == [None, 2.0, 2.0, 1.0, 1.0]


def test_that_an_answer_that_stands_still_is_zero_after_a_while():
    looks = ((0.0, 7, 1), (0.5, 7, 5), (2.0, 7, 5), (2.5, 7, 5), (3.0, 7, 5), (3.5, None, None))
    assert _looks(*looks) == [None, 8.0, 8.0, 0.0, 0.0, 0.0]


def test_that_the_next_answer_does_not_begin_with_the_speed_of_the_last():
    looks = ((0.0, 7, 1), (0.5, 7, 5), (1.0, 8, 1), (1.5, 8, 1), (2.0, 8, 2))
    assert _looks(*looks) == [None, 8.0, None, 0.0, 2.0]
