"""The reduced variables of a low-rank network against the whole network, step by step."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from golden_network import (
    EXACT_ODE,
    GAINS_ONE,
    GAINS_ZERO,
    LAGGED,
    LOW_RANK_OVER_N,
    PUBLISHED,
    STEPS,
    golden,
    golden_inputs,
    golden_weights,
)

from neurosim import simulate
from neurosim.analysis.low_rank_reduction import (
    LowRankReduction,
    exact_reduction,
    output_components,
    reconstruct_states,
)
from neurosim.models import NMRNN, Dynamics
from neurosim.tasks import MeasureWaitGo
from neurosim.training import fit


@pytest.fixture(scope="module")
def golden_run():
    """The golden network's weights and inputs, and the gains of its states, NumPy."""
    with jax.enable_x64(True):
        model = golden()
        z = simulate(model, golden_inputs(), dt=1.0).states.z
        s = np.asarray(jax.vmap(model.gains)(z))
        first = np.asarray(model.gains(model.z0))
    w = golden_weights()
    return {k: w[k] for k in ("L", "R", "B_x", "C", "d", "x0")}, golden_inputs(), s, first


def outputs(w, u, s=None, **options):
    reduction = exact_reduction(
        w["L"], w["R"], w["B_x"], u, gains=s, x0=w["x0"], tau=10.0, **options
    )
    return output_components(reduction, w["L"], w["B_x"], w["C"], x0=w["x0"]).total + w["d"]


def test_golden_outputs_come_out_of_the_reduced_variables(golden_run):
    w, u, s, first = golden_run
    y = outputs(w, u, s)
    assert y.dtype == np.float64
    assert isinstance(y, np.ndarray)
    np.testing.assert_allclose(y[STEPS, 0], PUBLISHED, rtol=0, atol=1e-12)
    # With lagged gains a step uses those of the state before it. (z itself is the same.)
    lagged = np.concatenate([first[None], s[:-1]])
    np.testing.assert_allclose(outputs(w, u, lagged)[STEPS, 0], LAGGED, rtol=0, atol=1e-12)
    for gains in (None, 1.0, np.ones(1), np.ones(2), np.ones((110, 1))):
        y = outputs(w, u, gains)
        np.testing.assert_allclose(y[STEPS, 0], GAINS_ONE, rtol=0, atol=1e-12)
    y = outputs(w, u, np.zeros(2))
    np.testing.assert_allclose(y[STEPS, 0], GAINS_ZERO, rtol=0, atol=1e-12)
    for g in ("1/N", 1 / 6):
        y = outputs(w, u, rec_scale=g)
        np.testing.assert_allclose(y[STEPS, 0], LOW_RANK_OVER_N, rtol=0, atol=1e-12)
    twice = outputs(w, u, 2 * s, rec_scale="1/sqrt(N)")
    np.testing.assert_allclose(twice, outputs(w, u, s, rec_scale=2 / np.sqrt(6)), atol=1e-13)


class Reduced(Dynamics):
    """The golden network in continuous time, as kappa, v, the leak and z alone."""

    full: NMRNN

    def initial_state(self):
        return (jnp.zeros(2), jnp.zeros(3), jnp.ones(()), self.full.z0)

    def vector_field(self, t, state, input):
        kappa, v, leak, z = state
        m = self.full
        x = m.L @ kappa + m.B_x @ v + leak * m.x0
        dz = (-z + m.W_z @ jnp.tanh(z) + m.B_z @ input) / 100
        drive = m.gains(z) * (m.R.T @ jnp.tanh(x))
        return (-kappa + drive) / 10, (-v + input) / 10, -leak / 10, dz

    def readout(self, state):
        return state[0]


@pytest.mark.usefixtures("double_precision")
def test_the_continuous_form_has_the_exact_trajectory():
    run = simulate(Reduced(golden()), golden_inputs(), dt=1.0, solver=diffrax.Tsit5(), substeps=8)
    kappa, v, leak, _ = run.states
    np.testing.assert_allclose(leak, np.exp(-np.arange(1, 111) / 10), rtol=1e-9)
    w = golden_weights()
    x = reconstruct_states(LowRankReduction(kappa, v, leak), w["L"], w["B_x"], x0=w["x0"])
    y = np.asarray(x) @ w["C"][0] + 0.1
    np.testing.assert_allclose(y[STEPS], EXACT_ODE, rtol=0, atol=1e-10)


