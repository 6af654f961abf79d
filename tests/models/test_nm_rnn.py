"""The NM-RNN against its published recursion, its symmetries and its spectra."""

import dataclasses
import itertools

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
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
    golden_targets,
    golden_weights,
    sines,
)

from neurosim import simulate
from neurosim.models import LSTM, NMRNN, LowRankRNN, clamp_gains

pytestmark = pytest.mark.usefixtures("double_precision")


def identity(x):
    return x


def outputs(model, **options):
    return np.asarray(simulate(model, golden_inputs(), dt=1.0, **options).outputs)[:, 0]


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def low_rank(rec_scale):
    w = golden_weights()
    arrays = [jnp.asarray(w[k]) for k in ("L", "R", "B_x", "C", "d")]
    return LowRankRNN(*arrays, x0=jnp.asarray(w["x0"]), tau=10.0, rec_scale=rec_scale)


def test_published_step_has_the_golden_trajectory_in_both_precisions():
    np.testing.assert_allclose(outputs(golden())[STEPS], PUBLISHED, rtol=0, atol=1e-12)
    with jax.enable_x64(False):
        y = outputs(golden())
        assert y.dtype == np.float32
        np.testing.assert_allclose(y[STEPS], PUBLISHED, rtol=0, atol=2e-7)


def test_lagged_update_is_explicit_euler():
    lagged = outputs(golden(update="lagged"))
    np.testing.assert_allclose(lagged[STEPS], LAGGED, rtol=0, atol=1e-12)
    euler = outputs(golden(), solver=diffrax.Euler())
    np.testing.assert_allclose(lagged, euler, rtol=0, atol=2e-15)
    assert np.max(np.abs(euler - outputs(golden()))) == pytest.approx(3.1e-3, rel=0.02)
    with jax.enable_x64(False):
        np.testing.assert_allclose(
            outputs(golden(update="lagged"))[STEPS], LAGGED, rtol=0, atol=2e-7
        )


def test_vector_field_has_the_exact_trajectory():
    y = outputs(golden(), solver=diffrax.Tsit5(), substeps=8)
    np.testing.assert_allclose(y[STEPS], EXACT_ODE, rtol=0, atol=1e-10)


def test_gains_of_one_give_the_low_rank_network_and_gains_of_zero_the_leak():
    one = outputs(golden(b_z=np.full(2, 60.0)))
    np.testing.assert_allclose(one[STEPS], GAINS_ONE, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one, outputs(low_rank("unit")), rtol=0, atol=1e-12)
    np.testing.assert_allclose(outputs(low_rank("1/N"))[STEPS], LOW_RANK_OVER_N, rtol=0, atol=1e-12)
    np.testing.assert_allclose(outputs(low_rank("1/N")), outputs(low_rank(1 / 6)), atol=1e-14)

    zero = outputs(golden(b_z=np.full(2, -60.0)))
    np.testing.assert_allclose(zero[STEPS], GAINS_ZERO, rtol=0, atol=1e-12)
    w, u = golden_weights(), golden_inputs()
    t = np.arange(110)
    kernel = np.where(t[:, None] >= t, 0.1 * 0.9 ** (t[:, None] - t), 0.0)
    x = 0.9 ** (t[:, None] + 1) * 0.1 + kernel @ u @ w["B_x"].T
    np.testing.assert_allclose(zero, x @ w["C"][0] + 0.1, rtol=0, atol=1e-12)


def test_gains_and_neuromodulatory_state_have_their_golden_values():
    model = golden()
    z = simulate(model, golden_inputs(), dt=1.0).states.z
    s = jax.vmap(model.gains)(z)
    np.testing.assert_allclose(s[0], [0.5244323, 0.39237639], atol=5e-9)
    np.testing.assert_allclose(s[44], [0.51666588, 0.41284248], atol=5e-9)
    np.testing.assert_allclose(z[109], [0.02762311, -0.00401439, 0.07048315], atol=5e-9)


