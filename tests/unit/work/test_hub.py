"""Model hubs: what a link means, what a repository holds, verdicts from a header far away, downloads that end well."""

import json
import threading
from collections import deque
from pathlib import Path

import pytest

from app.common.capabilities import Capabilities
from app.common.problem import ProblemError
from app.hardware.snapshot_file import load_snapshot
from app.model.reader import read_model
from app.planner.devices import DeviceWishes
from app.planner.file_verdict import VerdictKind
from app.work.downloads.types import Patience
from app.work.hub.choices import VerdictBasis, judged, read_remote
from app.work.hub.fetching import fetch_sets, space_for
from app.work.hub.links import HUGGING_FACE, MODELSCOPE, HubLink, Site, parse_link
from app.work.hub.listing import RemoteFile, grouped, is_safe, list_sets, quant_of
from app.work.library.judge import Judge
from tests.tools.file_server import FileServer
from tests.tools.hardware_data import DATA
from tests.tools.hub_pages import HTML, Hub

QUICK = Patience(connect_s=5.0, silence_s=5.0, tries=4, first_wait_s=0.01, longest_wait_s=0.02)
TINY = DATA.parent / "tiny-moe-2l.gguf"


def never():
    return False


@pytest.fixture(scope="module")
def small():
    """A whole model, small enough to be served in one piece."""
    return TINY.read_bytes()


@pytest.fixture
def hub():
    with FileServer() as server:
        yield Hub(server)


@pytest.fixture(scope="module")
def judge():
    snapshot = load_snapshot(DATA / "laptop-rtx4080-i7-13700h.json")
    return Judge(snapshot, Capabilities(frozenset()), device_wishes=DeviceWishes({"CUDA0": 8000}, 16000))


def link_to(hub, repository="me/small-GGUF", **more):
    return HubLink(Site.HUGGING_FACE, hub.base, repository, **more)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://huggingface.co/unsloth/Qwen3-30B-A3B-GGUF", ("unsloth/Qwen3-30B-A3B-GGUF", "main", None)),
        (" huggingface.co/a/b/tree/main ", ("a/b", "main", None)),
        ("https://hf.co/a/b/tree/refs%2Fpr%2F3", ("a/b", "refs/pr/3", None)),
        ("https://huggingface.co/a/b/resolve/refs/pr/3/x.gguf", ("a/b", "refs/pr/3", "x.gguf")),
        ("https://huggingface.co/a/b/blob/main/UD/x-00001-of-00002.gguf", ("a/b", "main", "UD/x-00001-of-00002.gguf")),
        ("'https://huggingface.co/a/b/resolve/v1.0/x.gguf?download=true'", ("a/b", "v1.0", "x.gguf")),
        ("a/b", ("a/b", "main", None)),
        ("hf:a/b", ("a/b", "main", None)),
    ],
)
def test_that_every_link_of_hugging_face_is_understood(text, expected):
    link = parse_link(text)
    assert (link.repository, link.revision, link.file) == expected
    assert (link.site, link.base) == (Site.HUGGING_FACE, HUGGING_FACE)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://www.modelscope.cn/models/Qwen/Qwen3-30B-A3B-GGUF", ("master", None)),
        ("modelscope.cn/models/Qwen/Qwen3-30B-A3B-GGUF/files", ("master", None)),
        ("https://modelscope.cn/models/Qwen/Qwen3-30B-A3B-GGUF/resolve/v2/q4.gguf", ("v2", "q4.gguf")),
        (
            "https://modelscope.cn/models/Qwen/Qwen3-30B-A3B-GGUF/file/view/master/q4.gguf?status=2",
            ("master", "q4.gguf"),
        ),
        (
            f"{MODELSCOPE}/api/v1/models/Qwen/Qwen3-30B-A3B-GGUF/repo?Revision=v2&FilePath=a%2Fq4.gguf",
            ("v2", "a/q4.gguf"),
        ),
    ],
)
def test_that_every_link_of_modelscope_is_understood(text, expected):
    link = parse_link(text)
    assert (link.revision, link.file) == expected
    assert (link.site, link.repository) == (Site.MODELSCOPE, "Qwen/Qwen3-30B-A3B-GGUF")


