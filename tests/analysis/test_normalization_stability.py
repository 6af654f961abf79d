"""The theorem of stability, by its own terms and against eigenvalues of the whole Jacobian."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from neurosim.analysis.normalization_equation import normalization_equation
from neurosim.analysis.normalization_stability import (
    lyapunov_weights,
    oscillator_form,
    spectral_abscissa,
    stability_certificate,
    strict_lyapunov_matrix,
)

PAIR = {
    "W": np.array([[1, 0.5], [0.25, 2]]), "b": (0.6, 0.8), "b0": (0.5, 0.7), "sigma": (0.2, 0.3),
    "tau_y": (0.002, 0.004), "tau_a": (0.005, 0.001),
}  # fmt: skip
ONE = {"W": [[1.0]], "b": 0.5, "b0": 0.5, "sigma": 0.1, "tau_y": 0.002, "tau_a": 0.002}
MIXED = {
    "W": np.ones((4, 4)), "b": 0.5, "b0": 0.4, "sigma": 0.1, "tau_y": 0.001, "tau_a": 0.002,
    "rectify": "inner",
}  # fmt: skip
Z4 = (0.8, -0.6, 0.3, -0.2)


def jacobian(y, a, *, W, tau_y, tau_a, rectify="none", **_):
    """Of the circuit with W_r = I at states `(..., n)`, in the order y, a."""
    n = y.shape[-1]
    eye, root = np.eye(n), np.sqrt(a)
    tau_y, tau_a = (np.broadcast_to(tau, y.shape)[..., None] for tau in (tau_y, tau_a))
    slope = np.ones_like(y) if rectify == "none" else (y > 0).astype(float)
    active = y * slope
    yy = ((1 - root) * slope - 1)[..., None] * eye
    ya = -(active / (2 * root))[..., None] * eye
    ay = W * (2 * a * active)[..., None, :]
    aa = -eye + W * (active**2)[..., None, :]
    return np.concatenate(
        [np.concatenate([yy, ya], -1) / tau_y, np.concatenate([ay, aa], -1) / tau_a], -2
    )


def at_rest(z, given):
    keep = {k: v for k, v in given.items() if not k.startswith("tau")}
    return jacobian(*normalization_equation(z, **keep), **given)


def companion(form):
    n = form.stiffness.shape[-1]
    eye = np.broadcast_to(np.eye(n), form.damping.shape)
    upper = np.concatenate([0 * eye, eye], -1)
    lower = np.concatenate([-form.stiffness[..., None] * eye, -form.damping], -1)
    return np.concatenate([upper, lower], -2)


def by_size(values):
    return np.sort_complex(np.round(values, 6))


def random_circuits(rng, n, size):
    """Parameters over decades, weights with zeros among them."""

    def decades(low, high):
        return 10 ** rng.uniform(low, high, size=(size, n))

    W = 10 ** rng.uniform(-2, 2, size=(size, n, n)) * (rng.uniform(size=(size, n, n)) < 0.7)
    z = rng.normal(size=(size, n)) * 10 ** rng.uniform(-1, 1, size=(size, 1))
    return z, {
        "W": W, "b": decades(-1, 1), "b0": decades(-1, 1), "sigma": decades(-2, 0),
        "tau_y": decades(-3, -1), "tau_a": decades(-3, -1),
    }  # fmt: skip


# The two-unit circuit, and one


def test_two_units_as_oscillators():
    form = oscillator_form((1, -0.5), **PAIR)
    expected = [[375.410196625, -35.234529839], [-200, 463.776759103]]
    np.testing.assert_allclose(form.damping, expected, rtol=1e-9)
    np.testing.assert_allclose(form.stiffness, [67082.039325, 168467.355886], rtol=1e-9)
    eigenvalues = [-214.516866938 + 326.416829321j, -205.076610926 + 178.934614661j]
    expected = by_size([*eigenvalues, *np.conj(eigenvalues)])
    np.testing.assert_allclose(by_size(np.linalg.eigvals(companion(form))), expected, rtol=1e-8)
    np.testing.assert_allclose(
        by_size(np.linalg.eigvals(at_rest((1, -0.5), PAIR))), expected, rtol=1e-8
    )


def test_two_units_have_their_certificate():
    found = stability_certificate((1, -0.5), **PAIR)
    assert found.stable is True
    np.testing.assert_allclose(found.weights, [1.330183853175, 0.713655630145], rtol=1e-9)
    B = found.oscillators.damping
    np.testing.assert_allclose(lyapunov_weights(B), found.weights, rtol=1e-12)
    symmetric = np.diag(found.weights) @ B + B.T @ np.diag(found.weights)
    values = np.linalg.eigvalsh(symmetric)
    np.testing.assert_allclose(values, [576.762309452, 1083.920644812], rtol=1e-9)
    assert found.least_damping == pytest.approx(576.762309452, rel=1e-9)
    assert found.driven.all()
    own = np.diag(B)
    ratio = np.diag(1 / np.array([0.002, 0.004]) * np.sqrt([0.45, 0.4541])) + np.diag([200, 1000])
    off = np.eye(2) - np.linalg.solve(ratio, B)
    assert found.spectral_radius == pytest.approx(np.abs(np.linalg.eigvals(off)).max(), rel=1e-9)
    assert (own > 0).all()


def test_frequencies_of_one_unit():
    form = oscillator_form([1.0], **ONE)
    np.testing.assert_allclose(form.damping, 256.1973855775, rtol=1e-9)
    np.testing.assert_allclose(form.stiffness, 125623.445264, rtol=1e-9)
    np.testing.assert_allclose(form.natural_frequencies, 56.4099197114, rtol=1e-9)
    np.testing.assert_allclose(form.damped_frequencies, 52.5968368634, rtol=1e-9)
    np.testing.assert_allclose(form.time_constants, 0.002 / np.sqrt(0.2525))
    slow = at_rest([1.0], ONE | {"tau_y": 0.01})
    np.testing.assert_allclose(
        by_size(np.linalg.eigvals(slow))[-1], -27.5999365776 + 156.0862984176j, rtol=1e-7
    )
    weak, strong = (oscillator_form([c], **ONE).damped_frequencies[0] for c in (0.1066, 0.1067))
    assert weak == 0 < strong
    frequencies = oscillator_form([[0.25], [0.5], [1.0]], **ONE).damped_frequencies[:, 0]
    np.testing.assert_allclose(frequencies, [27.1098, 38.4474, 52.5968], rtol=1e-5)


def test_equal_weights_have_one_collective_pair():
    given = ONE | {"W": np.ones((3, 3))}
    z = np.array([1, -0.5, 0.25])
    y, a = normalization_equation(z, W=np.ones((3, 3)), sigma=0.1, b=0.5)
    np.testing.assert_allclose(a, 0.330625)
    np.testing.assert_allclose(y, [0.8695652174, -0.4347826087, 0.2173913043], rtol=1e-9)
    np.testing.assert_allclose(y @ y, 0.9924385633, rtol=1e-9)
    pair = -145.6403591682 + 350.0555467084j
    expected = by_size([-500, -500, -287.5, -287.5, pair, np.conj(pair)])
    for matrix in (at_rest(z, given), companion(oscillator_form(z, **given))):
        # Double eigenvalues are found to the root of rounding.
        np.testing.assert_allclose(by_size(np.linalg.eigvals(matrix)), expected, atol=1e-4)


def test_units_silenced_by_rectification():
    pair = -216.7071117400 + 409.3560885715j
    expected = by_size([-1000, -1000, -500, -500, -500, -429.0687590585, pair, np.conj(pair)])
    for matrix in (at_rest(Z4, MIXED), companion(oscillator_form(Z4, **MIXED))):
        np.testing.assert_allclose(by_size(np.linalg.eigvals(matrix)), expected, atol=1e-4)
    found = stability_certificate(Z4, **MIXED)
    assert found.stable
    assert found.driven.tolist() == [True, False, True, False]
    # Of the driven among themselves, as if there were no others.
    alone = stability_certificate((0.8, 0.3), **MIXED | {"W": np.ones((2, 2)), "rectify": "none"})
    np.testing.assert_allclose(found.weights, [alone.weights[0], 1, alone.weights[1], 1])
    assert found.least_damping == pytest.approx(alone.least_damping)
    assert found.spectral_radius == pytest.approx(alone.spectral_radius)


def test_unit_without_drive_follows():
    form = oscillator_form((1.0, 0.0), **PAIR)
    np.testing.assert_allclose(
        by_size(np.linalg.eigvals(companion(form))),
        by_size(np.linalg.eigvals(at_rest((1.0, 0.0), PAIR))),
        rtol=1e-7,
    )
    found = stability_certificate((1.0, 0.0), **PAIR)
    assert found.stable
    assert found.driven.tolist() == [True, False]
    assert found.weights.tolist() == [1, 1]
    assert found.least_damping == pytest.approx(2 * form.damping[0, 0])
    nothing = stability_certificate((0.0, 0.0), **PAIR)
    assert nothing.stable
    assert nothing.spectral_radius == 0


# The theorem


@pytest.mark.parametrize("sizes", [range(1, 8), range(8, 15), range(15, 21)])
def test_no_circuit_is_unstable(sizes):
    """1,200 circuits in all, each proved stable and found stable."""
    rng = np.random.default_rng(sizes.start)
    for n in sizes:
        z, given = random_circuits(rng, n, 60)
        found = stability_certificate(z, **given)
        assert found.stable.all()
        assert (found.spectral_radius < 1).all()
        assert (found.weights > 0).all()
        assert (found.least_damping > 0).all()
        assert (spectral_abscissa(at_rest(z, given)) < 0).all()


def test_negative_weights_can_destabilise():
    rng = np.random.default_rng(0)
    W = rng.normal(scale=2, size=(5000, 2, 2))
    z, b, b0, sigma = (rng.uniform(size=(5000, 2)) for _ in range(4))
    a = (b0 * sigma) ** 2 + np.einsum("cij,cj->ci", W, (b * z) ** 2)
    kept = (a > 0).all(axis=1)
    y = b * z / np.sqrt(np.where(a > 0, a, 1))
    J = jacobian(y[kept], a[kept], W=W[kept], tau_y=1.0, tau_a=1.0)
    unstable = (spectral_abscissa(J) > 0).sum()
    assert 20 < unstable < kept.sum() / 4
    with pytest.raises(ValueError, match="W must be without negative entries"):
        stability_certificate(z, W=W, b=b + 0.1, b0=b0 + 0.1, sigma=sigma + 0.1, tau_y=1, tau_a=1)


def test_spectral_radius_of_the_theorem():
    """D(t) W D(u / (v + W u)) for t from 0 to 1, u >= 0, v > 0."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 12):
        t, v = rng.uniform(1e-3, 1 - 1e-3, size=(100, n)), 10 ** rng.uniform(-3, 1, size=(100, n))
        u = rng.exponential(size=(100, n)) * (rng.uniform(size=(100, n)) < 0.8)
        W = rng.exponential(size=(100, n, n)) * 10
        matrix = t[..., None] * W * (u / (v + np.einsum("cij,cj->ci", W, u)))[:, None, :]
        assert (np.abs(np.linalg.eigvals(matrix)).max(axis=1) < 1).all()


