"""Half a million samples in 5 views of 2,000 features, 40 % of the cells absent, out of Parquet files.

Writes partitioned Parquet files (a folder for each view, each in an order of its own) and labels into
FOLDER, unless they are there, then runs

    absentia fit FOLDER/views --labels FOLDER/labels.parquet:y --dask local:2 -o FOLDER/model.absentia
    absentia predict FOLDER/model.absentia FOLDER/views -o FOLDER/predicted.parquet

(with --survival `--labels FOLDER/labels.parquet:time,event`, Cox regression), or with --complete METHOD

    absentia complete FOLDER/views --method METHOD --dask local:2 -o FOLDER/completed.npz

and prints CPU seconds and peak memory (resident, of the largest process) of every kind of process.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import common
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

VIEWS, WIDTH, ABSENT, FACTORS = 5, 2000, 0.4, 8
PARTITION, GROUP = 20_000, 2_000  # samples of a file, and of a row group


def write_data(folder: Path, n: int, width: int = WIDTH, seed: int = 0) -> None:
    """Views of common factors with noise, and labels that are a curved function of some of these."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, FACTORS), dtype=np.float32)
    curved = np.sin(2 * factors[:, 0]) + factors[:, 1] * factors[:, 2] + 0.5 * factors[:, 3]
    y = np.where(curved + 0.3 * rng.standard_normal(n) > 0, "case", "control")
    draw = np.random.default_rng([seed, 1])
    happens, end = draw.exponential(np.exp(-curved)), draw.exponential(2.0, n)
    days, event = np.ceil(365 * np.minimum(happens, end)), happens <= end
    ids = np.array([f"P{k:07d}" for k in range(n)])
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": ids, "y": y, "time": days, "event": event}), folder / "labels.parquet")
    for v in range(VIEWS):
        part = folder / "views" / f"view{v}"
        part.mkdir(parents=True, exist_ok=True)
        loadings = rng.standard_normal((FACTORS, width), dtype=np.float32)
        has = rng.permutation(np.flatnonzero(rng.random(n) > ABSENT))
        names = [f"f{j}" for j in range(width)]
        for number, a in enumerate(range(0, len(has), PARTITION)):
            who = has[a : a + PARTITION]
            with pq.ParquetWriter(
                part / f"part-{number:04d}.parquet",
                pa.schema([("id", pa.string()), *((name, pa.float32()) for name in names)]),
                use_dictionary=["id"],
                compression="none",
            ) as writer:
                for b in range(0, len(who), GROUP):
                    some = who[b : b + GROUP]
                    X = factors[some] @ loadings + 2 * rng.standard_normal((len(some), width), np.float32)
                    columns = dict(zip(names, np.ascontiguousarray(X.T), strict=True))
                    writer.write_table(pa.table({"id": ids[some], **columns}))


class Watch(threading.Thread):
    """CPU seconds and peak memory of a process and those that it starts, as the system counts them."""

    def __init__(self, process: int) -> None:
        super().__init__(daemon=True)
        self.process, self.ended = process, threading.Event()
        self.seconds: dict[int, float] = {}
        self.peak: dict[int, float] = {}

    def run(self) -> None:
        while not self.ended.wait(0.2):
            for child in self._family():
                self._read(child)

    def _family(self) -> list[int]:
        found, waiting = [], [self.process]
        while waiting:
            process = waiting.pop()
            found.append(process)
            try:
                for task in Path(f"/proc/{process}/task").iterdir():
                    waiting += [int(x) for x in (task / "children").read_text().split()]
            except OSError:  # it has ended
                continue
        return found

    def _read(self, process: int) -> None:
        try:
            status = Path(f"/proc/{process}/status").read_text()
            times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return
        peak = re.search(r"VmHWM:\s*(\d+)", status)
        if peak:
            self.peak[process] = int(peak[1]) / 1024
            self.seconds[process] = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


def run(name: str, *arguments: str) -> dict[str, float | str]:
    """One command: its CPU and wall clock seconds, and the peaks of its largest processes in MB."""
    begin = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "absentia", *arguments])
    watch = Watch(process.pid)
    watch.start()
    code = process.wait()
    watch.ended.set()
    watch.join()
    if code:
        raise SystemExit(f"{name} ended with {code}")
    others = [peak for number, peak in watch.peak.items() if number != process.pid]
    return {
        "command": name,
        "CPU s": round(sum(watch.seconds.values())),
        "of it here": round(watch.seconds.get(process.pid, 0)),
        "wall s": round(time.perf_counter() - begin),
        "peak MB": round(watch.peak.get(process.pid, 0)),
        "peak MB of a worker": round(max(others, default=0)),
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="where to; by default a temporary one")
    parser.add_argument("--samples", type=int, default=500_000)
    parser.add_argument("--features", type=int, default=WIDTH, help="of each view")
    parser.add_argument("--dask", default="local:2")
    parser.add_argument("--survival", action="store_true", help="times to an event instead of classes")
    parser.add_argument("--complete", help="instead complete kernels by this method")
    parser.add_argument("--no-report", action="store_true", help="do not judge the fit")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp())
    n = 2_000 if arguments.quick else arguments.samples
    if not (folder / "labels.parquet").exists():
        seconds, _ = common.cpu(lambda: write_data(folder, n, arguments.features))
        print(f"{n} samples written in {seconds:.0f} CPU s")
    views, model = str(folder / "views"), str(folder / "model.absentia")
    judged = ["--no-report"] if arguments.no_report else []
    columns = "time,event" if arguments.survival else "y"
    labels, dask = f"{folder / 'labels.parquet'}:{columns}", ["--dask", arguments.dask]
    commands = [
        ["fit", views, "--labels", labels, *dask, *judged, "-o", model],
        ["predict", model, views, *dask, "-o", str(folder / "predicted.parquet")],
    ]
    if method := arguments.complete:
        commands = [["complete", views, "--method", method, *dask, "-o", str(folder / "completed.npz")]]
    rows = [run(command[0], *command, "--force") for command in commands]
    common.finish(
        "half_million",
        arguments.quick,
        [{"samples": n, "features": arguments.features, **row} for row in rows],
    )


if __name__ == "__main__":
    main()