def test_loss_and_gradients_have_their_golden_values():
    u, target = jnp.asarray(golden_inputs()), jnp.asarray(golden_targets())

    def loss(model):
        return jnp.mean((simulate(model, u, dt=1.0).outputs[:, 0] - target) ** 2)

    def by_hand(w):  # a second way to the gradient: the recursion written out
        def step(carry, v):
            x, z = carry
            z = 0.99 * z + 0.01 * (w["W_z"] @ jnp.tanh(z) + w["B_z"] @ v)
            s = jax.nn.sigmoid(w["A_z"] @ z + w["b_z"])
            x = 0.9 * x + 0.1 * (w["L"] @ (s * (w["R"].T @ jnp.tanh(x))) + w["B_x"] @ v)
            return (x, z), w["C"] @ x + w["d"]

        _, y = jax.lax.scan(step, (w["x0"], w["z0"]), u)
        return jnp.mean((y[:, 0] - target) ** 2)

    weights = {k: jnp.asarray(v) for k, v in golden_weights().items() if v is not None}
    value, gradient = jax.value_and_grad(loss, allow_int=True)(as_arrays(golden()))
    expected, reference = jax.value_and_grad(by_hand)(weights)
    assert float(value) == pytest.approx(0.4292948945177905, abs=1e-12)
    assert float(value) == pytest.approx(float(expected), abs=1e-14)
    norms = {
        "L": 0.12251417, "R": 0.10452789, "B_x": 0.26179030, "C": 0.50507691, "d": 0.01653727,
        "W_z": 0.00319378, "B_z": 0.00797173, "A_z": 0.00736068, "b_z": 0.03848625,
    }  # fmt: skip
    for name, norm in norms.items():
        assert float(jnp.linalg.norm(getattr(gradient, name))) == pytest.approx(norm, abs=5e-9)
    for name in weights:
        np.testing.assert_allclose(
            getattr(gradient, name), reference[name], rtol=0, atol=1e-14, err_msg=name
        )


def as_arrays(model):
    """The model with its time constants as arrays, so that they have gradients too."""
    return dataclasses.replace(model, tau_x=jnp.array(10.0), tau_z=jnp.array(100.0))


def test_orthonormal_left_factor_has_both_published_sign_conventions():
    positive = [0.09014681662, 1.59624010845, -0.00307569806, -1.60986705097, 0.10034809850]
    lapack = [0.08571284766, 1.55903956302, 0.31355264734, -1.64354291309, -0.11775012413]
    y = outputs(golden(orthonormal_left="positive"))
    np.testing.assert_allclose(y[STEPS], positive, rtol=0, atol=5e-12)
    y = outputs(golden(orthonormal_left="lapack"))
    np.testing.assert_allclose(y[STEPS], lapack, rtol=0, atol=5e-12)
    model = golden(orthonormal_left="positive")
    state, v = model.initial_state(), jnp.ones(3)
    for a, b in zip(
        model.vector_field(0.0, state, v), model.prepared().vector_field(0.0, state, v)
    ):
        np.testing.assert_array_equal(a, b)
    assert golden().prepared().L is not None


def eft_recursion(m, u):
    """The element finder network as its authors wrote it: feedback, 1/N, no offset."""
    names = ("L", "R", "B_x", "C", "W_z", "B_z", "A_z", "b_z", "B_zx", "b_zx", "x0", "z0")
    w = {name: np.asarray(getattr(m, name)) for name in names}
    x, z, ys = w["x0"], w["z0"], []
    for v in u:
        drive = w["W_z"] @ np.tanh(z) + w["B_z"] @ v + w["B_zx"] @ np.tanh(x) + w["b_zx"]
        z = (1 - 1 / 10) * z + drive / 10
        s = sigmoid(w["A_z"] @ z + w["b_z"])
        recurrent = w["L"] @ np.diag(s) @ w["R"].T @ np.tanh(x) / len(x)
        x = (1 - 1 / 2) * x + (recurrent + w["B_x"] @ v) / 2
        ys.append(w["C"] @ x)
    return np.array(ys)


