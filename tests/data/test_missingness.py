from collections import Counter
from itertools import combinations, permutations, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from absentia.data.missingness import exclusive, fixed_per_sample, fixed_per_view, mar, mcar, mnar, own

unhurried = settings(deadline=None)
shapes = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7)
masks = arrays(bool, shapes)
seeds = st.integers(0, 2**32 - 1)
rates = st.floats(0, 1)

GENERATORS = {
    "mcar": lambda where, **kw: mcar(where, 0.4, **kw),
    "fixed_per_sample": lambda where, **kw: fixed_per_sample(where, 1, **kw),
    "fixed_per_view": lambda where, **kw: fixed_per_view(where, 0.4, **kw),
    "exclusive": lambda where, **kw: exclusive(where, 0.4, **kw),
    "mar": lambda where, **kw: mar(where, 0.4, np.arange(20), **kw),
    "mnar": lambda where, **kw: mnar(where, 0.4, np.arange(80).reshape(20, 4), **kw),
}


@pytest.fixture(params=GENERATORS)
def generate(request):
    return GENERATORS[request.param]


@pytest.fixture
def observed():
    """20 samples, 4 views; all have view 0 or 1 and two views or more, but sample 0 has none."""
    observed = np.random.default_rng(0).random((20, 4)) < 0.7
    observed[:, 0] |= ~observed[:, 1]
    observed[:, 2] |= observed.sum(axis=1) < 2
    observed[0] = False
    return observed


def assert_valid(keep, observed):
    """A sub-mask in which whoever had a view still has one."""
    assert keep.dtype == bool
    assert keep.shape == observed.shape
    assert not (keep & ~observed).any()
    np.testing.assert_array_equal(keep.any(axis=1), observed.any(axis=1))


def can_cover(observed, room):
    """Slow truth: can each sample be given one of its views, view v to at most room[v] of them?"""
    n, n_views = observed.shape
    capacity = np.zeros((n + n_views + 2, n + n_views + 2), dtype=np.int32)
    capacity[-2, :n] = observed.any(axis=1)
    capacity[:n, n:-2] = observed
    capacity[n:-2, -1] = room
    flow = maximum_flow(csr_array(capacity), n + n_views, n + n_views + 1).flow_value
    return flow == observed.any(axis=1).sum()


# what all have in common


def test_a_submask_of_what_was_observed(generate, observed):
    before = observed.copy()
    keep = generate(observed, random_state=0)
    assert_valid(keep, observed)
    assert keep.sum() < observed.sum()
    np.testing.assert_array_equal(observed, before)
    assert not np.shares_memory(keep, observed)


def test_a_shape_means_all_observed_and_an_object_is_asked(generate, observed):
    def same(a, b):
        np.testing.assert_array_equal(generate(a, random_state=3), generate(b, random_state=3))

    same((20, 4), np.ones((20, 4), dtype=bool))
    same(SimpleNamespace(observed=observed), observed)