def test_strict_lyapunov_matrix_falls_wherever_the_circuit_moves():
    rng = np.random.default_rng(2)
    for n in (1, 3, 8):
        z, given = random_circuits(rng, n, 20)
        form = oscillator_form(z, **given | {"tau_y": 0.5, "tau_a": 2.0})
        P, A = strict_lyapunov_matrix(form.damping, form.stiffness), companion(form)
        assert P.shape == (20, 2 * n, 2 * n)
        assert np.linalg.eigvalsh(P).min() > 0
        decrease = np.swapaxes(A, -1, -2) @ P + P @ A
        assert np.linalg.eigvalsh(decrease).max() < 0
    form = oscillator_form((1, -0.5), **PAIR)
    P, A = strict_lyapunov_matrix(form.damping, form.stiffness), companion(form)
    x = np.array([0.5, -1, 0, 0])
    values = [x @ expm(t * A).T @ P @ expm(t * A) @ x for t in np.linspace(0, 0.02, 41)]
    assert (np.diff(values) < 0).all()


# What is asked for


def test_spectral_abscissa():
    J = np.array([[[-1.0, 5], [0, -2]], [[0.5, 2], [-2, 0.5]]])
    assert spectral_abscissa(J[1]) == pytest.approx(0.5)
    np.testing.assert_allclose(spectral_abscissa(J), [-1, 0.5])
    assert isinstance(spectral_abscissa(jnp.asarray(J)), jax.Array)
    for bad in (np.ones(3), np.ones((2, 3)), np.zeros((0, 0))):
        with pytest.raises(ValueError, match=r"J must be \(\.\.\., n, n\)"):
            spectral_abscissa(bad)


