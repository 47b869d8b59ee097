"""Numbers that users see, on other processors: do the demo's table and an example of fit and predict agree?

Every setting is a process of its own: OpenBLAS with the kernels it chooses here and with those of other
processors (``OPENBLAS_CORETYPE``), one and two threads.  What is printed must agree, CPU seconds aside, and
so must classes and flags of every sample; probabilities must agree within what the solver's tolerance
leaves open.  How far apart the numbers behind the demo's table are is shown too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

CORES = (None, "Haswell", "Zen", "Prescott")
THREADS = (1, 2)
UNIT = 1e-3  # the last digit of the tables
CHANCES = 0.02  # probabilities may differ by so much: machines are fitted to a duality gap of 1e-3


# ---------------------------------------------------------------------------------- one setting, inside


def shown(part: str, quick: bool) -> dict[str, Any]:
    """What is printed, cell by cell, as text; numbers to be compared as numbers; the processor."""
    import threadpoolctl

    cells: dict[str, str] = {}
    numbers: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stderr(StringIO()):
        if part in ("demo", "all"):
            demo(60 if quick else 300, cells, numbers)
        if part in ("example", "all"):
            example(200 if quick else 600, cells, numbers)
    kinds = {x.get("architecture", "?") for x in threadpoolctl.threadpool_info() if x["user_api"] == "blas"}
    return {"cells": cells, "numbers": numbers, "processor": "/".join(sorted(kinds))}


def demo(n_samples: int, cells: dict[str, str], numbers: dict[str, float]) -> None:
    """The scores of ``absentia demo``, as its table shows them."""
    from absentia.app.cli._comparing import make_demo_study
    from absentia.app.comparison import Comparison
    from absentia.experiment.engine import Pool

    study = make_demo_study(n_samples, 0.3, 0, Path("demo"))
    study.save()
    study.run(study.trials, Pool())
    found = Comparison(study).results
    for row in found.rows:
        for metric, span in row.scores.items():
            place = f"demo: {row.method}, {metric}"
            cells[place], numbers[place] = f"{span.value:.3f}", span.value


def example(n_samples: int, cells: dict[str, str], numbers: dict[str, float]) -> None:
    """What an example of fit and predict prints and writes."""
    from sklearn.model_selection import train_test_split

    from absentia import datasets, io, missingness

    views, y = datasets.load_digit_views(n_samples=n_samples, return_X_y=True)
    views = views.hide(missingness.mcar(views, 0.4, random_state=0))
    train, new, y_train, y_new = train_test_split(views, y, test_size=0.5, random_state=0)
    io.write("train.npz", train, digit=y_train)
    io.write("new.npz", new)
    for command in (
        "fit train.npz --labels digit -o model.npz",
        "predict model.npz new.npz -o predicted.csv",
    ):
        for k, line in enumerate(printed(command.split())):
            cells[f"{command.split()[0]}: line {k}"] = line.split(", duality gap")[0]  # rounding's own
    table = [line.split(",") for line in Path("predicted.csv").read_text().splitlines()]
    for line in table[1:]:
        for column, cell in zip(table[0][1:], line[1:], strict=True):
            place = f"predicted.csv: sample {line[0]}, {column}"
            if column.startswith("probability="):
                numbers[place] = float(cell)
            else:
                cells[place] = cell
    right = sum(line[1] == str(label) for line, label in zip(table[1:], y_new, strict=True))
    cells["predicted.csv: share that is right"] = f"{right / len(y_new):.0%}"


def printed(arguments: list[str]) -> list[str]:
    """What a command prints."""
    from absentia.app.cli import _main as cli

    out = StringIO()
    with redirect_stdout(out):
        cli.main(arguments)
    return [line.rstrip() for line in out.getvalue().splitlines()]


# ----------------------------------------------------------------------------------- all of them, outside


def run_with(core: str | None, threads: int, part: str, quick: bool) -> dict[str, Any]:
    """A process with this processor's kernels and so many threads."""
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    env |= {"OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads), "COLUMNS": "100"}
    if core is not None:
        env["OPENBLAS_CORETYPE"] = core
    command = [sys.executable, __file__, "--worker", "--part", part, *(["--quick"] if quick else [])]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"OPENBLAS_CORETYPE={core}, {threads} thread(s): {done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less data, two settings")
    parser.add_argument("--part", choices=["demo", "example", "all"], default="all")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        print(json.dumps(shown(arguments.part, arguments.quick)))
        return
    settings = [(core, threads) for threads in THREADS for core in CORES]
    found: dict[str, dict[str, Any]] = {}
    for core, threads in [settings[0], settings[-1]] if arguments.quick else settings:
        name = f"{core or 'unset'}, {threads}"
        found[name] = run_with(core, threads, arguments.part, arguments.quick)
        print(f"{name}: OpenBLAS for {found[name]['processor']}", flush=True)
        if len(found) > 1:
            say_what_differs({first: found[first] for first in (next(iter(found)), name)})
    say_how_far_apart(found)
    sys.exit(say_what_differs(found))


def say_what_differs(found: dict[str, dict[str, Any]]) -> int:
    """Print what differs; 1 if anything does."""
    places = list(dict.fromkeys(place for one in found.values() for place in one["cells"]))
    differing = [p for p in places if len({one["cells"].get(p) for one in found.values()}) > 1]
    for place in differing:
        print(f"DIFFERS  {place}")
        for name, one in found.items():
            print(f"    {name:<12} {one['cells'].get(place)}  {one['numbers'].get(place, '')}")
    probabilities = probabilities_apart(found)
    print(
        f"{len(differing)} of {len(places)} cells differ; probabilities by {probabilities:.1e} at most",
        flush=True,
    )
    return int(bool(differing) or probabilities > CHANCES)


def probabilities_apart(found: dict[str, dict[str, Any]]) -> float:
    """The largest difference of a chance in predicted.csv."""
    first = next(iter(found.values()))["numbers"]
    every = [
        [one["numbers"].get(p, 9.0) for one in found.values()] for p in first if p.startswith("predicted")
    ]
    return max((max(values) - min(values) for values in every), default=0.0)


def say_how_far_apart(found: dict[str, dict[str, Any]]) -> None:
    print("spread of the demo's numbers, in units of the last digit printed (half a unit can turn it):")
    for place in next(iter(found.values()))["numbers"]:
        if not place.startswith("demo"):
            continue
        values = [one["numbers"][place] for one in found.values()]
        spread = (max(values) - min(values)) / (1 if place.endswith("iterations") else UNIT)
        if spread > 1e-4:
            print(f"    {place:<50} {spread:.1e}")


if __name__ == "__main__":
    main()
