"""What several folders of the unit tests share."""

import pytest

from app.model.reader import read_model
from tests.tools.sparse_models import make_sparse


class _Headers(dict):
    """Header-faithful models without their vocabularies, each made and read when it is asked for."""

    def __init__(self, folder):
        super().__init__()
        self._folder = folder

    def __missing__(self, name):
        path = self._folder / f"{name}.gguf"
        make_sparse(name, path, has_vocabulary=False)
        self[name] = model = read_model(path)
        path.unlink()
        return model


@pytest.fixture(scope="session")
def real_headers(tmp_path_factory):
    """Name -> ModelInfo of the header-faithful models."""
    return _Headers(tmp_path_factory.mktemp("sparse"))
