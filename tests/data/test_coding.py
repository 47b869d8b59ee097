"""Columns of new samples, found by name; categories as one feature for each level."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from absentia import AbsenceWarning, MMAFClassifier, ViewKernels, Views
from absentia.data import Coding

NAN = np.nan
TRAIN = pd.DataFrame(
    {"age": [50.0, 60.0, 70.0, NAN], "sex": ["f", "m", "f", None], "stage": ["II", "I", "II", "II"]},
    index=list("abcd"),
)


def views(frame):
    return Views.from_dict({"clinical": frame})


def coding(frame=TRAIN):
    return Coding.learn(views(frame))


def test_categories_become_a_feature_for_each_level():
    coded = coding()(views(TRAIN))
    assert coded.features("clinical").tolist() == ["age", "sex=f", "sex=m", "stage=I", "stage=II"]
    assert coded.levels("clinical") == {}
    np.testing.assert_array_equal(
        coded.block("clinical"),
        [[50, 1, 0, 0, 1], [60, 0, 1, 1, 0], [70, 1, 0, 0, 1], [NAN, NAN, NAN, 0, 1]],
    )
    np.testing.assert_array_equal(coding().views["clinical"].groups(), [0, 1, 1, 2, 2])


def test_levels_are_those_of_the_training_samples():
    learned = Coding.learn(views(TRAIN)[[0, 2]])
    assert learned.views["clinical"].levels == {"sex": ("f",), "stage": ("II",)}
    with pytest.warns(AbsenceWarning, match=r"'sex' has levels that training did not have \('m'\)"):
        new = learned.of_new(views(TRAIN)[[1]])
    np.testing.assert_array_equal(new.block("clinical"), [[60, 0, 0]])


def test_new_columns_are_found_by_name_in_any_order():
    whole = coding()(views(TRAIN)).block("clinical")
    turned = TRAIN[["stage", "age", "sex"]]
    np.testing.assert_array_equal(coding().of_new(views(turned)).block("clinical"), whole)
    assert coding().sentences(views(turned)) == [
        "3 features of 'clinical' matched by name (order differed)"
    ]
    assert coding().sentences(views(TRAIN)) == ["3 features of 'clinical' matched by name"]


def test_what_is_missing_or_unknown_is_said_and_not_guessed():
    other = TRAIN.drop(columns=["age", "sex"]).assign(weight=1.0)
    with pytest.warns(AbsenceWarning) as said:
        new = coding().of_new(views(other))
    (sentence,) = {str(w.message) for w in said}
    assert sentence == (
        "view 'clinical': 2 missing (filled with the training mean: 'age', 'sex'), 1 unknown (ignored: 'weight')"
    )
    assert np.isnan(new.block("clinical")[:, :3]).all()
    np.testing.assert_array_equal(new.block("clinical")[:, 3:], [[0, 1], [1, 0], [0, 1], [0, 1]])


def test_numbers_and_texts_of_numbers_are_told_apart_by_training():
    texts = pd.DataFrame({"grade": ["1", "2", "2"]})
    numbers = pd.DataFrame({"grade": [2, 1, NAN], "x": 1.0})
    coded = coding(texts)(views(pd.DataFrame({"grade": [2, 1, 3]})))
    np.testing.assert_array_equal(coded.block("clinical"), [[0, 1], [1, 0], [0, 0]])
    coded = coding(numbers)(views(pd.DataFrame({"grade": ["1.5", None, "2"], "x": 1.0})))
    np.testing.assert_array_equal(coded.block("clinical")[:, 0], [1.5, NAN, 2])
    with pytest.raises(
        ValueError, match="view 'clinical', column 'grade': numbers in training, and now 'high'"
    ):
        coding(numbers)(views(pd.DataFrame({"grade": ["1.5", "high"]})))


def test_what_cannot_be_matched_is_refused():
    with pytest.raises(ValueError, match=r"none of its 3 features in training, e.g. 'age', is among the 1"):
        coding()(views(pd.DataFrame({"weight": [1.0]})))
    with pytest.raises(ValueError, match="view 'clinical' has 2 features but had 3 in training"):
        coding()(Views.from_dict({"clinical": np.ones((1, 2))}))


def test_sparse_columns_are_found_by_name_and_missing_ones_are_zero():
    learned = Coding.learn(Views.from_dict({"a": pd.DataFrame(np.eye(3), columns=list("pqr"))}))
    block = scipy.sparse.csr_array(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 4.0]]))
    came = Views.from_dict({"a": block})
    came = type(came)(
        came.ids, came.names, came.observed, {"a": block}, {"a": np.array(list("rpx"))}, {"a": {}}
    )
    with pytest.warns(AbsenceWarning, match=r"1 missing \(filled with zero: 'q'\), 1 unknown"):
        taken = learned.of_new(came).block("a")
    np.testing.assert_array_equal(taken.toarray(), [[2, 0, 1], [0, 0, 0]])


def test_numbers_alone_are_handed_on_as_they_are():
    numeric = views(TRAIN[["age"]].assign(more=1.0))
    assert np.shares_memory(Coding.learn(numeric)(numeric).block("clinical"), numeric.block("clinical"))


@pytest.mark.parametrize("seed", range(3))
def test_predictions_do_not_depend_on_the_order_of_columns(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(40, 6)), columns=list("abcdef")).assign(
        kind=rng.choice(["u", "v", "w"], 40)
    )
    y = (frame["a"] + (frame["kind"] == "u") > 0.3).to_numpy()
    turned = frame[rng.permutation(frame.columns)]
    mmaf = MMAFClassifier().fit(views(frame), y)
    np.testing.assert_allclose(
        mmaf.decision_function(views(turned)), mmaf.decision_function(views(frame)), rtol=1e-9, atol=1e-12
    )
    kernels = ViewKernels().fit(views(frame)[:30])
    np.testing.assert_allclose(
        kernels.transform(views(turned)[30:]).block("clinical"),
        kernels.transform(views(frame)[30:]).block("clinical"),
        rtol=1e-10,
    )
    assert kernels._coding.sentences(views(turned))[0].startswith(
        "7 features of 'clinical' matched by name"
    )


def test_categories_that_became_other_numbers_are_said_to_be_unknown():
    numbers = TRAIN.assign(sex=[0, 1, 0, 1])
    with pytest.warns(AbsenceWarning, match=r"'sex' has levels that training did not have \('0', '1'\)"):
        coding().of_new(views(numbers))


def test_views_that_nobody_has_are_absent_and_strangers_are_left_out():
    frames = {
        "a": pd.DataFrame({"x": [1.0, 2.0, 3.0], "sex": ["f", "m", "f"]}),
        "b": pd.DataFrame({"y": [1.0, 2.0, 5.0]}),
    }
    train = Views.from_dict(frames)
    coding = Coding.learn(train)
    only = Views.from_dict({"stranger": frames["b"], "b": frames["b"][["y"]]})
    found = coding.in_views(only)
    assert found.names == ("a", "b")
    np.testing.assert_array_equal(found.observed, [[False, True]] * 3)
    np.testing.assert_array_equal(coding(found).block("b"), coding(train).block("b"))
    assert coding(found).block("a").shape == (0, coding(train).block("a").shape[1])
    same = coding.in_views(train)
    np.testing.assert_array_equal(coding(same).block("a"), coding(train).block("a"))


def test_true_and_false_are_found_whether_training_had_texts_or_numbers():
    numbers = Views.from_dict({"a": pd.DataFrame({"t": [1.0, 0.0, np.nan], "n": 1.0}, index=list("xyz"))})
    texts = Views.from_dict(
        {"a": pd.DataFrame({"t": ["True", "False", None], "n": 1.0}, index=list("xyz"))}
    )
    for trained in (numbers, texts):
        coding = Coding.learn(trained)
        assert not coding.differences(numbers)
        assert not coding.differences(texts)
        np.testing.assert_array_equal(coding(numbers).block("a"), coding(texts).block("a"))
