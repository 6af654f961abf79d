"""The energy: published values, exact decay of the linear flow, descent of the circuit itself."""

import numpy as np
import pytest
import scipy.integrate
from scipy.linalg import expm

from neurosim.analysis.normalization_energy import energy_decay, normalization_energy
from neurosim.analysis.normalization_equation import normalization_equation
from neurosim.analysis.normalization_stability import stability_certificate

PAIR = {
    "W": np.array([[1, 0.5], [0.25, 2]]), "b": np.array([0.6, 0.8]), "b0": np.array([0.5, 0.7]),
    "sigma": np.array([0.2, 0.3]), "tau_y": np.array([0.002, 0.004]),
    "tau_a": np.array([0.005, 0.001]),
}  # fmt: skip
Z = np.array([1, -0.5])
ONE = {"W": [[1.0]], "b": 0.5, "b0": 0.5, "sigma": 0.1, "tau_y": 0.002, "tau_a": 0.002}


def rest(z, given):
    return normalization_equation(z, **{k: v for k, v in given.items() if k[:3] != "tau"})


def flow(y, a, z, *, W, b, b0, sigma, tau_y, tau_a):
    dy = (-np.sqrt(a) * y + b * z) / tau_y
    return dy, (-a + (b0 * sigma) ** 2 + W @ (y**2 * a)) / tau_a


def slope(y, a, given):
    """The Jacobian at rest, by the equations of each entry."""
    n, root = len(y), np.sqrt(a)
    W, tau_y, tau_a = given["W"], given["tau_y"], given["tau_a"]
    return np.block([
        [np.diag(-root / tau_y), np.diag(-y / (2 * root) / tau_y)],
        [(W * 2 * a * y) / tau_a[:, None], (-np.eye(n) + W * y**2) / tau_a[:, None]],
    ])  # fmt: skip


def test_energies_of_two_units():
    found = normalization_energy((0.5, -0.2), (0.3, 0.4), Z, **PAIR)
    assert found.total == pytest.approx(0.563675699803, rel=1e-10)
    assert found.total == pytest.approx((found.response + found.mismatch).sum())
    y_s, a_s = rest(Z, PAIR)
    assert normalization_energy((0, 0), a_s, Z, **PAIR).total == pytest.approx(
        1.450665693380, rel=1e-10
    )
    assert normalization_energy(y_s, a_s, Z, **PAIR).total == pytest.approx(0, abs=1e-28)
    # Whoever has the normalized response at another gain mismatches, and the other way round.
    response = normalization_energy(y_s, 2 * a_s, Z, **PAIR)
    np.testing.assert_allclose(response.response, 0, atol=1e-28)
    assert (response.mismatch > 0.01).all()
    mismatch = normalization_energy(y_s / np.sqrt(2), 2 * a_s, Z, **PAIR)
    np.testing.assert_allclose(mismatch.mismatch, 0, atol=1e-28)


def test_decay_of_one_unit():
    """In the published form for one unit there is no factor a / y^2."""
    y_s, a_s = (float(x[0]) for x in rest([1.0], ONE))
    assert y_s == pytest.approx(0.9950371902, rel=1e-9)
    found = energy_decay([0.5], [0.4], [1.0], **ONE)
    assert found.rate * y_s**2 / a_s == pytest.approx(5.4057977387, rel=1e-9)
    y = np.linspace(-1, 2, 7)[:, None]
    a = np.linspace(0.1, 0.5, 7)[:, None]
    moved = (2 * y * a_s - 3 * a_s * y_s + a * y_s)[:, 0] ** 2
    expected = moved * (np.sqrt(a_s) * 0.002 + 0.002 * (1 - y_s**2)) / (2 * a_s * 0.002 * 0.002)
    rate = energy_decay(y, a, [1.0], **ONE).rate
    np.testing.assert_allclose(rate * y_s**2 / a_s, expected, rtol=1e-9)
    # It is at rest on a line, not only at the rest point.
    still = energy_decay([0.5], [3 * a_s - 2 * 0.5 * a_s / y_s], [1.0], **ONE)
    assert still.rate == pytest.approx(0, abs=1e-25)
    assert still.energy > 0.01


def test_rate_is_that_of_the_linear_flow():
    y_s, a_s = rest(Z, PAIR)
    J = slope(y_s, a_s, PAIR)
    at = np.concatenate([y_s, a_s])
    start, h = np.array([-0.3, 0.2, 0.05, -0.2]), 1e-6

    def energy(t):
        state = at + expm(t * J) @ start
        return energy_decay(state[:2], state[2:], Z, **PAIR)

    assert energy(0).rate == pytest.approx((energy(-h).energy - energy(h).energy) / (2 * h), 1e-6)


