"""What the table says, in sentences that it supports.

A method is a winner if it is shown to be better than the simplest one: corrected resampled t test, after
Holm's correction for all that were tried.  Recommended is the cheapest of the winners, and of the simplest,
that lies within the region of equivalence of the best winner; without a winner it is the simplest.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from absentia.experiment._findings import Difference, MethodRow, Metric, Verdict

LEVEL = 0.05
SURE = 0.95  # a chance from which on two methods are called the same
ROUNDING = 1e-9  # relative to the region of equivalence
MOST_NAMED = 5


@dataclass(frozen=True)
class Evidence:
    """What a verdict rests on; `rows` with scores, the best first, and differences to the `simplest`."""

    metric: Metric
    equivalence: float
    simplest: str
    rows: Sequence[MethodRow]
    differences: Sequence[Difference]
    n_samples: int

    def row(self, method: str) -> MethodRow:
        return next(row for row in self.rows if row.method == method)

    def score(self, method: str) -> float:
        """Turned so that more is better."""
        value = self.row(method).scores[self.metric.name].value
        return value if self.metric.higher else -value

    @property
    def measured(self) -> list[str]:
        return [row.method for row in self.rows if self.metric.name in row.scores]

    @property
    def by_method(self) -> Mapping[str, Difference]:
        return {one.method: one for one in self.differences}

    @property
    def better(self) -> list[str]:
        """Methods that are shown to be better than the simplest."""
        return [one.method for one in self.differences if shown_better(one)]

    @property
    def winners(self) -> list[str]:
        """Those of them that never failed."""
        return [method for method in self.better if not self.row(method).failed]


def shown_better(difference: Difference) -> bool:
    return difference.adjusted < LEVEL and difference.mean > 0


def shown_worse(difference: Difference) -> bool:
    return difference.adjusted < LEVEL and difference.mean < 0


def verdict(found: Evidence, python: Mapping[str, str], command: Mapping[str, str]) -> Verdict:
    """In words; `python` and `command` are how to use each method."""
    if not found.measured:
        return Verdict(found.simplest, found.simplest, None, found.simplest, _nothing(found))
    best = max(found.measured, key=found.score)
    winners = found.winners
    recommended = _recommended(found, winners)
    winner = max(winners, key=found.score) if winners else None
    return Verdict(
        found.simplest,
        best,
        winner,
        recommended,
        _headline(found, winner, recommended),
        tuple(_details(found, best, winner, recommended)),
        python.get(recommended, ""),
        command.get(recommended, ""),
    )


def _recommended(found: Evidence, winners: Sequence[str]) -> str:
    if not winners:
        return found.simplest if found.simplest in found.measured else max(found.measured, key=found.score)
    top, room = max(map(found.score, winners)), (1 + ROUNDING) * found.equivalence
    near = [m for m in (found.simplest, *winners) if top - found.score(m) <= room]
    return min(near, key=lambda m: (_cpu(found.row(m)), -found.score(m)))


def _cpu(row: MethodRow) -> float:
    return float("inf") if row.cpu is None else row.cpu


# -------------------------------------------------------------------------------------------- sentences


def _headline(found: Evidence, winner: str | None, recommended: str) -> str:
    level = _level(found, recommended)
    if found.simplest not in found.measured:
        why = "failed" if found.row(found.simplest).failed else "is not measured yet"
        return (
            f"No verdict: {found.simplest}, the simplest method, {why}, and there is nothing to hold the "
            f"others against; {recommended} had the best mean ({level})."
        )
    if winner is None:
        return f"No clear winner: {recommended}, the simplest, {_no_worse(found)} ({level})."
    if recommended == found.simplest:
        other = found.by_method[winner]
        return (
            f"{recommended}, the simplest, will do ({level}): {winner} is better by "
            f"{_points(found, other.mean)}, more than chance, but no more than the "
            f"{_points(found, found.equivalence)} that count."
        )
    own, many = found.by_method[recommended], "s" if len(found.differences) > 1 else ""
    return (
        f"Take {recommended}: {level}, "
        f"{_points(found, own.mean)} better than {found.simplest}, the simplest "
        f"({_sure(found, own)} for {len(found.differences)} comparison{many})."
    )


def _no_worse(found: Evidence) -> str:
    """What can be said of the simplest where nothing wins."""
    if len(found.measured) == 1:
        return "is the only one that is measured"
    if not found.differences:
        return "is held against others on a single draw, which tells nothing of chance"
    others = "anything else that never failed" if found.better else "anything else"
    return f"is as good as {others} as far as {found.n_samples} samples can tell"


def _details(found: Evidence, best: str, winner: str | None, recommended: str) -> Iterator[str]:
    simplest, one = found.simplest, found.by_method.get(best)
    if one is not None and best != recommended and one.mean > 0 and not shown_better(one):
        yield (
            f"{best} had the best mean, {_points(found, one.mean)} better than {simplest}, which could be "
            f"chance ({_sure(found, one)})."
        )
    if winner is not None and winner != recommended and recommended != simplest:
        gap = found.score(winner) - found.score(recommended)
        yield (
            f"{winner} is better still by {_points(found, gap)}, no more than the "
            f"{_points(found, found.equivalence)} within which the cheapest is taken."
        )
    yield from _groups(found, {recommended, winner})
    yield from _costs(found, recommended)
    broken = [row.method for row in found.rows if row.failed]
    if broken:
        yield f"Failed at least once: {_listed(broken)}; the table says why."


def _groups(found: Evidence, named: Collection[str | None]) -> Iterator[str]:
    """Methods that are shown to be better or worse than the simplest, or the same; each once."""
    same = [one.method for one in found.differences if one.same > SURE and one.method not in named]
    worse = [one.method for one in found.differences if shown_worse(one)]
    said = {
        f"Also shown to be better than {found.simplest}": found.winners,
        f"Shown to be better than {found.simplest}, but failed at times": [
            method for method in found.better if method not in found.winners
        ],
        f"Shown to be worse than {found.simplest}": worse,
    }
    for words, methods in said.items():
        others = [method for method in methods if method not in named and method not in same]
        if others:
            yield f"{words}: {_listed(others)}."
    if same:
        yield f"Practically the same as {found.simplest}, with a chance above {SURE:.0%}: {_listed(same)}."


def _costs(found: Evidence, recommended: str) -> Iterator[str]:
    row, simple = found.row(recommended), next((r for r in found.rows if r.method == found.simplest), None)
    if row.cpu is None:
        return
    memory = "" if row.memory is None else f" and {_size(row.memory)} of memory"
    words = f"A fit of {recommended} took {seconds_words(row.cpu)} of one core{memory}"
    if simple is not None and simple.cpu and recommended != found.simplest:
        words += f", {row.cpu / simple.cpu:.3g} times what {found.simplest} takes"
    yield f"{words}."


def _nothing(found: Evidence) -> str:
    tried = [row for row in found.rows if not row.left_out]
    if tried and all(row.failed for row in tried):
        return "No verdict: every method failed; the table says why."
    return "No verdict: no method has been measured yet."


def _level(found: Evidence, method: str) -> str:
    value = found.row(method).scores[found.metric.name].value
    return f"{found.metric.name} {score_words(found.metric, value)}"


def score_words(metric: Metric, value: float) -> str:
    """A score as it is read: shares in percent."""
    return f"{100 * value:.1f}%" if metric.share else f"{value:.4g}"


def _points(found: Evidence, difference: float) -> str:
    if not found.metric.share:
        return f"{difference:.3g}"
    points = f"{100 * difference:.1f}".removesuffix(".0")
    if points in ("0", "-0") and difference:
        return "less than 0.1 points"
    return f"{points} point" if points in ("1", "-1") else f"{points} points"


def _sure(found: Evidence, one: Difference) -> str:
    """How sure a difference is: its interval, if there is one, and p."""
    factor, form = (100, ".1f") if found.metric.share else (1, ".3g")
    span = f"95% interval {factor * one.low:{form}} to {factor * one.high:{form}}, "
    return f"{span if math.isfinite(one.low) else ''}{p_words(one.adjusted)} after correction"


def p_words(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}" if p < 0.995 else "p = 1"


def seconds_words(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds:.2g} s"
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.3g} min"


def _size(megabytes: float) -> str:
    if megabytes < 1:
        return "less than 1 MB"
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1024:.1f} GB"


def _listed(names: Sequence[str]) -> str:
    some = ", ".join(names[:MOST_NAMED])
    return f"{some} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else some
