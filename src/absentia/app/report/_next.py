"""What to measure next: how much surer the model would be of samples with one more view."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from absentia.app.report._text import number, shortened

SHOWN = 10


@dataclass(frozen=True)
class Missing:
    """A view, and the tried samples that lack it."""

    name: str
    count: str
    gain: str  # bits
    changes: str
    width: float


@dataclass(frozen=True)
class Candidate:
    """A sample that would gain much from a view."""

    sample: str
    full: str
    view: str
    predicted: str
    entropy: str
    expected: str
    gain: str
    changes: str


@dataclass(frozen=True)
class Next:
    views: Sequence[Missing]
    candidates: Sequence[Candidate]
    tried: str
    lacking: int
    all_tried: bool
    why_not: str = ""


def measure_next(story: Any) -> Next | None:
    """Of a classification story; None where no sample lacks a view or nobody asked."""
    lacking = int((~story.observed.all(axis=1)).sum())
    if not lacking or (story.gains is None and not story.why_no_gains):
        return None
    if not story.gains:
        why = story.why_no_gains or "no sample that lacks a view could be lent one"
        return Next([], [], "0", lacking, False, why)
    tried = len({gain.sample for gain in story.gains})
    best = sorted(story.gains, key=lambda gain: (-gain.gain, gain.sample, gain.view))
    candidates = [_candidate(story, gain) for gain in best[:SHOWN] if gain.gain > 0]
    return Next(_views(story), candidates, number(tried), lacking, tried == lacking)


def _views(story: Any) -> list[Missing]:
    found = []
    for v, name in enumerate(story.names):
        own = [gain for gain in story.gains if gain.view == v]
        if own:
            found.append((name, len(own), *np.mean([(gain.gain, gain.changes) for gain in own], axis=0)))
    most = max(max(gain for _, _, gain, _ in found), 1e-300)
    return [
        Missing(
            name,
            number(count),
            _bits(gain),
            f"{100 * changes:.0f}%",
            round(float(np.clip(100 * gain / most, 0, 100)), 1),
        )
        for name, count, gain, changes in sorted(found, key=lambda row: -row[2])
    ]


def _candidate(story: Any, gain: Any) -> Candidate:
    sample = str(gain.sample if story.ids is None else story.ids[gain.sample])
    return Candidate(
        shortened(sample, 40),
        sample,
        story.names[gain.view],
        story.classes[story.predictions[story.method][gain.sample]],
        _bits(gain.entropy),
        _bits(gain.expected),
        _bits(gain.gain),
        f"{100 * gain.changes:.0f}%",
    )


def _bits(value: float) -> str:
    text = f"{abs(value):.2f}"
    return text if value >= 0 or text == "0.00" else f"−{text}"
