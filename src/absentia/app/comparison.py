"""``absentia.compare``: which method works best on these data, with statistics that hold."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from absentia.core import available_memory
from absentia.data import KernelViews, Views
from absentia.experiment.comparison import (
    MAX_COMPARED,
    Design,
    Study,
    choose_methods,
    draw_compared,
    fit_to_all,
    make_task_data,
    open_study,
)
from absentia.experiment.engine import Pool
from absentia.experiment.pattern_mix import make_mix

if TYPE_CHECKING:
    import pandas as pd

    from absentia.experiment.comparison import TaskData
    from absentia.experiment.learning_curve import LearningCurve
    from absentia.experiment.pattern_mix import MixScores
    from absentia.experiment.results import ComparisonResults, Recommendation

_DATA_COPIES, _SPARE_BYTES = 5, 2**29  # of the data, and beside them, that a process may take

#: Columns of the table, and what they are of a difference to the simplest.
_DIFFERENCE_COLUMNS = {
    "difference": "mean",
    "difference low": "low",
    "difference high": "high",
    "p": "p",
    "p (Holm)": "adjusted",
    "probability worse": "worse",
    "probability same": "same",
    "probability better": "better",
}


#: Columns of the table, and what they are of what is expected of a method.
_EXPECTATION_COLUMNS = {"expected": "mean", "chance worse": "worse", "chance better": "better"}


class Comparison:
    """What was compared, and what came out.

    Parameters
    ----------
    study : Study
        Data, design and records.
    """

    def __init__(self, study: Study) -> None:
        self.study = study

    @cached_property
    def results(self) -> ComparisonResults:
        """All that the page tells, as plain data."""
        return self.study.results()

    @property
    def recommendation(self) -> Recommendation:
        """Which method to take, and why."""
        return self.results.recommendation

    @property
    def sentence(self) -> str:
        """What to take, what to expect of it, and whether that is shown."""
        return self.recommendation.headline

    @property
    def best(self) -> str:
        """The method that is recommended."""
        return self.recommendation.recommended

    def table(self) -> pd.DataFrame:
        """A row for each method: scores, differences to the simplest, what to expect, costs, failures."""
        import pandas as pd

        results = self.results
        differences = {difference.method: difference for difference in results.differences}
        expectations = {one.method: one for one in results.expectations}
        rows = []
        for row in results.rows:
            cells: dict[str, Any] = {"method": row.method, "baseline": row.baseline}
            for metric in results.metrics:
                score = row.scores.get(metric.name)
                cells[metric.name] = getattr(score, "value", None)
                if metric == results.metric:
                    cells |= {f"{metric.name} {end}": getattr(score, end, None) for end in ("low", "high")}
            difference = differences.get(row.method)
            cells |= {words: getattr(difference, name, None) for words, name in _DIFFERENCE_COLUMNS.items()}
            expected = expectations.get(row.method)
            cells |= {words: getattr(expected, name, None) for words, name in _EXPECTATION_COLUMNS.items()}
            cells |= {"CPU seconds": row.cpu, "memory MB": row.memory}
            cells |= {"fits": row.done, "failed": row.failed, "wanted": row.wanted}
            cells["remark"] = row.left_out or "; ".join(row.errors)
            rows.append(cells)
        return pd.DataFrame(rows).set_index("method")

    def learning_curve(self) -> LearningCurve:
        """What more samples, or a view for more of them, would add: ``.sentence``, ``.table()``."""
        if self.results.learning_curve is None:
            raise ValueError("no learning curve was asked for: compare(..., learning_curve=True)")
        return self.results.learning_curve

    def weigh_patterns(self, new: Any) -> MixScores:
        """Scores to expect if samples come in another mix of patterns: ``.sentences``, ``.table()``.

        Parameters
        ----------
        new : Views, KernelViews, dict of tables, DataFrame, or mapping of patterns to shares
            New samples, whose patterns are counted; or shares, ``{"mrna+mirna": 0.7, "mrna": 0.3}``, a
            pattern being its views' names joined by +; or a table of pattern and share.

        Returns
        -------
        MixScores
        """
        if isinstance(new, Mapping) and any(np.ndim(value) for value in new.values()):
            new = Views.from_dict(new)
        self.study.check_weighable()
        return self.study.weigh_patterns(make_mix(new, self.study.data.data.names))

    def best_estimator(self) -> Any:
        """The recommended method, fitted to all samples; of completion the completer."""
        return fit_to_all(self.study.whole or self.study.data, self.best, self.study.design.seed)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write the page."""
        from absentia.app.report import save
        from absentia.app.report.comparison import render_comparison

        return save(render_comparison(self.results), path)

    def __repr__(self) -> str:
        results = self.results
        trials = f"{results.done} of {results.wanted} trials"
        return f"Comparison of {len(results.rows)} methods, {trials}: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        table = self.table().to_html(float_format="{:.4g}".format, na_rep="", border=0)
        return f"<p><strong>{escape(self.sentence)}</strong></p>{table}"


