"""What the documents point at exists, and what they promise of the project's own files holds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.__main__ import main
from app.cli.verbs import VERBS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("installer/*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
OTHERS = {"koboldcpp.py"}
"""Files of other projects that the documents name."""
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


def test_that_every_folder_in_the_picture_of_the_layers_exists():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    folders = re.findall(r"^(  |    )([a-z]+)/ ", re.search(r"^app/\n.*?\nresources/", text, re.M | re.S)[0], re.M)
    assert len(folders) > 15
    above, gone = Path(), []
    for indent, name in folders:
        above = Path(name) if indent == "  " else above
        path = above if indent == "  " else above / name
        gone += [] if (ROOT / "app" / path).is_dir() else [path.as_posix()]
    assert gone == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=_ids)
def test_that_every_module_named_without_its_folder_exists(document):
    known = {path.name for top in ("app", "tests", "installer", "benchmarks") for path in (ROOT / top).rglob("*.py")}
    known |= {path.name for path in ROOT.glob("*.py")}
    named = re.findall(r"`([a-z_]+\.py)`", document.read_text(encoding="utf-8"))
    assert [name for name in named if name not in known | OTHERS] == []


def _exists(name):
    """Below the checkout, the application or the document's own folder; ``*`` stands for anything."""
    return any(list((ROOT / top).glob(name.rstrip("/"))) for top in ("", "app", "installer/windows"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=_ids)
def test_that_every_path_into_the_project_exists(document):
    spans = re.findall(r"`([A-Za-z_.-]+/[A-Za-z0-9_./*-]*)`", document.read_text(encoding="utf-8"))
    others = (".cpp", ".h")  # of the engine; ./tour is made by the tour
    ours = [s for s in spans if not s.startswith("./") and not s.endswith(others) and _exists(s.split("/")[0])]
    assert [span for span in ours if not _exists(span)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=_ids)
def test_that_every_command_named_exists(document, run_verb):
    text = document.read_text(encoding="utf-8")
    script = (ROOT / "dev.py").read_text(encoding="utf-8")
    assert [verb for verb in re.findall(r"dev\.py ([a-z][a-z-]*)", text) if f'"{verb}"' not in script] == []
    modules = [name.replace(".", "/") for name in re.findall(r"python3? -m ([a-z_]+\.[a-z_.]*[a-z_])", text)]
    assert [name for name in modules if not _exists(f"{name}.py") and not _exists(f"{name}/__main__.py")] == []
    for verb, words in re.findall(r"(?:lanewise|python -m app) ([a-z]+)\b([^`\n]*)", text):
        if verb in VERBS:
            options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", words.split(" -- ")[0].split("   ")[0]))
            assert {option for option in options if option not in run_verb(verb)} == set(), verb


@pytest.fixture
def run_verb(capsys):
    """The help of a verb."""

    def help_of(verb):
        main([verb, "--help"])
        return capsys.readouterr().out

    return help_of


def test_that_the_contributing_guide_stays_short():
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) < 150


def test_that_the_contract_of_the_command_line_says_which_verbs_are_not_built_yet():
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^python -m app ([a-z]+)", text, re.MULTILINE)) | {"tune"}
    reserved = set(re.findall(r"`([a-z]+)`", re.search(r"^`[a-z]+`[^.\n]*are reserved names", text, re.MULTILINE)[0]))
    assert named == set(VERBS) | reserved
    assert not set(VERBS) & reserved


def test_that_a_python_without_the_packages_is_told_where_they_are():
    start = f"import runpy, sys; sys.path.insert(0, {str(ROOT)!r}); runpy.run_module('app', None, '__main__', True)"
    bare = [sys.executable, "-I", "-S", "-X", "utf8", "-c", start]
    done = subprocess.run(bare, capture_output=True, encoding="utf-8", timeout=60, check=False)
    assert done.returncode == 1
    assert "packages are in .venv" in done.stderr
    assert "Traceback" not in done.stderr