def test_that_a_mirror_stands_in_for_the_official_address_only():
    mirror = "https://mirror.example/hf/"
    assert parse_link("https://huggingface.co/a/b", mirror).base == "https://mirror.example/hf"
    assert parse_link("a/b:Q4_K_M", mirror).base == "https://mirror.example/hf"
    assert parse_link("a/b:Q4_K_M", mirror).quant == "Q4_K_M"
    assert parse_link("https://hf-mirror.com/a/b", mirror).base == "https://hf-mirror.com"
    assert parse_link("https://www.modelscope.cn/models/a/b", mirror).base == MODELSCOPE
    own = parse_link("http://192.168.1.5:8000/a/b/resolve/main/x.gguf", mirror)
    assert (own.base, own.site) == ("http://192.168.1.5:8000", Site.HUGGING_FACE)
    direct = parse_link("http://192.168.1.5:8000/files/x.gguf")
    assert (direct.site, direct.file) == (Site.DIRECT, "x.gguf")


@pytest.mark.parametrize(
    "text",
    [
        "https://huggingface.co/datasets/a/b", "https://huggingface.co/blog/moe", "https://huggingface.co/a",
        "https://huggingface.co/", "https://modelscope.cn/studios/a/b", "https://example.com/model.html",
        "https://github.com/ggml-org/llama.cpp",
    ],
)  # fmt: skip
def test_that_a_page_that_is_no_model_is_told_before_anybody_is_asked(text):
    with pytest.raises(ProblemError, match="hub_link_no_model"):
        parse_link(text)


@pytest.mark.parametrize("text", ["", "   ", "Qwen3", "how do I download", "C:\\models\\x.gguf", "a/b/c", "x" * 5000])
def test_that_what_is_no_link_is_told(text):
    with pytest.raises(ProblemError, match="hub_link_none"):
        parse_link(text)


@pytest.mark.parametrize(
    ("name", "quant"),
    [
        ("Qwen3-30B-A3B-Q4_K_M", "Q4_K_M"), ("qwen3-30b-a3b-q4_k_m.gguf", "Q4_K_M"), ("m-UD-Q4_K_XL", "UD-Q4_K_XL"),
        ("m-IQ2_XXS", "IQ2_XXS"), ("m.Q8_0", "Q8_0"), ("gpt-oss-20b-mxfp4", "MXFP4"), ("m-BF16", "BF16"),
        ("BF16/m-00001-of-00002", "BF16"), ("m-Q6_K", "Q6_K"), ("m-it-qat", None), ("Q4_K_M/model", "Q4_K_M"),
    ],
)  # fmt: skip
def test_that_the_quantisation_is_read_out_of_a_name(name, quant):
    assert quant_of(name) == quant


def test_that_a_repository_is_listed_over_all_its_pages_with_parts_together(hub):
    files = {f"m-{n:03d}.gguf": b"x" * (n + 1) for n in range(200)}
    files |= {f"Q8_0/big-Q8_0-0000{n}-of-00003.gguf": b"y" * 10 for n in (1, 2, 3)}
    files |= {"big-Q6_K-00001-of-00002.gguf": b"z", "mmproj-F16.gguf": b"p", "README.md": b"r", "imatrix.gguf": b"i"}
    hub.hugging_face("me/small-GGUF", files, per_page=90)
    found = {each.name: each for each in list_sets(link_to(hub), never, QUICK)}
    assert len(found) == 200 + 3
    assert len(found["big-Q8_0"].files) == 3
    assert found["big-Q8_0"].size_bytes == 30
    assert found["big-Q6_K"].missing_parts == 1
    assert found["mmproj-F16"].is_projector
    assert list(found)[-1] == "mmproj-F16"
    assert len([path for path, *_ in hub.server.asked if path.startswith("/api/")]) == 3


def test_that_modelscopes_listing_is_read_too(hub, small):
    hub.modelscope("me/small-GGUF", {"q/small-Q4_K_M.gguf": small, "README.md": b"r"})
    link = parse_link(f"{hub.base}/models/me/small-GGUF/summary")
    (each,) = list_sets(link, never, QUICK)
    assert (each.name, each.size_bytes, each.quant) == ("small-Q4_K_M", len(small), "Q4_K_M")
    assert len(each.files[0].sha256) == 64


def test_that_html_and_a_missing_repository_and_one_without_gguf_are_told(hub):
    address = "/api/models/me/small-GGUF/tree/main?recursive=true"
    with pytest.raises(ProblemError, match="hub_repository_missing"):
        list_sets(link_to(hub), never, QUICK)
    hub.server.put(address, HTML, content_type="text/html")
    with pytest.raises(ProblemError, match="hub_no_listing"):
        list_sets(link_to(hub), never, QUICK)
    for body in (b"{}", b'{"error": "x"}', b"[" * 100_000, b"null"):
        hub.server.put(address, body)
        with pytest.raises(ProblemError, match="hub_no_listing"):
            list_sets(link_to(hub), never, QUICK)
    hub.server.put(
        address, json.dumps([None, 3, {"type": "file"}, {"type": "file", "path": "a.bin", "size": 3}]).encode()
    )
    with pytest.raises(ProblemError, match="hub_no_gguf"):
        list_sets(link_to(hub), never, QUICK)