def test_weights_need_an_m_matrix():
    with pytest.raises(ValueError, match="positive entries off its diagonal"):
        lyapunov_weights([[1.0, 0.5], [-0.2, 1]])
    for bad in ([[1.0, -2], [-2, 1]], [[1.0, -1], [-1, 1]], [[-1.0, 0], [0, 1]]):
        with pytest.raises(ValueError, match="no nonsingular M-matrix"):
            lyapunov_weights(bad)
    with pytest.raises(ValueError, match=r"B must be \(\.\.\., n, n\)"):
        lyapunov_weights(np.ones((2, 3)))
    with pytest.raises(ValueError, match="K must be positive"):
        strict_lyapunov_matrix(np.eye(2), [1.0, -1])
    with pytest.raises(ValueError, match=r"K must be \(\.\.\., n\)"):
        strict_lyapunov_matrix(np.eye(2), [1.0])


def test_time_constants_must_be_positive_and_values_known():
    with pytest.raises(ValueError, match="tau_y must be positive, got 0"):
        oscillator_form([1.0], **ONE | {"tau_y": 0})
    with pytest.raises(TypeError, match="oscillator_form is computed in NumPy"):
        jax.jit(lambda z: oscillator_form(z, **ONE).damping)(jnp.ones(1))
    assert isinstance(oscillator_form(jnp.ones(1), **ONE).damping, np.ndarray)