def trained():
    """A small network with an orthonormal L, after 50 steps of learning to time."""
    task = MeasureWaitGo(intervals=(40.0, 80.0), onsets=(30.0, 50.0), delay=60.0, duration=300.0)
    model = NMRNN.init(12, 2, 3, 3, 1, key=jax.random.key(0))
    result = fit(
        model, task.grid(), optimizer=optax.adam(2e-2), steps=50, key=jax.random.key(1),
        dt=10.0, progress=False,
    )  # fmt: skip
    assert result.losses[-1] < 0.7 * result.losses[0]
    return result.model, task.grid().inputs, 10.0


def drawn():
    """Feedback from x to z, a factor 1/N, random inputs."""
    model = NMRNN.init(18, 8, 5, 1, 1, scheme="eft", key=jax.random.key(3))
    u = np.random.default_rng(0).integers(-10, 11, size=(4, 26, 1)).astype(float)
    return model, jnp.asarray(u), 1.0


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("network", [trained, drawn])
def test_states_and_outputs_of_networks_trained_and_drawn(network):
    model, inputs, dt = network()
    run = simulate(model, inputs, dt=dt)
    gains = jax.vmap(jax.vmap(model.gains))(run.states.z)
    assert np.ptp(np.asarray(gains), axis=1).max() > 0.02
    L = np.asarray(model.left_factor())
    R, B, C, x0, s, u = (
        np.asarray(a) for a in (model.R, model.B_x, model.C, model.x0, gains, inputs)
    )
    reduction = exact_reduction(
        L, R, B, u, gains=s, x0=x0, tau=model.tau_x, dt=dt, rec_scale=model.rec_scale
    )
    assert reduction.kappa.shape == (*u.shape[:2], L.shape[1])
    x = reconstruct_states(reduction, L, B, x0=x0)
    np.testing.assert_allclose(x, run.states.x, rtol=0, atol=1e-10)
    parts = output_components(reduction, L, B, C, x0=x0)
    offset = 0 if model.d is None else np.asarray(model.d)
    np.testing.assert_allclose(parts.total + offset, run.outputs, rtol=0, atol=1e-10)
    # Component by component: what is read out of the state without the other columns of L.
    one = reduction.kappa[..., :1] * L[:, 0] @ C.T
    np.testing.assert_allclose(parts.modes[..., 0], one, rtol=0, atol=1e-12)
    # All of one trial lies in as many dimensions as there are variables, and one for the start.
    rank = np.linalg.matrix_rank(x[0], tol=1e-9 * np.abs(x[0]).max())
    assert rank <= L.shape[1] + B.shape[1] + 1 < 12


def test_the_rank_of_a_driven_trial_is_that_of_its_variables():
    rng = np.random.default_rng(5)
    L, R, B = rng.normal(size=(30, 3)), rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    u, s, x0 = rng.normal(size=(60, 2)), rng.uniform(size=(60, 3)), rng.normal(size=30)
    reduction = exact_reduction(L, R, B, u, gains=s, x0=x0, tau=5.0)
    assert np.linalg.matrix_rank(reconstruct_states(reduction, L, B, x0=x0)) == 3 + 2 + 1


def test_a_linear_network_reads_its_overlaps_alone():
    """One gain on recurrence and input: kappa+ = (1 - a) kappa + a s (R^T L kappa + R^T B v)."""
    rng = np.random.default_rng(1)
    L, R, B = rng.normal(size=(3, 7, 2)) / 2
    u, s = rng.normal(size=(40, 2)), rng.uniform(size=(40, 2))
    found = exact_reduction(L, R, B, u, gains=s, x0=np.zeros(7), tau=4.0, dt=1.0, phi=lambda x: x)
    kappa, v = np.zeros(2), np.zeros(2)
    for t in range(40):
        kappa, v = (
            0.75 * kappa + 0.25 * s[t] * (R.T @ L @ kappa + R.T @ B @ v),
            0.75 * v + 0.25 * u[t],
        )
        np.testing.assert_allclose(found.kappa[t], kappa, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found.filtered_input[t], v, rtol=1e-12)
    np.testing.assert_allclose(found.leak, 0.75 ** np.arange(1, 41), rtol=1e-12)


def test_scaling_a_component_moves_its_variable_and_nothing_else(golden_run):
    w, u, s, _ = golden_run
    scale = np.array([2.5, -1.0])
    moved = {**w, "L": w["L"] * scale, "R": w["R"] / scale}
    options = {"gains": s, "x0": w["x0"], "tau": 10.0}
    before = exact_reduction(w["L"], w["R"], w["B_x"], u, **options)
    after = exact_reduction(moved["L"], moved["R"], w["B_x"], u, **options)
    np.testing.assert_allclose(after.kappa, before.kappa / scale, rtol=0, atol=1e-13)
    for f in (reconstruct_states, lambda *a, x0: output_components(*a, w["C"], x0=x0).modes):
        a = f(before, w["L"], w["B_x"], x0=w["x0"])
        b = f(after, moved["L"], w["B_x"], x0=w["x0"])
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


