"""The form for sampling and the chat template: what it shows, refuses, and wishes."""

import dataclasses

import pytest

from app.ui.dialogs.pass_through import PassThroughDialog
from app.ui.theme.manager import ThemeManager
from tests.qt import page_fixtures as fx
from tests.qt.fake_session import FakeSession


@pytest.fixture
def dialog(qtbot):
    ThemeManager.of_app()
    session = FakeSession()
    plan = fx.plan()
    wishes = dataclasses.replace(plan.wishes, extra=("--no-warmup", "--temp", "0.9", "--jinja"))
    session.plan = dataclasses.replace(plan, wishes=wishes)
    session.set_wishes = lambda **changes: session.wished.append(changes)
    made = PassThroughDialog(session, None)
    made.session = session
    qtbot.addWidget(made)
    return made


def test_that_the_form_shows_what_the_plan_hands_on_and_writes_it_as_one_wish(dialog):
    assert dialog.fields["temp"].text() == "0.9"
    assert dialog.fields["jinja"].isChecked()
    dialog.fields["temp"].setText("0.6")
    dialog.fields["min_p"].setText("0.05")
    dialog.fields["jinja"].setChecked(False)
    dialog.apply.click()
    assert dialog.session.wished == [{"extra": ("--no-warmup", "--temp", "0.6", "--min-p", "0.05")}]


def test_that_a_value_the_engine_refuses_is_told_and_cannot_be_applied(dialog):
    dialog.fields["top_p"].setText("7")
    assert not dialog.apply.isEnabled()
    assert dialog.status.text() == "--top-p cannot be “7”: a number from 0 to 1 is needed."
    dialog.fields["top_p"].setText("")
    assert dialog.apply.isEnabled()


def test_that_nothing_changed_wishes_nothing(dialog):
    dialog.apply.click()
    assert dialog.session.wished == []
    assert all(field.accessibleName() for field in dialog.fields.values())
