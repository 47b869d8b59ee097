"""Laws every completer obeys, whatever its method; enrolled in tests/market.py."""

import pickle

import numpy as np
import pytest
import threadpoolctl
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from absentia import MKC, MKMC, KernelViews, Views, missingness
from conftest import random_kernels, random_problem
from market import COMPLETERS, COSTLY, REORDERED

# where so many components are too many is a matter of tests of their own
pytestmark = pytest.mark.filterwarnings(r"ignore:with \d+ components .* hidden for a check:UserWarning")

SEEDS = [(0, 0.2), (1, 0.35), (2, 0.5)]


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.slow if name in COSTLY else ()) for name in COMPLETERS]
)
def completer(request):
    return clone(COMPLETERS[request.param])


@pytest.mark.parametrize(("seed", "absent"), SEEDS)
def test_everything_is_observed_and_what_was_is_untouched_to_the_bit(completer, seed, absent):
    kv = random_problem(absent=absent, seed=seed)
    done = completer.fit_transform(kv)
    assert done.observed.all()
    assert np.isfinite(done.to_dense()).all()
    for v, name in enumerate(kv.names):
        seen = np.ix_(kv.observed[:, v], kv.observed[:, v])
        np.testing.assert_array_equal(done.block(name)[seen], kv.block(name))


