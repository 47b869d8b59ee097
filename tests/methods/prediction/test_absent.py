"""Complete, then classify."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

import absentia
from absentia import CVKT, AbsentClassifier, AverageKernelSVC, KernelLogistic, ViewKernels
from absentia.methods.prediction._absent import _average_kernels
from helpers.digit_samples import half_seen_digits


@pytest.mark.parametrize("machine", ["logistic", "svm"])
def test_it_is_the_three_stages_one_after_the_other(machine):
    views, y = half_seen_digits(120)
    y = (y < 5).astype(int)
    train, test = views[:80], views[80:]
    one = AbsentClassifier(CVKT(rounds=2), machine=machine, C=3.0).fit(train, y[:80])
    order = one._order
    makes, completes = ViewKernels(), CVKT(rounds=2)
    K = completes.fit_transform(makes.fit_transform(order.select_training(train)))
    svm = AverageKernelSVC(C=3.0, normalize="rows", probability=True)
    last = svm if machine == "svm" else KernelLogistic(3.0)
    last.fit(K, one._class_order[y[:80][order.samples]])
    rows = completes.transform(makes.transform(test.select(order.views)))
    wanted = last.predict_proba(rows)[:, one._class_order]
    np.testing.assert_allclose(one.predict_proba(test), wanted, atol=1e-12)
    np.testing.assert_array_equal(one.predict(test), one.predict_proba(test).argmax(axis=1))
    assert one.completer_.rounds == 2


@pytest.mark.parametrize("combine", ["average", "mkl"])
def test_every_way_to_combine_learns_and_says_its_weights(combine):
    views, y = half_seen_digits(120)
    fitted = AbsentClassifier(CVKT(rounds=1), combine=combine, C=3.0).fit(views[:80], y[:80] % 3)
    assert fitted.weights_.shape == (3, 6)
    assert (fitted.weights_ >= 0).all()
    assert fitted.score(views[80:], y[80:] % 3) > 0.6


def test_kernels_come_as_well_as_views():
    views, y = half_seen_digits(120)
    kernels = ViewKernels().fit_transform(views)
    machine = AbsentClassifier(CVKT(rounds=1), kernel="precomputed", C=1.0)
    scores = cross_val_score(machine, kernels, y < 5, cv=3, error_score="raise")
    assert scores.mean() > 0.75
    fitted = AbsentClassifier(None).fit(kernels, y < 5)  # whatever scikit-learn was told
    assert fitted.predict(kernels).shape == (120,)
    with pytest.raises(TypeError, match="KernelViews are wanted"):
        fitted.predict(views)


def test_contributions_and_offsets_are_the_scores():
    views, y = half_seen_digits(120)
    for labels in (y < 5, y % 3):
        for completer in (CVKT(rounds=1), None):
            fitted = AbsentClassifier(completer, machine="svm", C=1.0).fit(views, labels)
            parts = fitted.contributions(views)
            assert parts.shape == (120, 6, len(fitted.classes_))
            rows = fitted._kernels.transform(fitted._order.select_rows(views, np.arange(120)))
            machine = fitted._machine
            scores = machine.decision_function(rows).reshape(120, -1)
            learned = np.argsort(fitted._class_order)[-machine.bias_.size :]
            np.testing.assert_allclose(parts.sum(axis=1)[:, learned] + machine.bias_, scores, atol=1e-9)
            if completer is None:
                assert not parts[~views.observed].any()


@pytest.mark.parametrize("machine", ["logistic", "svm"])
def test_probabilities_save_as_they_are(machine, tmp_path):
    views, y = half_seen_digits(120)
    fitted = AbsentClassifier(machine=machine, C=1.0).fit(views, y % 3)
    back = absentia.load(absentia.save(fitted, tmp_path / "m.absentia"))
    np.testing.assert_array_equal(back.predict_proba(views), fitted.predict_proba(views))


def test_the_average_has_unit_length():
    views, _ = half_seen_digits()
    K = _average_kernels(ViewKernels().fit_transform(views))
    np.testing.assert_allclose(K.diagonal("average"), 1.0)
