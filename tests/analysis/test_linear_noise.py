"""Noise about a fixed point, against closed forms and the numbers of a known circuit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize

from neurosim.analysis.linear_noise import coherence, noise_spectrum, stationary_covariance

ETA = 0.01 / np.sqrt(0.002)


def one_unit(contrast):
    """The Jacobian of one y and one a at rest, b = b0 = 0.5, sigma = 0.1, both taus 2 ms."""
    a = 0.0025 + (0.5 * contrast) ** 2
    y, root, tau = 0.5 * contrast / np.sqrt(a), np.sqrt(a), 0.002
    return np.array([[-root, -y / (2 * root)], [2 * a * y, -1 + y**2]]) / tau


def test_one_relaxing_variable():
    """Of variance q tau / 2 and a Lorentzian spectrum."""
    f = np.array([0.0, 1, 10])
    assert stationary_covariance([[-4.0]], amplitude=3.0).item() == pytest.approx(9 / 8)
    np.testing.assert_allclose(
        noise_spectrum([[-4.0]], f, amplitude=3.0)[:, 0, 0], 9 / (16 + (2 * np.pi * f) ** 2)
    )


def test_normalization_circuit():
    J = one_unit(1.0)
    np.testing.assert_allclose(J[0], [-251.246890528, -495.049504950], rtol=1e-9)
    S = stationary_covariance(J, amplitude=ETA)
    np.testing.assert_allclose(np.diag(S), [2.879671e-4, 1.956487e-4], rtol=1e-6)
    power = noise_spectrum(J, 50.0, amplitude=ETA)[0, 0]
    assert power.real == pytest.approx(2.3864e-6, rel=1e-5)
    assert power.imag == 0


@pytest.mark.parametrize(
    ("contrast", "peak"), [(0.25, 24.892), (0.5, 36.854), (1.0, 51.140), (0.1, 0), (0.05, 0)]
)
def test_resonance_rises_with_contrast(contrast, peak):
    J = one_unit(contrast)
    found = scipy.optimize.minimize_scalar(
        lambda f: -noise_spectrum(J, f, amplitude=ETA)[0, 0].real,
        bounds=(0, 200), method="bounded", options={"xatol": 1e-5},
    ).x  # fmt: skip
    assert found == pytest.approx(peak, abs=1e-3)
    if peak == 0:
        power = noise_spectrum(J, np.linspace(0, 200, 101), amplitude=ETA)[:, 0, 0].real
        assert (np.diff(power) < 0).all()


def test_spectrum_integrates_to_the_covariance():
    rng = np.random.default_rng(0)
    J = rng.normal(size=(4, 4)) - 4 * np.eye(4)
    L = rng.normal(size=(4, 4))
    S = stationary_covariance(J, covariance=L @ L.T)
    np.testing.assert_allclose(J @ S + S @ J.T, -L @ L.T, atol=1e-12)

    def both_signs(u):
        # All frequencies, from an angle.
        f = np.tan(u)
        return noise_spectrum(J, f, covariance=L @ L.T).real.ravel() / np.cos(u) ** 2

    half = np.pi / 2 * (1 - 1e-7)
    whole, _ = scipy.integrate.quad_vec(both_signs, -half, half, epsabs=1e-9)
    np.testing.assert_allclose(whole.reshape(4, 4), S, atol=1e-5)


def test_spectrum_is_hermitian_and_amplitudes_are_a_covariance():
    rng = np.random.default_rng(1)
    J, size, f = (
        rng.normal(size=(3, 3)) - 3 * np.eye(3),
        np.array([1, 0.5, 2.0]),
        np.array([0.1, 2]),
    )
    S = noise_spectrum(J, f, amplitude=size)
    np.testing.assert_array_equal(S, np.conj(np.swapaxes(S, -1, -2)))
    np.testing.assert_allclose(S, noise_spectrum(J, f, covariance=np.diag(size**2)))
    np.testing.assert_allclose(noise_spectrum(J, -f, amplitude=size), np.conj(S), rtol=1e-12)
    assert isinstance(noise_spectrum(jnp.asarray(J), f, amplitude=size), np.ndarray)


def test_coherence():
    S = noise_spectrum([[-1.0, 0], [0, -2]], [0.0, 1], amplitude=1.0)
    np.testing.assert_allclose(coherence(S), [np.eye(2)] * 2, atol=1e-30)
    # One source drives both, so they are coherent whatever their filters.
    shared = noise_spectrum([[-1.0, 0.5], [-3, -2]], [0.1, 1], covariance=np.outer([1, 2], [1, 2]))
    np.testing.assert_allclose(coherence(shared), 1, rtol=1e-9)
    # Private noise beside the shared: known from the two variances.
    J, rho = -np.eye(2), 0.6
    mixed = noise_spectrum(J, 3.0, covariance=[[1, rho], [rho, 1]])
    np.testing.assert_allclose(coherence(mixed), [[1, rho**2], [rho**2, 1]])
    silent = coherence(np.diag([1.0, 0]))
    assert silent[0, 0] == 1
    assert np.isnan(silent[1]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"J": [[1.0]]}, "J must be stable: an eigenvalue has real part 1"),
        ({"J": [[0.0, 1], [-1, 0]]}, "J must be stable"),
        ({"J": [-1.0]}, r"J must be \(n, n\)"),
        ({"J": [[np.nan]]}, "J must be finite"),
        ({"amplitude": None}, "give amplitude or covariance"),
        ({"covariance": np.eye(1)}, "give amplitude or covariance"),
        ({"amplitude": [1.0, 2]}, r"amplitude must be a number or \(n,\) = \(1,\)"),
        ({"amplitude": -1.0}, "amplitude must be"),
        ({"amplitude": None, "covariance": np.eye(2)}, "covariance must be symmetric"),
        (
            {"J": -np.eye(2), "amplitude": None, "covariance": [[1.0, 1], [0, 1]]},
            "halves differ by 1",
        ),
        ({"amplitude": None, "covariance": [[-1.0]]}, "no negative eigenvalue, got -1"),
    ],
)
def test_bad_input(change, message):
    given = {"J": [[-1.0]], "amplitude": 1.0} | change
    J = given.pop("J")
    with pytest.raises(ValueError, match=message):
        stationary_covariance(J, **given)
    with pytest.raises(ValueError, match=message):
        noise_spectrum(J, [1.0], **given)


def test_bad_spectra():
    for bad, message in (
        (np.ones(3), r"S must be \(\.\.\., n, n\)"),
        (np.full((2, 2), np.nan), "S must be finite"),
        (-np.eye(2), "S must have power"),
    ):
        with pytest.raises(ValueError, match=message):
            coherence(bad)
    with pytest.raises(TypeError, match="noise_spectrum is computed in NumPy"):
        jax.jit(lambda f: noise_spectrum([[-1.0]], f, amplitude=1.0))(1.0)