@pytest.mark.parametrize(("seed", "absent"), SEEDS)
def test_the_result_is_symmetric_and_positive_semidefinite(completer, seed, absent):
    K = completer.fit_transform(random_problem(absent=absent, seed=seed)).to_dense()
    np.testing.assert_array_equal(K, K.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(K).min() > -1e-10


def assert_same(found, wanted):
    """The same kernels, relative to each view's largest value."""
    largest = np.abs(wanted).max(axis=(1, 2), keepdims=True)
    largest = np.where(largest > 0, largest, 1.0)
    np.testing.assert_allclose(found / largest, wanted / largest, atol=REORDERED)


def test_permuting_samples_permutes_the_result(completer, rng):
    """Whether their ids go with them or are given anew."""
    kv, order = random_problem(), rng.permutation(40)
    straight = completer.fit_transform(kv).to_dense()[:, order][:, :, order]
    assert_same(completer.fit_transform(kv[np.ix_(order, order)]).to_dense(), straight)
    renumbered = KernelViews.from_dense(kv.to_dense()[:, order][:, :, order])
    assert_same(completer.fit_transform(renumbered).to_dense(), straight)


def test_reordering_views_reorders_the_result(completer):
    kv = random_problem()
    straight = completer.fit_transform(kv).to_dense()[::-1]
    assert_same(completer.fit_transform(kv.select(kv.names[::-1])).to_dense(), straight)
    assert_same(completer.fit_transform(KernelViews.from_dense(kv.to_dense()[::-1])).to_dense(), straight)


def test_rounding_changes_nothing_that_shows(completer, rng):
    """Another processor, or number of threads, rounds the last digits differently; so does this."""
    kv = random_problem()
    straight = completer.fit_transform(kv).to_dense()
    for size in (1e-15, 1e-13):
        rounded = KernelViews.from_dense(noisy(kv.to_dense(), size, rng))
        assert_same(completer.fit_transform(rounded).to_dense(), straight)


def noisy(K, size, rng):
    """Kernels with symmetric relative noise."""
    noise = size * rng.standard_normal(K.shape)
    return K * (1 + (noise + noise.transpose(0, 2, 1)) / 2)


# everything else of MKMC that threads can reach is in its own tests
THREADED = [name for name in COMPLETERS if not name.startswith("mkmc") or name == "mkmc pca"]


@pytest.mark.slow
@pytest.mark.parametrize("name", THREADED)
def test_the_number_of_threads_changes_nothing_that_shows(name):
    kv = random_problem(150)  # products of this size are shared out among threads
    found = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            found.append(clone(COMPLETERS[name]).fit_transform(kv).to_dense())
    assert_same(found[1], found[0])


@pytest.mark.parametrize(
    "scale",
    [[1.0, 1e6, 1e-6, 7.0], [1e-6] * 4],
    ids=["each its own", "all small"],
)
def test_scaling_a_view_scales_its_result_and_no_other(completer, scale):
    kv, scale = random_problem(), np.array(scale)[:, None, None]
    scaled = KernelViews.from_dense(kv.to_dense() * scale, observed=kv.observed)
    back = completer.fit_transform(scaled).to_dense() / scale
    assert_same(back, completer.fit_transform(kv).to_dense())


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_kernels_beyond_what_numbers_hold_are_refused_by_name(completer, scale):
    K = random_problem().to_dense()
    K[1] *= scale
    with pytest.raises(ValueError, match=r"view 'view1': .*mean diagonal is .*divide the kernel"):
        completer.fit(KernelViews.from_dense(K))


def degenerate_problems(n=16):
    """Kernels of which little or nothing can be learned: name, kernels, who has what."""
    K, keep = random_kernels(n, 3), missingness.mcar((n, 3), 0.3, random_state=0)
    one = K.copy()
    one[1] = 1.0
    yield "one constant", one, keep
    yield "all constant", np.ones_like(K), keep
    zero = K.copy()
    zero[1] = 0.0
    yield "one zero", zero, keep
    yield "all zero", np.zeros_like(K), keep
    apart = np.zeros((n, 3), bool)
    apart[: n // 3, 0] = apart[n // 3 : n // 2, 1] = apart[n // 2 :, 2] = True
    yield "disjoint", K, apart
    half = np.r_[0 : n // 2, 0 : n // 2]
    yield "samples twice", K[:, half][:, :, half], keep
    x = np.random.default_rng(0).normal(size=(3, n, 1))
    yield "rank one", x @ x.transpose(0, 2, 1), keep
    yield "identity", np.stack([np.eye(n)] * 3), keep
    lonely = keep.copy()
    lonely[1:, 2], lonely[0, 2] = False, True
    yield "a view of one sample", K, lonely


DEGENERATE = {name: (K, keep) for name, K, keep in degenerate_problems()}


def with_spectrum(values, n, rng):
    """A kernel that has these eigenvalues when centred, and a mean."""
    basis = rng.standard_normal((n, len(values) + 1))
    basis[:, 0] = 1.0
    Q = np.linalg.qr(basis)[0][:, 1:]
    return (Q * values) @ Q.T + 0.5


def edge_problems(n=16):
    """Kernels at which something is counted or chosen by a hair."""
    rng, K = np.random.default_rng(1), random_kernels(n, 3)
    seen = n - 4
    keep = missingness.mcar((n, 3), 0.3, random_state=0)
    keep[:, 0] = np.arange(n) < seen
    keep[seen:, 1] = True
    for name, values in {
        # the mean is over all eigenvalues, of which the sample mean's is zero
        "an eigenvalue is the mean": np.array(
            [4.0, 3.0, 10.0 / (seen - 1), *[3.0 / (seen - 4)] * (seen - 4)]
        ),
        "eigenvalues alike": np.array([3.0, *[1.0] * (seen - 2)]),
        "an eigenvalue of rounding": np.array([3.0, 2.0, 3e-10]),
        "an eigenvalue of less": np.array([3.0, 2.0, 3e-12]),
        "a spectrum through rounding": 3 * 10.0 ** -np.arange(0, 2 * seen - 2, 2),
    }.items():
        edge = K.copy()
        edge[0] = 0.0
        edge[0][:seen, :seen] = with_spectrum(values, seen, rng)
        yield name, edge, keep
    unequal = np.sqrt(1 + 1e-5 * np.linspace(0, 1, n))
    yield "a diagonal hardly constant", K * np.outer(unequal, unequal), keep


EDGES = DEGENERATE | {name: (K, keep) for name, K, keep in edge_problems()}


@pytest.mark.filterwarnings("default::absentia.AbsenceWarning", "default::UserWarning")
@pytest.mark.parametrize(
    "problem", [pytest.param(p, marks=pytest.mark.slow if p in DEGENERATE else ()) for p in EDGES]
)
def test_nothing_hangs_by_a_hair(completer, problem, rng):
    """Noise a thousand times below what may show, at kernels that counts and choices could tip over at."""
    K, keep = EDGES[problem]
    if isinstance(completer, MKMC) or ("zero" in problem and isinstance(completer, MKC)):
        pytest.skip(
            "MKMC divides by the size of kernels, and follows the noise at singular ones (its docstring)"
        )
    straight = completer.fit_transform(KernelViews.from_dense(K, observed=keep)).to_dense()
    for _ in range(3):
        noised = KernelViews.from_dense(noisy(K, 1e-12, rng), observed=keep)
        assert_same(completer.fit_transform(noised).to_dense(), straight)


@pytest.mark.filterwarnings("default::absentia.AbsenceWarning", "default::UserWarning")
@pytest.mark.parametrize("problem", DEGENERATE)
def test_degenerate_views_are_completed_or_named(completer, problem, capfd):
    K, keep = DEGENERATE[problem]
    kv = KernelViews.from_dense(K, observed=keep)
    if "zero" in problem and isinstance(completer, MKMC | MKC):  # which divide by its size
        with pytest.raises(ValueError, match=r"view 'view\d': the kernel is zero for every sample; leave"):
            completer.fit(kv)
    else:
        done = completer.fit_transform(kv).to_dense()
        assert np.isfinite(done).all()
        assert np.linalg.eigvalsh(done).min() >= -1e-8 * np.abs(K).max()
    assert capfd.readouterr() == ("", "")  # LAPACK complains on its own


def test_nothing_missing_changes_nothing(completer):
    K = random_kernels()
    np.testing.assert_array_equal(completer.fit_transform(KernelViews.from_dense(K)).to_dense(), K)


def test_fitting_twice_is_fitting_once(completer):
    kv, other = random_problem(), random_problem(30, 3, 0.1, seed=1)
    once = completer.fit_transform(kv).to_dense()
    completer.fit(other)
    np.testing.assert_array_equal(completer.fit_transform(kv).to_dense(), once)


def test_nothing_is_transformed_before_fitting(completer):
    with pytest.raises(NotFittedError):
        completer.transform(random_problem())


def test_inputs_are_not_changed(completer):
    kv = random_problem()
    before = kv.to_dense()
    completer.fit_transform(kv)
    np.testing.assert_array_equal(kv.to_dense(), before)


def test_single_precision_blocks_are_kept_to_the_bit(completer):
    K = random_kernels().astype(np.float32)
    kv = KernelViews.from_dense(K, observed=missingness.mcar((40, 4), 0.3, random_state=0))
    done = completer.fit_transform(kv)
    seen = np.ix_(kv.observed[:, 0], kv.observed[:, 0])
    np.testing.assert_array_equal(done.block("view0")[seen], K[0][seen])


def test_clone_pickle_and_set_params_round_trip(completer):
    kv = random_problem()
    done = completer.fit_transform(kv).to_dense()
    assert clone(completer).get_params() == completer.get_params()
    assert type(completer)().set_params(**completer.get_params()).get_params() == completer.get_params()
    again = pickle.loads(pickle.dumps(completer))
    np.testing.assert_array_equal(again.transform(kv).to_dense(), done)


def test_fit_overwrites_no_parameter(completer):
    before = dict(completer.get_params())
    completer.fit(random_problem())
    assert completer.get_params() == before


def test_fit_then_transform_equals_fit_transform_and_remembers_who_was_there(completer):
    kv = random_problem()
    done = completer.fit_transform(kv).to_dense()
    np.testing.assert_array_equal(completer.fit(kv).transform(kv).to_dense(), done)
    assert completer.names_in_ == kv.names
    np.testing.assert_array_equal(completer.ids_, kv.ids)


def test_wrong_input_is_named(completer):
    with pytest.raises(TypeError, match=r"KernelViews are wanted, not Views.*ViewKernels"):
        completer.fit(Views.from_dict({"a": np.ones((3, 1))}))
    for wrong in (np.eye(3), None, [[1.0]]):
        with pytest.raises(TypeError, match="KernelViews are wanted, not"):
            completer.fit(wrong)
    with pytest.raises(ValueError, match="there is no sample to learn from"):
        completer.fit(random_problem()[np.ix_([], [])])
    kv = random_problem()
    with pytest.raises(ValueError, match="2 rows against 40 columns"):
        completer.fit(kv[[0, 1]])
    with pytest.raises(ValueError, match="were there in training"):
        completer.fit(kv).transform(kv.select(kv.names[:2]))
    with pytest.raises(ValueError, match="were there in training"):
        completer.transform(kv.select(kv.names[::-1]))
    with pytest.raises(TypeError, match="KernelViews are wanted, not ndarray"):
        completer.transform(np.eye(40))
    with pytest.raises(ValueError, match="40 training samples"):
        completer.transform(kv[np.ix_([0, 1], [2, 3])])


def test_square_kernels_with_another_mask_are_not_mistaken_for_the_training_ones(completer):
    kv = random_problem(absent=0.1)
    keep = missingness.mcar(kv, 0.1, random_state=3)
    with pytest.raises(ValueError, match="other samples are absent"):
        completer.fit(kv).transform(kv.hide(keep))