def test_trials_may_share_inputs_gains_or_start(golden_run):
    w, u, s, _ = golden_run
    rng = np.random.default_rng(0)
    many = {
        "inputs": u * rng.uniform(size=(3, 1, 1)),
        "gains": rng.uniform(size=(3, 110, 2)),
        "x0": rng.normal(size=(3, 6)),
    }
    shared = {"inputs": u, "gains": s, "x0": w["x0"]}
    for name in many:
        given = {**shared, name: many[name]}
        together = exact_reduction(w["L"], w["R"], w["B_x"], tau=10.0, **given)
        x = reconstruct_states(together, w["L"], w["B_x"], x0=given["x0"])
        assert x.shape == (3, 110, 6)
        for i in range(3):
            single = {**shared, name: many[name][i]}
            alone = exact_reduction(w["L"], w["R"], w["B_x"], tau=10.0, **single)
            np.testing.assert_allclose(together.kappa[i], alone.kappa, rtol=0, atol=1e-14)
            expected = reconstruct_states(alone, w["L"], w["B_x"], x0=single["x0"])
            np.testing.assert_allclose(x[i], expected, rtol=0, atol=1e-14)


def test_a_network_without_input_channels():
    L = np.ones((4, 1)) / 2
    found = exact_reduction(
        L, L, np.zeros((4, 0)), np.zeros((5, 0)), x0=L[:, 0], tau=2.0, phi=lambda x: x
    )
    # All of x is along L, where the gain of 1 undoes the leak.
    x = reconstruct_states(found, L, np.zeros((4, 0)), x0=L[:, 0])
    np.testing.assert_allclose(x, np.full((5, 4), 0.5), rtol=1e-14)


@pytest.mark.parametrize("phi", [np.tanh, lambda x: np.tanh(x), jax.nn.tanh])
def test_numpy_arrays_stay_in_double_precision_whatever_phi(golden_run, phi):
    w, u, s, _ = golden_run
    y = outputs(w, u, s, phi=phi)
    np.testing.assert_allclose(y[STEPS, 0], PUBLISHED, rtol=0, atol=1e-12)


def test_jax_arrays_stay_in_jax_in_their_precision(golden_run):
    w, u, s, _ = golden_run
    single = {k: jnp.asarray(v, jnp.float32) for k, v in w.items()}
    y = outputs(single, u, s, phi=np.tanh)
    assert isinstance(y, jax.Array)
    assert y.dtype == jnp.float32
    np.testing.assert_allclose(y[np.array(STEPS), 0], PUBLISHED, rtol=0, atol=5e-7)
    traced = eqx.filter_jit(lambda w: outputs(w, u, s))(single)
    np.testing.assert_allclose(traced, y, rtol=0, atol=5e-7)


@pytest.mark.usefixtures("double_precision")
def test_derivatives_are_those_of_finite_differences(golden_run):
    w, u, s, _ = golden_run
    weights = {k: jnp.asarray(v) for k, v in w.items()}
    rng = np.random.default_rng(0)
    along = {k: jnp.asarray(rng.normal(size=v.shape)) for k, v in w.items()}

    @jax.jit
    def loss(weights, tau):
        reduction = exact_reduction(
            weights["L"], weights["R"], weights["B_x"], u, gains=s, x0=weights["x0"], tau=tau
        )
        y = output_components(
            reduction, weights["L"], weights["B_x"], weights["C"], x0=weights["x0"]
        ).total
        return jnp.mean((y + weights["d"]) ** 2)

    def moved(h):
        return loss(jax.tree.map(lambda a, b: a + h * b, weights, along), 10.0 + h)

    _, slope = jax.jvp(loss, (weights, 10.0), (along, 1.0))
    np.testing.assert_allclose(slope, (moved(1e-5) - moved(-1e-5)) / 2e-5, rtol=1e-7)
    reverse = jax.grad(loss, argnums=(0, 1))(weights, 10.0)
    total = reverse[1] + sum(np.vdot(reverse[0][k], along[k]) for k in weights)
    np.testing.assert_allclose(total, slope, rtol=1e-12)


