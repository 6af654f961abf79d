"""The recurrent cell against values worked out by hand, and against a loop in NumPy."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.organics_cell import LearnedTimeConstants, ORGaNICsCell
from neurosim.models.prepared_organics_cell import ORGaNICsCellState
from neurosim.training import parameter_count, trainable_leaves

pytestmark = pytest.mark.usefixtures("double_precision")

# Two neurons, one input.
START = {"y": [-0.6, 0.4], "a": [0.09, 0.5], "b": [0.2, 0.7], "b0": [1, 0.8]}
KAPPA = {"y": [0.3, 0.2], "a": [0.1, 0.25], "b": [0.05, 0.35], "b0": [0.4, 0.15]}
B0 = [0.804599189, 0.7327062742]
B = [0.2252996319, 0.6265004666]


def array(x):
    return jnp.asarray(np.asarray(x, float))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def two_neurons(**options):
    logits = {name: array(np.log(k) - np.log1p(-np.asarray(k))) for name, k in KAPPA.items()}
    return ORGaNICsCell(
        W_r=array([[0.9, -0.7], [0.4, 0.8]]),
        log_W=jnp.log(array([[1, 0.4], [0.7, 1]])),
        W_zx=array([[0.5], [-0.9]]),
        W_bx=array([[0.8], [-0.1]]),
        W_by=array([[-0.2, 0.5], [0.3, -0.3]]),
        W_ba=array([[0.4, -0.4], [0, 0.7]]),
        W_b0x=array([[0.2], [-0.5]]),
        W_b0y=array([[0.1, -0.3], [0.4, 0]]),
        W_b0a=array([[-0.6, 0.2], [0.3, 0.1]]),
        C=array([[1.0, -2.0]]),
        d=array([0.5]),
        theta=LearnedTimeConstants(**logits),
        sigma=array([1, 0.5]),
        start=ORGaNICsCellState(**{name: array(x) for name, x in START.items()}),
        kappa_max=(1, 1, 1),
        **options,
    )


@pytest.mark.parametrize(
    ("rectify", "rectify_input", "y", "a"),
    [
        ("outer", True, [-0.393, 0.3246862915], [0.1842, 0.435]),
        ("inner", True, [-0.4518, 0.338745166], [0.1842, 0.435]),
        ("inner", False, [-0.4518, 0.225345166], [0.1842, 0.435]),
        ("none", False, [-0.5652, 0.2112862915], [0.18744, 0.44067]),
    ],
)
def test_one_step_of_each_variant(rectify, rectify_input, y, a):
    cell = two_neurons(rectify=rectify, rectify_input=rectify_input)
    new = cell.step(0.0, cell.initial_state(), array([0.9]), 1.0)
    for found, expected in zip(new, (y, a, B, B0)):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(cell.readout(new), [y[0] - 2 * y[1] + 0.5], atol=1e-9)
    shown = two_neurons(readout_on="rate").readout(new)
    np.testing.assert_allclose(shown, [-2 * y[1] ** 2 + 0.5], atol=1e-9)


def test_a_run_is_the_published_recursion_and_the_euler_step_of_the_flow():
    cell = ORGaNICsCell.init(4, 2, 3, key=jax.random.key(0), kappa_max=(0.5, 0.2, 0.8))
    x = np.random.default_rng(0).normal(size=(20, 2))
    run = simulate(cell, x, dt=1.0)
    p = {
        name: np.asarray(getattr(cell, name))
        for name in ("W_r", "W_zx", "W_bx", "W_by", "W_ba", "W_b0x", "W_b0y", "W_b0a", "C", "d")
    }
    W = np.minimum(np.exp(np.asarray(cell.log_W)), 1)
    theta = {name: np.asarray(getattr(cell.theta, name)) for name in KAPPA}
    k = {name: m * sigmoid(theta[name]) for name, m in zip(KAPPA, (0.5, 0.2, 0.8, 0.8))}
    y, a, b, b0 = (np.asarray(v) for v in cell.start)
    for t, u in enumerate(x):
        recurrent = np.maximum(p["W_r"] @ y, 0)
        dy = -y + b * np.maximum(p["W_zx"] @ u, 0) + (1 - np.sqrt(np.maximum(a, 0))) * recurrent
        da = -a + b0**2 + W @ (np.maximum(y, 0) ** 2 * np.maximum(a, 0))
        db = -b + sigmoid(p["W_bx"] @ u + p["W_by"] @ y + p["W_ba"] @ a)
        db0 = -b0 + sigmoid(p["W_b0x"] @ u + p["W_b0y"] @ y + p["W_b0a"] @ a)
        y, a, b, b0 = y + k["y"] * dy, a + k["a"] * da, b + k["b"] * db, b0 + k["b0"] * db0
        for found, expected in zip(run.states, (y, a, b, b0)):
            np.testing.assert_allclose(found[t], expected, rtol=0, atol=1e-13)
        np.testing.assert_allclose(run.outputs[t], p["C"] @ y + p["d"], atol=1e-13)
    # In seconds, and by a solver that knows the vector field alone.
    ode = cell.to_ode(2e-3)
    np.testing.assert_allclose(ode.time_constants["tau_a"], 2e-3 / k["a"], rtol=1e-12)
    euler = simulate(ode, x, dt=2e-3, solver=diffrax.Euler())
    np.testing.assert_allclose(euler.outputs, run.outputs, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"dt = 0\.1 is not below 2 tau_y"):
        simulate(ode, x, dt=0.1)


def test_it_has_the_published_number_of_parameters():
    for n, expected in ((64, 25_674), (128, 100_490)):
        cell = ORGaNICsCell.init(n, 1, 10, key=jax.random.key(0))
        assert parameter_count(cell) == expected
    # Without time constants, and without a recurrent matrix.
    n, rest = 4, 6 * 16 + 3 * 4 * 2 + 3 * 5
    fixed = ORGaNICsCell.init(n, 2, 3, key=jax.random.key(0), learn_tau=False)
    assert parameter_count(fixed) == rest
    np.testing.assert_allclose(fixed.kappa.a, 0.01 * 0.7310585786, rtol=1e-9)
    assert trainable_leaves(fixed, lambda cell: cell.theta.y).theta.y is True
    for recurrence, n_free in (("identity", 0), ("diagonal", n), ("spectral", n * n)):
        cell = ORGaNICsCell.init(n, 2, 3, key=jax.random.key(0), recurrence=recurrence)
        assert parameter_count(cell) == rest + 4 * n - n * n + n_free


def test_the_initialisation_is_the_published_one():
    cell = ORGaNICsCell.init(64, 1, 10, key=jax.random.key(1))
    np.testing.assert_allclose(cell.W_r @ cell.W_r.T, np.eye(64), atol=1e-12)
    assert np.linalg.norm(cell.W_zx, 2) == pytest.approx(1)
    W = np.asarray(cell.W)
    assert np.all(np.diag(W) == 1)
    off = W[~np.eye(64, dtype=bool)]
    assert off.min() > 0
    assert off.mean() == pytest.approx(0.5, abs=0.05)
    for name, fan_in in (("W_by", 64), ("W_b0a", 64), ("W_bx", 1), ("W_b0x", 1), ("C", 64)):
        values = np.asarray(getattr(cell, name))
        assert np.abs(values).max() <= fan_in**-0.5
        assert np.mean(values**2) == pytest.approx(1 / (3 * fan_in), rel=0.5)
    assert np.linalg.norm(cell.start.y) == pytest.approx(1)
    assert np.all(cell.start.b0 == 1)
    assert np.all((cell.start.a >= 0) & (cell.start.a < 1))


def test_recurrent_matrices():
    made = {
        name: ORGaNICsCell.init(4, 2, 3, key=jax.random.key(2), recurrence=name)
        for name in ("identity", "diagonal", "spectral", "identity_plus")
    }
    assert made["identity"].recurrent_matrix is None
    np.testing.assert_allclose(
        made["diagonal"].recurrent_matrix, np.diag(sigmoid(np.asarray(made["diagonal"].W_r)))
    )
    matrix = np.random.default_rng(1).normal(size=(4, 4))
    for name, plus in (("spectral", 0), ("identity_plus", np.eye(4))):
        cell = ORGaNICsCell(**{**_fields(made[name]), "W_r": jnp.asarray(matrix)})
        expected = plus + matrix / np.linalg.norm(matrix, 2)
        np.testing.assert_allclose(cell.recurrent_matrix, expected, atol=1e-12)


def _fields(cell):
    return {name: getattr(cell, name) for name in cell.__dataclass_fields__}


def test_forward_derivatives_from_a_silent_start():
    """a = 0 and y = 0 at first, where square root and rectification have no derivative."""
    cell = ORGaNICsCell.init(4, 2, 3, key=jax.random.key(3), recurrence="spectral")
    x = jnp.asarray(np.random.default_rng(5).normal(size=(6, 2)))
    silent = jax.tree.map(jnp.zeros_like, cell.start)
    names = ["W_r", "log_W", "W_zx", "W_bx", "W_by", "W_ba", "W_b0x", "W_b0y", "W_b0a", "theta"]
    start = {name: getattr(cell, name) for name in names}
    # Away from the kink at exp(log_W) = 1, and from the one where singular values are equal.
    rng = np.random.default_rng(6)
    start["log_W"] = start["log_W"] - 0.1
    start["W_r"] = jnp.asarray(rng.normal(size=(4, 4)))
    direction = jax.tree.map(lambda p: jnp.asarray(rng.normal(size=p.shape)), start)

    @jax.jit
    def along(s):
        moved = jax.tree.map(lambda p, d: p + s * d, start, direction)
        changed = ORGaNICsCell(**{**_fields(cell), **moved})
        return simulate(changed, x, dt=1.0, initial_state=silent).outputs

    slope = jax.jvp(along, (0.0,), (1.0,))[1]
    assert np.all(np.isfinite(slope))
    difference = (along(1e-6) - along(-1e-6)) / 2e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-9)

    # Held at 1, a weight has no derivative; at exactly 1 it can still fall.
    def first_weight(log_W):
        return ORGaNICsCell(**{**_fields(cell), "log_W": log_W}).W[0, 1]

    for at, expected in ((0.5, 0), (0.0, 1), (-1.0, np.exp(-1))):
        slope = jax.grad(first_weight)(jnp.full((4, 4), at))[0, 1]
        assert slope == pytest.approx(expected)


def test_single_precision():
    with jax.enable_x64(False):
        cell = ORGaNICsCell.init(4, 2, 3, key=jax.random.key(4))
        outputs = simulate(cell, np.ones((5, 2)), dt=1.0).outputs
        assert outputs.dtype == jnp.float32
        assert np.all(np.isfinite(outputs))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_units": 0}, "n_units must be a whole number from 1"),
        ({"kappa_max": (0.1, 0.1)}, "kappa_max must be three numbers above 0 and at most 1"),
        ({"kappa_max": (0.1, 0.0, 0.1)}, "kappa_max must be three numbers"),
        ({"kappa_max": (0.1, 0.1, 1.1)}, "kappa_max must be three numbers"),
        ({"recurrence": "full"}, "recurrence must be one of free, identity"),
        ({"rectify": "both"}, "rectify must be one of none, inner, outer"),
        ({"readout_on": "z"}, "readout_on must be one of y, rate"),
    ],
)
def test_options_out_of_range_are_refused(unchecked_signatures, options, message):
    with pytest.raises(ValueError, match=message):
        ORGaNICsCell.init(
            **{"n_units": 4, "n_in": 2, "n_out": 3, "key": jax.random.key(0), **options}
        )


def test_values_that_do_not_fit_are_refused(unchecked_signatures):
    fields = _fields(two_neurons())
    for changed, message in (
        ({"W_r": None}, "recurrence 'free' cannot be had from this W_r"),
        ({"recurrence": "identity"}, "it is None for 'identity'"),
        ({"recurrence": "diagonal"}, r"\(N,\) for 'diagonal', and \(N, N\) else; got \(2, 2\)"),
        ({"sigma": array([1, 0])}, "sigma must be positive"),
        ({"dt_step": 0.0}, "dt_step must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            ORGaNICsCell(**{**fields, **changed})
    with pytest.raises(ValueError, match="inputs have 3 channels, but ORGaNICsCell takes 1"):
        simulate(two_neurons(), np.ones((4, 3)), dt=1.0)
