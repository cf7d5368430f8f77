"""What the documents point at exists, and what they promise of the project's own files holds."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("installer/*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
CODE_FILE = re.compile(r"`((?:app/)?(?:[a-z_]+/)+[a-z_]+\.(?:py|json|toml|md))`")


def _ids(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("document", DOCUMENTS, ids=_ids)
def test_that_every_link_leads_to_a_file(document):
    targets = LINK.findall(document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=_ids)
def test_that_every_source_file_named_exists(document):
    named = CODE_FILE.findall(document.read_text(encoding="utf-8"))
    assert [name for name in named if not any((ROOT / top / name).exists() for top in ("", "app"))] == []


def test_that_the_picture_of_the_layers_names_every_package():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "app").glob("*/__init__.py")}
    assert {name for name in packages if f"  {name}/ " not in text} == set()


def test_that_the_contributing_guide_stays_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) < 150
