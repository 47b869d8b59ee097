"""``absentia cite``: BibTeX on the terminal, of methods or of what is in a model."""

import numpy as np

from absentia import AverageKernelSVC, KernelViews, MKLClassifier, cite, save
from absentia.app.cli._main import main


def said(capsys, *words):
    main([str(word) for word in words])
    return capsys.readouterr().out


def test_methods_by_name_and_models_by_file(tmp_path, capsys):
    assert said(capsys, "cite", "C-AMKL", "cvkt") == cite("C-AMKL", "cvkt")
    X = np.random.default_rng(0).standard_normal((20, 3))
    kernels, y = KernelViews.from_dense({"a": X @ X.T, "b": np.eye(20)}), np.arange(20) % 2
    for model in (MKLClassifier(), AverageKernelSVC()):
        path = tmp_path / f"{type(model).__name__}.absentia"
        save(model.fit(kernels, y), path)
        assert said(capsys, "cite", path) == cite(model)
    assert "rakotomamonjy2008simplemkl" in said(capsys, "cite", tmp_path / "MKLClassifier.absentia")
    assert said(capsys, "cite") == cite()
