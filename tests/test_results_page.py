"""docs/results.md: every block runs as printed, one after the other."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

TEXT = (Path(__file__).parent.parent / "docs" / "results.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def test_all_blocks_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {}
    for block in BLOCKS:
        for package in re.findall(r"# needs: (.*)", block):
            for name in package.split(", "):
                pytest.importorskip(name)
        exec(compile(block, "docs/results.md", "exec"), space)
    assert len(BLOCKS) > 6


def test_what_r_reads_is_what_there_was(tmp_path, monkeypatch):
    """As R does: the first column are the names of rows, the header those of columns."""
    monkeypatch.chdir(tmp_path)
    space = {}
    for block in BLOCKS[:3]:
        exec(compile(block, "docs/results.md", "exec"), space)
    kernel = pd.read_csv("pixels_kernel.csv", index_col=0)
    completed = space["completed"]
    assert kernel.index.astype(str).tolist() == kernel.columns.tolist() == [str(x) for x in completed.ids]
    np.testing.assert_allclose(kernel.to_numpy(), completed.block("pixels"), rtol=1e-12)
