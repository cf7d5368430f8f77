"""A rename waits for an antivirus program on Windows, and for nobody elsewhere."""

import pytest

from app.common import patient
from app.common.patient import read_file, rename_patiently, replace_file


def test_that_a_rename_that_is_forbidden_for_a_while_is_done_in_the_end(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("x")
    waited = []
    real = patient.os.replace

    def replace(source, target):
        if len(waited) < 3:
            raise PermissionError(13, "in use")
        real(source, target)

    monkeypatch.setattr(patient.os, "replace", replace)
    rename_patiently(tmp_path / "a", tmp_path / "b", is_windows=True, sleep=waited.append)
    assert (tmp_path / "b").read_text() == "x"
    assert len(waited) == 3


@pytest.mark.parametrize(
    ("rename", "is_windows", "pauses"),
    [(rename_patiently, True, 99), (replace_file, True, 24), (rename_patiently, False, 0), (replace_file, False, 0)],
)
def test_that_one_that_stays_forbidden_is_told(tmp_path, monkeypatch, rename, is_windows, pauses):
    def refuse(source, target):
        raise PermissionError(13, "in use")

    monkeypatch.setattr(patient.os, "replace", refuse)
    waited = []
    with pytest.raises(PermissionError):
        rename(tmp_path / "a", tmp_path / "b", is_windows=is_windows, sleep=waited.append)
    assert len(waited) == pauses
    assert sum(waited) <= (10 if rename is rename_patiently else 0.5)


def test_that_a_file_that_is_just_being_replaced_is_read_a_moment_later(tmp_path):
    class BeingReplaced:
        tries = 0

        def read_bytes(self):
            self.tries += 1
            if self.tries < 3:
                raise PermissionError(13, "in use")
            return b"new"

    waited = []
    assert read_file(BeingReplaced(), is_windows=True, sleep=waited.append) == b"new"
    assert len(waited) == 2
    with pytest.raises(PermissionError):
        read_file(BeingReplaced(), is_windows=False, sleep=waited.append)
    assert len(waited) == 2
