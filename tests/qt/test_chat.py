"""The conversation: what is sent, what is shown of an answer, and what a hostile answer achieves."""

from __future__ import annotations

import dataclasses
import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from PySide6.QtCore import QMimeData, QPoint, QUrl
from PySide6.QtGui import QColor, QDesktopServices, QGuiApplication, QImage
from PySide6.QtTest import QTest

from app.common.problem import Problem, ProblemError
from app.session.chat_controller import ChatController
from app.session.chat_pictures import LARGEST_SIDE, Picture, picture_of, read_picture
from app.session.jobs import JobRunner
from app.session.state import ChatPhase, ChatState, RunPhase, RunState
from app.ui.pages.run import RunPage
from app.ui.pages.run_chat_text import formatted, may_format, stable_end, web_address
from app.ui.pages.run_chat_view import ChatView
from app.ui.theme.manager import ThemeManager, ThemeMode
from tests.qt import page_fixtures as fx
from tests.tools.file_server import FileServer


@pytest.fixture
def jobs(qapp):
    runner = JobRunner()
    yield runner
    runner.close()


class Server:
    """Answers every question with its number, writes down what it was sent, and tells what it can do."""

    def __init__(self):
        self.bodies = []
        self.props = {"modalities": {"vision": True}, "default_generation_settings": {"n_ctx": 4096}}
        self.has_page = True
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                outer.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.end_headers()
                for chunk in outer.chunks():
                    self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                self.wfile.write(b"data: [DONE]\n\n")

            def do_GET(self):
                body = json.dumps(outer.props).encode() if self.path == "/props" else b"<html></html>"
                self.send_response(200 if self.path == "/props" or outer.has_page else 404)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._http = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever)
        self._thread.start()

    def chunks(self):
        yield {"choices": [{"delta": {"reasoning_content": "hm"}}]}
        yield {"choices": [{"delta": {"content": f"answer {len(self.bodies)}"}}]}
        timings = {"cache_n": 20, "prompt_n": 5, "predicted_n": 7, "predicted_per_second": 50.0}
        yield {"choices": [{"delta": {}, "finish_reason": "stop"}], "timings": timings}

    def close(self):
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


@pytest.fixture
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture
def chat(jobs):
    return ChatController(jobs)


def ask(qtbot, chat, server, text, pictures=()):
    chat.ask(server.url, None, text, pictures)
    qtbot.waitUntil(lambda: chat.state.phase is ChatPhase.IDLE)


def test_that_turns_are_sent_as_messages_after_the_system_prompt(qtbot, chat, server):
    chat.system_prompt = "Speak \u4e2d\u6587.\ud800"
    ask(qtbot, chat, server, "one")
    ask(qtbot, chat, server, "two")
    assert server.bodies[1]["messages"] == [
        {"role": "system", "content": "Speak \u4e2d\u6587.\ufffd"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "answer 1"},
        {"role": "user", "content": "two"},
    ]
    assert [turn.answer for turn in chat.turns] == ["answer 1"]
    assert chat.state.context_used == 32
    assert chat.state.first_token_s >= 0


def test_that_asking_again_leaves_the_last_answer_out_and_replaces_it(qtbot, chat, server):
    ask(qtbot, chat, server, "one")
    ask(qtbot, chat, server, "two")
    before = chat.state.number
    chat.again()
    qtbot.waitUntil(lambda: chat.state.phase is ChatPhase.IDLE)
    assert server.bodies[2]["messages"] == server.bodies[1]["messages"]
    assert (chat.state.answer, len(chat.turns)) == ("answer 3", 1)
    assert chat.state.number > before


def test_that_a_new_chat_knows_nothing_of_the_old_one(qtbot, chat, server):
    ask(qtbot, chat, server, "one")
    chat.begin_anew()
    assert (chat.turns, chat.state.question, chat.can_ask_again) == ((), "", False)
    ask(qtbot, chat, server, "two")
    assert server.bodies[1]["messages"] == [{"role": "user", "content": "two"}]


def test_that_the_conversation_goes_on_with_the_next_server(qtbot, chat, server):
    ask(qtbot, chat, server, "one")
    chat.forget()
    ask(qtbot, chat, server, "two")
    assert [m["content"] for m in server.bodies[1]["messages"]] == ["one", "answer 1", "two"]


