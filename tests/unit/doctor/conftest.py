import pytest

from app.model.reader import read_model
from tests.tools.sparse_models import make_sparse


@pytest.fixture(scope="session")
def q3_header(tmp_path_factory):
    """The header of Qwen3-30B-A3B, without its vocabulary."""
    path = tmp_path_factory.mktemp("doctor") / "q3.gguf"
    make_sparse("qwen3-30b", path, has_vocabulary=False)
    return read_model(path)