@pytest.mark.parametrize("kind", [int, np.random.default_rng, np.random.RandomState])
def test_seeded_draws_repeat_and_differ_between_seeds(generate, kind):
    once, again, other = (generate((20, 4), random_state=kind(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(once, again)
    assert (once != other).any()


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_moves_on_between_draws(generate, kind):
    rng = kind(0)
    assert (generate((20, 4), random_state=rng) != generate((20, 4), random_state=rng)).any()


@pytest.mark.parametrize("where", [(20,), (20, 4.0), (0, 4), np.ones(20, bool), np.ones((20, 4))])
def test_where_must_be_a_shape_or_a_boolean_matrix(generate, where):
    with pytest.raises(ValueError, match="pass"):
        generate(where)


@pytest.mark.parametrize("rate", [-0.1, 1.1, np.nan])
@pytest.mark.parametrize("function", [mcar, fixed_per_view, exclusive])
def test_rates_lie_between_0_and_1(function, rate):
    with pytest.raises(ValueError, match="between 0 and 1"):
        function((4, 2), rate)


@pytest.mark.parametrize(("rate", "n_hidden"), [(0.14, 1), (0.16, 2)])
def test_rates_are_rounded(rate, n_hidden):
    assert (~mcar((5, 2), rate)).sum() == n_hidden
    assert (~exclusive((10, 2), rate)).sum() == n_hidden
    np.testing.assert_array_equal((~fixed_per_view((10, 3), rate)).sum(axis=0), n_hidden)


# mcar


@unhurried
@given(masks, rates, seeds)
def test_mcar_hides_the_exact_number_of_cells_or_says_why_not(observed, rate, seed):
    n_hidden, at_most = round(rate * observed.sum()), (observed.sum() - observed.any(1).sum())
    if n_hidden > at_most:
        with pytest.raises(ValueError, match=rf"hide {n_hidden} .* only {at_most} can go"):
            mcar(observed, rate, random_state=seed)
        keep = mcar(observed, rate, random_state=seed, allow_empty=True)
        assert not (keep & ~observed).any()
    else:
        keep = mcar(observed, rate, random_state=seed)
        assert_valid(keep, observed)
    assert observed.sum() - keep.sum() == n_hidden


def assert_frequencies(draws, expected):
    """Counts of draws lie within 5 standard deviations of ``expected`` probabilities."""
    n, counts = len(draws), Counter(draws)
    assert set(counts) <= set(expected)
    for outcome, p in expected.items():
        assert abs(counts[outcome] - n * p) < 5 * np.sqrt(n * p * (1 - p)), outcome


def hidden_cells(keep):
    return tuple(np.flatnonzero(~keep.ravel()).tolist())


def test_mcar_draws_subsets_uniformly_when_no_sample_can_go_empty():
    rng = np.random.default_rng(0)
    pairs = list(combinations(range(9), 2))
    draws = [hidden_cells(mcar((3, 3), 2 / 9, random_state=rng)) for _ in range(4000)]
    assert_frequencies(draws, dict.fromkeys(pairs, 1 / len(pairs)))


def test_mcar_favours_no_cell_at_the_limit():
    rng = np.random.default_rng(0)
    keep = np.mean([mcar((6, 3), 2 / 3, random_state=rng) for _ in range(3000)], axis=0)
    np.testing.assert_allclose(keep, 1 / 3, atol=5 * np.sqrt(2 / 9 / 3000))


# fixed_per_sample


@unhurried
@given(masks, st.integers(0, 7), seeds, st.booleans())
def test_fixed_per_sample_takes_the_same_number_from_all(observed, n_hidden, seed, allow_empty):
    had = observed.sum(axis=1)
    fewest = min(had[had > 0], default=observed.shape[1])
    if n_hidden > fewest - (not allow_empty):
        with pytest.raises(ValueError, match=f"n_hidden={n_hidden}"):
            fixed_per_sample(observed, n_hidden, random_state=seed, allow_empty=allow_empty)
    else:
        keep = fixed_per_sample(observed, n_hidden, random_state=seed, allow_empty=allow_empty)
        assert not (keep & ~observed).any()
        np.testing.assert_array_equal(keep.sum(axis=1), np.where(had, had - n_hidden, 0))


def test_fixed_per_sample_draws_views_uniformly():
    draws = fixed_per_sample((6000, 4), 2, random_state=0)
    assert_frequencies(
        [hidden_cells(row) for row in draws], dict.fromkeys(combinations(range(4), 2), 1 / 6)
    )


@pytest.mark.parametrize("n_hidden", [-1, 3])
def test_fixed_per_sample_names_what_is_possible(n_hidden):
    with pytest.raises(ValueError, match="between 0 and 2"):
        fixed_per_sample((5, 3), n_hidden)


# fixed_per_view


@st.composite
def masks_and_counts(draw):
    observed = draw(masks)
    return observed, [draw(st.integers(0, int(n))) for n in observed.sum(axis=0)]


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(masks_and_counts(), seeds)
def test_fixed_per_view_succeeds_exactly_when_a_flow_exists(case, seed):
    observed, n_hidden = case
    n_seen = observed.sum(axis=0)
    rate = n_hidden / np.maximum(n_seen, 1)
    if can_cover(observed, n_seen - n_hidden):
        keep = fixed_per_view(observed, rate, random_state=seed)
        assert_valid(keep, observed)
    else:
        with pytest.raises(ValueError, match="can go if every sample is to keep a view"):
            fixed_per_view(observed, rate, random_state=seed)
        keep = fixed_per_view(observed, rate, random_state=seed, allow_empty=True)
        assert not (keep & ~observed).any()
    np.testing.assert_array_equal(n_seen - keep.sum(axis=0), n_hidden)


@unhurried
@given(st.integers(1, 30), st.integers(1, 7), seeds)
def test_fixed_per_view_reaches_the_limit(n_each, n_views, seed):
    keep = fixed_per_view((n_each * n_views, n_views), (n_views - 1) / n_views, random_state=seed)
    np.testing.assert_array_equal(keep.sum(axis=1), 1)
    np.testing.assert_array_equal(keep.sum(axis=0), n_each)


@unhurried
@given(seeds)
def test_fixed_per_view_finds_paths_through_many_views(seed):
    """Sample t has views t and t + 1, and view t is kept once: room must be passed along a chain."""
    n = 6
    observed = np.eye(n, n + 1, dtype=bool) | np.eye(n, n + 1, 1, dtype=bool)
    n_seen = observed.sum(axis=0)
    n_hidden = n_seen - np.r_[0, np.ones(n, dtype=int)]
    keep = fixed_per_view(observed, n_hidden / n_seen, random_state=seed)
    np.testing.assert_array_equal(keep, np.eye(n, n + 1, 1, dtype=bool))


def test_fixed_per_view_names_the_views_that_are_too_crowded():
    observed = np.ones((10, 4), dtype=bool)
    observed[:6, 2:] = False  # six samples have views 0 and 1 only
    with pytest.raises(ValueError, match=r"hide 15 of the 20 .* views \[0, 1\], but at most 14"):
        fixed_per_view(observed, [0.8, 0.7, 0, 0])
    assert_valid(fixed_per_view(observed, [0.7, 0.7, 0, 0], random_state=0), observed)


@pytest.mark.parametrize("seed", range(10))
def test_fixed_per_view_never_gives_a_sample_what_it_did_not_have(seed):
    observed = np.repeat(np.array([[0, 0, 1], [1, 1, 0]], dtype=bool), [4, 20], axis=0)
    with pytest.raises(ValueError, match=r"hide 1 of the 4 observed cells in views \[2\]"):
        fixed_per_view(observed, [0.5, 0.5, 0.25], random_state=seed)


def test_a_narrow_path_carries_as_many_as_can_pass():
    """Two samples need view 0: one who keeps it has room in view 1 only, the other in view 2."""
    observed = np.array([[1, 0, 0]] * 2 + [[1, 1, 0], [1, 0, 1]] + [[0, 1, 1]] * 4, dtype=bool)
    scores = np.zeros(observed.shape)
    scores[[0, 1, 2, 3], [0, 0, 1, 2]] = 1  # what is hidden at first
    keep = mnar(observed, [2 / 4, 1 / 5, 1 / 5], scores, strength=1e6, random_state=0)
    assert_valid(keep, observed)
    np.testing.assert_array_equal(keep.sum(axis=0), [2, 4, 4])
    np.testing.assert_array_equal(keep[:4], np.eye(3)[[0, 0, 1, 2]])


def test_an_empty_sample_gets_any_of_its_views_back():
    keep = fixed_per_view((6000, 3), 0.6, random_state=0)
    single = keep[keep.sum(axis=1) == 1]
    assert_frequencies(single.argmax(axis=1).tolist(), dict.fromkeys(range(3), 1 / 3))


def test_fixed_per_view_draws_independent_views():
    rng = np.random.default_rng(0)
    pairs = list(combinations(range(4), 2))
    draws = [
        hidden_cells(fixed_per_view((4, 2), 0.5, random_state=rng, allow_empty=True).T) for _ in range(6000)
    ]
    independent = {(*a, *(4 + j for j in b)): 1 / 36 for a, b in product(pairs, pairs)}
    assert_frequencies(draws, independent)


def test_fixed_per_view_favours_no_sample_at_the_limit():
    rng = np.random.default_rng(0)
    keep = np.mean([fixed_per_view((6, 3), 2 / 3, random_state=rng) for _ in range(3000)], axis=0)
    np.testing.assert_allclose(keep, 1 / 3, atol=5 * np.sqrt(2 / 9 / 3000))


def test_fixed_per_view_repairs_many_samples_at_once():
    keep = fixed_per_view((60_000, 6), 5 / 6, random_state=0)
    np.testing.assert_array_equal(keep.sum(axis=0), 10_000)
    assert keep.any(axis=1).all()


@pytest.mark.parametrize("rate", [[0.1], [0.1, 0.2, 0.3]])
def test_fixed_per_view_wants_one_rate_per_view(rate):
    with pytest.raises(ValueError, match="one per view"):
        fixed_per_view((5, 2), rate)


# exclusive


@unhurried
@given(shapes, rates, seeds)
def test_exclusive_leaves_one_view_evenly(shape, rate, seed):
    assume(shape[1] > 1)
    keep = exclusive(shape, rate, random_state=seed)
    single = keep.sum(axis=1) == 1
    assert single.sum() == round(rate * shape[0])
    assert keep[~single].all()
    assert np.ptp(keep[single].sum(axis=0)) <= 1


@settings(max_examples=200, deadline=None)
@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=5)), rates, seeds)
@example(np.array([[1, 1, 0, 0]] * 3 + [[0, 1, 1, 0]] * 3 + [[0, 0, 1, 1]], dtype=bool), 1.0, 0)
def test_exclusive_is_as_even_as_what_is_observed_permits(observed, rate, seed):
    keep = exclusive(observed, rate, random_state=seed)
    assert_valid(keep, observed)
    changed = (keep != observed).any(axis=1)
    assert changed.sum() == round(rate * (observed.sum(axis=1) > 1).sum())
    assert (keep[changed].sum(axis=1) == 1).all()

    options = [np.flatnonzero(row) for row in observed[changed]]
    loads = (np.bincount(c, minlength=len(observed.T)) for c in product(*options) if c)
    best = min(((load**2).sum() for load in loads), default=0)
    assert (keep[changed].sum(axis=0) ** 2).sum() == best