def test_that_a_ready_server_tells_its_context_and_whether_it_sees(qtbot, chat, server):
    with qtbot.waitSignal(chat.server_known):
        chat.serve(server.url, "key")
    assert (chat.takes_pictures, chat.n_ctx) == (True, 4096)
    chat.forget()
    assert (chat.takes_pictures, chat.n_ctx) == (None, None)
    server.props = {"modalities": 7, "default_generation_settings": {"n_ctx": -5}}
    with qtbot.waitSignal(chat.server_known):
        chat.serve(server.url, "key")
    assert (chat.takes_pictures, chat.n_ctx) == (None, None)


@pytest.mark.parametrize("has_page", [True, False])
def test_that_an_engine_without_a_page_is_told(qtbot, chat, server, has_page):
    server.has_page = has_page
    with qtbot.waitSignal(chat.server_known):
        chat.serve(server.url, None)
    with qtbot.waitSignal(chat.page_known) as told:
        chat.ask_for_page()
    url, problem = told.args
    assert url == server.url
    assert (problem is None) is has_page
    assert has_page or problem.code == "chat_no_page"


# Pictures.


def picture_file(folder, name="写 真 1.png", size=(3000, 1000)):
    image = QImage(*size, QImage.Format.Format_RGB32)
    image.fill(QColor("teal"))
    path = folder / name
    assert image.save(str(path))
    return path