@pytest.mark.parametrize(
    "path",
    [
        "../x.gguf",
        "/x.gguf",
        "a/../x.gguf",
        "a\\x.gguf",
        "c:x.gguf",
        "a\nb.gguf",
        "a//x.gguf",
        "",
        "NUL.gguf",
        "aux/x.gguf",
        "com1",
    ],
)
def test_that_a_name_that_leads_out_of_the_folder_is_never_taken(path):
    assert not is_safe(path)


def test_that_parts_of_one_model_stay_together_where_another_folder_has_a_file_of_the_same_name():
    paths = ("Q4/m-00001-of-00002.gguf", "Q4/m-00002-of-00002.gguf", "old/M-00001-of-00002.gguf", "other/b.gguf")
    sets = {found.files[0].path: found for found in grouped([RemoteFile(path, 10, None) for path in paths])}
    assert [file.local for file in sets[paths[0]].files] == [tuple(path.split("/")) for path in paths[:2]]
    assert sets[paths[2]].files[0].local == ("old", "M-00001-of-00002.gguf")
    assert sets[paths[3]].files[0].local == ("b.gguf",)


def test_that_the_verdict_is_the_planners_from_a_header_that_was_read_through_a_range(hub, small, judge):
    size, whole = len(small), small
    hub.hugging_face("me/small-GGUF", {"small-Q4_K_M.gguf": whole, "small-Q8_0.gguf": b"GGUF" + b"\0" * (2 * size)})
    found = judged(link_to(hub), list_sets(link_to(hub), never, QUICK), judge, never, QUICK)
    by_quant = {choice.set.quant: choice for choice in found.choices}
    assert found.model.tensors == read_model(TINY).tensors
    assert by_quant["Q4_K_M"].verdict == judge.verdict(read_model(TINY))
    assert by_quant["Q4_K_M"].basis is VerdictBasis.HEADER
    assert by_quant["Q8_0"].basis is VerdictBasis.SCALED
    assert by_quant["Q8_0"].verdict.runs
    asked = [wanted for path, wanted, _ in hub.server.asked if "resolve" in path]
    assert asked == ["bytes=0-1048575"]


def test_that_a_server_without_ranges_costs_no_whole_file(hub, small):
    whole = small
    hub.hugging_face("me/small-GGUF", {"small-Q4_K_M.gguf": whole}, ranges=False)
    (each,) = list_sets(link_to(hub), never, QUICK)
    assert read_remote(link_to(hub), each, never, QUICK).file_bytes == len(whole)


def test_that_a_header_that_cannot_be_read_leaves_the_size_to_judge_by(hub, judge):
    hub.hugging_face(
        "me/small-GGUF", {"a-Q4_K_M.gguf": HTML, "a-Q8_0.gguf": b"x" * 9}, size_of=lambda data: len(data) << 32
    )
    found = judged(link_to(hub), list_sets(link_to(hub), never, QUICK), judge, never, QUICK)
    assert found.problem.code in ("not_gguf_web_page", "not_gguf")
    large = next(choice for choice in found.choices if choice.set.quant == "Q4_K_M")
    assert (large.basis, large.verdict.kind) == (VerdictBasis.SIZE, VerdictKind.TOO_BIG)
    assert large.verdict.missing_bytes > 100 << 30


def test_that_a_split_model_is_fetched_together_and_goes_on_where_it_was_cut(hub, small, tmp_path):
    hub.hugging_face("me/small-GGUF", {"Q4/small-Q4_K_M.gguf": small})
    hub.server.files["/me/small-GGUF/resolve/main/Q4/small-Q4_K_M.gguf"].cuts = deque([1000, 2000, 100])
    (each,) = list_sets(link_to(hub), never, QUICK)
    assert space_for(link_to(hub), (each,), tmp_path).needed_bytes == len(small)
    done = fetch_sets(link_to(hub), (each,), tmp_path, lambda _: None, never, QUICK)
    assert Path(done.path) == tmp_path / "me" / "small-GGUF" / "small-Q4_K_M.gguf"
    assert Path(done.path).read_bytes() == small
    assert done.is_checked
    again = fetch_sets(link_to(hub), (each,), tmp_path, lambda _: None, never, QUICK)
    assert again.path == done.path, "what is there and right is not fetched again"