def test_exclusive_draws_views_and_samples_evenly():
    rng = np.random.default_rng(0)
    keep = [exclusive((4, 3), random_state=rng) for _ in range(3000)]
    extra = [int(k.sum(axis=0).argmax()) for k in keep]
    assert_frequencies(extra, dict.fromkeys(range(3), 1 / 3))
    np.testing.assert_allclose(np.mean(keep, axis=0), 1 / 3, atol=5 * np.sqrt(2 / 9 / 3000))


# mar and mnar


def weighted_pairs(z, strength=2.0):
    """Probability of each pair under two successive draws, weights exp(strength * z)."""
    weights = np.exp(strength * (z - z.mean()) / z.std())
    p = weights / weights.sum()
    pairs = dict.fromkeys(combinations(range(len(z)), 2), 0.0)
    for i, j in permutations(range(len(z)), 2):
        pairs[min(i, j), max(i, j)] += p[i] * p[j] / (1 - p[i])
    return pairs


@pytest.mark.parametrize(
    "strength", [0.0, pytest.param(2.0, marks=pytest.mark.slow), pytest.param(-1.0, marks=pytest.mark.slow)]
)
def test_mar_draws_by_weight_without_replacement(strength):
    rng, score = np.random.default_rng(0), np.array([30.0, 41.0, 55.0, 70.0])
    draws = [
        hidden_cells(mar((4, 2), 0.5, score, strength=strength, random_state=rng)[:, 1])
        for _ in range(5000)
    ]
    assert_frequencies(draws, weighted_pairs(score, strength))


