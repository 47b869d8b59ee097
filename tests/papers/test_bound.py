"""The generalisation bound of the paper on absent multiple kernel learning."""

import numpy as np
import pandas as pd
import pytest

from absentia import (
    AbsentMKLClassifier,
    AverageKernelSVC,
    MKLClassifier,
    ViewKernels,
    datasets,
    missingness,
)
from absentia.papers import amkl_bound
from reference.amkl import generalisation_bound

pytestmark = pytest.mark.filterwarnings("ignore:.*reached max_iter")
MACHINES = [
    MKLClassifier(C=0.3),
    AbsentMKLClassifier("convex", C=0.3),
    AbsentMKLClassifier("iterative"),
    AbsentMKLClassifier("penalized", two_step=True),
]


def labelled():
    """Kernels of digits, two views of each sample absent, and classes with some mistakes, so that margins differ."""
    views, y = datasets.load_digit_views(n_samples=40, return_X_y=True)
    keep = missingness.fixed_per_sample(views, 2, random_state=0)
    return ViewKernels(center=True).fit_transform(views.hide(keep)), np.where(
        (y < 5) ^ (np.arange(40) % 7 == 0), "no", "yes"
    )


@pytest.mark.parametrize(
    "machine", MACHINES, ids=lambda m: f"{type(m).__name__} {getattr(m, 'formulation', '')}"
)
@pytest.mark.parametrize("delta", [0.01, 0.1])
def test_terms_are_those_of_the_theorem_line_by_line(machine, delta):
    kernels, y = labelled()
    machine.fit(kernels, y)
    rho = 0.4 * float(np.median(np.abs(machine.decision_function(kernels))))
    found = amkl_bound(machine, kernels, y, rho=rho, delta=delta)
    signs = np.where(y == machine.classes_[1], 1, -1)
    K = np.nan_to_num(kernels.to_dense())
    wanted = generalisation_bound(
        K, kernels.observed, signs, machine.weights_, machine.dual_coef_[0], rho, delta
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    assert found.total == pytest.approx(sum(wanted))
    assert 0 < found.margin_error < 1
    beyond = amkl_bound(machine, kernels, y, rho=1e-9, delta=delta)
    assert beyond.margin_error < found.margin_error  # so that rho matters to what was compared


def test_below_so_many_samples_it_says_nothing_whatever_was_learned():
    """Where a sample is beyond the margin the last term is above sqrt(128 ln((m + 1) / delta) / n)."""
    kernels, y = labelled()
    n, m = kernels.observed.shape
    for C in (1e-3, 1.0, 100.0):
        machine = MKLClassifier(C=C).fit(kernels, y)
        for rho in (0.01, 0.3, 1.0, 10.0):
            found = amkl_bound(machine, kernels, y, rho=rho)
            assert found.margin_error == 1 or found.views > np.sqrt(128 * np.log((m + 1) / 0.01) / n)
            assert found.total > 1


def test_it_is_the_same_in_any_order_of_classes_and_labels_by_id():
    kernels, y = labelled()
    machine = MKLClassifier().fit(kernels, y)
    wanted = amkl_bound(machine, kernels, y)
    by_id = pd.Series(y, index=kernels.ids)[::-1]
    assert amkl_bound(machine, kernels, by_id) == wanted
    turned = np.where(y == "yes", "a", "b")
    np.testing.assert_allclose(amkl_bound(MKLClassifier().fit(kernels, turned), kernels, turned), wanted)


def test_what_the_theorem_is_not_about_is_refused():
    kernels, y = labelled()
    machine = MKLClassifier().fit(kernels, y)
    with pytest.raises(TypeError, match=r"AverageKernelSVC\(\): an MKLClassifier or AbsentMKLClassifier"):
        amkl_bound(AverageKernelSVC().fit(kernels, y), kernels, y)
    with pytest.raises(TypeError, match="without paper_form is wanted"):
        amkl_bound(AbsentMKLClassifier(paper_form=True), kernels, y)
    with pytest.raises(ValueError, match="two classes that was fitted"):
        amkl_bound(MKLClassifier(), kernels, y)
    three = np.array(["a", "b", "c"])[np.arange(len(kernels)) % 3]
    with pytest.raises(ValueError, match="two classes that was fitted"):
        amkl_bound(MKLClassifier().fit(kernels, three), kernels, three)
    back = np.arange(len(kernels))[::-1]
    for other in (kernels[np.ix_(back, back)], kernels[:5], kernels.select(kernels.names[::-1]), None):
        with pytest.raises(ValueError, match="not those that the machine was fitted on"):
            amkl_bound(machine, other, y)
    with pytest.raises(ValueError, match=r"y has other classes .*\['no', 'yes'\]"):
        amkl_bound(machine, kernels, three)
    with pytest.raises(ValueError, match=r"y has shape \(5,\); a class for each of 40 samples"):
        amkl_bound(machine, kernels, y[:5])
    for options in ({"rho": 0.0}, {"rho": np.inf}, {"delta": 0.4}):
        with pytest.raises(ValueError, match="a positive number and one between 0 and 1/3"):
            amkl_bound(machine, kernels, y, **options)
