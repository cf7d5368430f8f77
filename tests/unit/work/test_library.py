"""The models of this computer: found in every program's own layout, judged, never touched, never waited for."""

import json
import os
import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from app.common.capabilities import Capabilities
from app.common.problem import ProblemError
from app.hardware.snapshot_file import load_snapshot
from app.model.reader import read_model
from app.planner.devices import DeviceWishes
from app.planner.file_verdict import FileVerdict, VerdictKind
from app.planner.types import Wishes
from app.work.library import scan as scan_module
from app.work.library.alike import AlikeHeaders
from app.work.library.judge import Judge
from app.work.library.places import all_places, known_places
from app.work.library.plans import PlansToMake
from app.work.library.scan import ScanOptions, scan_library
from app.work.library.store import LibraryStore
from app.work.library.summary import summary_of
from app.work.library.types import EntryRole, Place, Source
from app.work.library.walk import Limits
from app.work.library.words import entry_speed_words, entry_words, size_class
from tests.tools.distinct_models import make_distinct
from tests.tools.hardware_data import DATA
from tests.tools.model_trees import copy_sparse, head_of, put_in_hub_cache, put_in_ollama
from tests.tools.small_lora import write_lora
from tests.tools.small_moe import BLOCKS, write_small_moe
from tests.tools.systems import MAKES_LINKS

NO_LINKS = pytest.mark.skipif(not MAKES_LINKS, reason="this system makes no symbolic links for this user")

MIB = 1 << 20


@pytest.fixture(scope="module")
def moe(tmp_path_factory):
    return write_small_moe(tmp_path_factory.mktemp("models") / "moe.gguf")


@pytest.fixture(scope="module")
def snapshot():
    return load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")


def judge_for(snapshot, gpu_mib, ram_mib, **wishes):
    cards = {"CUDA0": gpu_mib} if gpu_mib else {}
    devices = DeviceWishes(free_mib=cards, ram_mib=ram_mib, reserve_mib=0, gpus=tuple(cards))
    return Judge(snapshot, Capabilities(frozenset()), Wishes(**wishes), devices)


@pytest.fixture
def look(tmp_path, snapshot):
    """Scan folders (or whole places) and give what was found, with a store of its own."""

    def call(*places, judge=None, cancelled=lambda: False, on_batch=lambda _: None, **options):
        made = [p if isinstance(p, Place) else Place(p, Source.FOLDER) for p in places]
        store = LibraryStore(tmp_path / "library.json")
        return scan_library(made, judge, store, cancelled, on_batch, ScanOptions(**options))

    return call


def by_name(found):
    return {entry.name: entry for entry in found.files}


@pytest.mark.slow
def test_that_each_file_gets_the_verdict_of_this_machine(look, moe, snapshot):
    def verdict(gpu_mib, ram_mib, **wishes):
        (entry,) = look(moe.parent, judge=judge_for(snapshot, gpu_mib, ram_mib, **wishes)).files
        return entry.verdict

    assert verdict(8000, 8000).kind is VerdictKind.GPU
    assert verdict(8000, 8000).expert_layers_in_ram == 0
    partly = verdict(330, 8000)
    assert partly.kind is VerdictKind.EXPERTS_IN_RAM
    assert 0 < partly.expert_layers_in_ram < BLOCKS
    assert partly.decode_tps is None or partly.decode_tps > 0
    assert verdict(0, 8000).kind is VerdictKind.RAM
    assert verdict(100, 8000).kind is VerdictKind.RAM, "a card that other programs fill up is left out"
    assert verdict(0, 80).missing_bytes > 0


def test_that_too_big_is_what_only_the_disk_could_hold_and_no_is_what_not_even_that_helps(look, moe, snapshot):
    assert [kind_in_ram(look, moe, snapshot, n) for n in (20, 80, 200)] == [
        VerdictKind.NO,
        VerdictKind.TOO_BIG,
        VerdictKind.RAM,
    ]


def kind_in_ram(look, moe, snapshot, ram_mib):
    return look(moe.parent, judge=judge_for(snapshot, 0, ram_mib)).files[0].verdict.kind


