"""Values of absent views: recovered, measured by hiding, in their places."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.stats import norm

from absentia import AbsenceWarning, KernelViews, MeanFill, Views, complete_values, missingness

N = 120


def make_frames(noise=0.05, seed=0):
    """Three tables that are linear in three factors."""
    rng = np.random.default_rng(seed)
    Z, ids = rng.normal(size=(N, 3)), [f"p{i:03}" for i in range(N)]
    frames = {}
    for view, width in {"genes": 6, "proteins": 5, "drugs": 4}.items():
        values = 50 + 10 * (Z @ rng.normal(size=(3, width)) + noise * rng.normal(size=(N, width)))
        frames[view] = pd.DataFrame(values, index=ids, columns=[f"{view[0]}{j}" for j in range(width)])
    return frames


def hide_rows(frames, share=0.25, seed=1):
    truth = Views.from_dict(frames)
    return truth, truth.hide(missingness.mcar(truth, share, random_state=seed))


def leave_one_out_errors(K, Y, penalties):
    """By refitting: for each penalty the mean squared error of samples left out, (penalties, targets)."""
    m = len(K)
    H = np.eye(m) - 1 / m
    unit = np.linalg.eigvalsh(H @ K @ H).mean()
    errors = np.zeros((len(penalties), Y.shape[1]))
    for i in range(m):
        rest = np.delete(np.arange(m), i)
        for k, a in enumerate(penalties):
            # an intercept that is not penalised: least squares of [K a, 1]
            A = np.block([[K[np.ix_(rest, rest)] + a * unit * np.eye(m - 1), np.ones((m - 1, 1))],
                          [np.ones((1, m - 1)), np.zeros((1, 1))]])  # fmt: skip
            solved = np.linalg.solve(A, np.vstack([Y[rest], np.zeros((1, Y.shape[1]))]))
            errors[k] += (Y[i] - K[i, rest] @ solved[:-1] - solved[-1]) ** 2
    return errors


def test_what_is_linear_is_recovered_on_its_scale():
    truth, views = hide_rows(make_frames())
    done = complete_values(views)
    assert done.views.observed.all()
    assert done.table()["trusted"].all()
    for v, name in enumerate(views.names):
        absent = ~views.observed[:, v]
        np.testing.assert_array_equal(done.views.block(name)[~absent], views.block(name))
        told, true = done.views.block(name)[absent], truth.block(name)[absent]
        for j in range(true.shape[1]):
            assert np.corrcoef(told[:, j], true[:, j])[0, 1] > 0.95
        assert abs((told - true).mean()) < 2
        np.testing.assert_array_equal(done.filled[name], absent)
        assert (done.std[name].to_numpy()[absent] > 0).all()
        assert (done.std[name].to_numpy()[~absent] == 0).all()


def test_leaving_out_in_closed_form_is_leaving_out():
    from absentia.methods._values import _PENALTIES, _Ridge

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(15, 4)), rng.normal(size=(12, 3))
    K, has = X @ X.T, np.arange(3, 15)
    ridge = _Ridge.fit(K, has, Y)
    wanted = leave_one_out_errors(K[3:, 3:], Y, _PENALTIES) / ((Y - Y.mean(axis=0)) ** 2).sum(axis=0)
    np.testing.assert_allclose(ridge.errors, wanted, rtol=1e-8)
    assert ridge.predict(np.array([0, 3, 11])).shape == (15, 3)


def test_noise_is_marked_and_left_empty_unless_asked():
    frames = make_frames()
    rng = np.random.default_rng(5)
    noise = [f"noise{j}" for j in range(40)]
    frames["drugs"] = frames["drugs"].assign(**{column: rng.normal(size=N) for column in noise})
    _, views = hide_rows(frames)
    done, whole = complete_values(views), complete_values(views, keep="all")
    table = done.table().set_index("feature")
    assert table.loc[noise, "trusted"].mean() <= 0.05
    noise = [column for column in noise if not table.loc[column, "trusted"]]
    assert table[~table.index.str.startswith("noise")]["trusted"].all()
    assert (table.loc[noise, "relative_error"] > 0.9).all()
    absent = ~views.observed[:, 2]
    frame = done.views["drugs"][absent]
    assert frame[noise].isna().all(axis=None)
    assert frame[["d0", "d3"]].notna().all(axis=None)
    assert done.std["drugs"].loc[absent, noise].isna().all(axis=None)
    assert whole.views["drugs"].notna().all(axis=None)
    pd.testing.assert_frame_equal(whole.table(), done.table())


def test_a_view_of_noise_stays_absent_and_that_is_said():
    frames = make_frames()
    rng = np.random.default_rng(5)
    frames["drugs"] = pd.DataFrame(
        rng.normal(size=(N, 3)), index=frames["drugs"].index, columns=list("abc")
    )
    _, views = hide_rows(frames)
    with pytest.warns(AbsenceWarning, match="view 'drugs': none of its features can be told"):
        done = complete_values(views)
    np.testing.assert_array_equal(done.views.observed[:, 2], views.observed[:, 2])
    assert done.views.observed[:, :2].all()
    assert not done.filled["drugs"].any()


def test_intervals_cover_what_was_hidden():
    covered = []
    for seed in range(4):
        truth, views = hide_rows(make_frames(noise=0.7, seed=seed), seed=seed)
        done = complete_values(views, keep="all")
        for v, name in enumerate(views.names):
            absent = ~views.observed[:, v]
            residual = (done.views.block(name) - truth.block(name))[absent]
            covered.append(np.abs(residual) <= norm.ppf(0.975) * done.std[name].to_numpy()[absent])
    share = np.concatenate([c.ravel() for c in covered]).mean()
    assert 0.92 < share < 0.98


def test_who_has_less_to_tell_from_has_wider_intervals():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 2))
    tables = {"good": Z, "poor": Z + 3 * rng.normal(size=(300, 2)), "target": Z @ rng.normal(size=(2, 3))}
    observed = np.ones((300, 3), dtype=bool)
    observed[:80, 2] = observed[40:160, 0] = False  # 40 to 80 have the poor view alone
    views = Views.from_dict(tables, observed=observed)
    std = complete_values(views, keep="all").std["target"].to_numpy()
    assert (std[40:80] > 2 * std[:40].max(axis=0)).all()


def test_results_do_not_hang_on_the_order_of_samples_views_and_columns():
    rng = np.random.default_rng(3)
    _, views = hide_rows(make_frames(noise=0.5))
    done = complete_values(views)
    turned = views.select(["drugs", "genes", "proteins"])[rng.permutation(N)]
    frames = {name: turned[name].iloc[:, ::-1] for name in turned.names}
    other = complete_values(Views.from_dict(frames))
    keys = ["view", "feature"]
    pd.testing.assert_frame_equal(
        done.table().sort_values(keys, ignore_index=True),
        other.table().sort_values(keys, ignore_index=True),
    )
    for name in views.names:
        for a, b in ((done.views[name], other.views[name]), (done.std[name], other.std[name])):
            pd.testing.assert_frame_equal(a, b.loc[a.index, a.columns], check_names=False, rtol=1e-7)


def test_gaps_stay_gaps_unless_asked():
    frames = make_frames()
    truth = frames["genes"].iloc[7, 2]
    frames["genes"].iloc[7, 2] = np.nan
    frames["drugs"] = frames["drugs"].iloc[30:]
    views = Views.from_dict(frames)
    done = complete_values(views)
    assert np.isnan(done.views["genes"].loc["p007", "g2"])
    assert np.isnan(done.std["genes"].loc["p007", "g2"])
    assert not done.filled["genes"].any()
    asked = complete_values(views, fill_gaps=True)
    assert abs(asked.views["genes"].loc["p007", "g2"] - truth) < 5
    assert asked.std["genes"].loc["p007", "g2"] > 0
    assert asked.filled["genes"].sum() == 1


def test_categories_are_told_by_their_most_probable_level():
    frames = make_frames()
    factor = frames["genes"]["g0"].rank(pct=True)
    stage = np.array(["I", "II", "III"])[np.digitize(factor, [0.3, 0.7])]
    coin = np.random.default_rng(0).choice(["heads", "tails"], N)
    frames["clinical"] = pd.DataFrame({"stage": stage, "coin": coin}, index=frames["genes"].index)
    truth = frames["clinical"].copy()
    frames["clinical"] = frames["clinical"].iloc[30:]
    done = complete_values(Views.from_dict(frames))
    table = done.table().set_index("feature")
    assert table.loc["stage", "trusted"]
    assert not table.loc["coin", "trusted"]
    told = done.views["clinical"].loc[truth.index[:30]]
    assert (told["stage"].astype(str) == truth["stage"][:30]).mean() > 0.7
    assert told["coin"].isna().all()
    proba = done.proba["clinical"]
    levels = ["stage=I", "stage=II", "stage=III"]
    np.testing.assert_allclose(proba[levels].sum(axis=1), 1)
    assert (proba[levels] >= 0).all(axis=None)
    best = proba.loc[told.index, levels].idxmax(axis=1).str.removeprefix("stage=")
    assert (best == told["stage"].astype(str)).all()
    assert proba["coin=heads"].isna().sum() == 30
    assert done.std["clinical"].loc[told.index, "stage"].isna().all()


def test_brier_score_and_pooled_correlation_of_a_category():
    from absentia.methods._values import _Hidden, _measure

    rng = np.random.default_rng(0)
    truth = np.eye(3)[rng.integers(3, size=50)]
    told = rng.dirichlet(np.ones(3), 50)
    mean = np.tile([0.3, 0.3, 0.4], (50, 1))
    truth[4] = np.nan  # not known
    correlation, error, count = _measure(truth, _Hidden(told, mean), np.zeros(3, dtype=int), 1)
    t, p, m = (np.delete(x, 4, axis=0) for x in (truth, told, mean))
    pair = ((t - t.mean(axis=0)).ravel(), (p - p.mean(axis=0)).ravel())
    np.testing.assert_allclose(correlation, np.corrcoef(*pair)[0, 1])
    np.testing.assert_allclose(error, np.sqrt(((t - p) ** 2).sum() / ((t - m) ** 2).sum()))
    assert count.tolist() == [49]


def test_who_has_no_other_view_gets_the_means_and_that_is_said():
    frames = make_frames()
    frames = {"genes": frames["genes"], "drugs": frames["drugs"].drop(index=["p010", "p011", "p012"])}
    frames["genes"] = frames["genes"].drop(index=["p010", "p050"])
    frames["proteins"] = pd.DataFrame({"x": [1.0]}, index=["p010"])  # a view that says nothing
    views = Views.from_dict(frames).select(["genes", "drugs"])
    with pytest.warns(AbsenceWarning) as caught:
        done = complete_values(views)
    assert [str(w.message) for w in caught] == [
        f"view {name!r}: 1 sample(s), e.g. 'p010', have no other view and get the means"
        for name in ("genes", "drugs")
    ]
    np.testing.assert_allclose(done.views["genes"].loc["p010"], frames["genes"].mean())
    np.testing.assert_allclose(done.std["genes"].loc["p010"], frames["genes"].std(ddof=0))
    assert abs(done.views["genes"].loc["p050"] - frames["genes"].mean()).max() > 1


def test_a_view_that_nobody_lacks_is_measured_and_stays_as_it_is():
    frames = make_frames()
    frames["drugs"] = frames["drugs"].iloc[20:]
    done = complete_values(Views.from_dict(frames))
    assert done.table().query("view == 'genes'")["n_hidden"].eq(N).all()
    pd.testing.assert_frame_equal(done.views["genes"], frames["genes"], check_exact=True)
    assert not done.filled["genes"].any()


def test_a_constant_is_itself_and_a_column_without_values_stays_empty():
    frames = make_frames()
    frames["drugs"] = frames["drugs"].assign(constant=3.0, empty=np.nan).iloc[20:]
    done = complete_values(Views.from_dict(frames), keep="all")
    told, std = done.views["drugs"].loc[:"p019"], done.std["drugs"].loc[:"p019"]
    np.testing.assert_allclose(told["constant"], 3)
    np.testing.assert_allclose(std["constant"], 0, atol=1e-9)
    assert told["empty"].isna().all()
    assert std["empty"].isna().all()
    assert (std["d0"] > 0).all()


def test_a_view_that_nobody_has_stays_so():
    _, views = hide_rows(make_frames())
    keep = np.ones(views.observed.shape, dtype=bool)
    keep[:, 2] = False
    with pytest.warns(AbsenceWarning) as caught:
        done = complete_values(views.hide(keep), keep="all")
    said = [str(w.message) for w in caught if "told" in str(w.message)]
    assert said == [
        "view 'drugs': none of its features can be told from the other views, and it stays absent"
    ]
    assert not done.views.observed[:, 2].any()
    table = done.table().query("view == 'drugs'")
    assert len(table) == 4
    assert not table["trusted"].any()


def test_sparse_float32_and_numbered_features_stay_so():
    frames = make_frames()
    tables = {name: scipy.sparse.csr_array(frame.to_numpy(np.float32)) for name, frame in frames.items()}
    observed = np.ones((N, 3), dtype=bool)
    observed[:20, 1] = False
    done = complete_values(Views.from_dict(tables, observed=observed))
    block = done.views.block("proteins")
    assert scipy.sparse.issparse(block)
    assert block.dtype == np.float32
    assert done.table().query("view == 'proteins'")["feature"].tolist() == [0, 1, 2, 3, 4]
    truth = frames["proteins"].to_numpy()[:20, 0]
    assert np.corrcoef(block.toarray()[:20, 0], truth)[0, 1] > 0.9


def test_hidden_parts_are_drawn_by_the_seed_and_completers_and_kernels_are_taken():
    _, views = hide_rows(make_frames(noise=0.5))
    same, other = (complete_values(views, random_state=s).table() for s in (0, 7))
    pd.testing.assert_frame_equal(complete_values(views).table(), same)
    assert not same.equals(other)
    called = []
    done = complete_values(
        views, completer=MeanFill(), kernel="linear", n_folds=2, callback=lambda: called.append(1)
    )
    assert len(called) == 4  # three views, and once for all samples
    assert done.table()["n_hidden"].max() <= N
    assert not done.table().equals(complete_values(views, completer="mean", n_folds=2).table())


def test_a_mudata_has_everybody_and_reads_back():
    pytest.importorskip("mudata")
    frames = make_frames()
    frames["clinical"] = pd.DataFrame(
        {"stage": np.where(frames["genes"]["g0"] > 50, "II", "I")}, index=frames["genes"].index
    )
    _, views = hide_rows(frames)
    done = complete_values(views)
    source = views.to_mudata()
    source.obs["age"] = np.arange(len(source.obs), dtype=float)
    mdata = done.to_mudata(source)
    back = Views.from_mudata(mdata, layer="absentia_completed")
    before = Views.from_mudata(mdata)
    np.testing.assert_array_equal(
        before.observed[np.argsort(before.ids)], views.observed[np.argsort(views.ids)]
    )
    for name in views.names:
        pd.testing.assert_frame_equal(back[name].loc[views.ids], done.views[name], check_names=False)
    genes = mdata.mod["genes"]
    std = pd.DataFrame(genes.layers["absentia_std"], genes.obs_names, genes.var_names)
    pd.testing.assert_frame_equal(std.loc[views.ids], done.std["genes"], check_names=False)
    assert genes.var["absentia_trusted"].all()
    assert mdata.obs["age"].loc["p010"] == source.obs["age"].loc["p010"]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"keep": "some"}, ValueError, "keep"),
        ({"n_folds": 1}, ValueError, "n_folds is a whole number of 2 or more, not 1"),
        ({"completer": "nothing"}, ValueError, "nothing"),
        ({"kernel": "nothing"}, ValueError, "kernel"),
    ],
)
def test_what_is_not_there_is_refused(change, error, words):
    _, views = hide_rows(make_frames())
    with pytest.raises(error, match=words):
        complete_values(views, **change)


def test_data_that_cannot_tell_are_refused():
    with pytest.raises(TypeError, match=r"Views \(features\) are wanted, not KernelViews"):
        complete_values(KernelViews.from_dense(np.eye(3)[None]))
    frames = make_frames()
    with pytest.raises(ValueError, match=r"0 sample\(s\) have two views or more, and 5 are wanted"):
        complete_values(Views.from_dict({"genes": frames["genes"]}))
    apart = {"genes": frames["genes"].iloc[:60], "drugs": frames["drugs"].iloc[60:]}
    with pytest.raises(ValueError, match=r"0 sample\(s\) have two views or more"):
        complete_values(Views.from_dict(apart))