def compare(
    data: Any,
    y: Any = None,
    *,
    methods: str | Iterable[str] = "auto",
    hide: float = 0.2,
    repeats: int = 5,
    cv: int = 5,
    score: str | None = None,
    costs: Any = None,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    random_state: int = 0,
    folder: str | os.PathLike[str] | None = None,
    memory_limit: int | None = None,
    kernel: Any = "rbf",
    mechanism: str = "own",
    rates: Sequence[float] = (),
    equivalence: float = 0.01,
    thin: bool = True,
    learning_curve: bool = False,
    groups: Any = None,
    leave_one_group_out: bool = False,
    time: Any = None,
    adjust: Any = None,
    max_samples: int | None = MAX_COMPARED,
    callback: Callable[[Any], None] | None = None,
    verbose: bool = False,
) -> Comparison:
    """Try methods on data with absent views, and say what is worth taking.

    Without labels, observed cells are hidden and completed.  With labels, samples are held out and
    predicted, the same ones by every method; completion and all tuning happen inside the fold.

    Parameters
    ----------
    data : Views, KernelViews, or a dict of tables
        Samples with some views absent.
    y : Series or mapping by id, or array in the order of the samples, optional
        Classes, numbers, a table of labels (1, 0, NaN for unknown), or times and events by name.
    methods : "auto" or names
        Names as ``absentia fit --list`` (classes, numbers) or ``absentia complete --list`` have them.  The
        simplest one, which all are held against, is always tried.
    hide : float
        Share of the observed cells to hide, where nothing is predicted.
    repeats, cv : int
        Repeats of the folds (of the hiding), and folds.
    score : str, optional
        What counts: methods are ranked by it, and all that give probabilities of classes decide so that it
        is best.  Of classes "balanced-accuracy" (the default), "accuracy", "log-loss", "auc" or "cost"; by
        default R2, concordance, AUC (several labels) or ARE (completion) elsewhere.
    costs : dict of dicts or DataFrame, optional
        Of mistakes between classes, ``costs[true][predicted]``: classes are decided by the least expected
        cost, and methods ranked by the mean cost unless `score` says otherwise.
    n_jobs : int, optional
        Processes; None is one for each core, 1 this process.
    time_limit, memory_limit : number, optional
        CPU seconds and bytes that a fit may take; what takes more is a failure in the table.
    random_state : int
        Seed of folds, of what is hidden, and of methods.
    folder : path, optional
        Where records are kept, to go on later or to add repeats and methods; temporary by default.
    kernel : str or ViewKernels
        Of features.
    mechanism : {"own", "mcar", "per-view", "exclusive"}
        How cells are hidden: by the patterns of the data's own absence, at random, the same share of
        every view, or all but one view of a sample.
    rates : sequence of float
        Also as curves over these shares of hidden cells.
    equivalence : float
        Differences up to this are practically nil; of metrics that are no shares, relative.
    thin : bool
        With ``methods="auto"``, try methods in fewer repeats whose first fit was slow, and those not at
        all whose first fit was not done in a minute of CPU time.
    learning_curve : bool
        Also learn from fewer samples, and with views that fewer have, to say what more would add:
        :meth:`Comparison.learning_curve`.
    groups : array in the order of the samples, Series or mapping by id, or "id", optional
        Patients, families or sites: samples of one never stand on both sides of a split, inner ones
        included (:meth:`Views.with_groups`).
    leave_one_group_out : bool
        Every group is held out once, in place of `repeats` and `cv`; for up to 30 groups.
    time : array in the order of the samples, Series or mapping by id, optional
        When samples came, numbers or dates: the samples are cut into `cv` + 1 blocks in time, and each but
        the first is predicted from all that came before, in place of `repeats`.  Whoever of `groups` is in
        a block is not learned from for it.
    adjust : DataFrame by id, or dict of columns by id, optional
        Covariates, numbers or categories (age, site, batch): numeric features are replaced by residuals
        after regression on them, learned in the training part of each fold (:class:`AdjustViews`).
    max_samples : int, optional
        Of more samples so many are compared on, drawn by class; the three leading methods then learn from
        fewer, which tells whether more would change their order, and are fitted once to nearly all.  Not of
        `groups` or in `time`.  None: all.
    callback : callable, optional
        Gets every :class:`absentia.experiment.engine.Record` when it is there.
    verbose : bool
        Show on standard error what is done, what runs, and how long it will take.

    Returns
    -------
    Comparison
        ``.sentence``, ``.table()``, ``.best_estimator()``, ``.report(path)``.

    Examples
    --------
    >>> import absentia
    >>> from absentia import datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> views = views.select(["pixels", "fourier"])
    >>> views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    >>> found = absentia.compare(views, y < 5, methods=["average", "linear"], repeats=1, n_jobs=1)
    >>> found.best in ("average", "linear"), len(found.table())
    (True, 2)
    """
    counts = {name: _check_integer(name, value) for name, value in (("repeats", repeats), ("cv", cv))}
    given = {"metric": score, "hide": hide, "mechanism": mechanism, "rates": tuple(rates), **counts}
    limits = {"equivalence": equivalence, "time_limit": time_limit, "memory_limit": memory_limit}
    parts: dict[str, Any] = {"learning_curve": learning_curve, "leave_one_group_out": leave_one_group_out}
    task_data = make_task_data(data, y, kernel, groups, time, adjust).judged_by(score, costs)
    seed = _check_integer("random_state", random_state)
    task_data, whole = draw_compared(task_data, max_samples, seed)
    parts["n_samples"] = 0 if whole is None else len(whole.data)
    design = make_design(task_data, methods, seed=seed, **parts, **given, **limits)
    comparison = _open_folder(folder, task_data, design)
    comparison.study.whole = whole
    pool = Pool(count_jobs(n_jobs, task_data.data))
    tell = callback or (lambda record: None)
    _run(comparison.study, pool, tell, verbose, thin and isinstance(methods, str) and methods == "auto")
    comparison.study.fit_finalists(pool, tell)
    return comparison


