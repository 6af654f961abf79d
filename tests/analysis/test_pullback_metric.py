"""Metrics of codes whose metric is known in closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.pullback_metric import pullback_metric, pullback_metric_of
from neurosim.kernels.diffeomorphic_push import radial_push
from neurosim.kernels.ideal_grid import ideal_grid_map, ideal_grid_module

N, SPACING, H = 64, 0.3, 0.0125
X = np.stack(np.meshgrid(*[H * np.arange(40)] * 2, indexing="ij"), axis=-1)
GRIDS = ideal_grid_module(X, n_per_side=8, spacing=SPACING)
#: 16 pi^2 N / (81 spacing^2), 1386.3477 for 64 cells of a spacing of 0.3.
FLAT = 16 * np.pi**2 * N / (81 * SPACING**2)


def test_a_grid_module_is_conformally_isometric():
    assert pytest.approx(1386.3477, abs=5e-5) == FLAT
    k, inner = 4 * np.pi / (3**0.5 * SPACING), (slice(2, -2), slice(2, -2))
    found = pullback_metric(GRIDS, bin_size=H)
    assert found.metric.shape == (40, 40, 2, 2)
    assert found.variation < 1e-3
    # Differences over two bins lose (k h)^2 / 3 of a wave's metric along it, 3 / 4 of that in
    # the mean of three waves; those over four bins much less.
    ratio = found.metric[inner][..., 0, 0] / FLAT
    np.testing.assert_allclose(1 - ratio, (k * H) ** 2 / 4, rtol=0.05)
    fine = pullback_metric(GRIDS, bin_size=H, accuracy=4)
    np.testing.assert_allclose(fine.metric[inner], FLAT * np.eye(2) + np.zeros((36, 36, 1, 1)),
                               atol=1.2e-3 * FLAT)  # fmt: skip
    np.testing.assert_allclose(fine.conformal_factor[inner], FLAT**0.5, rtol=1e-3)
    np.testing.assert_allclose(fine.area_element[inner], FLAT, rtol=1e-3)
    assert fine.anisotropy[inner].max() < 1e-3
    # At walls by bins on one side, of second order too.
    np.testing.assert_allclose(fine.conformal_factor[0, 2:-2], FLAT**0.5, rtol=0.05)


def test_planes_have_constant_derivatives_however_they_are_taken():
    a = np.array([[3.0, 1.0], [0.0, 2.0], [1.0, -1.0]])
    planes = np.einsum("ca,xya->cxy", a, np.stack(np.meshgrid(
        0.1 * np.arange(9), 0.2 * np.arange(8), indexing="ij"), -1))  # fmt: skip
    known = a.T @ a
    planes[1, 4, 3] = np.nan
    for accuracy in (2, 4):
        found = pullback_metric(planes, bin_size=(0.1, 0.2), accuracy=accuracy, border=1)
        assert np.isnan(found.metric).all(axis=(-1, -2)).sum() == 1
        metric = found.metric[np.isfinite(found.conformal_factor)]
        np.testing.assert_allclose(metric, np.broadcast_to(known, metric.shape), rtol=1e-10)
        assert found.variation == pytest.approx(0, abs=1e-12)
    low, high = np.linalg.eigvalsh(known)
    assert found.conformal_factor[0, 0] == pytest.approx(((low + high) / 2) ** 0.5)
    assert found.anisotropy[0, 0] == pytest.approx((high - low) / (high + low))
    assert found.area_element[0, 0] == pytest.approx((low * high) ** 0.5)
    # One wave moves along one direction only; and a strip of bins has no other.
    band = ideal_grid_map(X, spacing=SPACING, orientation=0.4, lattice="band")[None]
    np.testing.assert_allclose(pullback_metric(band, bin_size=H).anisotropy, 1)
    strip = np.full((1, 5, 5), np.nan)
    strip[0, :, 2] = np.arange(5.0)
    assert np.isnan(pullback_metric(strip, bin_size=1).conformal_factor).all()


def test_bins_near_to_walls_are_left_out_of_the_variation():
    steep = GRIDS.copy()
    steep[:, :2] *= 5
    clean = pullback_metric(GRIDS, bin_size=H, border=3).variation
    assert pullback_metric(steep, bin_size=H, border=3).variation == pytest.approx(clean, abs=1e-4)
    assert pullback_metric(steep, bin_size=H, border=0).variation > 0.5
    # A hole in the middle keeps its neighbours out.
    hole = GRIDS.copy()
    hole[0, 20, 20] = np.nan
    hole[:, 21, 20] *= 5
    assert pullback_metric(hole, bin_size=H, border=3).variation == pytest.approx(clean, abs=1e-4)
    assert np.isnan(pullback_metric(GRIDS[:, :3], bin_size=H).variation)


def test_noise_adds_to_the_metric_unless_repeated():
    rng = np.random.default_rng(0)
    first, second = (GRIDS + 0.1 * rng.normal(size=GRIDS.shape) for _ in range(2))
    clean = np.mean(pullback_metric(GRIDS, bin_size=H).metric[2:-2, 2:-2, 0, 0])
    noisy, fair = (
        np.mean(pullback_metric(first, bin_size=H, repeat=other).metric[2:-2, 2:-2, 0, 0])
        for other in (None, second)
    )
    # By the variance of a difference over two bins, of each cell.
    assert noisy - clean == pytest.approx(N * 2 * 0.1**2 / (2 * H) ** 2, rel=0.05)
    assert fair == pytest.approx(clean, rel=0.01)


def test_a_function_by_exact_derivatives(double_precision):
    points = np.random.default_rng(0).uniform(size=(4, 3, 2))

    def code(x):
        return ideal_grid_module(x, n_per_side=4, spacing=SPACING)

    found = pullback_metric_of(code, points)
    np.testing.assert_allclose(found.conformal_factor, (FLAT / 4) ** 0.5, rtol=1e-12)
    np.testing.assert_allclose(
        found.metric, FLAT / 4 * np.eye(2) + np.zeros((4, 3, 1, 1)), atol=1e-9
    )
    assert found.anisotropy.max() < 1e-10
    assert found.variation < 1e-12
    assert isinstance(found.metric, np.ndarray)

    # Pushed, it has the metric J^T g J.
    def attracted(x):
        return code(radial_push(x, center=(0.5, 0.5), gain=0.8, width=0.2).positions)

    def mean_factor(x):
        return jnp.mean(pullback_metric_of(attracted, x).conformal_factor)

    J = radial_push(points, center=(0.5, 0.5), gain=0.8, width=0.2).jacobian
    pushed = pullback_metric_of(attracted, points, batch_size=5)
    np.testing.assert_allclose(pushed.metric, FLAT / 4 * np.swapaxes(J, -1, -2) @ J, atol=1e-9)
    np.testing.assert_allclose(pushed.area_element, FLAT / 4 * np.abs(np.linalg.det(J)))
    ones = jnp.ones_like(points)
    value_and_slope = jax.jit(lambda x: jax.jvp(mean_factor, (x,), (ones,)))
    (_, slope), (far, _), (near, _) = (value_and_slope(points + s * 1e-5) for s in (0, 1, -1))
    assert float(slope) == pytest.approx(float(far - near) / 2e-5, rel=1e-6)
    with pytest.raises(ValueError, match="batch_size"):
        pullback_metric_of(code, points, batch_size=0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"maps": GRIDS[0]}, r"maps must be \(cell, bins, bins\)"),
        ({"maps": GRIDS[:, :1]}, "two bins along each axis"),
        (
            {"maps": np.concatenate([GRIDS[:2], np.full((1, 40, 40), np.nan)])},
            "cell 2 of maps is NaN",
        ),
        ({"maps": GRIDS * np.inf}, "must be finite"),
        ({"bin_size": 0}, "bin_size must be"),
        ({"accuracy": 3}, "accuracy must be 2 or 4"),
        ({"border": -1}, "border must not be negative"),
        ({"repeat": GRIDS[:5]}, "same cells and bins"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_bad_maps(changes, said):
    with pytest.raises(ValueError, match=said):
        pullback_metric(**{"maps": GRIDS, "bin_size": H} | changes)


def test_bad_codes():
    with pytest.raises(ValueError, match="code must give rates"):
        pullback_metric_of(lambda x: x[0], np.zeros((1, 2)))
    with pytest.raises(ValueError, match="positions must be"):
        pullback_metric_of(lambda x: x, np.zeros(3))
    with pytest.raises(ValueError, match="positions must be finite"):
        pullback_metric_of(lambda x: x, np.full((1, 2), np.nan))
    with pytest.raises(ValueError, match="derivative of code is not finite"):
        pullback_metric_of(jnp.sqrt, np.zeros((1, 2)))