def test_that_a_split_model_is_one_line_and_a_missing_part_is_named(look, tmp_path):
    from tests.tools.sparse_split import make_split_235b

    for folder in ("whole", "holed", "headless"):
        (tmp_path / folder).mkdir()
    make_split_235b(tmp_path / "whole", 3, has_vocabulary=False)
    make_split_235b(tmp_path / "holed", 3, has_vocabulary=False)
    next((tmp_path / "holed").glob("*-00002-of-*")).unlink()
    make_split_235b(tmp_path / "headless", 3, has_vocabulary=False)
    next((tmp_path / "headless").glob("*-00001-of-*")).unlink()
    (whole,) = look(tmp_path / "whole").files
    assert len(whole.summary.files) == 3
    assert whole.summary.file_bytes == sum(p.stat().st_size for p in (tmp_path / "whole").iterdir())
    for folder in ("holed", "headless"):
        (broken,) = look(tmp_path / folder).files
        assert broken.summary.problem.code == "gguf_part_missing", folder
        assert not broken.is_model


def test_that_files_beside_a_model_are_no_models_but_go_with_it(look, moe, tmp_path):
    copy_sparse(moe, tmp_path / "m" / "model.gguf")
    write_lora(tmp_path / "m" / "lora.gguf", read_model(moe), ["blk.0.attn_q.weight"])
    found = by_name(look(tmp_path))
    assert found["lora.gguf"].summary.role is EntryRole.ADAPTER
    assert found["lora.gguf"].verdict is None
    assert found["model.gguf"].beside == (str(tmp_path / "m" / "lora.gguf"),)


def test_that_half_downloads_are_told_as_such(look, moe, tmp_path):
    copy_sparse(moe, tmp_path / "a.gguf.part")
    copy_sparse(moe, tmp_path / "b.gguf.crdownload")
    copy_sparse(moe, tmp_path / "c.gguf")
    (tmp_path / "c.gguf.aria2").write_bytes(b"control")
    with copy_sparse(moe, tmp_path / "d.gguf").open("r+b") as file:
        file.truncate(moe.stat().st_size - 5 * MIB)
    (tmp_path / "e.gguf").write_bytes(b"<!DOCTYPE html><html></html>")
    (tmp_path / "f.gguf").write_bytes(b"")
    found = by_name(look(tmp_path))
    assert set(found) == {"a.gguf.part", "b.gguf.crdownload", "c.gguf", "d.gguf", "e.gguf", "f.gguf"}
    for name in ("a.gguf.part", "b.gguf.crdownload", "c.gguf", "d.gguf", "f.gguf"):
        assert found[name].summary.role is EntryRole.UNFINISHED, name
    assert found["d.gguf"].summary.problem.params["missing_bytes"] <= 5 * MIB
    assert found["e.gguf"].summary.role is EntryRole.UNREADABLE
    assert "web page" in entry_words(found["e.gguf"])


def test_that_half_files_of_lm_studio_and_other_programs_are_told_although_their_size_is_whole(look, moe, tmp_path):
    names = (
        "downloading_a.gguf",
        "downloading_b.gguf.part",
        "c.gguf.incomplete",
        "d.gguf.downloading",
        "e.gguf.xltd",
        "f.gguf.!ut",
        "g.gguf.baiduyun.p.downloading",
    )
    for name in names:
        copy_sparse(moe, tmp_path / name)
    found = by_name(look(tmp_path))
    assert {name: found[name].summary.role for name in names} == dict.fromkeys(names, EntryRole.UNFINISHED)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_that_a_pipe_a_socket_or_a_folder_named_like_a_model_holds_nothing_up(look, moe, tmp_path):
    os.mkfifo(tmp_path / "pipe.gguf")
    (tmp_path / "link.gguf").symlink_to(tmp_path / "pipe.gguf")
    (tmp_path / "folder.gguf").mkdir()
    ollama = tmp_path / "ollama"
    put_in_ollama(ollama, moe, "qwen3", "30b")
    os.mkfifo(ollama / "blobs" / f"sha256-{'ab' * 32}")
    put_in_hub_cache(tmp_path / "hub", moe, "a/b", "q.gguf")
    os.mkfifo(tmp_path / "hub" / "models--a--b" / "blobs" / "x.incomplete")
    copy_sparse(moe, tmp_path / "z.gguf")
    places = (tmp_path, Place(ollama, Source.OLLAMA), Place(tmp_path / "hub", Source.HUGGING_FACE))
    found = look(*places, silent_s=5.0)
    assert not [note for note in found.notes if note.problem.code == "library_place_silent"]
    assert {"z.gguf", "qwen3:30b", "link.gguf"} <= set(by_name(found))
    assert by_name(found)["link.gguf"].summary.role is EntryRole.UNREADABLE
    assert "pipe.gguf" not in by_name(found)


