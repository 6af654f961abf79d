"""ORGaNICs: rest points, spectra and trajectories against values worked out by hand."""

import warnings
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.organics import ORGaNICs, ORGaNICsState
from neurosim.training import parameter_count

pytestmark = pytest.mark.usefixtures("double_precision")

ONE: dict[str, Any] = {"W": 1.0, "b": 0.5, "b0": 0.5, "sigma": 0.1, "tau_y": 0.002, "tau_a": 0.002}
ADAPTIVE = {
    "solver": diffrax.Tsit5(),
    "stepsize_controller": diffrax.PIDController(rtol=1e-9, atol=1e-12),
}


def untested(**parameters):
    """A circuit outside the region of stability that was tested, and says so."""
    with pytest.warns(UserWarning, match="need"):
        return ORGaNICs.from_parameters(**parameters)


@eqx.filter_jit
def jacobian(model, state):
    return model.jacobian(state)


def spectrum(model, state):
    eigenvalues = np.linalg.eigvals(np.asarray(jacobian(model, ORGaNICsState(*state[:2]))))
    return eigenvalues[np.lexsort([eigenvalues.imag, eigenvalues.real])]


def at(y, a):
    return ORGaNICsState(jnp.array([y]), jnp.array([a]))


def test_one_unit_rests_where_the_normalization_equation_says():
    model = ORGaNICs.from_parameters(**ONE)
    point = model.fixed_point([1.0])
    np.testing.assert_allclose(point.a, [0.2525], rtol=1e-12)
    np.testing.assert_allclose(point.y, [0.9950371902], rtol=1e-9)
    assert point.converged
    assert point.stable
    assert point.residual < 1e-14
    expected = [[-251.246890528, -495.049504950], [251.246890528, -4.950495050]]
    np.testing.assert_allclose(jacobian(model, point), expected, rtol=1e-9)
    pair = np.array([-128.0986927888 - 330.4756725836j, -128.0986927888 + 330.4756725836j])
    np.testing.assert_allclose(spectrum(model, point), pair, rtol=1e-9)
    slow = ORGaNICs.from_parameters(**{**ONE, "tau_y": 0.01})
    pair = np.array([-27.5999365776 - 156.0862984176j, -27.5999365776 + 156.0862984176j])
    np.testing.assert_allclose(spectrum(slow, point), pair, rtol=1e-9)


def test_the_jacobian_is_that_of_the_vector_field():
    model = ORGaNICs.from_parameters(
        W=[[1, 0.5], [0.25, 2]], W_r=[[0.3, -0.5], [0.2, 0.4]], b=[0.6, 0.8], b0=[0.5, 0.7],
        sigma=[0.2, 0.3], tau_y=[0.002, 0.004], tau_a=[0.005, 0.001], rectify="outer",
    )  # fmt: skip
    state = ORGaNICsState(jnp.array([0.4, -0.3]), jnp.array([0.3, 0.2]))

    def field(v):
        return jnp.concatenate(model.vector_field(0.0, ORGaNICsState(v[:2], v[2:]), jnp.ones(2)))

    expected = jax.jit(jax.jacfwd(field))(jnp.concatenate(state))
    np.testing.assert_allclose(jacobian(model, state), expected, rtol=1e-10, atol=1e-10)


# (w_r, b0, sigma), the stable rest point for z = 1, and its eigenvalues.
PORTRAITS = [
    ((0.5, 0.5, 0.1), (0.897970691393, 0.012909979815), -187.614920863, 56.652296139),
    ((2.0, 0.5, 0.1), (0.997778605094, 0.563335187470), -126.387756365, 598.493912916),
    ((2.0, 1.0, 1.0), (0.416647517576, 1.210060667869), None, None),
]


@pytest.mark.parametrize(("parameters", "point", "real", "imaginary"), PORTRAITS)
def test_one_unit_with_any_positive_recurrence(parameters, point, real, imaginary):
    w_r, b0, sigma = parameters
    make = untested if w_r > 1 else ORGaNICs.from_parameters
    model = make(**{**ONE, "W_r": [[w_r]], "b0": b0, "sigma": sigma})
    found = model.fixed_point([[1.0], [-1.0]])  # -z turns y, and a not
    np.testing.assert_allclose(found.y, [[point[0]], [-point[0]]], rtol=1e-9)
    np.testing.assert_allclose(found.a, [[point[1]]] * 2, rtol=1e-9)
    assert found.converged.all()
    assert found.stable.all()
    if real is not None:
        pair = np.array([complex(real, -imaginary), complex(real, imaginary)])
        np.testing.assert_allclose(spectrum(model, at(*point)), pair, rtol=1e-8)


