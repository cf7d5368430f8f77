import pytest

from app.model.reader import read_model
from tests.tools.dry_run_cases import MODEL_NAMES
from tests.tools.sparse_models import make_sparse


@pytest.fixture(scope="session")
def real_headers(tmp_path_factory):
    """The header-faithful models without their vocabularies, read once: name -> ModelInfo."""
    folder = tmp_path_factory.mktemp("sparse")
    models = {}
    for name in MODEL_NAMES:
        path = folder / f"{name}.gguf"
        make_sparse(name, path, has_vocabulary=False)
        models[name] = read_model(path)
    return models
