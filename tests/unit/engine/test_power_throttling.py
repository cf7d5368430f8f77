"""What Windows' answer about the power saving of a process means."""

import pytest

from app.engine.power_throttling import is_full_speed


@pytest.mark.parametrize(
    ("control", "state", "full"),
    [
        (1, 0, True),  # decided by us: not slowed down
        (1, 1, False),  # "efficiency mode" in the Task Manager
        (0, 0, False),  # Windows decides by itself
        (0, 1, False),
        (5, 4, True),  # another mechanism is throttled (timer resolution), not the speed
        (4, 0, False),
    ],
)
def test_that_only_a_decided_full_speed_counts_as_one(control, state, full):
    assert is_full_speed(control, state) is full
