import pytest


@pytest.fixture(scope="session")
def q3_header(real_headers):
    """The header of Qwen3-30B-A3B, without its vocabulary."""
    return real_headers["qwen3-30b"]