@pytest.mark.skipif(os.name == "nt", reason="names are UTF-16 here")
def test_that_a_name_that_is_no_text_is_listed_and_remembered(look, moe, tmp_path):
    folder = tmp_path / "names"
    path = folder / os.fsdecode(b"caf\xe9.gguf")
    try:
        copy_sparse(moe, path)
    except OSError:
        pytest.skip("this file system takes only text")
    first = look(folder)
    assert first.files[0].is_model
    assert look(folder).files == first.files
    assert read_model(first.files[0].path).block_count == BLOCKS


def test_that_a_folder_that_may_not_be_written_is_listed_like_any_other(look, moe, tmp_path):
    path = copy_sparse(moe, tmp_path / "ro" / "m.gguf")
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert look(path.parent).files[0].is_model
    finally:
        path.parent.chmod(0o755)


@pytest.mark.slow
def test_that_ten_thousand_other_files_hide_no_model(look, moe, tmp_path):
    for number in range(10_000):
        (tmp_path / f"{number}.txt").touch()
    copy_sparse(moe, tmp_path / "zz.gguf")
    found = look(tmp_path)
    assert list(by_name(found)) == ["zz.gguf"]
    assert not found.notes
    assert found.entries == 10_001


def test_that_a_file_that_changes_while_it_is_read_is_read_again_the_next_time(look, moe, tmp_path, monkeypatch):
    path = copy_sparse(moe, tmp_path / "m" / "m.gguf")
    with path.open("r+b") as file:
        file.truncate(moe.stat().st_size - MIB)
    real = scan_module.summarise

    def summarise(found, *rest):
        told = real(found, *rest)
        with path.open("r+b") as file:
            file.truncate(moe.stat().st_size)
        return told

    monkeypatch.setattr(scan_module, "summarise", summarise)
    assert look(path.parent).files[0].summary.role is EntryRole.UNFINISHED
    monkeypatch.setattr(scan_module, "summarise", real)
    assert look(path.parent).files[0].is_model


def test_that_a_finished_download_is_read_although_it_was_half_before(look, moe, tmp_path):
    copy_sparse(moe, tmp_path / "c.gguf")
    control = tmp_path / "c.gguf.aria2"
    control.write_bytes(b"control")
    assert look(tmp_path).files[0].summary.role is EntryRole.UNFINISHED
    control.unlink()
    assert look(tmp_path).files[0].is_model


@NO_LINKS
def test_that_links_in_a_circle_are_walked_once_and_one_file_is_listed_once(look, moe, tmp_path):
    copy_sparse(moe, tmp_path / "a" / "model.gguf")
    (tmp_path / "a" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "b").symlink_to(tmp_path / "a", target_is_directory=True)
    os.link(tmp_path / "a" / "model.gguf", tmp_path / "same.gguf")
    (tmp_path / "gone.gguf").symlink_to(tmp_path / "nothing.gguf")
    (tmp_path / "self.gguf").symlink_to(tmp_path / "self.gguf")
    found = look(tmp_path, Place(tmp_path / "a", Source.FOLDER))
    assert [entry.is_model for entry in found.files].count(True) == 1
    assert by_name(found)["gone.gguf"].summary.problem.code == "library_link_broken"
    assert not by_name(found)["self.gguf"].is_model


@NO_LINKS
def test_that_the_hub_cache_names_repositories_and_counts_a_shared_blob_once(look, moe, tmp_path):
    put_in_hub_cache(tmp_path, moe, "unsloth/Qwen3-30B-GGUF", "q4.gguf")
    put_in_hub_cache(tmp_path, moe, "unsloth/Qwen3-30B-GGUF", "q4.gguf", revision="b" * 40)
    blob = put_in_hub_cache(tmp_path, moe, "me/windows-GGUF", "real.gguf", links=False)
    copy_sparse(moe, blob.with_name("0" * 64 + ".incomplete"))
    found = look(Place(tmp_path, Source.HUGGING_FACE))
    assert sorted(by_name(found)) == [
        "me/windows-GGUF",
        "me/windows-GGUF · real.gguf",
        "unsloth/Qwen3-30B-GGUF · q4.gguf",
    ]
    assert by_name(found)["me/windows-GGUF"].summary.role is EntryRole.UNFINISHED


