"""The page about a comparison: which method to take, how sure that is, for whom, and at what cost."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from absentia.app.report._classes import Confusion, confusion_of
from absentia.app.report._curves import rate_curves
from absentia.app.report._differences import differences
from absentia.app.report._everything import everything
from absentia.app.report._groups import FEW, groups
from absentia.app.report._kernel_maps import pictures
from absentia.app.report._measures import score
from absentia.app.report._page import Number, page
from absentia.app.report._presence import presence
from absentia.app.report._ranking import has_score, rankings, unranked
from absentia.app.report._text import number, percent, plural
from absentia.app.report._worth import worths
from absentia.experiment import findings as found

CELLS = 2000  # of all confusion matrices together
FEWEST_CLASSES = 10


def render_comparison(findings: found.ComparisonResults) -> str:
    """One self-contained HTML page: no network, no other files, and one script."""
    values: dict[str, Any] = {
        "rankings": rankings(findings),
        "differences": differences(findings),
        "groups": groups(findings),
        "worths": worths(findings),
        "curves": rate_curves(findings),
        "confusions": confusions(findings),
        "pictures": pictures(findings),
        "completion": _completion(findings.completion),
        "everything": everything(findings),
    }
    return page(
        "comparison.html.j2",
        "comparison",
        _sections(values),
        findings,
        numbers=_numbers(findings),
        progress=_progress(findings),
        unranked=unranked(findings),
        presence=presence(findings),
        few=FEW,
        rounds="rounds of hiding" if findings.task == "completion" else "held-out folds",
        choices=_choices(values),
        **values,
    )


def _sections(values: Mapping[str, Any]) -> dict[str, str]:
    """What the page has, in its order."""
    return {
        "ranking": "Ranking" if values["rankings"] else "",
        "differences": "Differences" if values["differences"] else "",
        "by-pattern": "By missing pattern" if values["groups"] else "",
        "views": "Views" if values["worths"] else "",
        "curves": "Missing rates" if values["curves"] else "",
        "confusion": "Confusion" if values["confusions"] else "",
        "presence": "Presence",
        "kernels": "Kernels" if values["pictures"] else "",
        "completion": "Completion" if values["completion"] else "",
        "everything": "All numbers",
        "reading": "How to read this",
    }


def _choices(values: Mapping[str, Any]) -> int:
    """The most that there is to choose from in any section: as many rules the page needs."""
    lengths = [len(values["rankings"]), len(values["confusions"])]
    for name, part in (("groups", "methods"), ("curves", "lines"), ("pictures", "methods")):
        lengths.append(len(getattr(values[name], part, ())))
    return max(*lengths, len(getattr((values["completion"] or {}).get("pictures"), "methods", ())))


def _completion(findings: found.ComparisonResults | None) -> dict[str, Any] | None:
    """The small report inside: a ranking and maps."""
    if findings is None:
        return None
    ranked = rankings(findings)
    return {
        "verdict": findings.verdict,
        "ranking": ranked[0] if ranked else None,
        "unranked": unranked(findings),
        "pictures": pictures(findings),
    }


# --------------------------------------------------------------------------------------------- the head


@dataclass(frozen=True)
class Progress:
    """An unfinished comparison."""

    words: str
    done: int
    wanted: int


def _progress(findings: found.ComparisonResults) -> Progress | None:
    if findings.done >= findings.wanted:
        return None
    words = f"{number(findings.done)} of {plural(findings.wanted, 'trial')}"
    return Progress(words, findings.done, findings.wanted)


def _numbers(findings: found.ComparisonResults) -> list[Number]:
    verdict, metric = findings.verdict, findings.metric
    scores = {row.method: row.scores[metric.name] for row in findings.rows if has_score(row, metric)}
    labels = {verdict.recommended: f"{metric.name} with {verdict.recommended}, recommended"}
    labels.setdefault(verdict.simplest, f"with {verdict.simplest}, the simplest")
    labels.setdefault(verdict.best, f"with {verdict.best}, the best mean")
    shown = [Number(score(metric, scores[m].value), words) for m, words in labels.items() if m in scores]
    failed = len(findings.rows) - len(scores)
    tried = "method compared" if len(scores) == 1 else "methods compared"
    observed = findings.observed
    present = percent(int(observed.sum()), observed.size)
    return [
        *shown[:2],
        Number(number(len(scores)), tried + (f", {number(failed)} more without a score" if failed else "")),
        Number(number(len(observed)), f"samples in {plural(findings.n_views, 'view')}, {present} present"),
    ]


# -------------------------------------------------------------------------------------- who for whom


@dataclass(frozen=True)
class Mistaken:
    """A method's confusion."""

    method: str
    table: Confusion


def confusions(findings: found.ComparisonResults) -> Sequence[Mistaken]:
    """Of every method that has one, recommended first; of many classes the most frequent."""
    methods = [row.method for row in findings.rows if row.method in findings.confusion]
    methods.sort(key=lambda method: method != findings.verdict.recommended)
    most = max(FEWEST_CLASSES, math.isqrt(CELLS // max(len(methods), 1)))
    return [Mistaken(m, confusion_of(findings.confusion[m], findings.classes, most)) for m in methods]