def test_that_a_picture_goes_along_small_and_as_a_part_of_the_message(qtbot, chat, server, tmp_path):
    chat.add_picture(str(picture_file(tmp_path)))
    qtbot.waitUntil(lambda: bool(chat.pending))
    (picture,) = chat.pending
    sent = QImage.fromData(picture.data)
    assert (sent.width(), sent.height()) == (LARGEST_SIDE, LARGEST_SIDE // 3)
    ask(qtbot, chat, server, "what is it?", chat.take_pending())
    (message,) = server.bodies[0]["messages"]
    assert [part["type"] for part in message["content"]] == ["image_url", "text"]
    assert message["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert chat.pending == ()


def test_that_no_picture_is_told_with_its_name(qtbot, chat, tmp_path):
    (tmp_path / "no.png").write_bytes(b"no picture at all")
    with qtbot.waitSignal(chat.failed) as told:
        chat.add_picture(str(tmp_path / "no.png"))
    assert (told.args[0].code, told.args[0].params["name"]) == ("picture_unreadable", "no.png")
    with pytest.raises(ProblemError):
        picture_of("nothing", QImage())


def test_that_a_picture_that_pretends_to_be_huge_is_refused_before_it_is_read(qapp, tmp_path):
    path = picture_file(tmp_path, size=(8, 8))
    data = bytearray(path.read_bytes())
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    path.write_bytes(data)
    with pytest.raises(ProblemError) as caught:
        read_picture(str(path))
    assert caught.value.problem.code == "picture_unreadable"


def test_that_at_most_eight_pictures_wait_and_each_can_be_taken_out(chat):
    for n in range(10):
        chat._on_picture(Picture(str(n), "image/png", b""), None)
    assert [p.name for p in chat.pending] == [str(n) for n in range(2, 10)]
    chat.drop_picture(0)
    assert chat.pending[0].name == "3"


# The view.


@pytest.fixture
def view(qtbot):
    ThemeManager.of_app()
    made = ChatView()
    qtbot.addWidget(made)
    made.resize(500, 400)
    return made


def shown(view, answer, **more):
    view.set_state(ChatState(ChatPhase.IDLE, "q", answer, finish_reason="stop", **more))
    return view.toPlainText()


def links(view):
    found, block = [], view.document().begin()
    while block.isValid():
        iterator = block.begin()
        while not iterator.atEnd():
            style = iterator.fragment().charFormat()
            if style.isAnchor():
                found.append(style.anchorHref())
            iterator += 1
        block = block.next()
    return found


def test_that_markdown_is_formatted_and_code_can_be_copied(view):
    code = "def f(x):\n    return x < 1\n\nprint(f(0))"
    text = shown(view, f"# Title\n\nSome **bold** text.\n\n```python\n{code}\n```\n\n- a\n- b\n")
    assert "**" not in text
    assert "```" not in text
    assert "python · Copy" in text
    view.anchorClicked.emit(QUrl("copy-code:0"))
    assert QGuiApplication.clipboard().text() == code
    view.anchorClicked.emit(QUrl("copy-answer:0"))
    assert QGuiApplication.clipboard().text().startswith("# Title")


def test_that_the_figures_of_an_answer_stand_under_it(view):
    text = shown(view, "yes", decode_tps=61.31, first_token_s=0.844, prompt_tps=412.4, decoded_tokens=128)
    assert "61.3 tok/s · first token after 0.84 s · prompt 412 tok/s · 128 tokens" in text


HOSTILE = (
    "![a](file:///etc/passwd) ![b](http://192.0.2.1/x.png) ![c](lanewise:picture/0)\n\n"
    '<img src="file:///etc/passwd"><script>alert(1)</script> <a href="file:///etc/passwd">x</a>\n\n'
    "[f](file:///etc/passwd) [again](again) [j](javascript:alert(1)) [u](http://user:pw@host/) "
    "[w](https://example.org/a?b=1)\n"
)


def test_that_a_hostile_answer_loads_nothing_and_links_only_to_the_web(view, monkeypatch):
    asked = []
    real = view.loadResource
    monkeypatch.setattr(view, "loadResource", lambda kind, name: asked.append(name) or real(kind, name))
    text = shown(view, HOSTILE)
    view.grab()
    assert asked == []
    assert "[picture: file:///etc/passwd]" in text
    assert "<script>" in text
    assert links(view) == ["https://example.org/a?b=1", "copy-answer:0", "again"]


def test_that_no_picture_of_an_answer_is_asked_for_in_the_network(view, qtbot, qapp):
    with FileServer() as web:
        web.put("/x.png", b"\x89PNG")
        address = web.url("/x.png")
        shown(view, f'![a]({address}) <img src="{address}"> [![b]({address})]({address})\n\n[r]: {address}\n![c][r]')
        view.show()
        view.grab()
        view.setFocus()
        QTest.mouseMove(view.viewport(), QPoint(30, 30))
        qapp.processEvents()
        qtbot.waitUntil(lambda: view.isVisible())
        assert web.asked == []
        with urllib.request.urlopen(address) as answer:
            answer.read()
        assert len(web.asked) == 1, "the server would have noticed"
    view.hide()


def test_that_a_link_opens_in_the_browser_and_nothing_else_does(view, monkeypatch):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    for link in ("https://example.org/", "file:///etc/passwd", "ftp://example.org/", "https://", "//example.org"):
        view.anchorClicked.emit(QUrl(link))
    assert opened == ["https://example.org/"]


def test_that_only_an_address_of_the_web_is_one():
    assert web_address("HTTPS://example.org/x") == "https://example.org/x"
    assert [web_address(a) for a in ("", "x", "http:///x", "data:text/html,x", "http://" + "x" * 3000)] == [None] * 5


def test_that_a_stream_ends_as_the_same_text_as_the_whole_answer(view):
    answer = "Intro *one*.\n\n1. first\n\n2. second\n\n"
    answer += "```c\nint x;\n\nint y;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd."
    whole = shown(view, answer)
    view.set_state(ChatState(ChatPhase.PROMPT, "q", number=2))
    for end in range(1, len(answer) + 1):
        view.set_state(ChatState(ChatPhase.ANSWERING, "q", answer[:end], number=2))
    assert "int y;" in view.toPlainText()
    view.set_state(ChatState(ChatPhase.IDLE, "q", answer, finish_reason="stop", number=2))
    assert view.toPlainText() == whole


def conversation(picture):
    """States in the order in which a conversation with everything in it shows them."""
    code = "Look:\n\n```py\nprint(1)\n```\n\n- a\n- b\n"
    first = ChatState(ChatPhase.IDLE, "one", code, finish_reason="stop", number=1, decode_tps=5.0)
    second = ChatState(ChatPhase.IDLE, "two", "**two**", reasoning="hm", finish_reason="stop", number=2)
    third = ChatState(ChatPhase.IDLE, "see", code, finish_reason="length", number=3, pictures=(picture,))
    again = ChatState(ChatPhase.IDLE, "see", "no", finish_reason="stop", number=4, pictures=(picture,))
    failed = ChatState(ChatPhase.IDLE, "five", "", number=5, problem=Problem("chat_server_ended", evidence=("x",)))
    turns = ()
    for state in (first, second, third, again, failed):
        before = ChatState(ChatPhase.PROMPT, state.question, number=state.number, pictures=state.pictures)
        yield turns, before
        for end in range(0, len(state.answer), 7):
            yield turns, dataclasses.replace(before, phase=ChatPhase.ANSWERING, answer=state.answer[: end + 7])
        yield turns, state
        turns = turns if state is third else (*turns, state)


def test_that_a_conversation_that_grew_is_the_same_as_one_written_at_once(view, qtbot, tmp_path, qapp):
    for turns, state in conversation(read_picture(str(picture_file(tmp_path)))):
        view.set_chat(turns, state)
        if state.phase is ChatPhase.IDLE:
            fresh = ChatView()
            qtbot.addWidget(fresh)
            fresh.set_chat(turns, state)
            assert view.toHtml() == fresh.toHtml(), state.question
            assert [piece.text for piece in view._codes] == [piece.text for piece in fresh._codes]
            assert list(view._images) == list(fresh._images)
    assert links(view).count("again") == 1
    view.anchorClicked.emit(QUrl("copy-answer:0"))
    assert QGuiApplication.clipboard().text().startswith("Look:")


def test_that_an_answer_without_a_blank_line_streams_in_pieces_and_ends_as_one_paragraph(view):
    words = "river stone " * 1000
    for end in range(0, len(words), 500):
        view.set_state(ChatState(ChatPhase.ANSWERING, "q", words[: end + 500], number=1))
    longest = max(len(line) for line in view.toPlainText().split("\n"))
    assert longest < 3000
    view.set_state(ChatState(ChatPhase.IDLE, "q", words, number=1, finish_reason="stop"))
    assert words.strip() in view.toPlainText()


def test_that_who_scrolled_up_stays_there_while_the_answer_ends_and_the_next_question_comes(view, qapp):
    words = "line\n\n" * 200
    view.show()
    view.set_state(ChatState(ChatPhase.ANSWERING, "q", words, number=1))
    qapp.processEvents()
    view.verticalScrollBar().setValue(40)
    done = ChatState(ChatPhase.IDLE, "q", words, number=1, finish_reason="stop")
    view.set_state(done)
    view.set_chat((done,), ChatState(ChatPhase.PROMPT, "next", number=2))
    assert view.verticalScrollBar().value() == 40
    view.hide()


def test_that_a_view_that_becomes_smaller_still_shows_the_end(view, qapp):
    view.show()
    view.set_state(ChatState(ChatPhase.IDLE, "q", "line\n\n" * 100, number=1, finish_reason="stop"))
    qapp.processEvents()
    view.resize(500, 200)
    qapp.processEvents()
    assert view.is_at_end()
    view.verticalScrollBar().setValue(40)
    view.resize(500, 300)
    qapp.processEvents()
    assert view.verticalScrollBar().value() == 40
    view.hide()


def test_that_the_end_of_a_long_chat_stays_in_sight_in_another_theme(view, qapp, qtbot):
    words = "some words of an answer " * 300
    turns = [ChatState(ChatPhase.IDLE, "q", words, number=n, finish_reason="stop") for n in range(1, 7)]
    theme, bar = ThemeManager.of_app(), view.verticalScrollBar()
    view.show()
    view.set_chat(tuple(turns[:-1]), turns[-1])
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    view._go_to_end()
    end = bar.maximum()
    theme.set_mode(ThemeMode.DARK)
    qtbot.waitUntil(lambda: bar.maximum() == end)  # the lines have broken anew
    assert view.is_at_end()
    view.verticalScrollBar().setValue(40)
    theme.set_mode(ThemeMode.LIGHT)
    qtbot.waitUntil(lambda: bar.maximum() == end)
    assert bar.value() == 40
    view.hide()


def test_that_a_part_is_whole_after_a_blank_line_outside_of_code():
    assert stable_end("a\n\nb", 0) == 3
    assert stable_end("a\n```\nx\n\ny\n", 0) == 0
    assert stable_end("```\nx\n\ny\n```\nz", 0) == 13
    assert stable_end("~~~\n```\n\n", 0) == 0
    assert stable_end("a\n\nb\n\nc", 3) == 6


@pytest.mark.parametrize(
    "text",
    [
        "> " * 3000 + "x",
        "|" * 5000,
        "- " * 3000 + "x",
        ">" * 90_000,
        "x" * 200_000,
        "* " * 40_000,
        "1. " * 30_000,
        "- x\n" * 10_000,
        "`a" * 40_000,
        "**a" * 30_000,
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 2000,
    ],
)
def test_that_what_would_take_for_ever_to_lay_out_is_shown_as_it_came(view, text):
    assert not may_format(text)
    assert text.strip()[:50] in shown(view, text)


@pytest.mark.parametrize("text", ["[" * 50_000, "![](" * 20_000, "*_" * 30_000])
def test_that_odd_markdown_is_laid_out_or_left_alone(view, text):
    assert shown(view, text)


def test_that_a_document_of_an_answer_hands_out_no_resource(qapp):
    tokens = ThemeManager.of_app().tokens
    document, codes = formatted("![x](file:///etc/passwd)\n\n```\ncode\n```", qapp.font(), tokens, 3)
    assert document.loadResource(2, QUrl("file:///etc/passwd")) is None
    assert [piece.text for piece in codes] == ["code"]
    assert "copy-code:3" in document.toHtml()


def test_that_a_picture_of_a_question_is_shown_small(view, tmp_path, qapp):
    picture = read_picture(str(picture_file(tmp_path)))
    view.set_state(ChatState(ChatPhase.IDLE, "what?", "teal", finish_reason="stop", pictures=(picture,)))
    assert view.loadResource(2, QUrl("lanewise:picture/0")).width() == LARGEST_SIDE
    assert view.loadResource(2, QUrl("file:///etc/passwd")) is None


# The box.


@pytest.fixture
def session(qapp):
    ThemeManager.of_app()
    return fx.FakeSession()


@pytest.fixture
def page(qtbot, session):
    made = RunPage(session)
    qtbot.addWidget(made)
    made.resize(1282, 768)
    yield made
    made.hide()


def test_that_the_wishes_of_the_box_reach_the_session(page, session):
    session.set_run(fx.ready_run())
    session.set_chat(ChatState(ChatPhase.IDLE, "q", "a", finish_reason="stop", number=1))
    page.chat.view.anchorClicked.emit(QUrl("again"))
    page.chat.page_button.click()
    page.chat.new_button.click()
    assert session.calls == [("again",), ("engine_page",), ("new_chat",)]
    page.chat.system_button.click()
    page.chat.system.setPlainText("Be brief.")
    assert session.talk.system_prompt == "Be brief."
    session.set_run(RunState(RunPhase.STOPPED))
    assert not page.chat.page_button.isEnabled()


def test_that_the_chat_says_when_the_demo_model_speaks(page, session):
    session.set_run(fx.ready_run())
    assert "stored" in page.chat.note.text()
    session.paths.demo_model = session.running_plan.model_path
    session.set_run(fx.ready_run())
    assert "random" in page.chat.note.text()


def test_that_the_key_goes_to_the_clipboard_and_never_into_the_address(page, session, monkeypatch):
    opened, told = [], []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toString()))
    session.message_raised.connect(told.append)
    session.set_run(fx.ready_run())
    session.talk.page_known.emit("http://127.0.0.1:8080", None)
    assert opened == ["http://127.0.0.1:8080"]
    assert QGuiApplication.clipboard().text() == session.run.api_key
    assert [problem.code for problem in told] == ["chat_page_key"]


