"""Ideal grids against closed forms of sums of plane waves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels.ideal_grid import (
    grid_lattice_vectors,
    grid_wave_vectors,
    ideal_grid_map,
    ideal_grid_module,
)

SPACING, TURN = 0.3, 0.2
VECTORS = grid_lattice_vectors(spacing=SPACING, orientation=TURN)
# A lattice of points over one unit cell, fine enough for sums of waves to be exact.
STEPS = np.stack(np.meshgrid(*[np.arange(12) / 12] * 2, indexing="ij"), axis=-1)
CELL = STEPS @ VECTORS


def test_peaks_lie_one_spacing_apart():
    around, shift = TURN + np.pi / 3 * np.arange(6), np.array([1.0, 2.0])
    peaks = SPACING * np.stack([np.cos(around), np.sin(around)], axis=1)
    rates = ideal_grid_map(peaks + shift, spacing=SPACING, orientation=TURN, phase=shift)
    np.testing.assert_allclose(rates, 1, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(VECTORS, axis=1), SPACING)
    k = grid_wave_vectors(spacing=SPACING, orientation=TURN)
    np.testing.assert_allclose(np.linalg.norm(k, axis=1), 4 * np.pi / (3**0.5 * SPACING))
    assert ideal_grid_map(CELL, spacing=SPACING, orientation=TURN).min() == pytest.approx(0)
    # Nowhere else within the lattice's unit cell is a peak.
    assert np.sum(ideal_grid_map(CELL, spacing=SPACING, orientation=TURN) > 1 - 1e-9) == 1


def test_mean_and_variance():
    rates = ideal_grid_map(CELL, spacing=SPACING, orientation=TURN)
    assert rates.mean() == pytest.approx(1 / 3, abs=1e-12)
    assert rates.var() == pytest.approx(2 / 27, abs=1e-12)
    # Sparsity, squared mean over mean square.
    assert rates.mean() ** 2 / np.mean(rates**2) == pytest.approx(0.6, abs=1e-12)


def test_squares_and_bands():
    square = {"spacing": SPACING, "orientation": TURN, "lattice": "square"}
    vectors = grid_lattice_vectors(**square)
    assert vectors[0] @ vectors[1] == pytest.approx(0, abs=1e-15)
    rates = ideal_grid_map(STEPS @ vectors, **square)
    assert (rates.mean(), rates.var()) == pytest.approx((1 / 2, 1 / 16))
    assert (rates.min(), rates.max()) == pytest.approx((0, 1))
    x = STEPS @ grid_lattice_vectors(spacing=SPACING, lattice="band")
    band = ideal_grid_map(x, spacing=SPACING, lattice="band")
    np.testing.assert_allclose(band, 0.5 + 0.5 * np.cos(2 * np.pi / SPACING * x[..., 0]))


def test_a_module_is_a_flat_torus():
    n = 64
    module = ideal_grid_module(CELL, n_per_side=8, spacing=SPACING, orientation=TURN)
    assert module.shape == (n, 12, 12)
    points = module.reshape(n, -1).T
    np.testing.assert_allclose(np.sum(points**2, axis=1), 5 * n / 27)
    # Six principal components of equal variance, no seventh.
    variances = np.linalg.eigvalsh(np.cov(points.T, bias=True))[::-1]
    np.testing.assert_allclose(variances[:6], 2 * n / 27 / 6)
    assert variances[6] == pytest.approx(0, abs=1e-12)
    # The metric is 16 pi^2 N / (81 spacing^2) times the identity, everywhere and every way.
    step = 1e-5
    for angle in (0, 0.7, 2.0):
        d = step * np.array([np.cos(angle), np.sin(angle)])
        moved = ideal_grid_module(CELL + d, n_per_side=8, spacing=SPACING, orientation=TURN)
        stretch = np.sum((moved - module) ** 2, axis=0) / step**2
        np.testing.assert_allclose(stretch, 1386.3477, rtol=1e-5)
    # |r(x + d) - r(x)|^2 = 4 N / 81 sum_i (1 - cos k_i d), far away too.
    d = np.array([0.11, -0.05])
    moved = ideal_grid_module(CELL + d, n_per_side=8, spacing=SPACING, orientation=TURN)
    k = grid_wave_vectors(spacing=SPACING, orientation=TURN)
    expected = 4 * n / 81 * np.sum(1 - np.cos(k @ d))
    np.testing.assert_allclose(np.sum((moved - module) ** 2, axis=0), expected)


def test_phases_of_a_module():
    module = ideal_grid_module(CELL, n_per_side=3, spacing=SPACING, orientation=TURN)
    phase = (VECTORS[0] + 2 * VECTORS[1]) / 3
    expected = ideal_grid_map(CELL, spacing=SPACING, orientation=TURN, phase=phase)
    np.testing.assert_allclose(module[5], expected, atol=1e-12)


def test_in_jax_where_jax_is_given(double_precision):
    rates = ideal_grid_map(jnp.asarray(CELL), spacing=SPACING, orientation=TURN)
    assert isinstance(rates, jax.Array)
    assert rates.dtype == jnp.float64
    expected = ideal_grid_map(CELL, spacing=SPACING, orientation=TURN)
    np.testing.assert_allclose(rates, expected, atol=1e-14)
    # The derivative with respect to spacing, against differences.
    x = jnp.asarray([0.11, 0.07])
    value = jax.grad(lambda s: ideal_grid_map(x, spacing=s))(SPACING)
    above, below = (ideal_grid_map(x, spacing=SPACING + h) for h in (1e-5, -1e-5))
    assert value == pytest.approx(float(above - below) / 2e-5, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ideal_grid_map(CELL, spacing=0.0), r"spacing must be positive and finite, got 0"),
        (lambda: ideal_grid_map(CELL, spacing=np.nan), r"spacing must be positive and finite"),
        (lambda: ideal_grid_map(CELL, spacing=(1, 2)), r"spacing must be a number"),
        (lambda: ideal_grid_map(CELL, spacing=1.0, orientation=np.inf), r"orientation must be fin"),
        (lambda: ideal_grid_map(CELL[..., :1], spacing=1.0), r"positions must be \(\.\.\., 2\)"),
        (lambda: ideal_grid_map(CELL, spacing=1.0, phase=(1, 2, 3)), r"phase must be \(2,\)"),
        (lambda: ideal_grid_map(CELL, spacing=1.0, lattice="hex"), r"lattice must be one of hexa"),
        (
            lambda: ideal_grid_module(CELL, n_per_side=0, spacing=1.0),
            r"n_per_side must be at least",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