def _open_folder(folder: Any, data: TaskData, design: Design) -> Comparison:
    """A comparison in that folder, or in one that goes when the comparison does."""
    place = tempfile.mkdtemp(prefix="absentia-") if folder is None else folder
    comparison = Comparison(Study(data, design, place))
    if folder is None:
        weakref.finalize(comparison, shutil.rmtree, place, ignore_errors=True)
    comparison.study.save()
    return comparison


def _run(study: Study, pool: Pool, tell: Callable[[Any], None], verbose: bool, thin: bool) -> None:
    """Time methods if slow ones are to be thinned out, then do all that is left."""
    for timing in (True, False) if thin else (False,):
        todo = study.list_untimed() if timing else study.outstanding()
        run = study.time_methods if timing else partial(study.run, todo)
        if not verbose:
            run(pool, tell)
            continue
        from absentia.app._terminal import TrialProgress, show_trials

        progress = TrialProgress(todo, pool.jobs, study.measured_seconds())
        progress.listeners.append(tell)
        with show_trials(progress):
            run(pool, progress.tell, progress.begin)


def make_design(data: TaskData, methods: str | Iterable[str], **given: Any) -> Design:
    """A design for the data: which methods are tried."""
    names, left_out = choose_methods(data, methods)
    return Design(names, left_out=left_out, **given)


def open_comparison(folder: str | os.PathLike[str]) -> Comparison:
    """The comparison that a folder holds, with the trials that are done.

    Examples
    --------
    >>> import tempfile
    >>> from absentia import compare, datasets, open_comparison
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     settings = {"methods": ["average", "linear"], "repeats": 1, "cv": 2, "n_jobs": 1}
    ...     done = compare(views, y < 5, folder=f"{folder}/compared", **settings)
    ...     open_comparison(f"{folder}/compared").table().index.sort_values().tolist()
    ['average', 'linear']
    """
    return Comparison(open_study(folder))


def _check_integer(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise ValueError(f"{name} is a whole number from 0 on, not {value!r}")
    return int(value)


def count_jobs(n_jobs: int | None, data: Views | KernelViews) -> int:
    """How many processes: as many as were asked for, or as there are cores and memory for their copies."""
    from joblib import cpu_count, effective_n_jobs

    if n_jobs is not None:
        return int(effective_n_jobs(n_jobs))
    return max(
        1, min(int(cpu_count()), available_memory() // (_SPARE_BYTES + _DATA_COPIES * _count_bytes(data)))
    )


def _count_bytes(data: Views | KernelViews) -> int:
    """Bytes of the values that the views hold, about."""
    if isinstance(data, KernelViews):
        return sum(8 * int(np.prod(data.operator(name).shape)) for name in data.names)
    blocks = [data.block(name) for name in data.names]
    return sum(block.data.nbytes if scipy.sparse.issparse(block) else block.nbytes for block in blocks)
