"""A model that is opened again is the same value, as long as its file is the same."""

from app.work.models import open_model
from tests.tools.small_moe import write_small_moe


def test_that_an_unchanged_file_is_the_same_model_and_a_changed_one_is_not(tmp_path):
    path = write_small_moe(tmp_path / "模型 m.gguf")
    first = open_model(path)
    assert open_model(path) is first
    write_small_moe(path, experts=0)
    changed = open_model(path)
    assert changed != first
    assert changed.expert_count == 0
    assert open_model(path) is changed


def test_that_only_the_last_few_models_are_kept(tmp_path):
    paths = [write_small_moe(tmp_path / f"{i}.gguf") for i in range(6)]
    models = [open_model(path) for path in paths]
    assert open_model(paths[-1]) is models[-1]
    again = open_model(paths[0])
    assert again == models[0]
    assert again is not models[0]
