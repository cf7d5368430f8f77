"""A rename waits for an antivirus program on Windows, and for nobody elsewhere."""

import pytest

from app.work import patient
from app.work.patient import rename_patiently


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


@pytest.mark.parametrize(("is_windows", "pauses"), [(True, 99), (False, 0)])
def test_that_one_that_stays_forbidden_is_told(tmp_path, monkeypatch, is_windows, pauses):
    def refuse(source, target):
        raise PermissionError(13, "in use")

    monkeypatch.setattr(patient.os, "replace", refuse)
    waited = []
    with pytest.raises(PermissionError):
        rename_patiently(tmp_path / "a", tmp_path / "b", is_windows=is_windows, sleep=waited.append)
    assert len(waited) == pauses