def test_element_finder_scheme_follows_the_published_recursion():
    model = NMRNN.init(18, 8, 5, 1, 1, scheme="eft", key=jax.random.key(0))
    assert model.d is None
    u = np.random.default_rng(0).integers(-10, 11, size=(26, 1)).astype(float)
    y = simulate(model, u, dt=1.0).outputs
    np.testing.assert_allclose(y, eft_recursion(model, u), rtol=0, atol=1e-12)


def test_context_channels_reach_the_neuromodulatory_network_alone():
    model = NMRNN.init(6, 2, 3, 2, 1, n_context=2, tau_x=10.0, tau_z=100.0, key=jax.random.key(1))
    assert model.n_inputs == 4
    assert model.B_x.shape == (6, 2)
    state = model.initial_state()
    base = model.vector_field(0.0, state, jnp.zeros(4))
    moved = model.vector_field(0.0, state, jnp.array([0, 0, 1.0, 0]))
    np.testing.assert_array_equal(base.x, moved.x)
    np.testing.assert_allclose(moved.z - base.z, model.B_z[:, 2] / 100, rtol=1e-12)


def test_a_single_gain_scales_all_components():
    one = golden(A_z=sines(1, 3, 0.8, 1.4, 1.5), b_z=np.array([0.2]))
    both = golden(A_z=np.repeat(sines(1, 3, 0.8, 1.4, 1.5), 2, axis=0), b_z=np.full(2, 0.2))
    np.testing.assert_allclose(outputs(one), outputs(both), rtol=0, atol=1e-14)
    assert NMRNN.init(6, 3, 2, 1, 1, n_gains=1, key=jax.random.key(0)).A_z.shape == (1, 2)


def test_clamped_gains_hold_their_value_and_the_rest_stay_free():
    model = golden()
    clamped = clamp_gains(model, {0: 0.0})
    z = jnp.array([0.3, -0.2, 0.1])
    np.testing.assert_allclose(clamped.gains(z), [0.0, model.gains(z)[1]], rtol=1e-15)
    # Without its gain a component is as good as gone.
    without = golden(L=golden_weights()["L"] * [0, 1])
    np.testing.assert_allclose(outputs(clamped), outputs(without), rtol=0, atol=1e-14)
    both = clamp_gains(clamped, {1: 1.0})
    np.testing.assert_array_equal(both.gains(z), [0.0, 1.0])
    for index in (2, -1):
        with pytest.raises(ValueError, match="out of range"):
            clamp_gains(model, {index: 0.0})
    for values, message in (
        ({0: "mean"}, "'initial', got 'mean'"),
        ({0: np.nan}, "gain 0 must be held at a finite value"),
        ({True: 0.5}, "whole numbers, got True"),
        ({0.0: 0.5}, "whole numbers, got 0.0"),
    ):
        with pytest.raises(ValueError, match=message):
            clamp_gains(model, values)


def test_a_gain_held_at_its_initial_value_is_the_gain_of_the_initial_state():
    model = golden()
    clamped = clamp_gains(model, {1: "initial"})
    # sigmoid(A_z z0 + b_z) of the golden weights, second row.
    w = golden_weights()
    expected = sigmoid(w["A_z"][1].sum() * 0.1 + w["b_z"][1])
    elsewhere = jnp.array([3.0, -2.0, 1.0])
    np.testing.assert_allclose(clamped.gains(elsewhere)[1], expected, rtol=1e-6)
    np.testing.assert_allclose(clamped.gains(elsewhere)[0], model.gains(elsewhere)[0])


