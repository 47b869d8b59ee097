"""How a comparison was done, for whoever wants to do it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from absentia.experiment.comparison._design import n_folds

if TYPE_CHECKING:
    from absentia.experiment.comparison._summary import Summary

HIDDEN = {
    "own": "in views that some sample lacks, by the patterns of the data's own absence (at random in all "
    "views where nothing is absent, or the patterns cannot hide as much)",
    "mcar": "at random",
    "per-view": "the same share of every view, at random",
    "exclusive": "that share of the samples left with one view only",
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
            f"{design.hide:.0%} of the observed cells, {HIDDEN[design.mechanism]}, {design.repeats} times"
            f"{_truly(found)}; {made}scores are of hidden cells only"
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


def _truly(found: Summary) -> str:
    """How much was hidden of all cells, where that is another number."""
    own = [records[0].result["hidden"] for records in found.main.values() if records and records[0].done]
    if not own:
        return ""
    return f" ({own[0] / found.problem.data.observed.sum():.1%} of all observed cells)"


def _versions(found: Summary) -> dict[str, str]:
    made = {tuple(sorted(record.made.items())) for record in found.records if record.made}
    words = sorted(", ".join(f"{name} {number}" for name, number in one) for one in made)
    return {"made with": "; ".join(words)} if words else {}
