"""How long the window is held up by a long answer: 20 000 tokens of several shapes, 20 for each look.

    python -m benchmarks.chat_length [SHAPE...]

In milliseconds of processor time of the window's thread, which a busy computer does not change. For each shape: the
longest and the mean hold-up of the last looks while it streams (both would grow with the answer if
what is on the screen were laid out anew), the hold-up at its end, when it is formatted as a whole, and with the next
question.
"""

import os
import sys
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

TOKENS, AT_ONCE = 20_000, 20
WORDS = ["river", "stone", "meadow", "light", "window", "amber", "quiet", "path", "morning", "house"]


def prose():
    for n in range(TOKENS):
        yield WORDS[n % len(WORDS)] + " "
        if n % 60 == 59:
            yield "\n\n"
        if n % 400 == 399:
            yield "```python\nx = 1\n\nprint(x)\n```\n\n- **a**\n- b\n\n"


def one_paragraph():
    return (WORDS[n % len(WORDS)] + " " for n in range(TOKENS))


def code():
    yield "```c\n"
    yield from ("int x;\n" if n % 8 == 7 else "a " for n in range(TOKENS))
    yield "\n```\n"


def table():
    yield "| a | b | c |\n|---|---|---|\n"
    yield from (f"| {n} | **x** | y |\n" for n in range(TOKENS // 10))


def chinese():
    return ("专家" + ("。\n\n" if n % 50 == 49 else "") for n in range(TOKENS))


SHAPES = {"prose": prose, "one paragraph": one_paragraph, "code": code, "table": table, "chinese": chinese}


def measure(app, tokens):
    from app.session.state import ChatPhase, ChatState, RunPhase
    from app.ui.pages.run_chat import ChatPane

    pane = ChatPane()
    pane.resize(800, 600)
    pane.show()
    pane.set_run_phase(RunPhase.READY)

    def seconds(state, turns=()):
        begun = time.thread_time()
        pane.set_chat(state, turns)
        app.processEvents()
        return time.thread_time() - begun

    seconds(ChatState(ChatPhase.PROMPT, "q", number=1))
    text, held_up = "", []
    for at in range(0, len(tokens), AT_ONCE):
        text += "".join(tokens[at : at + AT_ONCE])
        held_up.append(seconds(ChatState(ChatPhase.ANSWERING, "q", text, number=1)))
    done = ChatState(ChatPhase.IDLE, "q", text, number=1, finish_reason="stop")
    end = seconds(done)
    after = seconds(ChatState(ChatPhase.PROMPT, "q2", number=2), (done,))
    pane.hide()
    pane.deleteLater()
    return len(text), max(held_up), sum(held_up[-AT_ONCE:]) / AT_ONCE, end, after


def main(wanted):
    from PySide6.QtWidgets import QApplication

    from app.ui.theme.manager import ThemeManager

    app = QApplication.instance() or QApplication([])
    ThemeManager.of_app()
    print(f"{'shape':14} {'characters':>10} {'longest':>9} {'last':>9} {'end':>9} {'next':>9}   (ms)")
    for name in wanted or SHAPES:
        n_chars, *times = measure(app, list(SHAPES[name]()))
        print(f"{name:14} {n_chars:>10} " + " ".join(f"{1000 * each:>9.1f}" for each in times), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
