"""SSN: presets at published-size inputs, both forms, weights that keep their signs."""

from typing import Any, cast

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.ssn import SSN
from neurosim.models.ssn_presets import (
    line_input,
    line_positions,
    ring_input,
    ssn_line,
    ssn_orientation_ring,
    ssn_two_population,
)
from neurosim.training import parameter_count

pytestmark = pytest.mark.usefixtures("double_precision")

PAIR = {"W": [[1.25, -0.65], [1.2, -0.5]], "n_excitatory": 1, "tau": [0.02, 0.01]}


def test_two_populations_go_through_inhibition_stabilised_into_supersaturation():
    model = ssn_two_population()
    points = {h: model.fixed_point([h, h]) for h in (1.0, 2.0, 15.0, 50.0)}
    assert all(point.converged and point.stable for point in points.values())
    expected = {2.0: (3.2608960379, 4.2756989197), 15.0: (11.2092584076, 35.2291494875),
                50.0: (6.2104329673, 81.8663959074)}  # fmt: skip
    for h, rates in expected.items():
        np.testing.assert_allclose(points[h].r, rates, rtol=1e-9)
    spectra = {2.0: (-0.1255032227, -0.0141192103),
               15.0: (-0.1229362956 - 0.0412310043j, -0.1229362956 + 0.0412310043j)}  # fmt: skip
    for h, pair in spectra.items():
        jacobian = model.jacobian(jnp.asarray(points[h].r), jnp.array([h, h]))
        np.testing.assert_allclose(np.sort_complex(np.linalg.eigvals(jacobian) / 1000), pair,
                                   rtol=1e-8)  # fmt: skip
    for h, gain in ((1.0, -0.0565), (2.0, 1.4727)):
        assert model.excitatory_gain([h, h], points[h].r) == pytest.approx(gain, abs=5e-5)


def test_orthogonal_gratings_sum_supralinearly_and_then_sublinearly():
    # The published 180 positions, and fewer, which change the sums over positions a little.
    for n, c, index, tolerance in (
        (180, 5, 1.3433, 6e-5), (180, 20, 0.6526, 6e-5), (60, 10, 0.7803, 2e-4),
        (60, 50, 0.6951, 2e-4),
    ):  # fmt: skip
        model, at_45, at_135 = ssn_orientation_ring(n), n // 4, 3 * n // 4
        alone = model.fixed_point(ring_input(c, 45, n=n)).r
        both = model.fixed_point(ring_input([c, c], [45, 135], n=n)).r
        assert both[at_45] / (alone[at_45] + alone[at_135]) == pytest.approx(index, abs=tolerance)
        # The other grating drives the ring as this one does, turned by 90 degrees.
        assert both[at_135] == pytest.approx(both[at_45], rel=1e-9)
        if c == 20:
            np.testing.assert_allclose(alone[[45, 225]], [24.0422, 40.1372], atol=5e-5)


def test_larger_gratings_suppress_the_middle_of_the_line():
    model = ssn_line()
    np.testing.assert_array_equal(line_positions(), 3.0 * np.arange(-5, 6))
    expected = {1: (9.229033, 36.883362), 3: (9.873928, 57.090676), 9: (7.149928, 66.756130),
                27: (0.026749, 59.970450)}  # fmt: skip
    for length, rates in expected.items():
        point = model.fixed_point(line_input(50, length))
        assert point.stable
        np.testing.assert_allclose(point.r[[5, 16]], rates, rtol=0, atol=1e-6)


def test_simulation_ends_on_the_fixed_point_in_both_forms():
    adaptive = {"solver": diffrax.Tsit5(), "save": "final",
                "stepsize_controller": diffrax.PIDController(rtol=1e-9, atol=1e-12)}  # fmt: skip
    for form in ("rate", "voltage"):
        model = SSN.from_parameters(**PAIR, form=form)
        end = simulate(model, [[2.0, 2.0]], dt=3.0, **adaptive).outputs[0]
        np.testing.assert_allclose(end, [3.2608960379, 4.2756989197], rtol=0, atol=1e-8)
        np.testing.assert_allclose(model.fixed_point([2.0, 2.0]).r, end, rtol=0, atol=1e-8)


def test_one_time_constant_gives_both_forms_the_same_eigenvalues():
    x = jnp.array([15.0, 15.0])
    found = []
    for form in ("rate", "voltage"):
        model = SSN.from_parameters(**{**PAIR, "tau": 0.02}, form=form)
        r = jnp.asarray(model.fixed_point(x).r)
        state = r if form == "rate" else x + model.W @ r
        np.testing.assert_allclose(model.rates(state), r, rtol=1e-10)
        found.append(np.sort_complex(np.linalg.eigvals(model.jacobian(state, x))))
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_excitation_that_runs_away_has_no_rest_point():
    model = SSN.from_parameters(**{**PAIR, "W": [[6.0, -0.1], [0.1, -0.1]]})
    point = model.fixed_point([5.0, 5.0])
    assert not point.converged
    assert not point.stable
    assert np.all(np.isnan(point.r))


