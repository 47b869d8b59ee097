"""Sequences as counts of runs of letters, and graphs through GraKeL."""

import sys

import numpy as np
import pandas as pd
import pytest

from absentia import AbsenceWarning, KernelViews, ViewKernels, Views
from absentia.kernels import graph_kernel, spectrum_features

SEQUENCES = ["GATTACA", "TACATAC", "CCCC", "gattaca"]


def by_hand(a, b, k):
    """The spectrum kernel by its definition: pairs of places where the same run begins."""
    runs = [[s[i : i + k] for i in range(len(s) - k + 1)] for s in (a, b)]
    return sum(x == y for x in runs[0] for y in runs[1])


@pytest.mark.parametrize("k", [1, 2, 3])
def test_products_of_counts_are_the_spectrum_kernel(k):
    counts, names = spectrum_features(SEQUENCES, k)
    expected = [[by_hand(a, b, k) for b in SEQUENCES] for a in SEQUENCES]
    np.testing.assert_array_equal((counts @ counts.T).toarray(), expected)
    assert all(len(name) == k for name in names)
    assert names.tolist() == sorted(names)
    views = Views.from_dict({"seq": counts})
    K = ViewKernels("linear", standardize=False, normalize=None).fit_transform(views).block("seq")
    np.testing.assert_allclose(K, expected, atol=1e-9)


@pytest.mark.parametrize(
    "sequences",
    [
        pd.Series(["GATTACA", None, "TACA"], index=["x", "y", "z"]),
        {"x": "GATTACA", "y": float("nan"), "z": "TA\nCA"},
        ["GATTACA", "", " TACA\n"],
    ],
)
def test_absent_sequences_are_absent_and_line_breaks_are_none(sequences):
    counts, names = spectrum_features(sequences, 3)
    assert names.tolist() == ["ACA", "ATT", "GAT", "TAC", "TTA"]
    views = Views.from_dict({"seq": counts, "age": np.ones((3, 1))})
    assert views.observed[:, 0].tolist() == [True, False, True]
    np.testing.assert_array_equal(views.block("seq").toarray()[1], [1, 0, 0, 1, 0])


def test_new_sequences_are_counted_by_the_runs_of_training():
    counts, names = spectrum_features(SEQUENCES, 2)
    again, same = spectrum_features([SEQUENCES[1], "XXXTAXXX"], 2, vocabulary=names)
    assert same.tolist() == names.tolist()
    np.testing.assert_array_equal(again.toarray()[0], counts.toarray()[1])
    assert again.toarray()[1].sum() == 1
    backwards, _ = spectrum_features(SEQUENCES, 2, vocabulary=names[::-1])
    np.testing.assert_array_equal(backwards.toarray(), counts.toarray()[:, ::-1])
    nobody, _ = spectrum_features([None, ""], 2, vocabulary=names)
    assert np.isnan(nobody.toarray()).all()


def test_frames_of_counts_carry_ids_and_names_into_views():
    counts, names = spectrum_features(["GATTA", "TTA"], 2)
    frame = pd.DataFrame.sparse.from_spmatrix(counts, index=["p", "q"], columns=names)
    views = Views.from_dict({"seq": frame, "age": pd.DataFrame({"age": [1.0]}, index=["q"])})
    assert views.features("seq").tolist() == names.tolist()
    assert views.ids.tolist() == ["p", "q"]


def test_short_sequences_are_pointed_out():
    with pytest.warns(
        AbsenceWarning, match=r"1 sequence\(s\), e\.g\. of sample 'q', have fewer than 3 letters"
    ):
        counts, _ = spectrum_features({"p": "ACGT", "q": "AC"}, 3)
    assert counts.toarray()[1].sum() == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("ACGT",), "a list of texts, one per sample, is wanted, not str"),
        ((["AC", None], 3), "no sequence has 3 letters or more: 1 of 2 samples have one, the longest of 2"),
        (([], 3), "no sequence has 3 letters"),
        (({"p7": 3.5},), "sample 'p7': its sequence is 3.5, not a text"),
        ((["ACGT"], 0), "k must be a whole number of 1 or more, not 0"),
        ((["ACGT"], 2.0), "k must be a whole number"),
        ((["ACGT"], 3, ["a", "b"]), "2 ids for 1 sequences"),
    ],
)
def test_what_is_no_sequence_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        spectrum_features(*arguments)


def test_a_vocabulary_of_another_k_is_refused():
    with pytest.raises(ValueError, match="the vocabulary has 'AC', and k is 3"):
        spectrum_features(["ACGT"], 3, vocabulary=["ACG", "AC"])
    with pytest.raises(ValueError, match="the vocabulary is empty"):
        spectrum_features(["ACGT"], 3, vocabulary=[])


@pytest.fixture
def graphs():
    pytest.importorskip("grakel")
    nx = pytest.importorskip("networkx")
    chain = nx.Graph([(0, 1), (1, 2)])
    nx.set_node_attributes(chain, {0: "C", 1: "O", 2: "C"}, "atom")
    pair = nx.Graph([("a", "b")])
    nx.set_node_attributes(pair, {"a": "C", "b": "O"}, "atom")
    alone = nx.Graph()
    alone.add_node(5, atom="C")
    return [chain, pair, alone]


def test_counts_of_kinds_of_nodes(graphs):
    K = graph_kernel(graphs, "vertex_histogram", label="atom", normalize=False)
    counts = np.array([[2, 1], [1, 1], [1, 0]])  # of C and O
    np.testing.assert_array_equal(K, counts @ counts.T)


def test_one_round_of_weisfeiler_and_lehman_by_hand(graphs):
    K = graph_kernel(graphs, label="atom", normalize=False, n_iter=1)
    # C, O; then C beside O (2, 1, 0), O beside two C, O beside one C, C alone
    counts = np.array([[2, 1, 2, 1, 0, 0], [1, 1, 1, 0, 1, 0], [1, 0, 0, 0, 0, 1]])
    np.testing.assert_array_equal(K, counts @ counts.T)


def test_kernels_have_unit_length_and_are_positive_semidefinite(graphs):
    K = graph_kernel(graphs, label="atom")
    np.testing.assert_allclose(np.diagonal(K), 1)
    assert np.linalg.eigvalsh(K).min() > -1e-12
    assert KernelViews.from_blocks({"molecule": (["p", "q", "r"], K)}).shape == (3, 3)


def test_nodes_without_a_label_are_of_one_kind_and_graphs_are_left_alone(graphs):
    K = graph_kernel(graphs, "vertex_histogram", label="colour", normalize=False)
    np.testing.assert_array_equal(K, np.outer([3, 2, 1], [3, 2, 1]))
    assert "colour" not in graphs[0].nodes[0]


def test_graphs_of_grakel_itself(graphs):
    from grakel import Graph

    own = [Graph({0: {1: 1.0}, 1: {0: 1.0}}, node_labels={0: "C", 1: "O"}), graphs[1]]
    np.testing.assert_allclose(graph_kernel(own, label="atom"), np.ones((2, 2)))


def test_a_kernel_that_there_is_not_and_no_graph(graphs):
    with pytest.raises(ValueError, match="Unsupported kernel: walks"):
        graph_kernel(graphs, "walks")
    with pytest.raises(ValueError, match="no graph is given"):
        graph_kernel([])


def test_without_grakel_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "grakel", None)
    with pytest.raises(ImportError, match=r"graph_kernel needs GraKeL: pip install 'absentia\[graphs\]'"):
        graph_kernel([1])