def test_energy_is_quadratic_about_rest():
    y_s, a_s = rest(Z, PAIR)
    dy, da = np.array([-0.3, 0.2]), np.array([0.1, -0.2])
    for h in (1e-3, 1e-4):
        full = normalization_energy(y_s + h * dy, a_s + h * da, Z, **PAIR).total
        assert full == pytest.approx(
            energy_decay(y_s + h * dy, a_s + h * da, Z, **PAIR).energy, rel=3 * h
        )


def test_energy_falls_along_trajectories():
    """From starts up to half the rest point away."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 2, 5, 10):
        given = {name: rng.uniform(0.2, 1, size=n) for name in ("b", "b0", "sigma")}
        given |= {"tau_y": rng.uniform(1, 5, size=n), "tau_a": rng.uniform(1, 5, size=n)}
        given["W"], z = rng.uniform(size=(n, n)), rng.normal(size=n)
        y_s, a_s = rest(z, given)
        y, a = (x * (1 + rng.uniform(-0.5, 0.5, size=n)) for x in (y_s, a_s))
        run = scipy.integrate.solve_ivp(
            lambda t, x, n=n, z=z, given=given: np.concatenate(flow(x[:n], x[n:], z, **given)),
            (0, 40), np.concatenate([y, a]), t_eval=np.linspace(0, 40, 201), rtol=1e-9, atol=1e-12,
        )  # fmt: skip
        energies = normalization_energy(run.y[:n].T, run.y[n:].T, z, **given).total
        assert (np.diff(energies) <= 1e-9 * energies[0]).all()
        assert energies[-1] < 1e-3 * energies[0]


def test_trials_with_inputs_of_their_own():
    rng = np.random.default_rng(1)
    y, a, z = rng.normal(size=(3, 4, 2)), rng.uniform(size=(3, 4, 2)), rng.normal(size=(3, 1, 2))
    found = normalization_energy(y, a, z, **PAIR)
    assert found.total.shape == (3, 4)
    assert found.response.shape == (3, 4, 2)
    one = normalization_energy(y[1, 2], a[1, 2], z[1, 0], **PAIR)
    assert found.total[1, 2] == pytest.approx(one.total, rel=1e-12)
    decay = energy_decay(y, a, z, **PAIR)
    assert decay.rate[1, 2] == pytest.approx(energy_decay(y[1, 2], a[1, 2], z[1, 0], **PAIR).rate)


def test_units_without_drive_are_left_out():
    y, a = np.array([0.3, 0.7]), np.array([0.2, 0.3])
    found = normalization_energy(y, a, (1.0, 0.0), **PAIR)
    assert found.driven.tolist() == [True, False]
    assert found.response[1] == found.mismatch[1] == 0
    assert found.total > 0
    # As of a circuit of the other alone.
    alone = {k: v[:1] for k, v in PAIR.items()} | {"W": [[1.0]]}
    assert found.total == pytest.approx(normalization_energy(y[:1], a[:1], [1.0], **alone).total)
    other = energy_decay(y, a, (1.0, 0.0), **PAIR)
    assert other.rate == pytest.approx(energy_decay(y[:1], a[:1], [1.0], **alone).rate)
    # What is rectified has no energy either, and y below 0 is silent.
    rectified = normalization_energy(y * [-1, 1], a, (1.0, -0.5), **PAIR, rectify="inner")
    assert rectified.driven.tolist() == [True, False]
    gap = (0.6 * 1.0) ** 2
    y_s, a_s = normalization_equation(
        (1.0, -0.5), rectify="inner", **{k: v for k, v in PAIR.items() if k[:3] != "tau"}
    )
    t = stability_certificate((1.0, -0.5), **PAIR, rectify="inner").weights
    assert rectified.mismatch[0] == pytest.approx(t[0] * a_s[0] / y_s[0] ** 2 * gap)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [0.5]}, r"y and a must both be \(\.\.\., n\) with n = 2"),
        ({"y": np.ones((3, 2)), "a": np.ones((3, 2)), "z": np.ones((4, 2))}, "leading axes of z"),
        ({"a": [0.1, -0.1]}, "a must not be negative, got -0.1"),
        ({"tau_a": 0.0}, "tau_a must be positive"),
        ({"y": [np.nan, 1]}, "y must be finite"),
    ],
)
def test_bad_input(change, message):
    given = {"y": [0.5, 0.2], "a": [0.1, 0.2], "z": Z} | PAIR | change
    with pytest.raises(ValueError, match=message):
        normalization_energy(given.pop("y"), given.pop("a"), given.pop("z"), **given)
