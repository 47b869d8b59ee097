"""``absentia cite``: BibTeX on the terminal, of methods or of what is in a model."""

import numpy as np

from absentia import AverageKernelSVC, KernelViews, MKLClassifier, cite, save, write
from helpers.command_line import refused, run


def test_methods_by_name_and_models_by_file(tmp_path):
    assert run("cite", "C-AMKL", "cvkt").stdout == cite("C-AMKL", "cvkt")
    X = np.random.default_rng(0).standard_normal((20, 3))
    kernels, y = KernelViews.from_dense({"a": X @ X.T, "b": np.eye(20)}), np.arange(20) % 2
    for model in (MKLClassifier(), AverageKernelSVC()):
        path = tmp_path / f"{type(model).__name__}.absentia"
        save(model.fit(kernels, y), path)
        assert run("cite", path).stdout == cite(model)
    assert "rakotomamonjy2008simplemkl" in run("cite", tmp_path / "MKLClassifier.absentia").stdout
    assert run("cite").stdout == cite()


def test_complete_fit_and_compare_cite_what_they_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).standard_normal((40, 3))
    observed = np.ones((40, 2), bool)
    observed[:8, 1] = False
    write(
        "k.npz",
        KernelViews.from_dense({"a": X @ X.T, "b": np.eye(40)}, observed),
        y=(X[:, 0] > 0).astype(int),
    )
    completed = run("complete", "k.npz", "-o", "out.npz", "--method", "mkc-ht", "--cite")
    assert completed.stdout.endswith(cite("mkc-ht"))
    fitted = run(
        "fit", "k.npz", "--labels", "y", "-o", "m.absentia", "--method", "C-AMKL", "--no-report", "--cite"
    )
    assert fitted.stdout.endswith(cite("C-AMKL"))
    assert "@" not in run("complete", "k.npz", "-o", "out.npz", "--method", "mkc-ht").stdout
    words = [
        "compare",
        "k.npz",
        "-o",
        "compared/",
        "--methods",
        "mean",
        "mkc-ht",
        "--repeats",
        1,
        "--jobs",
        1,
    ]
    assert run(*words, "--cite").stdout.endswith(cite("mean", "mkc-ht"))
    refused(run(*words, "--cite", "--json"), "--json and --cite are for results, one of them")
    refused(run("compare", "k.npz", "--dry-run", "--cite"), "--cite are for results")
