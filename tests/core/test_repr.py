"""What holds arrays is told in a line, without the numbers."""

import numpy as np

from absentia import KernelViews, MKLClassifier, PMAImputer, ViewKernels, Views, models
from absentia.core import Completed, CompletedSide, Dense, Gram, LowRankPlusDiagonal, Scaled
from absentia.core.optimize import StoppingRule, iterate

RNG = np.random.default_rng(0)
FACTORS = RNG.standard_normal((30, 5))


def test_operators_say_their_shape_rank_and_precision():
    small = Completed.square(
        Dense(np.eye(2)),
        np.arange(2),
        np.arange(2, 5),
        np.ones((2, 1)),
        np.ones((3, 1)),
        np.ones((1, 1)),
        np.ones(3),
    )
    assert repr(Dense(np.eye(3))) == "Dense(3 x 3, float64)"
    assert repr(Dense(np.eye(3, dtype=np.float32))) == "Dense(3 x 3, float32)"
    assert repr(Gram(FACTORS)) == "Gram(30 x 30, 5 factors, float64)"
    assert repr(Gram(FACTORS, FACTORS[:4])) == "Gram(30 x 4, 5 factors, float64)"
    assert repr(Scaled(Dense(np.eye(3)), 0.5)) == "Scaled(0.5 * Dense(3 x 3, float64))"
    low = LowRankPlusDiagonal(FACTORS, np.ones(30))
    assert repr(low) == "LowRankPlusDiagonal(30 x 30, rank 5 plus diagonal, float64)"
    assert repr(small).startswith("Completed(5 x 5, 2 x 2 observed, rank 1 elsewhere, float64)")
    assert repr(small.rows) == "Side(2 known, 3 filled, rank 1)"
    assert isinstance(small.rows, CompletedSide)


def test_a_solution_says_how_it_ended():
    found = iterate(
        lambda x: x / 2, lambda x: float(x.sum()), np.ones(500), stop=StoppingRule(0), max_iter=3
    )
    assert (
        repr(found)
        == "Solution(3 iterations, 62.5 at the end; ran all max_iter iterations, as tol=0 asks for)"
    )
    none = iterate(lambda x: x, lambda x: np.inf, np.ones(5), stop=StoppingRule(0.1), max_iter=3)
    assert repr(none).startswith("Solution(0 iterations; the objective became infinite")


def test_kernels_say_how_many_factors_they_are_given_by():
    kernels = KernelViews.from_factors({"a": (range(30), FACTORS), "b": (range(20), FACTORS[:20])})
    assert "30 x 30 kernel, 5 factors" in repr(kernels)
    assert "factors" not in repr(KernelViews.from_dense([np.eye(3)]))


def test_a_model_says_what_it_takes_and_gives():
    views = Views.from_dict({"a": FACTORS, "b": FACTORS[:, :2]})
    makes = ViewKernels("cosine")
    y = np.where(FACTORS[:, 0] > 0, "ill", "well")
    classifier = MKLClassifier().fit(makes.fit_transform(views), y)
    assert repr(models.Model(classifier, makes)) == (
        "Model: ViewKernels(kernel='cosine'), MKLClassifier()\n"
        "  learned from 30 samples; views: a, b\n"
        "  takes features; 2 classes: ill, well"
    )
    assert "takes kernels" in repr(models.Model(classifier))


def test_models_of_matrices_say_their_sizes():
    X = np.where(RNG.random((12, 3)) < 0.1, np.nan, RNG.standard_normal((12, 3)))
    model = PMAImputer(row_kernel=np.eye(12), col_kernel=np.eye(3)).fit(X).model_
    assert repr(model) == "KroneckerGaussian(12 x 3, rows RowKernel(12 x 12, rank 12), columns 3 x 3)"