def test_that_pictures_are_taken_only_where_the_server_sees(page, session, tmp_path):
    session.set_run(fx.ready_run())
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(tmp_path / "猫 1.png"))])
    assert page.chat.attach.isHidden()
    page.chat.prompt.insertFromMimeData(data)
    assert not [call for call in session.calls if call[0] == "picture"]
    session.talk.takes_pictures = True
    session.talk.server_known.emit()
    assert not page.chat.attach.isHidden()
    page.chat.prompt.insertFromMimeData(data)
    pasted = QMimeData()
    pasted.setImageData(QImage(5, 5, QImage.Format.Format_RGB32))
    page.chat.prompt.insertFromMimeData(pasted)
    assert session.calls == [("picture", str(tmp_path / "猫 1.png")), ("image", "Pasted picture", 5)]


def test_that_waiting_pictures_can_be_sent_without_words_and_taken_out(page, session):
    session.set_run(fx.ready_run())
    session.talk.pending = (Picture("a.png", "image/png", b""), Picture("b.png", "image/png", b""))
    session.talk.pending_changed.emit()
    assert page.chat.button.isEnabled()
    page.chat.pictures._buttons[0].click()
    assert [picture.name for picture in session.talk.pending] == ["b.png"]
    page.chat.button.click()
    assert session.calls == [("send_prompt", "")]


def test_that_the_meter_follows_the_answer_and_the_servers_own_context(page, session):
    session.set_run(fx.ready_run())
    session.set_chat(dataclasses.replace(fx.answering(), context_used=2048))
    assert page.chat.meter.share == pytest.approx(2048 / 16384) or page.chat.meter.share is None
    session.talk.n_ctx = 4096
    session.talk.server_known.emit()
    assert page.chat.meter.share == 0.5
    assert "2 048 of 4 096" in page.chat.speed_text
    session.set_run(RunState(RunPhase.STOPPED))
    assert page.chat.meter.share is None, "the context went with its server"
