"""Resources are found in a checkout and in an installed wheel alike."""

import json

import pytest

from app.common import resources


@pytest.fixture
def fresh_root():
    resources.resource_root.cache_clear()
    yield
    resources.resource_root.cache_clear()


@pytest.mark.usefixtures("fresh_root")
def test_that_a_checkout_reads_the_folder_beside_the_package():
    assert (resources.resource_root() / "themes" / "tokens.json").is_file()
    assert json.loads(resources.resource_text("themes/tokens.json"))


@pytest.mark.usefixtures("fresh_root")
def test_that_an_installed_wheel_reads_the_folder_inside_the_package(tmp_path, monkeypatch):
    inside = tmp_path / "app" / "_resources" / "themes"
    inside.mkdir(parents=True)
    (inside / "tokens.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr("app.common.resources.resources.files", lambda _package: tmp_path / "app")
    assert resources.resource_path("themes/tokens.json") == inside / "tokens.json"
    assert resources.resource_text("themes/tokens.json") == "{}"


@pytest.mark.usefixtures("fresh_root")
def test_that_a_missing_resource_is_named_in_the_error():
    with pytest.raises(FileNotFoundError, match=r"icons/no-such\.svg"):
        resources.resource_text("icons/no-such.svg")
