from __future__ import annotations

import pytest
from methods.gaussian import Study


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The warm-up on GaussianLT, made once."""
    return Study(tmp_path_factory.mktemp("gaussian"))