def test_that_wrong_bytes_and_sizes_that_lie_never_become_a_model(hub, small, tmp_path):
    hub.hugging_face("me/small-GGUF", {"small-Q4_K_M.gguf": small}, hash_of=lambda _: "0" * 64)
    (each,) = list_sets(link_to(hub), never, QUICK)
    with pytest.raises(ProblemError, match="download_damaged"):
        fetch_sets(link_to(hub), (each,), tmp_path, lambda _: None, never, QUICK)
    hub.hugging_face("me/small-GGUF", {"small-Q4_K_M.gguf": small}, size_of=lambda data: len(data) + 5)
    (each,) = list_sets(link_to(hub), never, QUICK)
    with pytest.raises(ProblemError, match="download_size_differs"):
        fetch_sets(link_to(hub), (each,), tmp_path, lambda _: None, never, QUICK)
    assert not list(tmp_path.rglob("*.gguf"))


def test_that_cancelling_keeps_what_is_there(hub, small, tmp_path):
    hub.hugging_face("me/small-GGUF", {"small-Q4_K_M.gguf": small})
    (each,) = list_sets(link_to(hub), never, QUICK)
    seen = [0]
    served = hub.server.files["/me/small-GGUF/resolve/main/small-Q4_K_M.gguf"]
    served.hold, served.hold_after = threading.Event(), 4000

    def tell(progress):
        seen.append(progress.done_bytes)

    with pytest.raises(ProblemError, match="download_cancelled"):
        fetch_sets(link_to(hub), (each,), tmp_path, tell, lambda: max(seen) >= 4000, QUICK)
    served.hold.set()
    assert next(tmp_path.rglob("*.part")).stat().st_size == 4000
    served.hold = None
    assert fetch_sets(link_to(hub), (each,), tmp_path, lambda _: None, never, QUICK).n_bytes == len(small)


def test_that_a_direct_link_without_a_hash_is_proven_by_its_header(hub, small, tmp_path):
    hub.server.put("/files/small.gguf", small)
    hub.server.put("/files/page.gguf", HTML + b" " * 600)
    link = parse_link(hub.server.url("/files/small.gguf"))
    (each,) = list_sets(link, never, QUICK)
    done = fetch_sets(link, (each,), tmp_path, lambda _: None, never, QUICK)
    assert (Path(done.path).parent, done.is_checked) == (tmp_path, False)
    page = parse_link(hub.server.url("/files/page.gguf"))
    with pytest.raises(ProblemError, match="not_gguf_web_page"):
        fetch_sets(page, list_sets(page, never, QUICK), tmp_path, lambda _: None, never, QUICK)
    assert not (tmp_path / "page.gguf").exists()


def test_that_a_set_with_missing_parts_is_refused_before_anything_is_fetched(hub, tmp_path):
    hub.hugging_face("me/small-GGUF", {"m-Q6_K-00001-of-00002.gguf": b"GGUF"})
    (each,) = list_sets(link_to(hub), never, QUICK)
    with pytest.raises(ProblemError, match="hub_parts_missing"):
        fetch_sets(link_to(hub), (each,), tmp_path, lambda _: None, never, QUICK)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["COM¹.gguf", "conin$.gguf", "aux .gguf", "NUL.tar.gguf", "\ud800.gguf"])
def test_that_no_device_and_no_half_character_becomes_a_file(name):
    assert not is_safe(name)
    assert grouped([RemoteFile(name, 5, None)]) == ()


def test_that_two_names_for_one_place_are_one_file():
    long = "b" * 300
    names = ["x.gguf", "X.GGUF", f"yy{long}.gguf", f"zz{long}.gguf", "console.gguf"]
    sets = grouped([RemoteFile(name, 5, None) for name in names])
    places = {tuple(part.casefold() for part in file.local) for each in sets for file in each.files}
    assert len(places) == len(sets) == 3


@pytest.mark.parametrize(
    ("file", "local"), [("m.gguf", "m.gguf"), ("NUL.gguf", "model.gguf"), ("a:b.gguf", "model.gguf")]
)
def test_that_a_direct_links_file_has_a_name_that_every_disk_takes(file, local):
    (found,) = list_sets(parse_link(f"http://127.0.0.1:1/{file}"), lambda: False)
    assert found.files[0].local == (local,)
