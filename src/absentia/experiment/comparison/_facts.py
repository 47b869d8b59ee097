"""How a comparison was done, for whoever wants to do it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absentia.experiment.comparison._design import n_folds

if TYPE_CHECKING:
    from absentia.experiment.comparison._summary import Summary

HIDDEN = {
    "own": "by the patterns of the data's own absence (at random where nothing is absent)",
    "mcar": "at random",
    "per-view": "the same share of every view, at random",
    "exclusive": "some samples left with one view only",
}


def facts(found: Summary) -> dict[str, str]:
    """By name, in words."""
    design, data, task = found.design, found.problem.data, found.problem.task
    kinds = "features" if found.problem.takes_features else "kernels"
    told = {
        "data": f"{len(data)} samples, {data.n_views} views of {kinds}, content {found.problem.hash}",
        "seed": str(design.seed),
    }
    if found.problem.takes_features:
        told["kernels"] = repr(found.problem.kernel)
    if task == "completion":
        made = "kernels are made of all samples before; " if found.problem.takes_features else ""
        told["hidden"] = (
            f"{design.hide:.0%} of the observed cells, {HIDDEN[design.mechanism]}, {design.repeats} times; "
            f"{made}scores are of hidden cells only"
        )
    else:
        told["folds"] = (
            f"{n_folds(found.problem, design)} folds, {design.repeats} repeats, the same for every method; "
            "kernels, completion and all that is chosen come from the training part of a fold"
        )
    if design.repeats_of:
        fewer = ", ".join(f"{name} ({count})" for name, count in design.repeats_of.items())
        told["fewer repeats"] = f"{fewer}: slow on data of this size"
    mcnemar = "; McNemar's test on out-of-fold predictions" if task == "classes" else ""
    told["statistics"] = (
        "corrected resampled t test against the simplest, Holm's correction; Bayesian correlated t test "
        f"with {found.equivalence:.3g} as practically nil{mcnemar}"
    )
    cpu = sum(record.cost.get("cpu") or 0.0 for record in found.records)
    told["CPU time"] = f"{cpu:.0f} s in {len(found.records)} trials"
    told |= _versions(found)
    if design.command:
        told["command"] = design.command
    return told


def _versions(found: Summary) -> dict[str, str]:
    made = {tuple(sorted(record.made.items())) for record in found.records if record.made}
    words = sorted(", ".join(f"{name} {number}" for name, number in one) for one in made)
    return {"made with": "; ".join(words)} if words else {}