def test_the_other_rest_points_of_strong_recurrence_and_their_types():
    model = untested(**{**ONE, "W_r": [[2.0]]})
    spiral, saddle = (-0.978885554152, 0.059832843494), (-0.569235330689, 0.003698382754)
    for y, a in (spiral, saddle):
        field = model.vector_field(0.0, at(y, a), jnp.ones(1))
        np.testing.assert_allclose(np.concatenate(field) * 0.002, 0, atol=1e-10)
    pair = np.array([117.250467276 - 313.225676967j, 117.250467276 + 313.225676967j])
    np.testing.assert_allclose(spectrum(model, at(*spiral)), pair, rtol=1e-8)
    expected = [-325.093953582, 426.294054265]
    np.testing.assert_allclose(spectrum(model, at(*saddle)), expected, rtol=1e-8)


def test_a_rest_point_that_nothing_would_stay_at_is_not_called_stable():
    model = untested(**{**ONE, "W_r": [[2.0]]})
    # Without input y = 0 grows at the rate (2 (1 - b0 sigma) - 1) / tau_y.
    point = model.fixed_point([[0.0], [1.0]])
    np.testing.assert_array_equal(point.y[0], 0)
    assert point.converged.all()
    np.testing.assert_array_equal(point.stable, [False, True])
    assert spectrum(model, at(0.0, 0.0025))[-1] == pytest.approx(450)


def test_input_weights_and_readout():
    model = ORGaNICs.from_parameters(**ONE, W_zx=[[0.5, 0.25]], C=[[2.0], [-1.0]], d=[0.0, 0.5])
    np.testing.assert_allclose(model.drive(jnp.array([1.0, 2.0])), [1.0])
    point = model.fixed_point([1.0, 2.0])
    np.testing.assert_allclose(point.y, [0.9950371902], rtol=1e-9)
    np.testing.assert_allclose(model.readout(point), [1.9900743804, -0.4950371902], rtol=1e-9)


def test_a_slow_principal_neuron_makes_two_attractors():
    model = untested(**{**ONE, "W_r": [[2.0]], "tau_y": 0.04})
    points = np.array([[-0.978885554152, 0.059832843494], [0.997778605094, 0.563335187470]])
    for (y, a), (real, imaginary) in zip(points, ((-4.0610, 74.6754), (-7.3734, 136.5799))):
        pair = np.array([complex(real, -imaginary), complex(real, imaginary)])
        np.testing.assert_allclose(spectrum(model, at(y, a)), pair, rtol=0, atol=1e-4)
    starts = ORGaNICsState(jnp.array([[-1.0], [0.0]]), jnp.array([[0.06], [0.01]]))
    ends = simulate(
        model, np.ones((2, 1, 1)), dt=8.0, initial_state=starts, save="final", max_steps=60_000,
        **ADAPTIVE,
    ).states  # fmt: skip
    np.testing.assert_allclose(np.concatenate([ends.y[:, 0], ends.a[:, 0]], 1), points, atol=1e-8)


def test_three_units_with_a_general_recurrent_matrix():
    W_r = np.array([[0, 1, 0.5], [-0.5, 0.3, 1], [0.2, -0.4, 0.1]]) / 1.4669874523
    W = [[1, 0.2, 0.1], [0.3, 1, 0.4], [0.5, 0.6, 1]]
    model = ORGaNICs.from_parameters(
        W=W, W_r=W_r, b=[0.9, 0.5, 0.7], b0=[0.4, 0.6, 0.8], sigma=[0.3, 0.5, 0.2]
    )
    point = model.fixed_point([0.6, -0.64, 0.48])
    np.testing.assert_allclose(point.y, [0.5279265701, -0.2582516197, 0.4747166992], rtol=1e-9)
    np.testing.assert_allclose(point.a, [0.0231902587, 0.1026156855, 0.0425200986], rtol=2e-9)
    assert point.converged
    assert point.stable
    assert point.residual < 1e-10
    found = spectrum(model, point)
    np.testing.assert_allclose(found[0], -512.5793523712 - 235.0506179849j, rtol=1e-8)
    np.testing.assert_allclose(found[-1], -350.4988221979 + 50.69396115j, rtol=1e-8)


