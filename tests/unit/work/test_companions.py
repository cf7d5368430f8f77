"""Files beside the model are read once, and told when they cannot be used."""

import pytest

import app.work.companions as companions
from app.engine.capabilities import FALLBACK
from app.model.reader import read_model
from app.model.side_files import read_side_file
from app.planner.command_import import read_command
from app.planner.command_plan import plan_of_command
from app.planner.plan import PlanInputs
from app.planner.types import RAM, Device, DeviceKind, DeviceSet, Segment, Wishes
from app.words import Language, say_in
from app.work.companions import read_companions, with_companions
from tests.tools.small_lora import write_lora
from tests.tools.small_moe import write_small_moe
from tests.tools.sparse_projector import make_projector

GIB = 1 << 30
CARD = DeviceSet(
    (Device("CUDA0", DeviceKind.GPU, 12 * GIB, 12 * GIB, buffer_name="CUDA0"),),
    Device(RAM, DeviceKind.RAM, 64 * GIB, 50 * GIB, buffer_name="CPU"),
)


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "模型 files"
    folder.mkdir()
    write_small_moe(folder / "m.gguf")
    make_projector("gemma3", folder / "mm.gguf", 512)
    return folder


@pytest.fixture
def model(folder):
    return read_model(folder / "m.gguf")


def codes(files):
    return [p.code for p in files.problems]


def test_that_every_file_is_read_for_what_it_is(folder, model):
    lora = write_lora(folder / "a.gguf", model, ["blk.0.attn_q.weight"])
    wishes = Wishes(
        mmproj_path=str(folder / "mm.gguf"), draft_path=str(folder / "m.gguf"), lora_paths=(str(lora), str(lora))
    )
    files = read_companions(wishes, model)
    assert files.projector == read_side_file(folder / "mm.gguf")
    assert files.draft == model
    assert len(files.adapters) == 2
    assert files.problems == ()


def test_that_nothing_is_read_for_wishes_without_files(model, monkeypatch):
    monkeypatch.setattr(companions, "read_side_file", None)
    assert read_companions(Wishes(mtp=True), model) == companions.NO_FILES


def test_that_a_file_is_read_once_and_again_when_it_changed(folder, model, monkeypatch):
    reads = []

    def counting(path):
        reads.append(path)
        return read_side_file(path)

    monkeypatch.setattr(companions, "read_side_file", counting)
    wishes = Wishes(mmproj_path=str(folder / "mm.gguf"))
    first = read_companions(wishes, model)
    assert read_companions(wishes, model) == first
    assert len(reads) == 1
    make_projector("qwen3vl", folder / "mm.gguf", 512)
    assert read_companions(wishes, model) != first
    assert len(reads) == 2


def test_that_a_wrong_kind_of_file_is_told(folder, model):
    mixed = Wishes(mmproj_path=str(folder / "m.gguf"), lora_paths=(str(folder / "mm.gguf"),))
    files = read_companions(mixed, model)
    assert codes(files) == ["companion_other_kind"] * 2
    assert files.projector is None
    assert files.adapters == ()
    for problem in files.problems:
        assert say_in(Language.EN, f"problem.{problem.code}", **problem.params)


def test_that_a_projector_is_no_draft_and_a_missing_file_is_told(folder, model):
    assert codes(read_companions(Wishes(draft_path=str(folder / "mm.gguf")), model)) == ["gguf_not_a_model_projector"]
    assert codes(read_companions(Wishes(mmproj_path=str(folder / "no.gguf")), model)) == ["file_missing"]


def test_that_a_truncated_projector_is_told(folder, model):
    with (folder / "mm.gguf").open("r+b") as file:
        file.truncate(1 << 20)
    assert codes(read_companions(Wishes(mmproj_path=str(folder / "mm.gguf")), model)) == ["gguf_truncated"]


def test_that_an_adapter_for_another_architecture_is_told(folder, model):
    lora = write_lora(folder / "a.gguf", model, ["blk.0.attn_q.weight"], architecture="llama")
    (problem,) = read_companions(Wishes(lora_paths=(str(lora),)), model).problems
    assert (problem.code, problem.params["adapter"]) == ("lora_other_architecture", "llama")


def pasted(model, text):
    command = read_command(tuple(text), FALLBACK)
    return with_companions(command, PlanInputs(model, CARD, Wishes(), FALLBACK, 6))


def test_that_a_pasted_projector_and_draft_are_counted(folder, model):
    words = ["-m", "x", "-c", "4096", "-mm", str(folder / "mm.gguf"), "-md", str(folder / "m.gguf")]
    plan = plan_of_command(*pasted(model, words)).plan
    segments = plan.estimate.get("CUDA0").segments
    assert segments[Segment.PROJECTOR] > 800 << 20
    assert segments[Segment.DRAFT] > 50 << 20
    assert plan.wishes.extra == ()
    assert str(folder / "mm.gguf") in plan.argv


def test_that_files_of_another_machine_stay_in_the_command_and_that_is_said(model):
    words = ["-m", "x", "-c", "4096", "-mm", "/there/mm.gguf", "-md", "/there/d.gguf", "-ngld", "4"]
    words += ["--spec-type", "draft-simple", "--lora", "/there/a.gguf", "--jinja"]
    command, inputs = pasted(model, words)
    result = plan_of_command(command, inputs)
    assert [p.code for p in result.problems if p.code == "import_companion_unread"] == ["import_companion_unread"] * 3
    assert not result.plan.has_errors
    extra = result.plan.wishes.extra
    for option in (("-mm", "/there/mm.gguf"), ("-md", "/there/d.gguf"), ("-ngld", "4"), ("--lora", "/there/a.gguf")):
        assert extra[extra.index(option[0]) + 1] == option[1]
    assert extra.count("--spec-type") == 1
    assert "--jinja" in extra
    assert not result.plan.estimate.get("CUDA0").segments
