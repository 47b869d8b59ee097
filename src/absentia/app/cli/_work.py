"""``absentia work``: trials of a comparison, by one of any number of processes that share its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from absentia.app._terminal import MaybeWhole
from absentia.app.cli._words import call, say

# isort: split
from cyclopts import Parameter

from absentia.app._checks import check_whole
from absentia.app._comparing import jobs_of
from absentia.app.cli._compare import DASK, JOBS, RETRY, run_trials
from absentia.experiment.comparison import open_study
from absentia.experiment.engine import Pool, parse_shard, shard_of

SHARD = Parameter(help="NUMBER/COUNT: this part of the trials, as 3/16; by default all.")


def work(
    folder: Annotated[Path, Parameter(name="FOLDER", help="A folder of absentia compare.")],
    /,
    *,
    shard: Annotated[str, SHARD] = "1/1",
    jobs: Annotated[MaybeWhole, JOBS] = 1,
    dask: Annotated[str | None, DASK] = None,
    retry: Annotated[bool, RETRY] = False,
) -> None:
    """Run trials of a comparison that are not done yet, for SLURM arrays and the like.

    Nobody coordinates: which trials a shard has follows from the design alone.

    Example: absentia work compared/ --shard 3/16
    """
    check_whole("--jobs", jobs, 1, 4096)
    number, count = parse_shard(shard)
    study = open_study(folder)
    own = shard_of(study.trials, number, count)
    run_trials(study, Pool(jobs_of(jobs, study.problem.data), dask, apart=True), retry, own)
    left = len(study.outstanding().todo)
    if left:
        say(f"{left} of {len(study.trials)} trials are left to other shards")
    else:
        say(f"all {len(study.trials)} trials are done; next:  {call('report', folder)}")
