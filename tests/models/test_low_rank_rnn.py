"""The low-rank network against its published recursion and its initialisations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models import LowRankRNN, VanillaRNN

pytestmark = pytest.mark.usefixtures("double_precision")


def recursion(m, u, left, tau):
    L, R, B, C, x = (np.asarray(a) for a in (left, m.R, m.B, m.C, m.x0))
    d, ys = 0.0 if m.d is None else np.asarray(m.d), []
    for v in u:
        x = (1 - 1 / tau) * x + L @ R.T @ np.tanh(x) / len(x) / tau + B @ v / tau
        ys.append(C @ x + d)
    return np.array(ys)


def test_published_recursion_with_an_orthonormal_left_factor():
    u = np.random.default_rng(0).normal(size=(15, 2))
    model = LowRankRNN.init(7, 2, 2, 3, tau=10.0, key=jax.random.key(0))
    left, triangle = np.linalg.qr(np.asarray(model.L))
    left = left * np.sign(np.diag(triangle))
    y = simulate(model, u, dt=1.0).outputs
    np.testing.assert_allclose(y, recursion(model, u, left, 10.0), rtol=0, atol=1e-13)

    eft = LowRankRNN.init(7, 2, 2, 3, tau=2.0, scheme="eft", orthonormal_left=None,
                          key=jax.random.key(0))  # fmt: skip
    assert eft.d is None
    y = simulate(eft, u, dt=1.0).outputs
    np.testing.assert_allclose(y, recursion(eft, u, eft.L, 2.0), rtol=0, atol=1e-13)


def test_full_rank_equals_the_vanilla_network_and_rotations_change_nothing():
    u = np.random.default_rng(1).normal(size=(15, 2))
    model = LowRankRNN.init(5, 3, 2, 1, tau=10.0, rec_scale=0.7, orthonormal_left=None,
                            key=jax.random.key(0))  # fmt: skip
    y = simulate(model, u, dt=1.0).outputs
    full = VanillaRNN(
        model.L @ model.R.T, model.B, model.C, model.d, x0=model.x0, tau=10.0, rec_scale=0.7
    )
    np.testing.assert_allclose(simulate(full, u, dt=1.0).outputs, y, rtol=0, atol=1e-13)
    mix = np.random.default_rng(2).normal(size=(3, 3))
    other = LowRankRNN(
        jnp.asarray(np.asarray(model.L) @ np.linalg.inv(mix).T), model.R @ mix, model.B, model.C,
        model.d, x0=model.x0, tau=10.0, rec_scale=0.7,
    )  # fmt: skip
    np.testing.assert_allclose(simulate(other, u, dt=1.0).outputs, y, rtol=0, atol=1e-13)


def test_initialisations_have_the_published_variances():
    """Within four standard errors, sqrt(2 / n) each, of a variance from n entries."""
    published = {
        "mwg": {"L": 1.0, "R": 1.0, "B": 1 / 8, "C": 1 / 300, "d": 1 / 300},
        "eft": {"L": 1 / 300, "R": 1 / 300, "B": 1 / 8, "C": 1 / 300, "x0": 1 / 300},
    }
    for scheme, variances in published.items():
        model = LowRankRNN.init(300, 5, 8, 200, scheme=scheme, key=jax.random.key(2))
        for name, variance in variances.items():
            values = np.asarray(getattr(model, name))
            tolerance = 4 * np.sqrt(2 / values.size)
            assert np.mean(values**2) == pytest.approx(variance, rel=tolerance), name
    assert (model.tau, model.rec_scale) == (100.0, "1/N")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 5}, "rank must not exceed"),
        ({"rank": 0}, "rank must be a whole number"),
        ({"n_out": 0}, "n_out must be a whole number"),
        ({"tau": -1.0}, "tau must be positive"),
        ({"scheme": "other"}, "scheme must be"),
        ({"rec_scale": np.inf}, "rec_scale must be"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(options, message):
    sizes = {"n_units": 4, "rank": 2, "n_in": 1, "n_out": 1, **options}
    with pytest.raises(ValueError, match=message):
        LowRankRNN.init(**sizes, key=jax.random.key(0))


def test_dependent_columns_and_long_steps_are_refused():
    ones, column = jnp.ones((4, 2)), jnp.ones((4, 1))
    with pytest.raises(ValueError, match="rank 1 of 2"):
        LowRankRNN(ones, ones, column, column.T, None, x0=jnp.ones(4), tau=1.0,
                   orthonormal_left="positive")  # fmt: skip
    model = LowRankRNN.init(4, 2, 1, 1, tau=0.5, key=jax.random.key(0))
    with pytest.raises(ValueError, match=r"dt = 1.0 is not below 2 tau"):
        simulate(model, np.zeros((3, 1)), dt=1.0)
    assert simulate(model, np.zeros((3, 1)), dt=1.0, substeps=2).outputs.shape == (3, 1)