def test_a_circuit_without_a_stable_rest_point_is_not_said_to_have_one():
    model = ORGaNICs.from_parameters(**{**ONE, "W_r": [[-1.0]], "b": 1.0, "b0": 1.0, "sigma": 1.0})
    signs = np.array([[1.0], [-1.0]])
    point = model.fixed_point(signs)
    assert not point.stable.any()
    for sign, y in zip(signs[point.converged], point.y[point.converged]):
        np.testing.assert_allclose(y, -0.9450268191 * sign, rtol=1e-8)
    saddle = at(-0.9450268191, 9.3524100320)
    field = np.concatenate(model.vector_field(0.0, saddle, jnp.ones(1)))
    np.testing.assert_allclose(field * 0.002, 0, atol=1e-9)
    expected = np.array([-1.2766722690, 2.2279189919]) / 0.002
    np.testing.assert_allclose(spectrum(model, saddle), expected, rtol=1e-8)
    # Below b0 sigma = .4501964644 there is a stable one.
    for sigma, stable in ((0.4501, True), (0.4503, False)):
        below = eqx.tree_at(lambda m: m.log_sigma, model, jnp.log(jnp.array([sigma])))
        assert np.all(below.fixed_point(signs).stable == stable)


def test_the_rectified_circuit_leaves_negative_drive_alone():
    model = untested(**{**ONE, "W_r": [[2.0]], "rectify": "inner"})
    point = model.fixed_point([-1.0])
    np.testing.assert_allclose([point.y, point.a], [[-0.5], [0.0025]], rtol=1e-9)
    assert point.stable
    np.testing.assert_allclose(spectrum(model, point), [-500, -500], rtol=1e-9)
    # Two more, unstable, where those of the other circuit are for the other sign.
    for y, a in ((0.978885554152, 0.059832843494), (0.569235330689, 0.003698382754)):
        field = np.concatenate(model.vector_field(0.0, at(y, a), -jnp.ones(1)))
        np.testing.assert_allclose(field * 0.002, 0, atol=1e-10)
        assert spectrum(model, at(y, a)).real.max() > 0
    many = ORGaNICs.from_parameters(
        W=np.ones((4, 4)), b=0.5, b0=0.4, sigma=0.1, tau_y=0.001, tau_a=0.002, rectify="inner"
    )
    point = many.fixed_point([0.8, -0.6, 0.3, -0.2])
    np.testing.assert_allclose(point.a, np.full(4, 0.1841), rtol=1e-12)
    np.testing.assert_allclose(point.y, [0.9322515134, -0.3, 0.3495943175, -0.1], rtol=1e-9)
    assert point.stable


def test_an_adaptive_run_ends_on_the_closed_form():
    model = ORGaNICs.from_parameters(
        W=[[1, 0.5], [0.25, 2]], b=[0.6, 0.8], b0=[0.5, 0.7], sigma=[0.2, 0.3],
        tau_y=[0.002, 0.004], tau_a=[0.005, 0.001],
    )  # fmt: skip
    end = simulate(model, [[1.0, -0.5]], dt=0.3, save="final", **ADAPTIVE).states
    np.testing.assert_allclose(end.y[0], [0.894427190999916, -0.593586807798849], atol=1e-8)
    np.testing.assert_allclose(end.a[0], [0.45, 0.4541], atol=1e-8)
    point = model.fixed_point([1.0, -0.5])
    np.testing.assert_allclose(end.y[0], point.y, rtol=0, atol=1e-8)
    np.testing.assert_allclose(end.a[0], point.a, rtol=0, atol=1e-8)


def test_activity_is_held_when_the_input_and_its_gains_go():
    model = ORGaNICs.from_parameters(**ONE)
    # b0 and b of zero are outside what the parameters can say, but for infinite logarithms.
    silent = eqx.tree_at(lambda m: (m.log_b, m.log_b0), model, (jnp.array([-jnp.inf]),) * 2)
    fine = {**ADAPTIVE, "stepsize_controller": diffrax.PIDController(rtol=1e-10, atol=1e-20)}
    states = simulate(
        silent, np.zeros((10, 1)), dt=0.01, initial_state=at(0.9950371902, 0.2525), **fine
    ).states
    y, a = states.y[:, 0], states.a[:, 0]
    kept = y**2 / 2 - np.log(np.abs(y)) + 2 * np.sqrt(a)
    np.testing.assert_allclose(kept, 1.50501223249, rtol=0, atol=1e-8)
    assert a[-1] < 1e-12
    np.testing.assert_allclose(y[-1], 0.22785320599, rtol=0, atol=1e-8)
    # With a at its baseline .0025, activity falls to 1/e within tau_y / sqrt(a) = 40 ms.
    decay = eqx.tree_at(lambda m: m.root_W, model, jnp.zeros((1, 1)))
    states = simulate(decay, np.zeros((10, 1)), dt=0.01, initial_state=at(0.7, 0.0025), **fine)
    np.testing.assert_allclose(states.states.y[3], [0.7 / np.e], rtol=1e-8)