def test_mnar_draws_each_view_by_its_own_score():
    rng = np.random.default_rng(0)
    scores = np.array([[1.0, 8.0], [2.0, 2.0], [4.0, 1.0], [3.0, 5.0], [np.nan, 9.0]])
    observed = np.isfinite(scores)
    keep = [mnar(observed, [0.5, 0.4], scores, random_state=rng, allow_empty=True) for _ in range(5000)]
    assert_frequencies([hidden_cells(k[:4, 0]) for k in keep], weighted_pairs(scores[:4, 0]))
    assert_frequencies([hidden_cells(k[:, 1]) for k in keep], weighted_pairs(scores[:, 1]))


@unhurried
@given(masks_and_counts(), seeds)
def test_mar_and_mnar_keep_exact_counts_and_the_guarantee(case, seed):
    observed, n_hidden = case
    n_seen = observed.sum(axis=0)
    assume(can_cover(observed, n_seen - n_hidden))
    rate = n_hidden / np.maximum(n_seen, 1)
    score = np.random.default_rng(seed).random(observed.shape)
    for keep in (
        mar(observed, rate, score[:, 0], always=None, strength=9, random_state=seed),
        mnar(observed, rate, np.where(observed, score, np.nan), strength=9, random_state=seed),
    ):
        assert_valid(keep, observed)
        np.testing.assert_array_equal(n_seen - keep.sum(axis=0), n_hidden)


