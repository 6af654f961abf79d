"""The three-type circuit: its rest point and spectra, and the limit in which it is the other."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.organics import ORGaNICs
from neurosim.models.organics_three_type import ORGaNICs3, ORGaNICs3State

pytestmark = pytest.mark.usefixtures("double_precision")

ONE: dict[str, Any] = {"W": 1.0, "b": 0.5, "b0": 0.5, "sigma": 0.1}


@eqx.filter_jit
def jacobian(model, point):
    return model.jacobian(point)


@pytest.mark.parametrize(
    ("alpha", "real_root", "pair"),
    [
        (0.0, -500.0, -2.4752475 + 249.9846364j),
        (1.0, -446.8164385, -29.0670283 + 262.8547190j),
        (10.0, -92.9879505, -205.9812723 + 541.8748960j),
    ],
)
def test_rest_point_and_spectrum_of_one_unit(alpha, real_root, pair):
    model = ORGaNICs3.from_parameters(**ONE, alpha=alpha)
    point = model.fixed_point([1.0])
    np.testing.assert_allclose(point.u, [0.2525], rtol=1e-12)
    np.testing.assert_allclose(point.a, [1.0100251252], rtol=1e-10)
    np.testing.assert_allclose(point.y, [0.9950371902], rtol=1e-10)
    assert point.converged
    assert point.stable
    assert point.residual < 1e-13
    eigenvalues = np.linalg.eigvals(np.asarray(jacobian(model, point)))
    real = eigenvalues[np.argmin(np.abs(eigenvalues.imag))]
    above = eigenvalues[np.argmax(eigenvalues.imag)]
    np.testing.assert_allclose([real, above], [real_root, pair], rtol=2e-9)


def test_a_run_ends_on_the_rest_point_and_starts_from_rest():
    model = ORGaNICs3.from_parameters(
        W=[[1, 0.5], [0.25, 1]], W_r=[[0.5, -0.3], [0.2, 0.6]], b=[0.6, 0.8], b0=0.5, sigma=0.2,
        alpha=2.0,
    )  # fmt: skip
    start = model.initial_state()
    resting = np.concatenate(model.vector_field(0.0, start, jnp.zeros(2)))
    np.testing.assert_allclose(resting, 0, atol=1e-12)
    x = np.array([0.5, -0.3])
    end = simulate(
        model, x[None], dt=0.4, save="final", solver=diffrax.Tsit5(),
        stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-12),
    ).states  # fmt: skip
    point = model.fixed_point(x)
    assert point.stable
    for name in ("y", "u", "a"):
        np.testing.assert_allclose(getattr(end, name)[0], getattr(point, name), atol=1e-8)
    # y and u rest where y and a of the two-type circuit do.
    two = ORGaNICs.from_parameters(
        W=[[1, 0.5], [0.25, 1]], W_r=[[0.5, -0.3], [0.2, 0.6]], b=[0.6, 0.8], b0=0.5, sigma=0.2
    ).fixed_point(x)
    np.testing.assert_allclose(point.y, two.y, rtol=1e-10)
    np.testing.assert_allclose(point.u, two.a, rtol=1e-10)


def test_fast_modulators_make_it_the_two_type_circuit():
    fast = ORGaNICs3.from_parameters(**ONE, tau_a=1e-9)
    eigenvalues = np.linalg.eigvals(np.asarray(jacobian(fast, fast.fixed_point([1.0]))))
    slow = eigenvalues[np.argsort(np.abs(eigenvalues))[:2]]
    pair = np.array([-128.0986927888 - 330.4756725836j, -128.0986927888 + 330.4756725836j])
    np.testing.assert_allclose(np.sort_complex(slow), pair, rtol=1e-5)


def test_the_saturating_gain_is_b_over_one_plus_b():
    model = ORGaNICs3.from_parameters(**{**ONE, "b": 1.0}, gain="saturating", W_zx=[[1.0, 1.0]],
                                      C=[[2.0], [1.0]])  # fmt: skip
    point = model.fixed_point([0.75, 0.25])
    np.testing.assert_allclose(point.y, [0.9950371902], rtol=1e-10)
    state = ORGaNICs3State(point.y, point.u, point.a)
    np.testing.assert_allclose(model.readout(state), [2 * point.y[0], point.y[0]], rtol=1e-12)


def test_derivatives_are_finite_at_an_empty_pool():
    model = ORGaNICs3.from_parameters(**ONE, alpha=1.0)
    state = ORGaNICs3State(jnp.array([0.2]), jnp.zeros(1), jnp.zeros(1))
    assert np.all(np.isfinite(jacobian(model, state)))


def test_single_precision():
    with jax.enable_x64(False):
        point = ORGaNICs3.from_parameters(**ONE).fixed_point([1.0])
        assert point.a.dtype == jnp.float32
        np.testing.assert_allclose(point.a, [1.01002513], rtol=1e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"W": -1.0}, "W must not be negative"),
        ({"sigma": 0.0}, "sigma must be positive"),
        ({"tau_u": -1.0}, "tau_u must be positive"),
        ({"b": [0.5, 0.5]}, "b must be a number or have shape"),
        ({"alpha": -1.0}, "alpha must not be negative"),
        ({"alpha": np.inf}, "negative or infinite"),
        ({"gain": "none"}, "gain must be"),
        ({"W_r": [[np.nan]]}, "W_r must be finite"),
    ],
)
@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_parameters_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        ORGaNICs3.from_parameters(**{**ONE, **changes})


def test_an_input_that_the_modulators_cannot_rest_with_is_refused():
    model = ORGaNICs3.from_parameters(**ONE)
    for x, message in (
        ([3.0], "pool neuron 0 would rest at u = 2.252"),
        ([1.0, 1.0], "x must have shape"),
        ([np.nan], "x must be finite"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fixed_point(x)
    with pytest.raises(ValueError, match="max_steps must be a whole number"):
        model.fixed_point([1.0], max_steps=0)