def test_normalization_stays_positive_and_responses_bounded():
    rng = np.random.default_rng(0)
    n, trials = 4, 30
    W, b = rng.uniform(size=(n, n)), rng.uniform(0.1, 1, n)
    b0, sigma = rng.uniform(0.2, 1, n), rng.uniform(0.1, 1, n)
    model = ORGaNICs.from_parameters(W=W, b=b, b0=b0, sigma=sigma)
    floor = (b0 * sigma) ** 2
    y, a = rng.normal(size=(trials, n)), floor + rng.exponential(size=(trials, n))
    z = rng.normal(size=(trials, 1, n))
    start = ORGaNICsState(jnp.asarray(y), jnp.asarray(a))
    # Euler with dt not above tau_a keeps a positive; at this step it keeps the bound of the flow.
    states = simulate(model, np.repeat(z, 400, 1), dt=5e-5, initial_state=start).states
    assert states.a.min() > 0
    bound = np.maximum(np.abs(y), b * np.abs(z[:, 0]) / (b0 * sigma))
    assert np.all(np.abs(states.y) <= bound[:, None] + 1e-12)


def test_derivatives_are_finite_where_no_neuron_normalizes():
    model = eqx.tree_at(lambda m: m.a0, ORGaNICs.init(3, 2, 2, key=jax.random.key(0)),
                        jnp.zeros(3), is_leaf=lambda v: v is None)  # fmt: skip
    trainable, rest = eqx.partition(model, eqx.is_inexact_array)
    tangent = jax.tree.map(lambda v: jnp.cos(jnp.arange(v.size)).reshape(v.shape), trainable)
    u = np.random.default_rng(1).normal(size=(5, 2))

    def loss(p):
        return jnp.sum(simulate(eqx.combine(p, rest), u, dt=5e-4).outputs ** 2)

    def moved(step):
        return loss(jax.tree.map(lambda v, d: v + step * d, trainable, tangent))

    # Initial a may not go below 0: its direction is left out of the difference.
    tangent = eqx.tree_at(lambda m: m.a0, tangent, jnp.zeros(3))
    value, slope = jax.jvp(loss, (trainable,), (tangent,))
    assert np.isfinite(value)
    np.testing.assert_allclose(slope, (moved(1e-5) - moved(-1e-5)) / 2e-5, rtol=1e-6)


def test_the_rest_point_can_be_differentiated():
    model = ORGaNICs.from_parameters(**ONE)

    @eqx.filter_jit
    @eqx.filter_grad
    def gradient(model, x):
        point = model.fixed_point(x)
        assert point.stable is None  # no eigenvalues of what is traced
        return point.y[0]

    found = gradient(model, jnp.ones(1))
    # y = b z / sqrt(a) and a = (b0 sigma)^2 + W (b z)^2 = 0.0025 + 0.25, to log sigma and log b.
    y, a = 0.9950371902, 0.2525
    np.testing.assert_allclose(found.log_sigma, [-y * 0.0025 / a], rtol=1e-9)
    np.testing.assert_allclose(found.log_b, [y * (1 - 0.25 / a)], rtol=1e-9)


def test_process_noise_has_the_variance_of_the_linear_circuit():
    model = ORGaNICs.from_parameters(**ONE)
    amplitude = model.noise(0.01)
    np.testing.assert_allclose(amplitude.y, [0.01 / np.sqrt(0.002)], rtol=1e-12)
    states = simulate(
        model, np.ones((2500, 1000, 1), np.float32), dt=4e-5, noise=amplitude,
        key=jax.random.key(0), initial_state=at(0.9950371902, 0.2525), save="final",
    ).states  # fmt: skip
    # Four standard errors of a variance, and what Euler adds at this step.
    np.testing.assert_allclose(np.var(states.y), 2.879671e-4, rtol=0.14)
    np.testing.assert_allclose(np.var(states.a), 1.956487e-4, rtol=0.14)