def test_dynamics_live_in_the_span_of_components_inputs_and_start():
    """x_t = L k_t + B_x v_t + (1 - a)^t x_0, exactly and for any gain."""
    model, u = golden(), golden_inputs()
    w = golden_weights()
    x, z = simulate(model, u, dt=1.0).states
    s = np.asarray(jax.vmap(model.gains)(z))
    k, v, reduced = np.zeros(2), np.zeros(3), []
    for t in range(110):
        before = w["L"] @ k + w["B_x"] @ v + 0.9**t * w["x0"]
        k = 0.9 * k + 0.1 * s[t] * (w["R"].T @ np.tanh(before))
        v = 0.9 * v + 0.1 * u[t]
        reduced.append(w["L"] @ k + w["B_x"] @ v + 0.9 ** (t + 1) * w["x0"])
    np.testing.assert_allclose(x, reduced, rtol=0, atol=2e-15)
    wide = NMRNN.init(12, 2, 3, 3, 1, tau_x=10.0, tau_z=100.0, key=jax.random.key(0))
    x = simulate(wide, u, dt=1.0).states.x
    assert np.linalg.matrix_rank(np.asarray(x), tol=1e-9) <= 2 + 3 + 1


def test_spectra_have_their_golden_values_and_split_without_feedback():
    model, u = golden(), jnp.asarray(golden_inputs())
    states = simulate(model, u, dt=1.0).states
    state = jax.tree.map(lambda a: a[44], states)
    joint = jax.jacobian(lambda y: model.vector_field(44.0, y, u[44]))(state)
    at_x = np.linalg.eigvals(joint.x.x)
    known = [-0.1] * 4 + [-0.12477773733 + 0.04378885106j, -0.12477773733 - 0.04378885106j]
    np.testing.assert_allclose(np.sort_complex(at_x), np.sort_complex(known), atol=1e-10)
    overlap = np.asarray(model.R.T @ model.L)
    np.testing.assert_allclose(
        overlap, [[-0.54723063, -0.85550003], [2.09386611, -1.45476572]], atol=5e-9
    )
    modes = np.linalg.eigvals(np.diag(model.gains(state.z)) @ overlap)
    known = [-0.44166224 - 0.59735249j, -0.44166224 + 0.59735249j]
    np.testing.assert_allclose(np.sort_complex(modes), known, atol=5e-9)
    # (-1 + eig(S R^T D L)) / tau_x for the two that are not the leak
    slope = np.diag(1 - np.tanh(np.asarray(state.x)) ** 2)
    small = np.diag(model.gains(state.z)) @ model.R.T @ slope @ model.L
    moved = np.sort_complex((-1 + np.linalg.eigvals(small)) / 10)
    np.testing.assert_allclose(moved, np.sort_complex(at_x)[:2], atol=1e-12)
    slope_z = np.diag(1 - np.tanh(np.asarray(state.z)) ** 2)
    np.testing.assert_allclose(
        joint.z.z, (-np.eye(3) + golden_weights()["W_z"] @ slope_z) / 100, atol=1e-15
    )
    assert not np.any(joint.z.x)


def test_scalings_and_flips_of_a_component_change_nothing_and_mixing_does():
    w = golden_weights()
    reference = outputs(golden())
    scale = np.array([2.5, -1.0])
    same = outputs(golden(L=w["L"] * scale, R=w["R"] / scale))
    np.testing.assert_allclose(same, reference, rtol=0, atol=1e-13)
    swapped = {k: w[k][:, ::-1] for k in "LR"} | {k: w[k][::-1] for k in ("A_z", "b_z")}
    np.testing.assert_allclose(outputs(golden(**swapped)), reference, rtol=0, atol=1e-13)

    mix = np.array([[1.0, 0.7], [-0.4, 1.2]])
    mixed = {"L": w["L"] @ np.linalg.inv(mix).T, "R": w["R"] @ mix}
    assert np.max(np.abs(outputs(golden(**mixed)) - reference)) > 1e-3
    common = {"A_z": np.zeros((1, 3)), "b_z": np.array([0.4])}
    np.testing.assert_allclose(
        outputs(golden(**common, **mixed)), outputs(golden(**common)), rtol=0, atol=1e-13
    )


