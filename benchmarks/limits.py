"""What many more samples and views would cost, out of runs of ``half_million.py`` at two sizes or more.

    python benchmarks/half_million.py A --samples 20000 --no-report > a.txt
    python benchmarks/half_million.py B --samples 100000 --no-report > b.txt
    python benchmarks/limits.py a.txt b.txt

CPU seconds and the peak of the calling process are drawn on as powers of the samples whose exponents the
runs give, and in proportion to the views; what crosses the network and what is on disk is counted.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

VIEWS, PRESENT, FACTORS, AXES = 5, 0.6, 200, 300  # of half_million.py, and of a model on factors


def read_rows(paths: list[Path], command: str) -> list[dict[str, Any]]:
    """What a command took, by samples, out of what the runs printed."""
    lines = [line for path in paths for line in path.read_text().splitlines() if line.startswith("{")]
    rows = [row for line in lines for row in json.loads(line)["rows"] if row["command"] == command]
    rows.sort(key=lambda row: row["samples"])
    if len({row["samples"] for row in rows}) < 2:
        raise SystemExit(f"two sizes of {command!r} or more are wanted, and {len(rows)} run(s) came")
    return rows


def extrapolate(
    rows: list[dict[str, Any]], column: str, samples: float, views: float
) -> tuple[float, float]:
    """The exponent by samples, not below one, and the value for so many samples and views."""
    x, y = (np.log([float(row[key]) for row in rows]) for key in ("samples", column))
    exponent = max(float(np.polyfit(x, y, 1)[0]), 1.0)
    return exponent, float(np.exp(y[-1]) * (samples / np.exp(x[-1])) ** exponent * views / VIEWS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", help="what half_million.py printed")
    parser.add_argument("--samples", type=float, default=5e6)
    parser.add_argument("--views", type=float, default=10)
    given = parser.parse_args()
    n, cells = given.samples, given.samples * given.views * PRESENT
    for command in ("fit", "predict"):
        rows = read_rows(given.runs, command)
        width = rows[-1]["features"]
        for column in ("CPU s", "of it here"):
            exponent, seconds = extrapolate(rows, column, n, given.views)
            print(f"{command}, {column}: exponent {exponent:.2f}, {seconds / 3600:.1f} core hours")
        worker = max(row["peak MB of a worker"] for row in rows)
        print(f"{command}: a worker {worker} MB, {4 * cells * width / 1e9:.0f} GB of features a pass")
    factors, axes = 4 * cells * FACTORS / 1e9, 4 * n * AXES / 1e9
    print(f"factors of all views, to the calling process, there mapped from a file: {factors:.0f} GB")
    print(f"rows along principal axes, in its memory: {axes:.1f} GB")


if __name__ == "__main__":
    main()
