import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.lyapunov import lyapunov_spectrum


def henon(x):
    return jnp.array([1 - 1.4 * x[0] ** 2 + x[1], 0.3 * x[0]])


def lorenz(x):
    return jnp.array([10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]])


def test_linear_map_has_the_logarithms_of_its_moduli():
    a = np.array([0.5, 2.0, -0.1])
    found = lyapunov_spectrum(
        lambda x: a * x, np.zeros(3), n_steps=100, transient=100, kind="map", renormalise_every=2
    )
    np.testing.assert_allclose(found.exponents, np.log([2, 0.5, 0.1]), atol=1e-12)
    np.testing.assert_allclose(found.standard_errors, 0, atol=1e-12)
    assert found.sum == pytest.approx(np.log(0.1))
    assert found.volume_rate == pytest.approx(np.log(0.1))
    # The first two sum to 0: the dimension is 2 but for rounding.
    assert found.kaplan_yorke_dimension == pytest.approx(2, abs=1e-9)


def test_rotation_neither_grows_nor_shrinks():
    c, s = np.cos(0.3), np.sin(0.3)
    R = np.array([[c, -s], [s, c]])
    found = lyapunov_spectrum(lambda x: R @ x, np.ones(2), n_steps=100, kind="map")
    np.testing.assert_allclose(found.exponents, 0, atol=1e-14)
    assert found.kaplan_yorke_dimension == pytest.approx(2)


def test_logistic_map():
    found = lyapunov_spectrum(
        lambda x: 4 * x * (1 - x), np.array([0.3123]), n_steps=50_000, transient=100, kind="map"
    )
    np.testing.assert_allclose(found.exponents, [np.log(2)], atol=2e-3)
    assert found.kaplan_yorke_dimension == 1.0


def test_henon_map():
    found = lyapunov_spectrum(henon, np.zeros(2), n_steps=100_000, transient=1000, kind="map")
    np.testing.assert_allclose(found.exponents, [0.4197, -1.6237], atol=2e-3)
    np.testing.assert_allclose([found.sum, found.volume_rate], np.log(0.3), rtol=1e-10)
    assert 0 < found.standard_errors[0] < 3e-3
    np.testing.assert_allclose(
        found.kaplan_yorke_dimension, 1 + found.exponents[0] / -found.exponents[1]
    )
    np.testing.assert_allclose(found.kaplan_yorke_dimension, 1.258, atol=2e-3)


def test_lorenz_flow():
    found = lyapunov_spectrum(
        lorenz, np.ones(3), n_steps=40_000, transient=2000, kind="flow", dt=0.01
    )
    np.testing.assert_allclose(found.exponents, [0.906, 0, -14.572], atol=2e-2)
    np.testing.assert_allclose(found.volume_rate, -13.666667, atol=1e-6)
    np.testing.assert_allclose(found.sum, -13.666667, rtol=1e-4)
    np.testing.assert_allclose(found.kaplan_yorke_dimension, 2.0626, atol=2e-3)


def test_sum_rule_of_a_flow_to_the_error_of_the_step():
    def gap(dt):
        # The divergence of van der Pol's oscillator changes along the trajectory.
        found = lyapunov_spectrum(
            lambda x: jnp.array([x[1], (1 - x[0] ** 2) * x[1] - x[0]]),
            np.array([2.0, 0.0]),
            n_steps=round(20 / dt),
            kind="flow",
            dt=dt,
        )
        return abs(found.sum - found.volume_rate)

    assert gap(0.01) < 1e-6
    # Of fourth order: half the step has a sixteenth of the error.
    assert 8 < gap(0.1) / gap(0.05) < 40


def test_fewer_exponents_are_the_greatest():
    a = np.array([0.1, 0.5, 2.0])
    found = lyapunov_spectrum(
        lambda x: a * x, np.zeros(3), n_steps=20, transient=100, kind="map", n_exponents=1
    )
    np.testing.assert_allclose(found.exponents, [np.log(2)], atol=1e-12)
    assert found.kaplan_yorke_dimension is None
    assert found.volume_rate is None


def test_lost_direction():
    found = lyapunov_spectrum(
        lambda x: jnp.array([x[0] / 2, 0 * x[1]]), np.ones(2), n_steps=10, transient=10, kind="map"
    )
    assert found.exponents[0] == pytest.approx(np.log(0.5))
    assert found.exponents[1] < -30
    assert not np.isnan(found.standard_errors).any()
    assert found.kaplan_yorke_dimension == 0.0


def test_inputs_give_conditional_exponents():
    # x' = a_k x + input: the mean of ln|a_k|, whatever the state.
    a = np.random.default_rng(0).uniform(0.1, 3, size=(30, 1))
    found = lyapunov_spectrum(
        lambda x, u: u * x + u, np.ones(1), n_steps=20, transient=10, kind="map", inputs=a
    )
    np.testing.assert_allclose(found.exponents, [np.log(a[10:]).mean()], rtol=1e-12)


def test_same_from_jax_and_the_state_is_left_alone(double_precision):
    x0 = np.array([0.1, 0.2])
    kept = x0.copy()
    found = lyapunov_spectrum(henon, x0, n_steps=20, kind="map")
    again = lyapunov_spectrum(henon, jnp.asarray(x0), n_steps=20, kind="map")
    np.testing.assert_array_equal(x0, kept)
    np.testing.assert_array_equal(found.exponents, again.exponents)
    state = x0
    for _ in range(20):
        state = np.array([1 - 1.4 * state[0] ** 2 + state[1], 0.3 * state[0]])
    np.testing.assert_allclose(found.final_state, state, rtol=1e-6)


def test_refusals():
    zeros = np.zeros(2)

    def refused(match, f=henon, x0=zeros, **options):
        options = {"n_steps": 20, "kind": "map", **options}
        with pytest.raises(ValueError, match=match):
            lyapunov_spectrum(f, x0, **options)

    refused("kind", kind="ode")
    refused("needs dt", kind="flow")
    refused("n_exponents must be at most", n_exponents=3)
    refused("must divide", renormalise_every=3)
    refused("n_blocks", n_blocks=21)
    refused("n_steps", n_steps=0)
    refused("one state", x0=np.zeros((2, 2)))
    refused("not finite at entry 0", x0=np.array([np.inf, 0]))
    refused("shape of the state", f=lambda x: x[:1])
    refused("cannot take one state", f=lambda x: np.eye(3) @ x)
    refused("for each of the transient", f=lambda x, u: x, inputs=np.zeros((3, 1)))
    refused(
        "not finite at step 4", f=lambda x, u: x, inputs=np.where(np.arange(20) == 4, np.nan, 0)
    )
    refused("steps 4 to 4 of 20", f=lambda x: x**2, x0=np.full(2, 1e20))
    with pytest.raises(TypeError, match="jit"):
        jax.jit(lambda x: lyapunov_spectrum(henon, x, n_steps=20, kind="map"))(jnp.zeros(2))