def gated_network(rng, n=5):
    """A linear NM-RNN with one step of memory in z, whose gains act as forget gates."""
    frame, _ = np.linalg.qr(rng.normal(size=(n, n)))
    w = {"B_x": rng.normal(size=(n, 2)) / 2, "B_z": rng.normal(size=(n, 2))}
    w |= {"A_z": rng.normal(size=(n, n)), "b_z": rng.normal(size=n)}
    w |= {"B_zx": rng.normal(size=(n, n)) / 2}
    model = NMRNN(
        L=jnp.asarray(frame), R=jnp.asarray(frame), B_x=jnp.asarray(w["B_x"]), C=jnp.eye(n), d=None,
        W_z=jnp.zeros((n, n)), B_z=jnp.asarray(w["B_z"]), A_z=jnp.asarray(w["A_z"]),
        b_z=jnp.asarray(w["b_z"]), B_zx=jnp.asarray(w["B_zx"]), b_zx=jnp.zeros(n), x0=jnp.zeros(n),
        z0=jnp.zeros(n), tau_x=1.0, tau_z=1.0, phi=identity,
    )  # fmt: skip
    return model, frame, w


def test_gains_are_the_forget_gates_of_an_lstm():
    rng = np.random.default_rng(2)
    model, frame, w = gated_network(rng)
    u = rng.normal(size=(40, 2))
    mode = np.asarray(simulate(model, u, dt=1.0).states.x) @ frame

    # Exactly, with identity activations and open input and output gates.
    c, cells = np.zeros(5), []
    forget = w["A_z"] @ np.concatenate([w["B_zx"] @ frame, w["B_z"]], axis=1)
    for v in u:
        c = sigmoid(forget @ np.append(c, v) + w["b_z"]) * c + frame.T @ w["B_x"] @ v
        cells.append(c)
    np.testing.assert_allclose(mode, cells, rtol=0, atol=2e-14)

    # To second order in the size of its cells, with the ordinary tanh.
    errors = []
    for size in (0.05, 0.025, 0.0125):
        W_in, W_rec, b = np.zeros((20, 2)), np.zeros((20, 5)), np.zeros(20)
        b[:5] = b[15:] = 60.0
        W_rec[5:10], W_in[5:10] = forget[:, :5] / size, forget[:, 5:]
        b[5:10] = w["b_z"]
        W_in[10:15] = size * frame.T @ w["B_x"]
        arrays = [jnp.asarray(a) for a in (W_in, W_rec, b, np.eye(5))]
        lstm = LSTM(*arrays, h0=jnp.zeros(5), c0=jnp.zeros(5))
        errors.append(np.max(np.abs(simulate(lstm, u, dt=1.0).states.c / size - mode)))
    assert errors[-1] < 0.01
    for coarse, fine in itertools.pairwise(errors):
        assert 3.5 < coarse / fine < 4.5

    # With a step shorter than tau the gate is confined to (1 - a, 1).
    start = model.initial_state()._replace(x=jnp.ones(5))
    x = simulate(model, np.zeros((1, 2)), dt=0.25, initial_state=start).states.x
    free = np.asarray(x)[0] @ frame
    gate = free / (np.ones(5) @ frame)
    z = 0.25 * w["B_zx"] @ np.ones(5)
    np.testing.assert_allclose(gate, 0.75 + 0.25 * sigmoid(w["A_z"] @ z + w["b_z"]), rtol=1e-12)


