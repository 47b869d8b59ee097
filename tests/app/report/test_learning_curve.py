"""The section about learning curves: sentences, a chart up to twice the samples, what views would add."""

import re
from dataclasses import replace

import numpy as np
import pytest

from absentia.app.report.comparison import render_comparison
from absentia.experiment.learning_curve import (
    LearningCurve,
    SampleCurve,
    ScoreContext,
    make_sample_curve,
    make_view_curve,
)
from helpers.comparison_results import LOG_LOSS, make_findings
from helpers.report_pages import Page, row_cells, section

pytest.importorskip("jinja2")
N = 300  # samples of `make_findings`


def scores(values, seed=0):
    rng = np.random.default_rng(seed)
    return {
        n: {(r, f): mean + 0.01 * rng.standard_normal() for r in range(2) for f in range(5)}
        for n, mean in values.items()
    }


def made_curve(metric, sign=1):
    judged = ScoreContext(metric, N, 0.25, 0.01)
    sizes = {n: 0.6 + sign * (0.3 - 2 * n**-0.6) for n in (60.0, 96.0, 144.0, 192.0, 240.0)}
    samples = [
        make_sample_curve(name, scores(sizes, seed), judged)
        for seed, name in enumerate(("auto", "average"))
    ]
    counts = {0.0: 0.6, 100.0: 0.6 + 0.02 * sign, 200.0: 0.6 + 0.04 * sign}
    views = [
        make_view_curve("mri", scores(counts), 100, judged),
        make_view_curve("rna", scores(counts), 0, judged),
    ]
    return LearningCurve(metric, tuple(samples), tuple(views))


def drawn(results):
    return section(render_comparison(results), "learning-curve")


def test_sentences_chart_and_table_say_what_the_results_say():
    results = make_findings()
    learned = made_curve(results.metric)
    text = drawn(replace(results, learning_curve=learned))
    for curve in learned.samples:
        assert curve.sentence in text
        assert text.count(f'aria-label="{curve.method}, ') == len(curve.points)
    assert text.count('class="band"') == 2
    assert ">training samples</text>" in text
    assert f">{results.metric.name}</text>" in text
    assert ">all 300 samples</text>" in text
    mri, rna = row_cells(text, "tracks gaps")
    gain = f"+{100 * learned.views[0].gain.value:.1f}"
    assert (mri[0], mri[2], mri[-2:]) == ("mri", gain, ["200", "100"])
    assert (rna[0], rna[2], rna[-2:]) == ("rna", "–", ["200", "0"])
    assert learned.views[0].sentence in text


def test_fitted_lines_go_up_to_twice_the_samples_and_are_dashed_beyond_what_was_measured():
    results = make_findings()
    text = drawn(replace(results, learning_curve=made_curve(results.metric)))
    full, dashed = (re.search(rf'class="d{k}" d="M([^"H]*)"', text)[1].split("L") for k in (0, 1))
    assert full[-1] == dashed[0]
    x = [float(point.split()[0]) for point in (*full, *dashed)]
    right = 58 + (2 * N) / (1.04 * 2 * N) * (720 - 58 - 16)  # margins and size of the chart
    assert x[-1] == pytest.approx(right, abs=0.02)


def test_of_losses_less_is_better():
    results = make_findings()
    text = drawn(replace(results, learning_curve=made_curve(LOG_LOSS, -1), metrics=[LOG_LOSS]))
    assert "less is better" in text
    assert "improve log-loss by" in text


def test_no_section_without_curves_and_no_line_without_a_fit():
    results = make_findings()
    assert "learning-curve" not in Page(render_comparison(results)).ids
    learned = made_curve(results.metric)
    none = replace(learned, samples=(SampleCurve("auto", (), "Nothing yet."),))
    assert "learning-curve" not in Page(render_comparison(replace(results, learning_curve=none))).ids
    few = replace(learned, samples=(SampleCurve("auto", learned.samples[0].points, "Too few."),), views=())
    text = drawn(replace(results, learning_curve=few))
    assert "Too few." in text
    assert 'class="band"' not in text
    assert "Which view for how many?" not in text
