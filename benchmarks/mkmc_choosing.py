"""What it costs to let MKMC choose: against one fit with what was chosen, and against trying everything.

Number of components by ``"heldout"`` and ``"auto"`` (which also chooses whether to centre).  "Trying
everything" goes along the whole path of ranks for either form, for ``"heldout"`` by runs to a change of
1e-5.  Errors are of cells that were hidden before (30 % of complete data, 10 % of what others have) and
that no search sees.  The real data need the folder named by the environment variable ABSENTIA_DATA.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import common
import numpy as np

from absentia import MKMC, KernelViews, ViewKernels, datasets, missingness
from absentia.methods.completion import Holdout
from absentia.methods.completion.mkmc import _selection

EVERYTHING = {"_RANK_PATIENCE": 100, "_HOPELESS": np.inf}
LONG = {"_SHORT_TOL": 1e-5, "_SHORT_STEPS": 500}


def problems(quick: bool) -> Iterator[tuple[str, KernelViews, KernelViews]]:
    """Kernels, and what is left of them."""
    digits = datasets.load_digit_views(n_samples=100 if quick else 300)
    yield "digits", *hidden(digits.views, 0.3)
    if os.environ.get("ABSENTIA_DATA"):
        mfeat = datasets.load_benchmark("mfeat").views
        some = np.sort(np.random.default_rng(0).choice(len(mfeat), 100 if quick else 400, replace=False))
        yield "mfeat", *hidden(mfeat[some], 0.3)
        yield "3sources", *hidden(datasets.load_benchmark("3sources_full416").views, 0.1)
        yield "TCGA", *hidden(datasets.load_benchmark("tcga_breast_mixomics").views, 0.1)
    for data, make in common.DATA.items():
        whole = make(200 if quick else 1500, hidden=0.1)
        yield data, whole, whole.hide(missingness.mcar(whole, 0.1, random_state=0))


def hidden(views: Any, share: float) -> tuple[KernelViews, KernelViews]:
    kernels = ViewKernels().fit_transform(views)
    return kernels, kernels.hide(missingness.mcar(kernels, share, random_state=0))


def everything(how: str, part: KernelViews) -> tuple[float, MKMC]:
    """The same choice without leaving any path early, and CPU seconds."""
    settings = EVERYTHING | (LONG if how == "heldout" else {})
    before = {name: getattr(_selection, name) for name in settings}
    short_path = _selection.ModelSelection._short_path
    try:
        for name, value in settings.items():
            setattr(_selection, name, value)
        _selection.ModelSelection._short_path = lambda self, views, size, near: short_path(
            self, views, size, None
        )
        return common.cpu(lambda: MKMC(n_components=how).fit(part))
    finally:
        _selection.ModelSelection._short_path = short_path
        for name, value in before.items():
            setattr(_selection, name, value)


def compare(name: str, how: str, whole: KernelViews, part: KernelViews) -> dict[str, Any]:
    def error(fitted: MKMC) -> float:
        return Holdout(whole, part).error(fitted.transform(part))

    seconds, chosen = common.cpu(lambda: MKMC(n_components=how).fit(part))
    given = MKMC(n_components=chosen.n_components_, center=chosen.center_)
    once = min(common.cpu(lambda: given.fit(part))[0] for _ in range(2))
    longer, exhausted = everything(how, part)
    return {
        "data": name,
        "choice": how,
        "components": chosen.n_components_,
        "centred": chosen.center_,
        "error": error(chosen),
        "CPU s": seconds,
        "one fit, CPU s": once,
        "times one fit": seconds / once,
        "everything: components": exhausted.n_components_,
        "everything: error": error(exhausted),
        "everything: CPU s": longer,
    }


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    warnings.simplefilter("ignore")
    rows = [
        compare(name, how, whole, part)
        for name, whole, part in problems(arguments.quick)
        for how in ("heldout", "auto")
    ]
    worst = max(rows, key=lambda row: row["error"] / row["everything: error"])
    most = {
        how: max(row["times one fit"] for row in rows if row["choice"] == how)
        for how in ("heldout", "auto")
    }
    claims = [
        *(common.Claim(f"{how}: choosing over one fit, most", x, at_most=5.0) for how, x in most.items()),
        common.Claim(
            "error over that of trying everything, most",
            worst["error"] / worst["everything: error"],
            at_most=1.02,
        ),
    ]
    common.finish("mkmc_choosing", arguments.quick, rows, claims)


if __name__ == "__main__":
    main()