@pytest.mark.parametrize(("always", "n_hidden"), [(0, [0, 5, 5]), (-1, [5, 5, 0]), ([0, 2], [0, 5, 0])])
def test_mar_never_hides_what_is_always_there(always, n_hidden):
    keep = mar((10, 3), 0.5, np.arange(10), always=always, random_state=0)
    np.testing.assert_array_equal((~keep).sum(axis=0), n_hidden)


def test_units_of_the_score_do_not_matter():
    score = np.random.default_rng(0).random((30, 3))
    keep = mnar(score.shape, 0.3, score, random_state=0)
    np.testing.assert_array_equal(keep, mnar(score.shape, 0.3, 1000 * score - 7, random_state=0))
    same = [mar((30, 3), 0.3, s, random_state=0) for s in (score[:, 0], 1000 * score[:, 0] - 7)]
    np.testing.assert_array_equal(*same)


def test_a_constant_score_hides_uniformly():
    constant = mar((30, 3), 0.3, np.full(30, 0.1), random_state=0)
    np.testing.assert_array_equal(constant, mar((30, 3), 0.3, np.arange(30), strength=0, random_state=0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mar((4, 2), 0.5, np.arange(3)), r"score has shape \(3,\) where \(4,\)"),
        (lambda: mar((4, 2), 0.5, [1, 2, np.nan, 4]), "score is NaN or infinite in 1 place"),
        (lambda: mar((4, 2), 0.5, np.arange(4), always=2), "always=2, but views are numbered 0 to 1"),
        (lambda: mar((4, 2), 0.5, np.arange(4), strength=np.inf), "strength=inf"),
        (lambda: mnar((4, 2), 0.5, np.ones((4, 3))), r"\(4, 3\) where \(4, 2\)"),
        (lambda: mnar((1, 2), 0.5, [[1.0, np.nan]]), "scores is NaN or infinite in 1 place"),
    ],
)
def test_scores_are_checked(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# own patterns


@unhurried
@given(masks, rates, seeds, st.booleans())
def test_own_hides_the_exact_number_of_cells_or_says_how_many_can_go(observed, rate, seed, allow_empty):
    lacking = ~observed.all(axis=0)
    wanted = round(rate * observed[:, lacking].sum())
    keep, said = None, ""
    try:
        keep = own(observed, rate, random_state=seed, allow_empty=allow_empty)
    except ValueError as error:
        said = str(error)
    if keep is None:
        assert f"asked to hide {wanted} observed cells" in said
        assert "lower rate" in said
        return
    assert not (keep & ~observed).any()
    assert (observed & ~keep).sum() == wanted
    np.testing.assert_array_equal(keep[:, ~lacking], observed[:, ~lacking])  # what everybody has stays
    if not allow_empty:
        assert keep.any(axis=1)[observed.any(axis=1)].all()


def test_own_hides_together_what_is_absent_together():
    observed = np.ones((200, 4), dtype=bool)
    observed[:60, 2:] = False
    observed[60:80, 1] = False
    keep = own(observed, 0.4, random_state=0)
    assert (keep[:, 2] != keep[:, 3]).sum() <= 1  # but for the last sample
    assert keep[:, 0].all()


def test_own_hides_views_as_often_as_they_are_absent():
    observed = np.ones((4000, 3), dtype=bool)
    observed[:1200, 1] = False
    observed[1200:1600, 2] = False
    hidden = (observed & ~own(observed, 0.1, random_state=0)).sum(axis=0)
    assert hidden[0] == 0
    assert hidden[1] / hidden[2] == pytest.approx(3 * 2800 / 3600, rel=0.25)  # of those that still have it


def test_own_is_drawn_by_the_seed():
    observed = mcar((50, 4), 0.3, random_state=0)
    one, same, other = (own(observed, 0.2, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_own_leaves_the_last_view_unless_it_may_go():
    observed = np.array([[True, False], [False, True]] * 10)
    with pytest.raises(ValueError, match=r"asked to hide 10 observed cells .* but only 0 can go"):
        own(observed, 0.5, random_state=0)
    assert own(observed, 0.5, random_state=0, allow_empty=True).sum() == 10


def test_own_hides_nothing_where_nothing_is_absent():
    np.testing.assert_array_equal(own((5, 3), 0.5, random_state=0), np.ones((5, 3), bool))
