"""What the owner of a server wakes for."""

import threading

from app.engine.mailbox import Mailbox

_LONG_S = 60.0


def waits(mail, gather_s):
    """A thread that waits for news; it is over when the owner would go on."""
    thread = threading.Thread(target=mail.wait, args=(_LONG_S, gather_s))
    thread.start()
    return thread


def test_that_a_line_alone_wakes_the_owner():
    mail = Mailbox()
    thread = waits(mail, 0.0)
    mail.put_line("one")
    thread.join(_LONG_S)
    assert mail.take_lines() == ["one"]


def test_that_lines_are_gathered_until_something_urgent_happens():
    mail = Mailbox()
    thread = waits(mail, _LONG_S)
    for i in range(500):
        mail.put_line(str(i))
    assert thread.is_alive()
    mail.tell_exit()
    thread.join(_LONG_S)
    assert len(mail.take_lines()) == 500
    assert mail.has_exited


def test_that_a_stop_ends_the_gathering_and_news_are_told_once():
    mail = Mailbox()
    mail.put_line("one")
    thread = waits(mail, _LONG_S)
    mail.ask_stop(5.0)
    thread.join(_LONG_S)
    assert mail.stop_deadline == 5.0
    mail.wait(0.0)  # nothing new: the time is over at once
    mail.put_line("two")
    mail.wait(_LONG_S, 0.001)
    assert mail.take_lines() == ["one", "two"]
