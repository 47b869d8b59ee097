"""Each view by the method that completes it best."""

import numpy as np
import pytest

from absentia import CVKT, MKMC, AutoCompleter, KernelViews, MeanFill, datasets, missingness, models
from absentia.methods.completion import Holdout
from conftest import random_problem


@pytest.fixture(scope="module")
def kinds():
    """Two views that share their factors, and one that has nothing in common with them."""
    rng, n = np.random.default_rng(0), 60
    shared, own = rng.standard_normal((n, 3)), rng.standard_normal((n, 10))
    features = shared, shared @ rng.standard_normal((3, 5)), own
    K = np.stack([F @ F.T for F in features])
    kv = KernelViews.from_dense(K, observed=missingness.mcar((n, 3), 0.3, random_state=0))
    return kv, AutoCompleter().fit(kv)


@pytest.mark.parametrize(
    ("mean", "n_hidden", "method"), [(1.001, 4, "mean"), (1.2, 4, "cvkt"), (1.01, 10_000, "mkmc")]
)
def test_the_simplest_within_noise_is_taken(mean, n_hidden, method):
    auto = AutoCompleter()
    auto.errors_ = {"mean": {"a": mean}, "cvkt": {"a": 1.0}, "mkmc": {"a": 0.999}}
    assert auto._select_method("a", n_hidden) == method


def test_a_view_that_the_others_say_nothing_of_gets_the_mean(kinds):
    kv, auto = kinds
    assert auto.methods_["view2"] == "mean"
    assert auto.methods_["view0"] != "mean"
    mean = MeanFill("blocks").fit_transform(kv)
    np.testing.assert_allclose(auto.transform(kv).block("view2"), mean.block("view2"), atol=1e-10)


def test_errors_are_those_of_the_methods_on_hidden_samples(kinds):
    kv, auto = kinds
    trial = Holdout.of(kv)
    for name, completer in {"mean": MeanFill("blocks"), "cvkt": CVKT(), "mkmc": MKMC()}.items():
        errors = trial.errors(completer.fit_transform(trial.part))
        assert auto.errors_[name] == pytest.approx(errors, rel=1e-6)
    for name in kv.names:
        least = min(errors[name] for errors in auto.errors_.values())
        assert auto.errors_[auto.methods_[name]][name] <= 1.03 * least  # what is within the noise


def test_every_view_is_what_its_method_makes_of_it(tmp_path):
    data = datasets.make_multiview(50, 3, n_shared=3, noise=0.1, private_scale=0.2, random_state=0)
    kv = data.kernels.hide(missingness.mcar(data.kernels, 0.3, random_state=0))
    train, new = np.arange(40), np.arange(40, 50)
    part, rows = kv[np.ix_(train, train)], kv[np.ix_(new, train)]
    auto = AutoCompleter().fit(part)
    done, more = auto.transform(part), auto.transform(rows)
    for name, method in auto.methods_.items():
        completer = auto.completers_[method]
        np.testing.assert_allclose(done.block(name), completer.transform(part).block(name), atol=1e-12)
        np.testing.assert_allclose(more.block(name), completer.transform(rows).block(name), atol=1e-12)
    models.save(auto, tmp_path / "auto.absentia")
    again = models.load(tmp_path / "auto.absentia")
    assert again.methods_ == auto.methods_
    np.testing.assert_array_equal(again.transform(rows).to_dense(), more.to_dense())


def test_where_nothing_can_be_hidden_views_are_predicted_from_one_another():
    keep = np.zeros((12, 3), dtype=bool)
    keep[np.arange(12), np.arange(12) % 3] = True
    kv = KernelViews.from_dense(np.stack([np.eye(12)] * 3), observed=keep)
    with pytest.warns(UserWarning, match="shares no view"):
        auto = AutoCompleter().fit(kv)
    assert auto.errors_ == {}
    assert set(auto.methods_.values()) == {"cvkt"}


def test_the_mutual_model_is_not_tried_on_more_than_4000_cells():
    assert set(AutoCompleter().fit(random_problem(41, 100, 0.3)).errors_) == {"mean", "cvkt"}