def test_random_circuits_and_what_trains():
    model = ORGaNICs.init(3, 2, 2, key=jax.random.key(0), recurrence="orthogonal")
    W, W_zx, W_r = (np.asarray(v) for v in (model.W, model.W_zx, model.W_r))
    assert np.all(W >= 0)
    assert np.all(np.diag(W) == 1)
    assert W.max() <= 1
    np.testing.assert_allclose(np.linalg.norm(W_zx, 2), 1, rtol=1e-12)
    np.testing.assert_allclose(W_r @ W_r.T, np.eye(3), atol=1e-12)
    # W_r, W, b, b0, sigma, W_zx, C, d; neither time constants nor initial states.
    assert parameter_count(model) == 9 + 9 + 9 + 6 + 6 + 2
    assert parameter_count(ORGaNICs.init(3, 2, 2, key=jax.random.key(0))) == 9 + 9 + 6 + 6 + 2
    rest = model.initial_state()
    np.testing.assert_allclose(rest.a, 0.0025, rtol=1e-12)
    flow = np.concatenate(model.vector_field(0.0, rest, jnp.zeros(2)))
    np.testing.assert_allclose(flow * 0.002, 0, atol=1e-17)


def test_single_precision():
    with jax.enable_x64(False):
        model = ORGaNICs.from_parameters(**ONE)
        point = model.fixed_point([1.0])
        assert point.y.dtype == jnp.float32
        np.testing.assert_allclose(point.y, [0.99503719], rtol=1e-6)
        assert point.stable


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"W": [[1, -0.1], [0, 1]]}, r"W must not be negative, got -0.1 at entry \(0, 1\)"),
        ({"W": [[1, 2, 3]]}, r"W must have shape \(1, 1\), got \(1, 3\)"),
        ({"W": [[np.nan]]}, "W must be finite"),
        ({"W": np.ones((0, 0))}, "n from 1 on"),
        ({"sigma": 0.0}, "sigma must be positive, got 0"),
        ({"b": -1.0}, "b must be positive"),
        ({"b0": [0.5, 0.5]}, r"b0 must be a number or have shape \(1,\)"),
        ({"tau_y": 0.0}, "tau_y must be positive"),
        ({"tau_a": np.inf}, "tau_a must be finite"),
        ({"W_r": [[1, 2]]}, "W_r must have shape"),
        ({"W_zx": [[np.nan]]}, "W_zx must be finite"),
        ({"C": [1.0]}, "C must have shape"),
        ({"d": [1.0]}, "without C"),
        ({"y0": [1.0, 2.0]}, "y0 must have shape"),
        ({"a0": [-1.0]}, "a0 must not be negative"),
        ({"rectify": "both"}, "rectify must be"),
    ],
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        ORGaNICs.from_parameters(**{**ONE, **changes})


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_inputs_and_sizes_are_refused():
    model = ORGaNICs.from_parameters(**ONE)
    for x, message in (([1.0, 2.0], "x must have shape"), ([np.nan], "x must be finite")):
        with pytest.raises(ValueError, match=message):
            model.fixed_point(x)
    with pytest.raises(ValueError, match="max_steps must be a whole number"):
        model.fixed_point([1.0], max_steps=0)
    with pytest.raises(ValueError, match="n_units must be"):
        ORGaNICs.init(0, 1, 1, key=jax.random.key(0))
    with pytest.raises(ValueError, match="recurrence must be"):
        ORGaNICs.init(1, 1, 1, key=jax.random.key(0), recurrence="free")  # pyright: ignore[reportArgumentType]


def test_leaving_the_tested_region_is_said():
    inside: dict[str, Any] = {"W": np.eye(2), "W_r": np.eye(2)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ORGaNICs.from_parameters(**inside)
        ORGaNICs.from_parameters(W=np.eye(2), b=3.0)  # the identity is stable for every b
    with pytest.warns(UserWarning, match="singular value of W_r is 1.1"):
        ORGaNICs.from_parameters(**{**inside, "W_r": 1.1 * np.eye(2)})
    with pytest.warns(UserWarning, match="b is 1.5"):
        ORGaNICs.from_parameters(**inside, b=1.5)
    one = ORGaNICs.from_parameters(**{**ONE, "W_r": [[1.0]]})
    with pytest.warns(UserWarning, match="z is longer than 1"):
        one.fixed_point([[1.1], [1.0]])
    assert one.fixed_point(np.zeros((0, 1))).stable.shape == (0,)


def test_absent_weights_have_no_derivative_when_given_traced():
    def response(W):
        return ORGaNICs.from_parameters(W=W).fixed_point(jnp.ones(2)).y[0]

    # y = b z / sqrt(c + w b^2), c = 0.0025, b = 0.5: dy/dw = -b^3 / (2 (c + w b^2)^1.5).
    gradient = jax.grad(response)(jnp.eye(2))
    expected = [[-(0.5**3) / (2 * 0.2525**1.5), 0], [0, 0]]
    np.testing.assert_allclose(gradient, expected, rtol=1e-10)
