"""The samples that were classified wrongly: the surest ones on the page, all in a table to keep."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.app.report._text import number, shortened
from absentia.core import Array
from absentia.files import csv_rows

SHOWN = 50
NAME = 40
MOST_BYTES = 1_400_000  # browsers refuse links of more than 2 MiB, and base64 adds a third


@dataclass(frozen=True)
class Mistake:
    sample: str
    full: str
    truth: str
    predicted: str
    sure: str
    given: str
    present: Sequence[bool]


@dataclass(frozen=True)
class Mistakes:
    rows: Sequence[Mistake]
    count: str
    total: int
    measure: str  # what orders them: a probability, a score, or nothing
    link: str
    written: int  # rows behind the link
    unlikely: bool  # whether another class than the predicted one has the largest probability somewhere


def mistakes(story: Any) -> Mistakes:
    """Of a classification story."""
    predicted = story.predictions[story.method]
    wrong = np.flatnonzero(predicted != story.truth)
    numbers, measure = _sureness(story)
    if numbers is not None:
        ahead = numbers[wrong, predicted[wrong]]
        if measure == "score":  # scores say something only beside one another
            ahead = ahead - numbers[wrong, story.truth[wrong]]
        wrong = wrong[np.argsort(-ahead, kind="stable")]
    link, written = _link(story, wrong, predicted, numbers, measure)
    return Mistakes(
        [_mistake(story, int(i), int(predicted[i]), numbers, measure) for i in wrong[:SHOWN]],
        number(len(wrong)),
        len(wrong),
        measure,
        link,
        written,
        story.probabilities is not None
        and bool((story.probabilities[wrong].argmax(axis=1) != predicted[wrong]).any()),
    )


def _sureness(story: Any) -> tuple[Array | None, str]:
    if story.probabilities is not None:
        return story.probabilities, "probability"
    return (None, "") if story.scores is None else (story.scores, "score")


def _mistake(story: Any, i: int, said: int, numbers: Array | None, measure: str) -> Mistake:
    sample, is_probability = _id(story, i), measure == "probability"
    values = [] if numbers is None else [float(numbers[i, said]), float(numbers[i, story.truth[i]])]
    sure, given = [f"{100 * x:.0f}%" if is_probability else number(x) for x in values] or ["", ""]
    return Mistake(
        shortened(sample, NAME),
        sample,
        story.classes[story.truth[i]],
        story.classes[said],
        sure,
        given,
        story.observed[i].tolist(),
    )


def _id(story: Any, i: int) -> str:
    return str(i if story.ids is None else story.ids[i])


def _link(
    story: Any, wrong: Array, predicted: Array, numbers: Array | None, measure: str
) -> tuple[str, int]:
    """All mistakes as a table in a link, surest first, or as many as a link may hold."""
    lines, size, written = [], 0, -1  # the head is no mistake
    for line in csv_rows(_table(story, wrong, predicted, numbers, measure)):
        size += len(line)
        if size > MOST_BYTES:
            break
        lines.append(line)
        written += 1
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(b"".join(lines)).decode(), written


def _table(
    story: Any, wrong: Array, predicted: Array, numbers: Array | None, measure: str
) -> Iterator[list[Any]]:
    extra = [f"{measure} of predicted", f"{measure} of true"] if measure else []
    yield ["id", "true", "predicted", *extra, *(f"view={name}" for name in story.names)]
    for i in wrong.tolist():
        truth, said = int(story.truth[i]), int(predicted[i])
        values = [] if numbers is None else [f"{numbers[i, c]:.6g}" for c in (said, truth)]
        has = [int(x) for x in story.observed[i]]
        yield [_id(story, i), story.classes[truth], story.classes[said], *values, *has]
