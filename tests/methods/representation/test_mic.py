"""Multi-incomplete-view factorisation: steps against slow twins, monotone, new samples, scikit-learn."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from absentia import MIC, AbsenceWarning, KernelViews, Views, datasets, missingness, models
from absentia.methods.representation import _mic as module
from reference import mic as reference


def random_parts(rng, n=9, widths=(5, 4), r=3):
    """Views of non-negative features, states on the constraint, in both notations."""
    X = [rng.gamma(1.0, 1.0, (n, d)) for d in widths]
    w = [np.where(rng.random(n) < 0.7, 1.0, 0.7) for _ in widths]
    alpha, beta = [0.5, 0.1], [0.3, 0.02]
    parts = [module.Part(*x) for x in zip(X, [a**2 for a in w], alpha, beta, strict=True)]
    return X, w, alpha, beta, parts, module.start(parts, r, rng)


def planted(rng, n=60, widths=(12, 9, 15), r=3, noise=0.02):
    """Views that are products of one sparse non-negative representation, and that representation."""
    U = rng.gamma(0.4, 1.0, (n, r))
    views = {
        f"v{i}": U @ rng.gamma(0.4, 1.0, (r, d)) + noise * rng.random((n, d)) for i, d in enumerate(widths)
    }
    return Views.from_dict(views), U


# ------------------------------------------------------------------------------------- slow twins


@pytest.mark.parametrize("seed", range(3))
def test_the_objective_and_every_step_equal_their_slow_twins(seed):
    X, w, alpha, beta, parts, state = random_parts(np.random.default_rng(seed))
    np.testing.assert_allclose(
        module.objective(parts, state),
        reference.objective(X, w, state.U, state.V, state.star, alpha, beta),
        rtol=1e-10,
    )
    for v, part in enumerate(parts):
        U, V = state.U[v], state.V[v]
        np.testing.assert_allclose(
            module.step_u(part, U, V, state.star),
            reference.step_u(X[v], w[v], U, V, state.star, alpha[v], beta[v]),
            rtol=1e-10,
        )
        np.testing.assert_allclose(
            module.step_v(part, U, V), reference.step_v(X[v], w[v], U, V), rtol=1e-10, atol=1e-14
        )
    np.testing.assert_allclose(
        module.common(parts, state.U), reference.common(w, state.U, alpha), rtol=1e-10
    )


def test_the_constrained_step_gives_columns_that_add_up_to_one_and_meets_the_optimality_conditions(rng):
    g, N = rng.random((7, 4)), 5 * rng.standard_normal((7, 4))
    V = module.on_simplex(g, N)
    np.testing.assert_allclose(V.sum(axis=0), 1, rtol=1e-12)
    for v, h, n in zip(V.T, g.T, N.T, strict=True):
        slopes = v / h - n  # half the gradient of sum v^2 / g - 2 N v
        assert (v > 0).any()
        assert (v == 0).any()
        np.testing.assert_allclose(slopes[v > 0], slopes[v > 0][0], rtol=1e-9)
        assert (slopes[v == 0] >= slopes[v > 0][0] - 1e-9).all()


# ---------------------------------------------------------------------------------------- monotone


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("alpha", "beta"), [(0.01, 0.01), (1.0, 5.0), ([10.0, 0.1, 1.0], 0.0)])
def test_the_objective_never_rises_and_nothing_is_negative(seed, alpha, beta):
    views, _ = planted(np.random.default_rng(seed))
    views = views.hide(missingness.mcar(views, 0.3, random_state=seed))
    mic = MIC(3, alpha=alpha, beta=beta, tol=0, max_iter=200, random_state=seed).fit(views)
    assert (np.diff(mic.objective_) <= 1e-12 * mic.objective_[:-1]).all()
    assert mic.objective_[-1] < 0.7 * mic.objective_[0]
    assert (mic.representation_ >= 0).all()
    for V in mic.components_.values():
        assert (V >= 0).all()
        np.testing.assert_allclose(V.sum(axis=0), 1, rtol=1e-9)


@pytest.mark.parametrize("part", ["U", "V", "star"])
def test_no_single_block_raises_the_objective(part, rng):
    *_, parts, state = random_parts(rng)
    for _ in range(30):
        before = module.objective(parts, state)
        after = module.step(parts, state)
        if part == "V":
            after = module.State(state.U, after.V, state.star)
        elif part == "star":
            after = module.State(state.U, state.V, module.common(parts, state.U))
        else:
            U = [
                module.step_u(p, u, v, state.star) for p, u, v in zip(parts, state.U, state.V, strict=True)
            ]
            after = module.State(tuple(U), state.V, state.star)
        assert module.objective(parts, after) <= before * (1 + 1e-13)
        state = module.step(parts, state)


def test_dividing_columns_afterwards_as_the_paper_does_can_raise_the_objective(rng):
    """Why V is kept on its constraint instead."""
    X, w, _, _, parts, state = random_parts(rng)
    rises = []
    for _ in range(100):
        folded = [reference.folded_v(*x) for x in zip(X, w, state.U, state.V, strict=True)]
        after = module.State(*(tuple(x) for x in zip(*folded, strict=True)), state.star)
        rises.append(module.objective(parts, after) - module.objective(parts, state))
        state = module.step(parts, state)
    assert max(rises) > 0


# ----------------------------------------------------------------------------------------- recovery


def test_a_common_representation_is_found_again_though_views_are_missing():
    views, truth = planted(np.random.default_rng(5))
    views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    mic = MIC(3, alpha=1.0, beta=1e-4, tol=1e-8, max_iter=5000).fit(views)
    some = views.observed.sum(axis=1) >= 2
    correlation = np.corrcoef(mic.representation_[some].T, truth[some].T)[:3, 3:]
    assert (np.abs(correlation).max(axis=0) > 0.85).all()


def test_a_strong_penalty_on_rows_shrinks_them():
    views, _ = planted(np.random.default_rng(0))
    sizes = [MIC(3, beta=beta).fit(views).representation_.sum() for beta in (0.0, 10.0, 1000.0)]
    assert sizes[0] > 1.02 * sizes[1] > 1.5 * sizes[2]


# -------------------------------------------------------------------------------------- new samples


def test_training_samples_that_come_as_new_ones_get_their_representation():
    views, _ = planted(np.random.default_rng(1))
    views = views.hide(missingness.mcar(views, 0.3, random_state=1))
    mic = MIC(3, alpha=1.0, tol=1e-9, max_iter=20000).fit(views)
    again = mic.transform(views)
    assert np.linalg.norm(again - mic.representation_) < 0.02 * np.linalg.norm(mic.representation_)


def test_a_new_sample_does_not_depend_on_its_companions():
    views, _ = planted(np.random.default_rng(1))
    views = views.hide(missingness.mcar(views, 0.3, random_state=1))
    mic = MIC(3).fit(views[:40])
    alone = np.vstack([mic.transform(views[[i]]) for i in range(40, 60)])
    np.testing.assert_allclose(mic.transform(views[40:]), alone, rtol=1e-9, atol=1e-12)


def test_a_new_sample_without_any_view_is_the_mean_sample(rng):
    views, _ = planted(rng)
    mic = MIC(3, alpha=1.0).fit(views)
    mean = Views.from_dict({name: views.block(name).mean(axis=0, keepdims=True) for name in views.names})
    empty = views[:1].hide(np.zeros((1, 3), bool))
    np.testing.assert_allclose(mic.transform(empty), mic.transform(mean), rtol=0.05)


# --------------------------------------------------------------------------------------- scikit-learn


def test_in_a_pipeline_with_an_svm_and_cross_validation(digits):
    pipeline = make_pipeline(MIC(12, alpha=1.0, scale="minmax", tol=1e-3), StandardScaler(), SVC())
    scores = cross_val_score(pipeline, *digits, cv=3, error_score="raise")
    assert scores.mean() > 0.6


def test_in_a_grid_search(digits):
    views, y = digits
    pipeline = Pipeline(
        [("mic", MIC(scale="minmax", tol=1e-3)), ("scale", StandardScaler()), ("svm", SVC())]
    )
    search = GridSearchCV(pipeline, {"mic__n_components": [2, 12]}, cv=3, error_score="raise").fit(views, y)
    assert search.best_params_ == {"mic__n_components": 12}


def test_clone_pickle_and_seeds(digits):
    mic = MIC(4, scale="minmax", tol=0, max_iter=5, random_state=3)
    found = mic.fit_transform(digits[0])
    assert clone(mic).get_params() == mic.get_params()
    np.testing.assert_array_equal(clone(mic).fit_transform(digits[0]), found)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(mic)).transform(digits[0]), mic.transform(digits[0])
    )
    assert not np.array_equal(mic.set_params(random_state=4).fit_transform(digits[0]), found)


def test_a_model_that_comes_back_represents_the_same(digits, tmp_path):
    views, _ = digits
    mic = MIC(4, scale="minmax", tol=1e-3, callback=lambda progress: None).fit(views[:90])
    back = models.load(models.save(mic, tmp_path / "m.npz"))
    np.testing.assert_array_equal(back.transform(views[90:]), mic.transform(views[90:]))
    np.testing.assert_array_equal(back.representation_, mic.representation_)
    np.testing.assert_array_equal(back.objective_, mic.objective_)
    assert back.names_in_ == mic.names_in_


# ------------------------------------------------------------------------------- what comes in


def test_a_negative_value_is_named_and_min_max_takes_it(rng):
    X = rng.random((6, 3))
    X[4, 1] = -0.5
    observed = np.ones((6, 2), bool)
    observed[2, 1] = False
    views = Views.from_dict({"a": np.abs(X), "b": X}, ids=list("uvwxyz"), observed=observed)
    with pytest.raises(
        ValueError, match=r"view 'b', sample 'y', column 1: -0.5 is negative.*scale='minmax'"
    ):
        MIC(2).fit(views)
    mic = MIC(2, scale="minmax", tol=1e-2).fit(views)
    below = Views.from_dict({"a": np.abs(X), "b": X - 100.0})
    assert (mic.transform(below) >= 0).all()
    mic = MIC(2, tol=1e-2).fit(views.select(["a"]))
    with pytest.raises(ValueError, match="view 'a', sample 0, column 0: -1 is negative"):
        mic.transform(Views.from_dict({"a": -np.ones((1, 3))}))


def test_min_max_makes_the_scale_of_features_irrelevant(rng):
    views, _ = planted(rng)
    scaled = Views.from_dict({n: 7.0 * views.block(n) - 3.0 for n in views.names})
    one, other = (MIC(3, scale="minmax", tol=0, max_iter=20).fit_transform(v) for v in (views, scaled))
    np.testing.assert_allclose(one, other, rtol=1e-8)


def test_absent_rows_are_the_mean_and_weigh_the_share_of_samples_that_have_the_view(rng):
    views, _ = planted(rng, n=10)
    keep = np.ones((10, 3), bool)
    keep[[2, 5, 6], 1] = False
    hidden = views.hide(keep)
    parts = MIC(2, tol=0, max_iter=1).fit(hidden)._parts(hidden)
    np.testing.assert_allclose(parts[1].X[[2, 5, 6]], np.tile(hidden.block("v1").mean(axis=0), (3, 1)))
    np.testing.assert_array_equal(parts[1].X[keep[:, 1]], hidden.block("v1"))
    np.testing.assert_allclose(parts[1].w2, np.where(keep[:, 1], 1.0, 0.7**2))
    np.testing.assert_array_equal(parts[0].w2, 1.0)


def test_missing_values_become_the_feature_mean_and_sparse_views_are_taken(rng):
    views, _ = planted(rng)
    tables = {name: views.block(name).copy() for name in views.names}
    tables["v0"][3, 2] = np.nan
    filled = {**tables, "v0": tables["v0"].copy()}
    filled["v0"][3, 2] = np.nanmean(tables["v0"][:, 2])
    options = {"tol": 0, "max_iter": 10}
    found = MIC(3, **options).fit_transform(Views.from_dict(tables))
    np.testing.assert_allclose(found, MIC(3, **options).fit_transform(Views.from_dict(filled)), rtol=1e-8)
    sparse = Views.from_dict({name: scipy.sparse.csr_array(table) for name, table in filled.items()})
    np.testing.assert_allclose(MIC(3, **options).fit_transform(sparse), found, rtol=1e-8)


def test_features_are_found_by_name():
    pandas = pytest.importorskip("pandas")
    views, _ = planted(np.random.default_rng(0))
    frames = {name: pandas.DataFrame(views.block(name)).add_prefix("f") for name in views.names}
    mic = MIC(3, tol=1e-3).fit(Views.from_dict(frames))
    turned = Views.from_dict({name: frame.iloc[:, ::-1] for name, frame in frames.items()})
    np.testing.assert_allclose(mic.transform(turned), mic.transform(Views.from_dict(frames)))
    unknown = frames["v0"].assign(f0=np.nan, other=1.0)
    with pytest.warns(
        AbsenceWarning, match=r"view 'v0': 1 missing .*'f0'.*, 1 unknown \(ignored: 'other'\)"
    ):
        fewer = mic.transform(Views.from_dict({**frames, "v0": unknown.drop(columns="f0")}))
    with pytest.warns(AbsenceWarning, match="1 unknown"):
        np.testing.assert_allclose(fewer, mic.transform(Views.from_dict({**frames, "v0": unknown})))


def test_trade_offs_by_name_equal_those_by_position():
    views, _ = planted(np.random.default_rng(0))
    options = {"tol": 0, "max_iter": 5}
    by_name = MIC(3, alpha={"v2": 3.0, "v0": 1.0, "v1": 2.0}, **options).fit_transform(views)
    np.testing.assert_array_equal(by_name, MIC(3, alpha=[1.0, 2.0, 3.0], **options).fit_transform(views))


def test_a_view_nobody_has_is_left_out(rng):
    views, _ = planted(rng)
    keep = np.ones((60, 3), bool)
    keep[:, 1] = False
    hidden = views.hide(keep)
    with pytest.warns(AbsenceWarning, match="'v1' is observed for no sample"):
        mic = MIC(3, tol=1e-2).fit(hidden)
    assert set(mic.components_) == {"v0", "v2"}
    assert mic.transform(views[:2]).shape == (2, 3)


def test_what_is_wrong_is_named(rng):
    views, _ = planted(rng)
    for parameters, message in (
        ({"n_components": 0}, "n_components must be a whole number of 1 or more, not 0"),
        ({"scale": "std"}, "'minmax' or None, not 'std'"),
        ({"alpha": [1.0]}, "alpha: 1 numbers for 3 views"),
        ({"alpha": 0.0}, "alpha must be a number above 0, .* not 0.0"),
        ({"alpha": [1.0, 0.0, 1.0]}, "positive numbers"),
        ({"alpha": "auto"}, "alpha must be .* or a Mapping, not 'auto'"),
        ({"beta": {"v0": 1.0}}, "beta: one number per view"),
        ({"beta": -1.0}, "beta must be a number of 0 or more, .* not -1.0"),
        ({"beta": (-1.0, 1.0, 1.0)}, "non-negative numbers"),
        ({"max_iter": 0}, "max_iter must be a whole number of 1 or more, not 0"),
        ({"tol": -1.0}, "tol must be a number of 0 or more, not -1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            MIC(**parameters).fit(views)
    with pytest.raises(TypeError, match=r"Views \(features\) are wanted, not KernelViews"):
        MIC().fit(KernelViews.from_dense(np.eye(3)[None]))
    mic = MIC(3, tol=1e-2).fit(views)
    with pytest.raises(ValueError, match="were there in training"):
        mic.transform(views.select(["v0"]))
    with pytest.raises(ValueError, match="view 'v0' has 2 features but had 12 in training"):
        mic.transform(Views.from_dict({n: views.block(n)[:, :2] for n in views.names}))
    with pytest.warns(ConvergenceWarning, match="MIC"):
        MIC(3, max_iter=1).fit(views)


def test_the_order_of_samples_and_views_changes_no_number(rng):
    views, _ = datasets.load_digit_views(n_samples=60, return_X_y=True)
    views = views.hide(missingness.mcar(views, 0.3, random_state=0))
    mic, order = MIC(4, scale="minmax", tol=1e-3), rng.permutation(60)
    straight = mic.fit_transform(views)
    largest = np.abs(straight).max()
    np.testing.assert_allclose(mic.fit_transform(views[order]), straight[order], atol=1e-6 * largest)
    turned = mic.fit_transform(views.select(views.names[::-1]))
    np.testing.assert_allclose(turned, straight, atol=1e-6 * largest)
