"""Time scales of low-rank networks against whole Jacobians and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from golden_network import golden, golden_inputs, golden_weights

from neurosim import simulate
from neurosim.analysis.gain_theory import mode_decay
from neurosim.analysis.low_rank_spectra import effective_jacobian_eigenvalues, mode_timescales


@pytest.fixture(scope="module")
def golden_run():
    """States and gains of the golden trial, NumPy."""
    with jax.enable_x64(True):
        model = golden()
        x, z = simulate(model, golden_inputs(), dt=1.0).states
        return np.asarray(x), np.asarray(jax.vmap(model.gains)(z))


def test_golden_spectra(golden_run):
    x, s = golden_run
    w = golden_weights()
    modes = mode_timescales(w["L"], w["R"], s[44], tau=10.0)
    pair = np.array([-0.44166224 - 0.59735249j, -0.44166224 + 0.59735249j])
    np.testing.assert_allclose(modes.eigenvalues, pair, atol=5e-9)
    np.testing.assert_allclose(modes.time_constants, 10 / 1.44166224, rtol=1e-8)
    np.testing.assert_allclose(modes.angular_frequencies, pair.imag / 10, atol=5e-10)
    assert not modes.unstable.any()

    found = effective_jacobian_eigenvalues(x[44], w["L"], w["R"], s[44], tau=10.0)
    pair = [-0.12477773733 - 0.04378885106j, -0.12477773733 + 0.04378885106j]
    np.testing.assert_allclose(found.modes, pair, atol=1e-10)
    assert (found.leak, found.n_leak) == (-0.1, 4)
    np.testing.assert_allclose(found.all_eigenvalues, [-0.1] * 4 + pair, atol=1e-10)


def test_every_state_of_a_trial_has_the_spectrum_of_its_whole_jacobian(golden_run):
    x, s = golden_run
    w = golden_weights()
    found = effective_jacobian_eigenvalues(x, w["L"], w["R"], s, tau=10.0, rec_scale=3.0)
    assert found.modes.shape == (110, 2)
    for t in (0, 30, 60):
        slope = np.diag(1 - np.tanh(x[t]) ** 2)
        whole = -np.eye(6) + 3 * w["L"] @ np.diag(s[t]) @ w["R"].T @ slope
        expected = np.sort_complex(np.linalg.eigvals(whole) / 10)
        # A semisimple eigenvalue of fourfold multiplicity: known to about 1e-15.
        np.testing.assert_allclose(
            np.sort_complex(found.all_eigenvalues[t]), expected, rtol=0, atol=1e-12
        )
    both = effective_jacobian_eigenvalues(
        np.stack([x, x]), w["L"], w["R"], s[44], tau=10.0, rec_scale="unit"
    )
    one = effective_jacobian_eigenvalues(x[7], w["L"], w["R"], s[44], tau=10.0)
    np.testing.assert_allclose(both.modes[1, 7], one.modes, rtol=1e-13)


def test_orthonormal_modes_have_the_published_time_constants():
    """L = R orthonormal: tau / (1 - s_k), the rate at which `mode_decay` says they decay."""
    L, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 3)))
    s = np.array([0.2, 0.9, 0.5])
    modes = mode_timescales(L, L, s, tau=10.0)
    np.testing.assert_allclose(modes.time_constants, [100, 20, 12.5], rtol=1e-12)
    np.testing.assert_array_equal(modes.angular_frequencies, 0)
    decay = mode_decay(np.tile(s, (2, 1)), [0.0, 20.0], tau=10.0)[1]
    np.testing.assert_allclose(np.exp(-20 / modes.time_constants), sorted(decay)[::-1], rtol=1e-12)
    halved = mode_timescales(L, L, 2 * s, tau=10.0, rec_scale=0.5)
    np.testing.assert_allclose(halved.time_constants, modes.time_constants, rtol=1e-12)


def test_a_rotation_turns_at_its_angular_frequency():
    """R^T L = [[a, -b], [b, a]] has eigenvalues a +- ib."""
    L = np.eye(5)[:, :2]
    R = L @ np.array([[0.6, 0.3], [-0.3, 0.6]])
    modes = mode_timescales(L, R, tau=4.0)
    np.testing.assert_allclose(modes.time_constants, 10, rtol=1e-12)
    np.testing.assert_allclose(modes.angular_frequencies, [-0.075, 0.075], rtol=1e-12)


def test_modes_that_do_not_decay_are_flagged():
    L = np.eye(4)[:, :2]
    modes = mode_timescales(L, L * [1.0, 2.0], np.array([[1.0, 0.25], [0.5, 0.9]]), tau=3.0)
    np.testing.assert_array_equal(modes.unstable, [[True, False], [True, False]])
    np.testing.assert_allclose(modes.time_constants, [[np.inf, 6], [np.inf, 6]])
    np.testing.assert_allclose(modes.eigenvalues, [[1, 0.5], [1.8, 0.5]])
    assert mode_timescales(L, L, np.zeros(1), tau=3.0).time_constants.tolist() == [3, 3]


def test_gauges_leave_time_scales_alone(golden_run):
    x, s = golden_run
    w = golden_weights()
    L, R, scale = w["L"], w["R"], np.array([2.5, -1.0])
    for f in (
        lambda L, R, s: mode_timescales(L, R, s, tau=10.0).eigenvalues,
        lambda L, R, s: effective_jacobian_eigenvalues(x, L, R, s, tau=10.0).modes,
    ):
        reference = f(L, R, s)
        np.testing.assert_allclose(f(L * scale, R / scale, s), reference, rtol=1e-11)
        swapped = f(L[:, ::-1], R[:, ::-1], s[:, ::-1])
        np.testing.assert_allclose(swapped, reference, rtol=1e-11)
        # Mixing the components is allowed under a common gain alone.
        mix = np.array([[1.0, 0.7], [-0.4, 1.2]])
        mixed = (L @ np.linalg.inv(mix).T, R @ mix)
        np.testing.assert_allclose(f(*mixed, s[:, :1]), f(L, R, s[:, :1]), rtol=1e-11)
        assert np.max(np.abs(f(*mixed, s) - reference)) > 1e-3


@pytest.mark.usefixtures("double_precision")
def test_time_scales_stay_in_jax_and_can_be_differentiated(golden_run):
    x, s = golden_run
    w = {k: jnp.asarray(golden_weights()[k]) for k in ("L", "R")}

    @jax.jit
    def growth(L, s):
        modes = mode_timescales(L, w["R"], s, tau=10.0)
        jacobian = effective_jacobian_eigenvalues(x, L, w["R"], s, tau=10.0, phi=np.tanh)
        return jnp.sum(modes.time_constants) + jnp.sum(jacobian.modes.real)

    along = (jnp.asarray(np.random.default_rng(0).normal(size=(6, 2))), 0.1 * jnp.ones_like(s))
    _, slope = jax.jvp(growth, (w["L"], jnp.asarray(s)), along)
    h = 1e-6
    above, below = (growth(w["L"] + e * along[0], s + e * along[1]) for e in (h, -h))
    np.testing.assert_allclose(slope, (above - below) / (2 * h), rtol=1e-6)
    # A mode that does not decay must not poison the derivative of one that does.
    L = jnp.eye(4)[:, :2]

    def finite(s):
        taus = mode_timescales(L, L, s, tau=10.0).time_constants
        return jnp.sum(jnp.where(jnp.isfinite(taus), taus, 0))

    np.testing.assert_allclose(jax.grad(finite)(jnp.array([1.5, 0.5])), [0, 40], rtol=1e-12)
    with jax.enable_x64(False):
        modes = mode_timescales(np.asarray(w["L"]), jnp.asarray(w["R"], jnp.float32), tau=10.0)
        assert modes.time_constants.dtype == jnp.float32


def test_arguments_that_do_not_fit_are_refused():
    L = np.ones((4, 2))
    for arguments, options, message in (
        ((L, L[:3]), {}, "L and R must both be"),
        ((L, L, np.ones(3)), {}, "gains must have one entry"),
        ((L, L, np.array([1, np.nan])), {}, "gains must be finite"),
        ((L, L), {"tau": 0.0}, "tau must be a positive"),
        ((L, L), {"tau": np.inf}, "tau must be"),
        ((L, L), {"rec_scale": "N"}, "rec_scale must be"),
        ((None, L), {}, "L is needed, got None"),
        ((L, L, None), {}, "gains is needed"),
        ((L, L), {"tau": None}, "tau is needed"),
        ((L, L, np.ones((0, 5, 2))), {}, "gains must not be empty"),
    ):
        options = {"tau": 10.0, **options}
        with pytest.raises(ValueError, match=message):
            mode_timescales(*arguments, **options)
        with pytest.raises(ValueError, match=message):
            effective_jacobian_eigenvalues(np.ones(4), *arguments, **options)
    for arguments, options, message in (
        ((np.ones(5), L, L), {}, r"X must be \(..., units\)"),
        ((1.0, L, L), {}, r"X must be \(..., units\)"),
        ((np.ones((7, 4)), L, L, np.ones((6, 2))), {}, "do not fit states"),
        ((np.ones(4), L, L), {"phi": lambda x: np.maximum(x, 0)}, "cannot be differentiated"),
        ((np.ones(4), L, L), {"phi": np.modf}, "phi"),
        ((np.ones(4), L, L), {"phi": "tanh"}, "phi must be a function"),
        ((np.ones((0, 4)), L, L), {}, "not empty"),
        ((None, L, L), {}, "X is needed"),
    ):
        with pytest.raises(ValueError, match=message):
            effective_jacobian_eigenvalues(*arguments, tau=10.0, **options)