def network(**changes):
    fields = {
        "L": np.ones((4, 2)), "R": np.ones((4, 2)), "B": np.ones((4, 3)),
        "inputs": np.ones((5, 3)), "x0": np.zeros(4), "tau": 10.0,
    }  # fmt: skip
    fields |= changes
    return exact_reduction(**fields)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"R": np.ones((4, 3))}, r"L and R must both be \(units, rank\)"),
        ({"L": np.ones((1, 2)), "R": np.ones((1, 2))}, "rank must not exceed"),
        ({"L": np.ones((4, 0)), "R": np.ones((4, 0))}, "not empty"),
        ({"B": np.ones((5, 3))}, r"B must be \(units, input\) with 4 units"),
        ({"inputs": np.ones((5, 2))}, r"3 channel\(s\) of B"),
        ({"inputs": np.ones(3)}, r"inputs must be \(time, input\)"),
        ({"inputs": np.ones((0, 3))}, "at least one step"),
        ({"inputs": np.full((5, 3), np.nan)}, r"inputs must be finite: 15 .* index \(0, 0\)"),
        ({"gains": np.ones(3)}, "one entry for each of 2 component"),
        ({"gains": np.ones((4, 2))}, "same number of steps"),
        ({"gains": np.ones((2, 5, 2)), "inputs": np.ones((3, 5, 3))}, "number of trials"),
        ({"gains": np.array([1, np.inf])}, "gains must be finite"),
        ({"x0": np.zeros(3)}, r"x0 must be \(units,\)"),
        ({"x0": 0.0}, r"x0 must be \(units,\)"),
        ({"tau": 0.0}, "tau must be a positive"),
        ({"dt": -1.0}, "dt must be a positive"),
        ({"dt": 20.0}, "not below 2 tau"),
        ({"rec_scale": "1/K"}, "rec_scale must be"),
        ({"rec_scale": np.inf}, "rec_scale must be"),
        ({"phi": np.sum}, "phi must act on every entry"),
        ({"L": np.ones((4, 2)) * 1j}, "L must hold real numbers"),
        ({"phi": "tanh"}, "phi must be a function, such as jax.numpy.tanh, got 'tanh'"),
        ({"phi": lambda x: np.tanh(x), "L": jnp.ones((4, 2))}, "phi cannot be traced.*jax.numpy"),
        ({"L": None}, "L is needed, got None"),
        ({"x0": None}, "x0 is needed"),
        ({"tau": None}, "tau is needed"),
        ({"inputs": np.ones((0, 5, 3))}, "at least one trial"),
        ({"x0": np.ones((0, 4))}, "at least one trial"),
        ({"gains": np.ones((0, 5, 2))}, "gains must not be empty"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        network(**change)


def test_a_network_that_leaves_the_finite_numbers_is_refused_with_the_step():
    # x doubles at every step from 1 on, so it passes 1.8e308 at step 1024.
    L = np.ones((1, 1))
    with pytest.raises(ValueError, match="leaves the finite numbers at step 1023"):
        exact_reduction(
            L, 3 * L, np.zeros((1, 0)), np.zeros((1100, 0)), x0=np.ones(1), tau=2.0,
            phi=lambda x: x,
        )  # fmt: skip


def test_what_is_no_reduction_is_refused():
    for given in (None, np.ones((5, 2))):
        with pytest.raises(ValueError, match="reduction must be a LowRankReduction"):
            reconstruct_states(given, np.ones((4, 2)), np.ones((4, 3)), x0=np.zeros(4))
        with pytest.raises(ValueError, match="reduction must be a LowRankReduction"):
            output_components(
                given, np.ones((4, 2)), np.ones((4, 3)), np.ones((1, 4)), x0=np.zeros(4)
            )


def test_a_reduction_of_another_network_is_refused():
    reduction, x0 = network(), np.zeros(4)
    for L, B, C, start, message in (
        (np.ones((4, 3)), np.ones((4, 3)), np.ones((1, 4)), x0, "L has 3 columns"),
        (np.ones((4, 2)), np.ones((4, 2)), np.ones((1, 4)), x0, "B 2"),
        (np.ones((5, 2)), np.ones((4, 3)), np.ones((1, 4)), x0, "L must be"),
        (np.ones((4, 2)), np.ones((4, 3)), np.ones((1, 5)), x0, "C must be"),
    ):
        with pytest.raises(ValueError, match=message):
            output_components(reduction, L, B, C, x0=start)
    with pytest.raises(ValueError, match="does not fit"):
        reconstruct_states(
            reduction._replace(kappa=np.ones((3, 5, 2))), np.ones((4, 2)), np.ones((4, 3)),
            x0=np.zeros((2, 4)),
        )  # fmt: skip
    with pytest.raises(ValueError, match="same steps"):
        reconstruct_states(
            reduction._replace(leak=np.ones(3)), np.ones((4, 2)), np.ones((4, 3)), x0=x0
        )
