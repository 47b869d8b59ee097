"""Every estimator for matrices can be kept in a file, and answers after it as before."""

import numpy as np
import pytest

from absentia import PMAImputer, models
from matrix_market import IMPUTERS, REGRESSORS, WITH_ROWS, drawn, takes_kernel


def kept(model, folder):
    return models.load(models.save(model, folder / "model.npz"))


def same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    else:
        np.testing.assert_array_equal(found, expected)


def same_attributes(back, model):
    """Everything that is public and fitted, and all parameters."""
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_") and name not in ("model_", "gamma_curve_"):
            same(getattr(back, name), value)
    assert {type(v) for v in back.get_params().values()} == {type(v) for v in model.get_params().values()}


@pytest.mark.parametrize("name", list(IMPUTERS))
def test_an_imputer_that_comes_back_completes_the_same(name, tmp_path):
    _, K1, K2, gaps, _ = drawn(40)
    model = IMPUTERS[name](K1, K2).fit(gaps)
    back = kept(model, tmp_path)
    same_attributes(back, model)
    same(back.transform(gaps[::-1] * 1.1), model.transform(gaps[::-1] * 1.1))
    same(back.transform(gaps), model.transform(gaps))
    if name != "pmf":
        same(back.predict(return_std=True), model.predict(return_std=True))
        same(back.predict(gaps[5:] * 0.9, return_std=True), model.predict(gaps[5:] * 0.9, return_std=True))
        same(back.sample(3), model.sample(3))
        assert back.log_marginal_likelihood_ == model.log_marginal_likelihood_
        same(back.model_.precision(), model.model_.precision())


@pytest.mark.parametrize("name", list(WITH_ROWS))
def test_a_model_of_samples_that_comes_back_predicts_the_same(name, tmp_path):
    X, K1, K2, gaps, labels = drawn()
    model = WITH_ROWS[name](K2)
    A = K1 if takes_kernel(model) else X
    Y = (gaps if name in REGRESSORS else labels)[:20]
    model.fit(A[:20, :20] if takes_kernel(model) else A[:20], Y)
    new = A[20:, :20] if takes_kernel(model) else A[20:]
    back = kept(model, tmp_path)
    same_attributes(back, model)
    if name in REGRESSORS:
        same(back.predict(new, return_std=True), model.predict(new, return_std=True))
    else:
        same(back.decision_function(new), model.decision_function(new))
        same(back.predict_proba(new), model.predict_proba(new))
    same(back.predict(new), model.predict(new))


def test_names_of_columns_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(drawn()[3], columns=list("abcd"))
    back = kept(PMAImputer().fit(frame), tmp_path)
    assert list(back.get_feature_names_out()) == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        back.transform(frame[list("dcba")])
