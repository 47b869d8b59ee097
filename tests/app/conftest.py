"""What the tests of the command line share."""

import numpy as np
import pandas as pd
import pytest

from absentia import io
from conftest import random_problem


@pytest.fixture
def kernels(tmp_path):
    path = tmp_path / "k.npz"
    io.write(path, random_problem(30, 3, 0.3))
    return path


@pytest.fixture
def clinic(tmp_path):
    """Sixty patients in two tables, and a table beside them with the label and what comes of it."""
    rng = np.random.default_rng(0)
    ids, y = [f"P{k:02d}" for k in range(60)], np.arange(60) % 2
    for name, shift in {"expr": 1.0, "meth": 0.5}.items():
        table = pd.DataFrame(rng.normal(size=(60, 8)) + shift * y[:, None], ids)
        table.rename(columns=lambda k, name=name: f"{name}{k}").to_csv(
            tmp_path / f"{name}.csv", index_label="id"
        )
    cluster = np.where(y == 1, np.array(["HP", "IP"])[rng.integers(0, 2, 60)], "LP")
    beside = {"status": np.array(["U", "M"])[y], "cluster": cluster, "age": rng.normal(60, 8, 60).round(1)}
    beside["seen"] = pd.date_range("2020-01-01", periods=60).strftime("%Y-%m-%d")
    pd.DataFrame(beside, ids).to_csv(tmp_path / "metadata.csv", index_label="id")
    return tmp_path
