"""The work of ``absentia compare``: a study out of files, its trials, its page, and what they say."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import pandas as pd
from rich.table import Table

import absentia
from absentia import files
from absentia.app._exit_codes import explain_kept
from absentia.app._terminal import (
    TrialProgress,
    collect_warnings,
    escape_text,
    format_command,
    out,
    say,
    say_json,
    say_paths,
    show_trials,
)
from absentia.app.cli._data import open_costs, read_training
from absentia.app.cli._flags import ReadOptions, ViewKernelOptions, flag_words, make_table
from absentia.app.cli._verbs import DIGITS_FILE, PAGE, TABLE, AdjustOptions, CompareOptions
from absentia.app.comparison import Comparison, count_jobs, make_design
from absentia.core import format_seconds, warn
from absentia.data import AbsenceWarning
from absentia.experiment.comparison import (
    Design,
    Study,
    TaskData,
    draw_compared,
    make_task_data,
    open_study,
)
from absentia.experiment.engine import Pool, Trial, parse_shard, shard_of
from absentia.experiment.pattern_mix import MixScores, PatternMix, make_mix
from absentia.experiment.results import Metric
from absentia.files import file_errors, parse_bytes, write_atomically
from absentia.tasks import CLASSIFICATION, MULTILABEL, REGRESSION, SURVIVAL

#: Of ``absentia demo``: some of every kind, quick enough to be tried ten times in a minute.
_DEMO_METHODS = (
    *("average", "complete-cases", "mean-svm", "linear", "fusion", "forest"),
    *("mkl", "amkl-convex", "amkl-penalized", "knn-svm", "cvkt-svm", "cvkt-linear"),
)
_DEMO_REPEATS = 2


def make_study(
    data: Path,
    labels: str | None,
    source: ReadOptions,
    kernels: ViewKernelOptions,
    options: CompareOptions,
    folder: Path | None,
    adjustment: AdjustOptions = AdjustOptions(),  # noqa: B008 - it is frozen
) -> tuple[Study, Sequence[str]]:
    """The study that the options ask for, and what is to be said of the data."""
    limit = options.memory_limit
    memory = None if limit is None else parse_bytes(limit, "--memory-limit")
    with collect_warnings() as remarks:
        task_data, notes = _read_task_data(data, labels, source, kernels, adjustment)
    with open_costs(options.costs) as costs:
        task_data = task_data.judged_by(options.score, costs)
    task_data, whole = draw_compared(task_data, options.max_samples, options.seed)
    if whole is not None:
        notes = [
            *notes,
            f"{len(whole.data)} samples: compared on {len(task_data.data)} of them (--max-samples)",
        ]
    named = [str(data), *([] if labels is None else ["--labels", labels])]
    named += [*flag_words(source), *flag_words(kernels), *flag_words(adjustment)]
    more = [*flag_words(options), *([] if folder is None else ["-o", str(folder)])]
    given = asdict(options) | {"memory_limit": memory}
    methods, score, costs_file, *_ = map(
        given.pop, ("methods", "score", "costs", "all_repeats", "max_samples")
    )
    judged = {"--score": score, "--costs": costs_file} if task_data.kind == "classes" else {}
    judging = [text for flag, value in judged.items() if value is not None for text in (flag, str(value))]
    design = make_design(
        task_data,
        "auto" if methods == ("auto",) else methods,
        **given,
        metric=score,
        title=_title(data, labels),
        call=shlex.join([*named, *judging]),
        command=shlex.join(["absentia", "compare", *named, *more]),
        remarks=tuple(dict.fromkeys(remarks)),
        n_samples=0 if whole is None else len(whole.data),
    )
    study = Study(task_data, design, folder or Path("absentia-compare"))
    study.whole = whole
    return study, notes


def _read_task_data(
    path: Path,
    labels: str | None,
    source: ReadOptions,
    options: ViewKernelOptions,
    adjustment: AdjustOptions = AdjustOptions(),  # noqa: B008 - it is frozen
) -> tuple[TaskData, Sequence[str]]:
    """What is compared on, and what is to be said of it."""
    if labels is None:
        opened = source.open(path)
        for given in (*flag_words(source), *flag_words(adjustment)):
            if given in ("--groups", "--time", "--covariates", "--adjust"):
                raise ValueError(f"{given} is of predictions: give --labels, or leave it out")
        return make_task_data(opened.data, kernel=options.make(opened)), opened.notes
    tasks = (CLASSIFICATION, REGRESSION, SURVIVAL, MULTILABEL)
    training = read_training(path, source, labels, options, tasks, *astuple(adjustment))
    return training.samples, training.notes


def read_mix(path: Path | None, source: ReadOptions, study: Study) -> PatternMix | None:
    """The mix of patterns that a table says or new data have; None without a file."""
    if path is None:
        return None
    study.check_weighable()
    names = study.data.data.names
    if path.suffix.lower() in (".csv", ".tsv", ".txt") and not source.views:
        with file_errors(path):
            table = files.read_cells(path)
            if "share" in table.columns:
                return make_mix(table, names)
    try:
        return make_mix(files.read_new(path, **source.options()), names)
    except ValueError as error:
        raise ValueError(f"--patterns {path}: {error}") from None


def _title(data: Path, labels: str | None) -> str:
    name = data.absolute().name
    return f"What works best on {name}" + (f": {labels.rpartition(':')[2]}" if labels else "")


def make_demo_study(n_samples: int, absent: float, seed: int, folder: Path) -> Study:
    """The digits with a share of their views hidden, and methods to compare on them."""
    views, y = absentia.datasets.load_digit_views(n_samples=n_samples, return_X_y=True)
    views = views.hide(absentia.missingness.mcar(views, absent, random_state=seed))
    flags = ("--n-samples", n_samples, "--absent", absent, "--seed", seed)
    design = Design(
        _DEMO_METHODS,
        repeats=_DEMO_REPEATS,
        seed=seed,
        title=f"Handwritten digits in six views, {absent:.0%} of them hidden",
        call=shlex.join([str(folder / DIGITS_FILE), "--labels", "digit"]),
        command=shlex.join(["absentia", "demo", "-o", str(folder), *map(str, flags)]),
    )
    return Study(make_task_data(views, y), design, folder)


# ----------------------------------------------------------------------------------------------- running


def make_pool(study: Study, jobs: int | None = None, dask: str | None = None) -> Pool:
    """Processes of their own for trials."""
    return Pool(count_jobs(jobs, study.data.data), dask, apart=True)


def run_shard(folder: Path, shard: str, jobs: int | None, dask: str | None, retry: bool) -> None:
    """Run one part of the trials of a folder, and say what is left."""
    number, count = parse_shard(shard)
    study = open_study(folder)
    run_trials(study, make_pool(study, jobs, dask), retry, shard_of(study.trials, number, count))
    left = len(study.outstanding())
    if left:
        say(f"{left} of {len(study.trials)} trials are left to other shards")
    else:
        say(f"all {len(study.trials)} trials are done; next:  {format_command('report', folder)}")


def run_trials(
    study: Study, pool: Pool, retry: bool, trials: Sequence[Trial] | None = None, thin: bool = False
) -> None:
    """Run what has no record yet, of all trials or of these; with `thin`, time methods before."""
    explain_kept(lambda: describe_kept_trials(study))
    if thin:
        untimed = study.list_untimed()
        if untimed:
            say(f"{len(untimed)} methods are timed by a fit each, slow ones are tried less often then")
        progress = TrialProgress(untimed, pool.jobs, study.measured_seconds())
        with show_trials(progress):
            study.time_methods(pool, progress.tell, progress.begin)
    wanted = None if trials is None else {trial.hash for trial in trials}
    left = study.outstanding(retry)
    todo = [trial for trial in left if wanted is None or trial.hash in wanted]
    shard = "" if wanted is None else f"; {len(todo)} of them in this shard"
    say(escape_text(study.describe_outstanding(left) + shard))
    if todo and (words := _describe_time(study, todo, pool.jobs)):
        say(escape_text(words))
    own = {trial.hash for trial in todo}
    for path, why in study.records.damaged.items():
        if path.stem in own:
            say(escape_text(f"{path}: is no whole record and is made again ({why})"))
    progress = TrialProgress(todo, pool.jobs, study.measured_seconds())
    with show_trials(progress):
        study.run(todo, pool, progress.tell, progress.begin)


def fit_finalists(study: Study, pool: Pool) -> None:
    """Of very many samples: the leading methods learn from fewer, and from nearly all."""
    if study.whole is not None:
        say("the leading methods learn from fewer samples, and once from nearly all")
        study.fit_finalists(pool)


def describe_kept_trials(study: Study) -> str:
    """What is there when somebody stops before the end."""
    there = len(study.records.hashes() & {trial.hash for trial in study.trials})
    folder = shlex.quote(str(study.folder))
    return (
        f"{there} of {len(study.trials)} trials are kept in {study.folder}; the same command, or absentia "
        f"work {folder}, goes on, and absentia report {folder} shows what is there"
    )


def say_how_much(study: Study, jobs: int, retry: bool) -> None:
    """How many trials there are, and how long they take as far as methods have been timed."""
    left = study.outstanding(retry)
    say(escape_text(study.describe_outstanding(left)))
    words = _describe_time(study, left, jobs)
    words = words or "how long they take is not known before the first trial of each method"
    say(escape_text(f"{words}; nothing was run"))
    for name, why in study.design.left_out.items():
        say(escape_text(f"not tried: {name} {why}"))


def _describe_time(study: Study, todo: Sequence[Trial], jobs: int) -> str:
    """What these trials take as far as methods have been timed; nothing if none has."""
    measured, methods = study.measured_seconds(), [trial.key["method"] for trial in todo]
    unknown = sorted(set(methods) - set(measured))
    if unknown and unknown == sorted(set(methods)):
        return ""
    seconds = sum(measured.get(method, 0.0) for method in methods)
    wall = f"{format_seconds(seconds / jobs)} on {jobs} core{'s' if jobs > 1 else ''}"
    more = f", and methods that have not been timed ({', '.join(unknown)})" if unknown else ""
    return f"about {format_seconds(seconds)} of CPU time, {wall}{more}"


def say_what_to_run(study: Study) -> None:
    """The commands that run the trials of a folder."""
    folder = study.folder
    say(escape_text(study.describe_outstanding(study.outstanding())))
    say("run them with any number of processes that see the folder:")
    say(f"  {format_command('work', folder)} --shard 1/16    # to 16/16")
    say(f"then:  {format_command('report', folder)}")


# ----------------------------------------------------------------------------------------------- results


def write_results(
    study: Study, json: bool = False, mix: PatternMix | None = None, cite: bool = False
) -> None:
    """The page and the table, and what they say; under another mix of patterns too."""
    comparison, weighted = Comparison(study), None if mix is None else study.weigh_patterns(mix)
    comparison.results = results = replace(comparison.results, weighted=weighted)
    page, table = study.folder / PAGE, study.folder / TABLE
    content = comparison.table().to_csv().encode()
    comparison.report(page)
    write_atomically(table, lambda file: file.write(content))
    if json:
        return say_json(_as_json(comparison))
    recommendation = results.recommendation
    say(f"[bold]{escape_text(recommendation.headline)}[/]")
    for sentence in recommendation.details:
        say(escape_text(sentence))
    learning = results.learning_curve
    for sentence in (*(learning.sentences if learning else ()), *results.at_size):
        say(escape_text(sentence))
    out.print(_ranking_table(comparison))
    if weighted is not None:
        out.print(_mix_table(weighted))
        for sentence in weighted.sentences:
            say(escape_text(sentence))
    say_paths(page=page.resolve(), table=table)
    if recommendation.command:
        say(f"next:  {escape_text(recommendation.command)}")
    if cite:
        methods = [study.data.task.find(name).make() for name in study.design.methods]
        out.file.write(absentia.cite(*methods))
    return None


def report_folder(folder: Path, patterns: Path | None, source: ReadOptions, json: bool) -> None:
    """The page and the table of a folder again, of whatever trials are done."""
    study = open_study(folder)
    mix = read_mix(patterns, source, study)
    left = study.outstanding()
    if len(left) == len(study.trials) and study.records.hashes():
        raise ValueError(
            f"{folder}: its records are all of other data, folds or versions than the design asks for; the "
            f"page is left as it is: run the trials again with absentia work {folder}"
        )
    for path, why in study.records.damaged.items():
        damage = f"{path}: is no whole record and is left out ({why})"
        warn(f"{damage}; absentia work {folder} makes it again", AbsenceWarning)
    if left and not json:
        say(escape_text(study.describe_outstanding(left)))
    write_results(study, json, mix)


def _as_json(comparison: Comparison) -> dict[str, Any]:
    """For programs."""
    results = comparison.results
    recommendation = results.recommendation
    table, weighted = comparison.table().reset_index().astype(object), results.weighted
    document = {
        "sentence": recommendation.headline,
        "details": list(recommendation.details),
        "recommended": recommendation.recommended,
        "shown": recommendation.shown,
        "expected": recommendation.expected,
        "default": recommendation.default,
        "beyond default": recommendation.beyond_default,
        "winner": recommendation.winner,
        "simplest": recommendation.simplest,
        "score": results.metric.name,
        "trials": {"done": results.done, "wanted": results.wanted},
        "groups": comparison.study.data.data.n_groups,
        "methods": table.where(table.notna(), None).to_dict("records"),
        "learning curve": results.learning_curve,
        "at size": list(results.at_size),
        "page": str(comparison.study.folder / PAGE),
    }
    if weighted is not None:
        more = {"sentences": list(weighted.sentences), "unknown share": weighted.unknown}
        document["patterns"] = {**vars(weighted), **more}
    return document


def _mix_table(weighted: MixScores) -> Table:
    """What to expect of each method in another mix of patterns."""
    metric = weighted.metric
    here = f"{metric.name} here, folds together"
    table = make_table("method", here, "expected", "95% interval", "change")
    for row in weighted.scores:
        value, low, high = map(metric.format, row.expected)
        cells = (metric.format(row.here), value, f"{low} to {high}", _format_gain(metric, row.change.value))
        table.add_row(escape_text(row.method), *cells)
    return table


def _ranking_table(comparison: Comparison) -> Table:
    """The table, as far as it fits a terminal."""
    results, metric = comparison.results, comparison.results.metric
    gain = partial(_format_gain, metric)
    columns: dict[str, tuple[str, Callable[[float], str]]] = {
        metric.name: (metric.name, metric.format),
        "95% interval": (f"{metric.name} low", metric.format),
        f"to {results.recommendation.simplest}": ("difference", gain),
        "p (Holm)": ("p (Holm)", "{:.3f}".format),
        "expected": ("expected", gain),
        "CPU s": ("CPU seconds", "{:.2f}".format),
    }
    table = make_table("method")
    for heading in columns:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("remark", overflow="ellipsis", no_wrap=True)
    for method, row in comparison.table().iterrows():
        cells = {
            heading: form(row[name]) if pd.notna(row[name]) and isfinite(row[name]) else "-"
            for heading, (name, form) in columns.items()
        }
        if cells["95% interval"] != "-":
            cells["95% interval"] += f" to {metric.format(row[f'{metric.name} high'])}"
        table.add_row(escape_text(str(method)), *cells.values(), escape_text(_remark(row))[:60])
    return table


def _format_gain(metric: Metric, value: float) -> str:
    """A difference with its sign, of shares in points."""
    return f"{100 * value:+.1f}" if metric.share else f"{value:+.3g}"


def _remark(row: pd.Series) -> str:
    """Why a method was not tried, or what went wrong."""
    if row["failed"]:
        return f"{row['failed']} of {row['wanted']} failed: {row['remark']}"
    return f"not tried: {row['remark']}" if row["remark"] else "baseline" if row["baseline"] else ""
