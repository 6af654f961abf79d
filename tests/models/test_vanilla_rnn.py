"""The full-rank rate network against its recursion and a linear closed form."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from neurosim import simulate
from neurosim.kernels import recurrent_scale
from neurosim.models import VanillaRNN

pytestmark = pytest.mark.usefixtures("double_precision")


def identity(x):
    return x


def test_published_recursion():
    model = VanillaRNN.init(6, 2, 3, tau=10.0, key=jax.random.key(0))
    W, B, C, d, x = (np.asarray(a) for a in (model.W, model.B, model.C, model.d, model.x0))
    u, ys = np.random.default_rng(0).normal(size=(15, 2)), []
    for v in u:
        x = 0.9 * x + 0.1 * (W @ np.tanh(x) / 6 + B @ v)
        ys.append(C @ x + d)
    np.testing.assert_allclose(simulate(model, u, dt=1.0).outputs, ys, rtol=0, atol=1e-13)


def test_linear_network_follows_the_matrix_exponential():
    model = VanillaRNN.init(5, 1, 1, tau=4.0, rec_scale=0.5, phi=identity, key=jax.random.key(1))
    x = simulate(model, np.zeros((8, 1)), dt=1.0, solver=diffrax.Tsit5(), substeps=8).states
    flow = (-np.eye(5) + 0.5 * np.asarray(model.W)) / 4
    expected = [scipy.linalg.expm(flow * t) @ np.full(5, 0.1) for t in range(1, 9)]
    np.testing.assert_allclose(x, expected, rtol=0, atol=1e-10)


def test_initialisation_has_the_published_variances():
    model = VanillaRNN.init(300, 8, 200, key=jax.random.key(2))
    for name, variance in {"W": 1.0, "B": 1 / 8, "C": 1 / 300, "d": 1 / 300}.items():
        values = np.asarray(getattr(model, name))
        assert np.mean(values**2) == pytest.approx(variance, rel=4 * np.sqrt(2 / values.size))
    assert np.all(model.x0 == jnp.float64(0.1))
    assert model.rec_scale == "1/N"


def test_bad_parameters_are_refused():
    for options, message in (
        ({"n_units": 0}, "n_units must be"),
        ({"tau": 0.0}, "tau must be positive"),
        ({"tau": float("nan")}, "tau must be positive"),
        ({"rec_scale": np.nan}, "rec_scale must be"),
    ):
        sizes = {"n_units": 4, "n_in": 1, "n_out": 1, **options}
        with pytest.raises(ValueError, match=message):
            VanillaRNN.init(**sizes, key=jax.random.key(0))
    model = VanillaRNN.init(4, 1, 1, tau=1.0, key=jax.random.key(0))
    with pytest.raises(ValueError, match=r"dt = 2.0 is not below 2 tau"):
        simulate(model, np.zeros((3, 1)), dt=2.0)


def test_every_way_to_say_the_recurrent_scale():
    # One step from x = 0.1 with W = 1 and no input adds dt/tau (g N tanh(0.1) - 0.1).
    n = 16
    for rec_scale, g in (
        ("unit", 1.0),
        ("1/N", 1 / n),
        ("1/sqrt(N)", 1 / 4),
        (0.5, 0.5),
        (2, 2.0),
        (np.float64(0.5), 0.5),
        (1.2 / np.sqrt(n), 0.3),
        (jnp.asarray(0.5), 0.5),
    ):
        model = VanillaRNN(
            W=jnp.ones((n, n)), B=jnp.zeros((n, 1)), C=jnp.ones((1, n)), d=None,
            x0=jnp.full(n, 0.1), tau=10.0, rec_scale=rec_scale,
        )  # fmt: skip
        x = simulate(model, np.zeros((1, 1)), dt=1.0).states[0]
        np.testing.assert_allclose(x, 0.09 + 0.1 * g * n * np.tanh(0.1), rtol=1e-5)
    for wrong in ("1/n", np.nan, None):
        with pytest.raises(ValueError, match="rec_scale must be"):
            recurrent_scale(wrong, 1)
    with pytest.raises(ValueError, match="rec_scale must be"):
        VanillaRNN.init(4, 1, 1, key=jax.random.key(0), rec_scale=np.nan)
