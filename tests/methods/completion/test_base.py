"""Laws every completer obeys, whatever its method; enrolled in tests/helpers/registry.py."""

import numpy as np
import pytest
import threadpoolctl
from sklearn.base import clone

from absentia import CVKT, MKC, MKMC, AutoCompleter, EMFill, KernelViews, KNNFill, SVTFill, missingness
from absentia.testing import CHECKS
from conftest import add_noise, random_kernels, random_problem
from helpers.registry import COMPLETERS, COSTLY, is_slow

# where so many components are too many is a matter of tests of their own


def assert_same(found, wanted):
    """Kernels that differ by what another order of sums makes of them."""
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6 * (np.abs(other).max() or 1.0))


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.slow if name in COSTLY else ()) for name in COMPLETERS]
)
def completer(request):
    return clone(COMPLETERS[request.param])


@pytest.mark.parametrize(
    ("name", "law"),
    [
        pytest.param(name, law, marks=pytest.mark.slow if is_slow(name, law) else ())
        for name in COMPLETERS
        for law in CHECKS["completer"]
    ],
)
def test_every_completer_obeys_every_law(name, law):
    CHECKS["completer"][law](clone(COMPLETERS[name]))


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
    if isinstance(completer, MKMC | AutoCompleter) or ("zero" in problem and isinstance(completer, MKC)):
        pytest.skip(
            "MKMC divides by the size of kernels, and follows the noise at singular ones (its docstring)"
        )
    straight = completer.fit_transform(KernelViews.from_dense(K, observed=keep)).to_dense()
    for _ in range(3):
        noised = KernelViews.from_dense(add_noise(K, 1e-12, rng), observed=keep)
        assert_same(completer.fit_transform(noised).to_dense(), straight)


@pytest.mark.slow_params(
    "mkmc full-one constant",
    "mkmc full-samples twice",
    "mkmc full-rank one",
    "mkmc pca-rank one",
    "mkmc fa-one constant",
    "mkmc fa-samples twice",
    "mkmc fa-rank one",
    "mkmc fa-a view of one sample",
)
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


# ------------------------------------------------------------------------------ without training kernels


@pytest.mark.parametrize(
    "completer",
    [SVTFill(0.1), EMFill(3, ridge=0.1), KNNFill(5), CVKT(rounds=2), MKMC(n_components=3), MKC(tol=0.01)],
    ids=lambda completer: type(completer).__name__,
)
def test_a_fit_kept_without_its_kernels_is_whole_with_them(completer):
    kv, train, new = random_problem(40, 3, 0.3), np.arange(30), np.arange(30, 40)
    kernels, rows = kv[np.ix_(train, train)], kv[np.ix_(new, train)]
    fitted = clone(completer).fit(kernels)
    bare = type(completer).from_state(fitted.with_kernels(None).state())
    with pytest.raises(ValueError, match="has no training kernels; give them to with_kernels"):
        bare.transform(rows)
    again = bare.with_kernels(kernels)
    for X in (kernels, rows):
        found, wanted = again.transform(X).to_dense(), fitted.transform(X).to_dense()
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10)
