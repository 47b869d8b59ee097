"""Tables read by `absentia.read` beside pandas' and mudata's own readers: CPU seconds and memory.

    python benchmarks/readers.py [--quick]

10,000 samples x 1,000 features.  Every reading has a process of its own, the two readers of a file in turn;
a number is the median of these.  Memory is the peak beyond what the process had before, in units of the
array of the table's numbers.  Times are CPU seconds of all threads, after a small file of the same kind was
read, so that imports do not count.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd

import absentia

N_TEXTS = 5
TEXTS = {
    "CSV": "plain.csv",
    "CSV, ids and names in quotes": "quoted.csv",
    f"CSV, {N_TEXTS} columns of texts": "texts.csv",
    "CSV, an odd gap in the last line": "late.csv",
    "CSV, gzip": "packed.csv.gz",
}
OTHERS = {"Parquet": "t.parquet", "Parquet, float32": "t32.parquet", "MuData": "t.h5mu"}


def read_theirs(path: Path) -> Any:
    """What the field's own reader makes of a file."""
    if path.suffix == ".parquet":
        return pd.read_parquet(path)
    if path.suffix == ".h5mu":
        import mudata

        with mudata.set_options(pull_on_update=False):
            return mudata.read_h5mu(path)
    return pd.read_csv(path, index_col=0)


def write_files(folder: Path, n: int, d: int) -> None:
    """The same table in every kind of file."""
    rng = np.random.default_rng(0)
    ids = pd.Index([f"s{i:05}" for i in range(n)], name="id")
    frame = pd.DataFrame(rng.standard_normal((n, d)), ids, [f"g{j}" for j in range(d)])
    frame.to_parquet(folder / "t.parquet")
    frame.astype(np.float32).to_parquet(folder / "t32.parquet")
    frame.to_csv(folder / "plain.csv")
    frame.to_csv(folder / "packed.csv.gz", compression={"method": "gzip", "compresslevel": 1})
    frame.to_csv(folder / "quoted.csv", quoting=2)  # texts and names in quotes
    words = pd.DataFrame(rng.choice(["low", "middle", "high"], (n, N_TEXTS)), ids).add_prefix("c")
    frame.join(words).to_csv(folder / "texts.csv")
    late = frame.astype({"g0": object})
    late.iloc[-1, 0] = " NA "
    late.to_csv(folder / "late.csv")
    import anndata
    import mudata

    with mudata.set_options(pull_on_update=False):
        halves = {name: anndata.AnnData(frame.iloc[:, k::2]) for k, name in enumerate("ab")}
        mudata.MuData(halves).write_h5mu(folder / "t.h5mu")


def measure(reader: str, path: Path, small: Path) -> dict[str, float]:
    """CPU seconds and megabytes of one reading in this process."""
    read = absentia.read if reader == "ours" else read_theirs
    read(small)
    before, start = common.rss(), time.process_time()
    read(path)
    cpu = time.process_time() - start
    peak = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith("VmHWM"))
    return {"cpu": cpu, "mb": int(peak.split()[1]) / 1024 - before}


def compare(kind: str, name: str, folder: Path, n: int, d: int, repeats: int) -> dict[str, Any]:
    """A row of the table."""
    path, small = folder / "large" / name, folder / "small" / name
    found: dict[str, list[dict[str, float]]] = {"ours": [], "theirs": []}
    for _ in range(repeats):
        for reader, runs in found.items():
            runs.append(common.child(__file__, reader, "--path", path, "--small", small))
    cpu, mb = (
        {reader: statistics.median(run[what] for run in runs) for reader, runs in found.items()}
        for what in ("cpu", "mb")
    )
    array = n * d * (4 if "float32" in kind else 8) / common.MB
    return {
        "file": kind,
        "MB": os.path.getsize(path) / common.MB,
        "CPU s": cpu["ours"],
        "their CPU s": cpu["theirs"],
        "times": cpu["ours"] / cpu["theirs"],
        "memory / array": mb["ours"] / array,
        "their memory / array": mb["theirs"] / array,
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--path", type=Path)
    parser.add_argument("--small", type=Path)
    given = parser.parse_args()
    if given.part:
        print(json.dumps(measure(given.part, given.path, given.small)))
        return
    n, d = (2_000, 500) if given.quick else (10_000, 1_000)
    kinds = (TEXTS | OTHERS).items()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for part, shape in (("large", (n, d)), ("small", (20, 20))):
            (folder / part).mkdir()
            write_files(folder / part, *shape)
        rows = [compare(kind, name, folder, n, d, 1 if given.quick else 3) for kind, name in kinds]
    claims = []
    for row in rows:
        text = row["file"] in TEXTS
        most = 2.0 if text else 1.5
        claims.append(common.Claim(f"{row['file']}: times the CPU", row["times"], at_most=most))
        if text:
            memory = row["memory / array"]
            claims.append(common.Claim(f"{row['file']}: memory / array", memory, at_most=2.5))
    common.finish("readers", given.quick, rows, claims)


if __name__ == "__main__":
    main()
