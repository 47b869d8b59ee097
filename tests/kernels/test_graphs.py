"""Graphs through GraKeL."""

import sys

import numpy as np
import pytest

from absentia import KernelViews
from absentia.kernels import graph_kernel


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
