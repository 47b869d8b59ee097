"""What the engine takes for itself: 20 methods x 25 fits on 200 samples, beside what the fits take.

    python benchmarks/compare_overhead.py [--quick]

Its own time is what passes beyond the fits: wall x processes - sum of the fits' wall seconds, and CPU
seconds of all processes - sum of the fits' CPU seconds, which a busy machine does not change.  Both contain
the start of the processes (Python, imports); "start" is the CPU time of a run of one tiny trial for each.
The methods are the 20 whose first fit is cheapest: what is cheap shows the engine most.
"""

from __future__ import annotations

import json
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np

from absentia import Views, missingness
from absentia.experiment.comparison import Design, Study, TaskData, make_task_data
from absentia.experiment.engine import Pool, Records, Run, Trial, run
from absentia.methods.catalogue import list_entries

POOLS = {"this process": Pool(1), "1 process apart": Pool(1, apart=True), "2 processes": Pool(2)}


def made(n: int) -> TaskData:
    """Three views with a common cause, three in ten cells absent, two classes."""
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(n, 5))
    tables = {f"v{v}": latent @ rng.normal(size=(5, 30)) + rng.normal(size=(n, 30)) for v in range(3)}
    views = Views.from_dict(tables)
    return make_task_data(views.hide(missingness.mcar(views, 0.3, random_state=0)), latent[:, 0] > 0)


def cheapest(problem: TaskData, n: int) -> tuple[str, ...]:
    """Methods whose first fits took least."""
    with tempfile.TemporaryDirectory() as folder:
        study = Study(problem, Design(tuple(list_entries("classifier"))), folder)
        study.time_methods(Pool())
        seconds = study.measured_seconds()
    return tuple(sorted(seconds, key=lambda name: seconds[name])[:n])


def cpu_of_all() -> float:
    """Seconds of this process and of those of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def spent(function: Callable[[], Any]) -> tuple[float, float]:
    """CPU seconds of all processes, and wall seconds."""
    cpu, wall = cpu_of_all(), time.monotonic()
    function()
    return cpu_of_all() - cpu, time.monotonic() - wall


class Tiny:
    """A trial that does nothing; what workers import for a real one comes along."""

    def __init__(self, folder: str) -> None:
        from absentia.experiment.comparison._study import TrialPerformer

        self.kind = TrialPerformer

    def __call__(self, key: Any) -> dict[str, Any]:
        time.sleep(0.5)  # so that every process gets one
        return {}


def start(pool: Pool, folder: str) -> float:
    """CPU seconds that it takes until every process has done something."""
    if pool.here:
        return 0.0
    trials = [Trial({"n": n}) for n in range(pool.jobs)]
    return spent(lambda: run(trials, Run(Records(folder), Tiny(folder)), pool))[0]


def part(where: str, quick: bool) -> dict[str, Any]:
    pool, problem = POOLS[where], made(80 if quick else 200)
    methods = cheapest(problem, 4 if quick else 20)
    design = Design(methods, repeats=1 if quick else 5, cv=5, repeats_of_views=0)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        study = Study(problem, design, folder)
        study.save()
        trials = study.trials
        cpu, wall = spent(lambda: study.run(trials, pool))
        costs = [json.loads(path.read_bytes())["cost"] for path in (Path(folder) / "trials").iterdir()]
        return row(where, pool.jobs, trials, costs, cpu, wall) | {"start CPU s": start(pool, other)}


def row(
    where: str, jobs: int, trials: Sequence[Trial], costs: Sequence[Any], cpu: float, wall: float
) -> dict[str, Any]:
    fits = {name: sum(cost[name] for cost in costs) for name in ("cpu", "wall")}
    return {
        "where": where,
        "fits": len(trials),
        "fits CPU s": fits["cpu"],
        "fits wall s": fits["wall"],
        "wall s": wall,
        "own wall %": 100 * (wall * jobs - fits["wall"]) / fits["wall"],
        "own CPU s": cpu - fits["cpu"],
        "own CPU %": 100 * (cpu - fits["cpu"]) / fits["cpu"],
        "own ms/fit": 1000 * (cpu - fits["cpu"]) / len(trials),
    }


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--where")
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(part(arguments.where, arguments.quick)))
        return
    quick = ["--quick"] if arguments.quick else []
    rows = [common.child(__file__, "run", "--where", where, *quick) for where in POOLS]
    claims = [common.Claim(f"own CPU %, {row['where']}", row["own CPU %"], at_most=10.0) for row in rows]
    common.finish("compare_overhead", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