def test_that_ollamas_blobs_have_the_names_of_its_manifests(look, moe, tmp_path):
    put_in_ollama(tmp_path, moe, "qwen3", "30b")
    put_in_ollama(tmp_path, moe, "tuned", "latest", owner="someone")
    put_in_ollama(tmp_path, None, "lost", "latest")
    left_over = copy_sparse(moe, tmp_path / "blobs" / f"sha256-{'ab' * 32}")
    copy_sparse(moe, tmp_path / "blobs" / f"sha256-{'cd' * 32}-partial")
    (tmp_path / "blobs" / f"sha256-{'ef' * 32}").write_bytes(b"a template, no model")
    (tmp_path / "manifests" / "registry.ollama.ai" / "library" / "bad").mkdir()
    (tmp_path / "manifests" / "registry.ollama.ai" / "library" / "bad" / "latest").write_text("{")
    found = look(Place(tmp_path, Source.OLLAMA))
    names = by_name(found)
    assert names["qwen3:30b"].is_model
    assert names["someone/tuned:latest"].is_model
    nameless = next(entry for entry in found.files if entry.path == str(left_over))
    assert nameless.is_model
    assert nameless.note.code == "library_blob_unnamed"
    assert [e.summary.role for e in found.files].count(EntryRole.UNFINISHED) == 1
    assert len(found.files) == 4
    assert sorted(note.problem.code for note in found.notes) == ["library_blob_missing", "library_manifest_bad"]


def test_that_the_folders_of_other_programs_are_found_where_they_were_moved(tmp_path):
    home, moved = tmp_path / "home", tmp_path / "大 models"
    for folder in (home / ".lmstudio" / "models", home / ".cache/huggingface/hub", home / ".ollama/models", moved):
        folder.mkdir(parents=True)
    (home / ".lmstudio" / "settings.json").write_text(json.dumps({"downloadsFolder": str(moved)}), encoding="utf-8")
    found = {(place.source, place.path) for place in known_places({}, home)}
    assert (Source.LM_STUDIO, moved) in found
    assert (Source.LM_STUDIO, home / ".lmstudio" / "models") in found
    assert (Source.HUGGING_FACE, home / ".cache/huggingface/hub") in found
    assert (Source.OLLAMA, home / ".ollama/models") in found
    named = known_places({"OLLAMA_MODELS": str(moved), "HF_HUB_CACHE": str(moved / "none")}, home)
    assert Place(moved, Source.LM_STUDIO) in named, "one folder, listed once"
    assert not [place for place in named if place.source is Source.HUGGING_FACE]


def test_that_a_folder_that_is_gone_or_may_not_be_read_is_told_and_the_rest_is_listed(look, moe, tmp_path, monkeypatch):
    copy_sparse(moe, tmp_path / "ok.gguf")
    (tmp_path / "locked").mkdir()
    real = os.scandir

    def scandir(folder):
        if str(folder).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    found = look(tmp_path, tmp_path / "no such folder")
    assert list(by_name(found)) == ["ok.gguf"]
    told = {note.problem.code: note.problem.params["folder"] for note in found.notes}
    assert told["library_folder_unread"].endswith("locked")
    assert told["library_folder_missing"].endswith("no such folder")


@pytest.mark.slow
def test_that_a_folder_with_too_many_names_ends_at_the_limit_and_says_so(look, moe, tmp_path):
    for number in range(300):
        (tmp_path / f"{number}.txt").touch()
    copy_sparse(moe, tmp_path / "below" / "model.gguf")
    found = look(tmp_path, limits=Limits(entries=100))
    assert [note.problem.code for note in found.notes] == ["library_too_many"]
    assert found.entries <= 101


