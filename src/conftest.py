"""Examples of docstrings run in an empty folder, with what only some of them need."""

import os
from pathlib import Path

import pytest

_NEEDS = {"SurvivalForest": "sksurv"}  # a package that is in no extra


@pytest.fixture(autouse=True)
def prepare_example(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = request.node.name.rpartition(".")[2]
    if name in _NEEDS:
        pytest.importorskip(_NEEDS[name])
    if name == "load_benchmark" and "ABSENTIA_DATA" not in os.environ:
        pytest.skip("ABSENTIA_DATA is not set")
    monkeypatch.chdir(tmp_path)
