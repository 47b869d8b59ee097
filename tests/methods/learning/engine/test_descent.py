"""Compiled coordinate descent: where nothing can be written, and the same as without Numba."""

import os
import subprocess
import sys

import numpy as np
import pytest

from absentia import AbsentMKLClassifier, KernelViews
from absentia.methods.learning import _machines
from absentia.methods.learning.engine import Box, FactorStack, _linear
from absentia.methods.learning.engine._linear import fit_linear
from helpers.mkl_problems import factors

SCRIPT = """
import tempfile

def refuse(*arguments, **options):
    raise PermissionError("read-only")

tempfile.TemporaryFile = refuse  # how Numba finds out where it may write
import sys
import numpy as np
from absentia.methods.learning.engine import Box, FactorStack
from absentia.methods.learning.engine._linear import fit_linear
assert "numba" not in sys.modules, "imported before it is needed"
stack = FactorStack([np.array([[1.0], [-1.0]])], [np.arange(2)], 2)
print(round(fit_linear(stack, np.ones(1), Box.classification(np.array([1.0, -1.0]), np.ones(2)), tol=1e-6).primal, 3))
assert "numba" in sys.modules
"""


@pytest.mark.slow
def test_a_read_only_installation_without_a_home_works():
    """No folder may be written to: not beside the source, not the user's, which there is not."""
    pytest.importorskip("numba")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    environment |= {"HOME": "/nonexistent", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "0.5"


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_the_compiled_machine_is_the_uncompiled_one(kind, C, monkeypatch, rng):
    pytest.importorskip("numba")
    Phi, observed, y = factors(120, seed=1)
    stack, eta = (
        FactorStack(Phi, [np.flatnonzero(s) for s in observed.T], 120),
        np.array([0.5, 0.0, 1.0, 0.2]),
    )
    if kind == "classification":
        box = Box.classification(y, np.full(120, C), 0.2 + rng.random(120))
    else:
        box = Box.regression(y + rng.standard_normal(120), np.full(120, C), 0.2)
    compiled = fit_linear(stack, eta, box, tol=1e-5)
    monkeypatch.setattr(_linear, "has_numba", lambda: False)
    plain = fit_linear(stack, eta, box, tol=1e-5)
    for machine, other in ((compiled, plain), (plain, compiled)):
        assert machine.gap <= 1e-5 * machine.primal
        assert other.dual <= machine.primal * (1 + 1e-12)
    monkeypatch.setattr(_linear, "_MAX_FACTORS", 10)  # no Hessian is formed
    assert fit_linear(stack, eta, box, tol=1e-4).gap <= 1e-4 * plain.primal


def test_without_numba_a_fit_on_factors_says_what_would_be_faster(monkeypatch, rng):
    n, installed = 2100, _linear.has_numba()
    Phi = rng.standard_normal((n, 4))
    y = Phi[:, 0] + 0.1 * rng.standard_normal(n) > 0
    kernels = KernelViews.from_factors(
        {"a": (np.arange(n), Phi[:, :2]), "b": (np.arange(5, n), Phi[5:, 2:])}
    )
    said = []
    for has in (True, False):
        for module in (_linear, _machines):
            monkeypatch.setattr(module, "has_numba", lambda has=has: has and installed)
        said.append(AbsentMKLClassifier(constraint="mean").fit(kernels, y))
    assert said[0].gap_ <= 1e-3
    assert said[1].gap_ <= 1e-3
    assert "absentia[fast]" in said[1].status_
    assert ("absentia[fast]" in said[0].status_) == (not installed)
    assert said[0].objective_[-1] == pytest.approx(said[1].objective_[-1], rel=1e-3)