def test_a_cycle_has_a_rest_point_that_is_not_called_stable():
    W, h = np.array([[2.1, -2.4], [1.3, -0.5]]), np.array([4.1, 1.7])
    point = SSN.from_parameters(W=W, n_excitatory=1, tau=1.0).fixed_point(h)
    assert point.converged
    assert not point.stable
    u = h + W @ point.r
    np.testing.assert_allclose(point.r, 0.3 * u**2, rtol=1e-10)
    # Two eigenvalues that grow: both their sum and their product are positive.
    J = 0.6 * u[:, None] * W - np.eye(2)
    assert np.trace(J) > 0
    assert np.linalg.det(J) > 0


def test_random_networks_keep_their_signs_and_zeros_under_training():
    model = SSN.init(40, 10, 64, 10, key=jax.random.key(0), scale=5.0)
    W = np.asarray(model.W)
    assert np.all(W[:, :40] > 0)
    assert np.all(W[:, 40:] < 0)
    assert np.abs(W).min() >= 0.2 * 5 / 50
    assert np.abs(W).max() <= 5 / 50
    assert (float(model.k), float(model.p)) == (0.3, 2.0)
    # Every weight, W_in, C and d; no time constants, no power law.
    assert parameter_count(model) == 50 * 50 + 50 * 64 + 10 * 40 + 10
    moved = eqx.tree_at(lambda m: m.log_W, model, model.log_W - 1.0)
    np.testing.assert_allclose(moved.W, W / np.e, rtol=1e-5)
    zero = SSN.from_parameters(**{**PAIR, "W": [[1.0, 0.0], [1.0, -1.0]]})
    gradient = eqx.filter_grad(lambda m: jnp.sum(m.vector_field(0.0, jnp.ones(2), jnp.ones(2))))
    assert gradient(zero).log_W[0, 1] == 0
    moved = eqx.tree_at(lambda m: m.log_W, zero, zero.log_W + 3.0)
    assert moved.W[0, 1] == 0
    run = simulate(model, np.ones((3, 64)), dt=0.002)
    assert run.outputs.shape == (3, 10)


def test_derivatives_of_silent_units_exist():
    model = SSN.from_parameters(**PAIR, p=1.5)
    u = np.array([[1.0, -1.0], [0.0, 0.0], [2.0, 1.0]])

    def loss(log_W):
        run = simulate(eqx.tree_at(lambda m: m.log_W, model, log_W), u, dt=0.005)
        return jnp.sum(run.outputs**2)

    tangent = jnp.array([[0.3, -0.2], [0.5, 0.1]])
    value, slope = jax.jit(lambda w: jax.jvp(loss, (w,), (tangent,)))(model.log_W)
    step = 1e-6
    difference = (loss(model.log_W + step * tangent) - loss(model.log_W - step * tangent)) / 2e-6
    assert value > 0
    np.testing.assert_allclose(slope, difference, rtol=1e-6)


def test_single_precision():
    with jax.enable_x64(False):
        model = ssn_two_population()
        assert simulate(model, np.ones((2, 2)), dt=0.001).outputs.dtype == jnp.float32
        point = model.fixed_point([2.0, 2.0])
        assert point.stable
        np.testing.assert_allclose(point.r, [3.26089604, 4.27569892], rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"W": [[1.0, -0.1], [-0.1, -0.5]]}, "column 0 of W is of an excitatory unit"),
        ({"W": [[1.0, 0.1], [0.1, -0.5]]}, "column 1 of W is of an inhibitory unit"),
        ({"W": [[1.0, -0.1]]}, r"W must have shape \(1, 1\)"),
        ({"W": [[np.inf, -0.1], [0.1, -0.5]]}, "W must be finite"),
        ({"n_excitatory": 3}, "n_excitatory is 3"),
        ({"tau": 0.0}, "tau must be positive"),
        ({"p": 1.0}, "p must be above 1"),
        ({"k": 0.0}, "k must be positive"),
        ({"k": np.inf}, "k must be positive and finite"),
        ({"p": np.inf}, "p must be above 1"),
        ({"C": [[1.0, 1.0]]}, r"C must have shape \(any, 1\)"),
        ({"d": [1.0]}, "without C"),
        ({"form": "current"}, "form must be"),
    ],
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        SSN.from_parameters(**{**PAIR, **changes})


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_inputs_are_refused():
    model = ssn_two_population()
    for call, message in (
        (lambda: model.fixed_point([1.0]), "x must have shape"),
        (lambda: model.fixed_point([1.0, np.nan]), "x must be finite"),
        (lambda: model.excitatory_gain([1.0, 1.0], [1.0]), "rates must have shape"),
        (lambda: ring_input([1.0, 2.0], [1.0, 2.0, 3.0]), "must go together"),
        (lambda: ring_input([[1.0]], 0.0), "numbers or vectors"),
        (lambda: ring_input(1.0, np.nan), "angle must be finite"),
        (lambda: line_input(1.0, -1.0), "length must not be negative"),
        (lambda: line_input(cast(Any, [1.0, 2.0]), 1.0), "contrast must be one number"),
        (lambda: line_input(1.0, cast(Any, [1.0, 2.0])), "length must be one number"),
        (lambda: line_input(1.0, 1.0, n=0), "n must be"),
        (lambda: ssn_line(0), "n must be"),
        (lambda: ssn_orientation_ring(0), "n must be"),
        (lambda: SSN.init(1, 0, 1, 1, key=jax.random.key(0)), "n_inhibitory must be"),
        (lambda: SSN.init(1, 1, 1, 1, key=jax.random.key(0), scale=-1.0), "scale must not"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
