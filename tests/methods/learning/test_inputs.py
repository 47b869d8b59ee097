"""What is learned from: kernels, or features."""

from types import SimpleNamespace

import numpy as np
import pytest

from absentia import KernelViews, Views
from absentia.methods.learning._inputs import INPUTS

VIEWS = Views.from_dict({"a": np.ones((4, 2)), "b": np.ones((4, 3))})
KERNELS = KernelViews.from_dense([np.eye(4), np.eye(4)], names=["a", "b"])


def known(of, X):
    learner = SimpleNamespace(names_in_=X.names, ids_=X.ids, _widths=INPUTS[of].widths(X))
    learner.coded = INPUTS[of].learned(X, learner)
    return learner


@pytest.mark.parametrize(("of", "X", "other"), [("kernels", KERNELS, VIEWS), ("views", VIEWS, KERNELS)])
def test_each_takes_its_own(of, X, other):
    takes = INPUTS[of]
    assert takes.pairwise == (of == "kernels")
    assert takes.check(X) is X
    assert takes.check_rows(X, known(of, X)).names == X.names
    for wrong in (other, np.eye(4), None):
        for check in (takes.check, lambda rows: takes.check_rows(rows, known(of, X))):
            with pytest.raises(
                TypeError, match=f"^{type(X).__name__} are wanted, not {type(wrong).__name__}"
            ):
                check(wrong)
    rows, columns = np.array([0, 2]), np.array([1, 2, 3])
    part = takes.part(X, rows, columns)
    assert part.shape == ((2, 3) if of == "kernels" else (2, 2))
    np.testing.assert_array_equal(part.ids, [0, 2])


def test_features_have_to_be_as_many_again():
    learner = known("views", VIEWS)
    assert learner._widths == (2, 3)
    fewer = Views.from_dict({"a": np.ones((1, 2)), "b": np.ones((1, 2))})
    with pytest.raises(ValueError, match=r"view 'b' has 2 features but had 3 in training"):
        INPUTS["views"].check_rows(fewer, learner)
    with pytest.raises(ValueError, match=r"views \['a'\] came, \['a', 'b'\] were there in training"):
        INPUTS["views"].check_rows(VIEWS.select(["a"]), learner)
    assert INPUTS["views"].check_rows(VIEWS.select(["b", "a"]), learner).names == ("a", "b")
    assert len(INPUTS["views"].check_rows(VIEWS[[]], learner)) == 0
    with pytest.raises(ValueError, match="no sample to learn from"):
        INPUTS["views"].check(VIEWS[[]])


def test_kernels_are_square_to_learn_from():
    with pytest.raises(ValueError, match="square"):
        INPUTS["kernels"].check(KERNELS[:2])