def test_initialisations_have_the_published_variances():
    """Sample variances of n entries scatter by sqrt(2 / n) of themselves; four of these allowed."""
    sizes = {"n_units": 400, "rank": 80, "n_nm": 20, "n_in": 4, "n_context": 2, "n_out": 300}
    mwg = NMRNN.init(**sizes, key=jax.random.key(0))
    published = {"L": 1.0, "R": 1.0, "B_x": 1 / 6, "B_z": 1 / 6, "C": 1 / 400, "d": 1 / 400}
    check_variances(mwg, published | {"W_z": 0.01, "A_z": 0.01, "b_z": 0.01})
    assert (mwg.tau_x, mwg.tau_z, mwg.rec_scale) == (100.0, 1000.0, "unit")
    assert mwg.orthonormal_left == "positive"
    assert mwg.B_zx is None
    assert np.all(mwg.x0 == jnp.float64(0.1))
    assert np.all(mwg.z0 == jnp.float64(0.1))
    eft = NMRNN.init(**sizes, scheme="eft", key=jax.random.key(0))
    published = {"L": 1 / 80, "R": 1 / 80, "B_x": 1 / 6, "B_z": 1 / 6, "C": 1 / 400}
    published |= {"W_z": 1 / 20, "A_z": 1 / 20, "b_z": 1 / 80, "B_zx": 1 / 400, "b_zx": 1 / 20}
    check_variances(eft, published | {"x0": 1 / 400, "z0": 1 / 20})
    assert (eft.tau_x, eft.tau_z, eft.rec_scale) == (2.0, 10.0, "1/N")
    assert eft.orthonormal_left is None
    assert eft.d is None


def check_variances(model, published):
    for name, variance in published.items():
        values = np.asarray(getattr(model, name))
        tolerance = 4 * np.sqrt(2 / values.size)
        assert np.mean(values**2) == pytest.approx(variance, rel=tolerance), name


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau_x": 0.0}, "tau_x must be positive"),
        ({"tau_z": -1.0}, "tau_z must be positive"),
        ({"rec_scale": "1/K"}, "rec_scale"),
        ({"rec_scale": np.nan}, "rec_scale"),
        ({"update": "implicit"}, "update"),
        ({"orthonormal_left": "negative"}, "orthonormal_left"),
        ({"b_zx": np.zeros(3)}, "both B_zx and b_zx"),
        ({"A_z": np.zeros((3, 3)), "b_z": np.zeros(3)}, "3 gains; one per component"),
        ({"B_z": np.zeros((3, 2))}, "every channel of x"),
        ({"L": np.ones((6, 2)), "orthonormal_left": "positive"}, "dependent columns"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(change, message):
    # `update` and `orthonormal_left` are checked by the type checker of the test run as well.
    with pytest.raises((ValueError, TypeError), match=message):
        golden(**change)


@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ((4, 5, 2, 1, 1), {}, "rank must not exceed"),
        ((4, 0, 2, 1, 1), {}, "rank must be a whole number"),
        ((4, 2, 0, 1, 1), {}, "n_nm must be a whole number"),
        ((4, 2, 2, 0, 1), {}, "n_in must be a whole number"),
        ((4, 3, 2, 1, 1), {"n_gains": 2}, "2 gains"),
        ((4, 2, 2, 1, 1), {"n_context": -1}, "n_context"),
        ((4, 2, 2, 1, 1), {"scheme": "other"}, "scheme"),
        ((4, 2, 2, 1, 1), {"tau_x": 0.0}, "tau_x must be positive"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NMRNN.init(*sizes, key=jax.random.key(0), **options)


def test_steps_too_long_for_the_leak_are_refused():
    for model, name in ((golden(tau_x=0.5), "tau_x"), (as_short(golden()), "tau_z")):
        with pytest.raises(ValueError, match=rf"dt = 1.0 is not below 2 {name}"):
            simulate(model, golden_inputs(), dt=1.0)
        with pytest.raises(ValueError, match=rf"not below 2 {name}"):
            model.step(0.0, model.initial_state(), jnp.zeros(3), 1.0)


def as_short(model):
    return dataclasses.replace(model, tau_z=jnp.array(0.4))