def test_that_a_drive_that_never_answers_is_given_up_and_the_others_are_listed(look, moe, tmp_path, monkeypatch):
    copy_sparse(moe, tmp_path / "here" / "ok.gguf")
    (tmp_path / "share").mkdir()
    let_go = threading.Event()
    real = scan_module.walk_folder

    def walk(place, *rest):
        if place.path.name == "share":
            let_go.wait(30)
        return real(place, *rest)

    monkeypatch.setattr(scan_module, "walk_folder", walk)
    found = look(tmp_path / "share", tmp_path / "here", silent_s=0.2)
    let_go.set()
    assert list(by_name(found)) == ["ok.gguf"]
    assert [note.problem.code for note in found.notes] == ["library_place_silent"]


def test_that_a_search_is_cancelled_at_once_even_while_a_drive_is_silent(look, tmp_path, monkeypatch):
    let_go, begun = threading.Event(), threading.Event()

    def walk(*_):
        begun.set()
        let_go.wait(30)
        return iter(())

    monkeypatch.setattr(scan_module, "walk_folder", walk)
    with pytest.raises(ProblemError, match="download_cancelled"):
        look(tmp_path, cancelled=begun.is_set)
    let_go.set()


def test_that_a_second_look_reads_no_header_and_plans_nothing(look, moe, snapshot, monkeypatch):
    first = look(moe.parent, judge=judge_for(snapshot, 330, 8000))

    def never(*_):
        raise AssertionError("read again")

    monkeypatch.setattr(scan_module, "summarise", never)
    monkeypatch.setattr(Judge, "verdict", never)
    assert look(moe.parent, judge=judge_for(snapshot, 330, 8000)).files == first.files


def test_that_another_machine_or_a_changed_file_is_judged_anew(look, moe, tmp_path, snapshot):
    path = copy_sparse(moe, tmp_path / "m" / "model.gguf")
    before = look(path.parent, judge=judge_for(snapshot, 330, 8000)).files[0]
    other = look(path.parent, judge=judge_for(snapshot, 8000, 8000)).files[0]
    assert before.verdict.kind is not other.verdict.kind
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - MIB)
    assert look(path.parent, judge=judge_for(snapshot, 330, 8000)).files[0].summary.role is EntryRole.UNFINISHED


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"format": 1, "files": {"x": [[[1, 2]], [1]]}, "verdicts": {}}'])
def test_that_a_damaged_store_is_as_good_as_none(look, moe, tmp_path, damage):
    (tmp_path / "library.json").write_text(damage)
    assert look(moe.parent).files[0].is_model


def test_that_nothing_is_written_into_any_of_the_folders(look, moe, tmp_path, snapshot):
    root = tmp_path / "theirs"
    put_in_hub_cache(root / "hub", moe, "a/b", "q.gguf")
    put_in_ollama(root / "ollama", moe, "qwen3", "30b")

    def state():
        return {str(p): (p.lstat().st_size, p.lstat().st_mtime_ns) for p in sorted(root.rglob("*"))}

    before = state()
    look(
        Place(root / "hub", Source.HUGGING_FACE),
        Place(root / "ollama", Source.OLLAMA),
        judge=judge_for(snapshot, 330, 8000),
    )
    assert state() == before


def test_that_new_lines_are_told_while_the_search_goes_on(look, moe, tmp_path):
    for number in range(5):
        copy_sparse(moe, tmp_path / f"{number}.gguf")
    told = []
    found = look(tmp_path, on_batch=told.extend)
    assert {entry.path for entry in told} == {entry.path for entry in found.files}


@pytest.fixture
def five(tmp_path):
    """Five models of which no two are alike."""
    return make_distinct(tmp_path / "five", 5, names=("qwen1.5-moe",), has_vocabulary=False)


@pytest.mark.parametrize("kept_models", [128, 0])
@pytest.mark.share(1)
def test_that_files_are_listed_at_once_and_get_the_verdicts_of_their_plans_afterwards(
    look, five, tmp_path, snapshot, kept_models
):
    judge, told = judge_for(snapshot, 6000, 30000), []
    found = look(tmp_path / "five", judge=judge, on_batch=told.append, kept_models=kept_models)
    assert len({entry.summary.signature for entry in found.files}) == 5
    assert [entry.verdict for entry in found.files] == [judge.verdict(read_model(e.path)) for e in found.files]
    assert not any(entry.waits or entry.verdict.is_first for entry in found.files)
    listed = {entry.path: entry for batch in told for entry in batch if entry.waits}
    last = {entry.path: entry for batch in told for entry in batch}
    assert set(last.values()) == set(found.files)
    assert all(entry.verdict.is_first and entry.verdict.decode_tps is None for entry in listed.values())


