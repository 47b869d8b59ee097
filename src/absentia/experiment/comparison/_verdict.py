"""What the table says, in sentences that it supports.

A method is a winner if it is shown to be better than the simplest one: corrected resampled t test, after
Holm's correction for all that were tried.  Recommended is the cheapest of the winners, and of the simplest,
that lies within the region of equivalence of the best winner; without a winner it is the simplest.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from absentia.experiment._findings import Difference, MethodRow, Metric, Verdict

LEVEL = 0.05
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
    def winners(self) -> list[str]:
        """Methods that are shown to be better than the simplest, and never failed."""
        return [d.method for d in self.differences if shown_better(d) and not self.row(d.method).failed]


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
    top = max(map(found.score, winners))
    near = [m for m in (found.simplest, *winners) if found.score(m) >= top - found.equivalence]
    return min(near, key=lambda m: (_cpu(found.row(m)), -found.score(m)))


def _cpu(row: MethodRow) -> float:
    return float("inf") if row.cpu is None else row.cpu


# -------------------------------------------------------------------------------------------- sentences


def _headline(found: Evidence, winner: str | None, recommended: str) -> str:
    level = _level(found, recommended)
    if found.simplest not in found.measured:
        return (
            f"No verdict: {found.simplest}, the simplest method, failed, and there is nothing to hold the "
            f"others against; {recommended} had the best mean ({level})."
        )
    if winner is None:
        return (
            f"No clear winner: {recommended}, the simplest, is as good as anything else as far as "
            f"{found.n_samples} samples can tell ({level})."
        )
    if recommended == found.simplest:
        other = found.by_method[winner]
        return (
            f"{recommended}, the simplest, will do ({level}): {winner} is better by "
            f"{_points(found, other.mean)}, more than chance, but less than the "
            f"{_points(found, found.equivalence)} that count."
        )
    own = found.by_method[recommended]
    return (
        f"Take {recommended}: {level}, "
        f"{_points(found, own.mean)} better than {found.simplest}, the simplest "
        f"({_interval(found, own)}, {p_words(own.adjusted)} after correction for {len(found.differences)} "
        "comparisons)."
    )


def _details(found: Evidence, best: str, winner: str | None, recommended: str) -> Iterator[str]:
    own = found.by_method
    if best != recommended and best in own and best != winner:
        one = own[best]
        if not shown_better(one):
            yield (
                f"{best} had the best mean, {_points(found, one.mean)} better than {found.simplest}, which "
                f"could be chance ({_interval(found, one)}, {p_words(one.adjusted)} after correction)."
            )
    if winner is not None and winner != recommended and recommended != found.simplest:
        gap = found.score(winner) - found.score(recommended)
        yield (
            f"{winner} is better still by {_points(found, gap)}, no more than the "
            f"{_points(found, found.equivalence)} within which the cheapest is taken."
        )
    others = [m for m in found.winners if m not in (recommended, winner)]
    if others:
        yield f"Also shown to be better than {found.simplest}: {_listed(others)}."
    worse = [d.method for d in found.differences if shown_worse(d)]
    if worse:
        yield f"Shown to be worse than {found.simplest}: {_listed(worse)}."
    same = [d.method for d in found.differences if d.same > 0.95]
    if same:
        yield (f"Practically the same as {found.simplest}, with a chance above 95%: {_listed(same)}.")
    yield from _costs(found, recommended)
    broken = [row.method for row in found.rows if row.failed]
    if broken:
        yield f"Failed at least once: {_listed(broken)}; the table says why."


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
    if any(row.failed for row in found.rows):
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
    return f"{points} point" if points in ("1", "-1") else f"{points} points"


def _interval(found: Evidence, one: Difference) -> str:
    factor, form = (100, ".1f") if found.metric.share else (1, ".3g")
    return f"95% interval {factor * one.low:{form}} to {factor * one.high:{form}}"


def p_words(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}" if p < 0.995 else "p = 1"


def seconds_words(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds:.2g} s"
    return f"{seconds:.3g} s" if seconds < 120 else f"{seconds / 60:.3g} min"


def _size(megabytes: float) -> str:
    return f"{megabytes:.0f} MB" if megabytes < 1000 else f"{megabytes / 1024:.1f} GB"


def _listed(names: Sequence[str]) -> str:
    some = ", ".join(names[:MOST_NAMED])
    return f"{some} and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else some