@pytest.mark.slow
def test_that_the_plans_of_files_that_are_seen_are_made_first(look, five, tmp_path, snapshot, monkeypatch):
    planned = []
    real = Judge.verdict
    monkeypatch.setattr(Judge, "verdict", lambda self, model: planned.append(model.path) or real(self, model))
    wanted = (str(five[3]), str(five[1]))
    look(tmp_path / "five", judge=judge_for(snapshot, 6000, 30000), wanted=lambda: wanted)
    assert planned[:2] == list(wanted)
    assert len(planned) == 5


@pytest.mark.slow
def test_that_only_verdicts_of_plans_are_remembered(look, five, tmp_path, snapshot):
    judge = judge_for(snapshot, 6000, 30000)
    planned = threading.Event()
    with suppress(ProblemError):  # files that come in one batch are all looked at before anybody can cancel
        look(tmp_path / "five", judge=judge, cancelled=planned.is_set, on_batch=lambda _: planned.set())
    kept = LibraryStore(tmp_path / "library.json").verdicts(judge.key)
    assert not any(verdict.is_first for verdict in kept.values())
    assert len(look(tmp_path / "five", judge=judge).files) == 5


def test_that_a_first_verdict_is_told_as_a_bound(look, moe, snapshot):
    (entry,) = look(moe.parent, judge=judge_for(snapshot, 330, 8000)).files
    bound = replace(entry, verdict=replace(entry.verdict, is_first=True), waits=True)
    assert "at most" in entry_words(bound)
    assert entry_speed_words(bound) == "…"
    assert entry_words(replace(bound, verdict=None)) == "…"
    assert "at least" in entry_words(replace(bound, verdict=replace(bound.verdict, kind=VerdictKind.TOO_BIG)))


def test_that_the_users_folders_come_first_and_are_kept_although_they_are_gone(tmp_path):
    places = all_places([str(tmp_path / "gone"), str(tmp_path / "gone")], with_known=False)
    assert places == (Place(tmp_path / "gone", Source.FOLDER),)


def test_that_the_words_name_layers_and_sizes(look, moe, snapshot):
    (entry,) = look(moe.parent, judge=judge_for(snapshot, 330, 8000)).files
    in_ram = entry.verdict.expert_layers_in_ram
    assert f"{in_ram} expert layer" in entry_words(entry)
    unknown = replace(entry, verdict=None)
    assert "unknown" in entry_words(unknown)
    assert size_class(30_532_122_624, 3_353_032_704) == "30.5B, 3.4B active"
    assert size_class(None, None) == "—"
    dense = FileVerdict(VerdictKind.LAYERS_IN_RAM, 8192, layers_in_ram=5, layers=33)
    assert "5 layers of 33" in entry_words(replace(entry, verdict=dense))


def test_that_a_copy_is_known_by_its_header_and_a_file_that_differs_in_one_tensor_is_not(moe, tmp_path):
    seen = AlikeHeaders()
    first = read_model(moe)
    seen.keep(first, summary_of(first))
    copy = copy_sparse(moe, tmp_path / "copy.gguf")
    summary, found = seen.find(str(copy))
    assert replace(found, path=first.path, parts=first.parts) == first
    assert (found.path, summary) == (str(copy), summary_of(found))
    data = bytearray(head_of(copy))
    at = data.index(b"blk.7.ffn_down_exps")
    data[at + 4] = ord("6")
    with copy.open("r+b") as file:
        file.write(data)
    assert seen.find(str(copy)) is None
    assert seen.find(str(tmp_path / "none.gguf")) is None


def test_that_a_file_that_changes_while_it_waits_for_its_plan_breaks_no_search(moe):
    model, plans = read_model(moe), PlansToMake()
    plans.add("old", "a.gguf", None)
    plans.add("new", "a.gguf", model)  # read again, and another one by now
    plans.add("old", "b.gguf", model)
    assert [plans.take(())[::2] for _ in range(2)] == [("new", ("a.gguf",)), ("old", ("a.gguf", "b.gguf"))]
    assert not plans
