"""Grid cells replaced by band cells: how many, and what they look like."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels.band_units import replace_by_bands
from neurosim.kernels.ideal_grid import ideal_grid_module

X = np.stack(np.meshgrid(*[np.arange(40) / 40] * 2, indexing="ij"), axis=-1)
GRIDS = ideal_grid_module(X, n_per_side=4, spacing=0.3)
KEY = jax.random.key(0)


def test_a_share_of_cells_becomes_bands():
    mixed = replace_by_bands(KEY, GRIDS, X, spacing=0.3, fraction=0.17)
    changed = np.flatnonzero((mixed != GRIDS).any(axis=(1, 2)))
    assert len(changed) == 3
    assert isinstance(mixed, np.ndarray)
    none = replace_by_bands(KEY, GRIDS, X, spacing=0.3, fraction=0.0)
    np.testing.assert_array_equal(none, GRIDS)
    replace = jax.jit(lambda key, r: replace_by_bands(key, r, X, spacing=0.3, fraction=0.17))
    np.testing.assert_allclose(replace(KEY, jnp.asarray(GRIDS)), mixed, atol=1e-4)


def test_bands_have_their_spacing_and_all_directions():
    fine = np.stack(np.meshgrid(*[np.arange(60) / 60] * 2, indexing="ij"), axis=-1)
    silent = np.zeros((200, 60, 60))
    bands = replace_by_bands(KEY, silent, fine, spacing=0.3, fraction=1)
    # 1/2 + cos(k . x - a) / 2: slopes tell k and its direction, |grad r|^2 = k^2 (r - r^2).
    slopes = np.stack(np.gradient(bands, 1 / 60, axis=(1, 2)), axis=-1)[:, 1:-1, 1:-1]
    inner = bands[:, 1:-1, 1:-1]
    k2 = np.sum(slopes**2, axis=(1, 2, 3)) / np.sum(inner - inner**2, axis=(1, 2))
    np.testing.assert_allclose(np.sqrt(k2), 2 * np.pi / 0.3, rtol=0.04)
    xx, yy, xy = (
        np.sum(slopes[..., i] * slopes[..., j], (1, 2)) for i, j in ((0, 0), (1, 1), (0, 1))
    )
    angles = np.arctan2(2 * xy, xx - yy) % (2 * np.pi)
    # Twice the angle is spread over the circle: a mean of uniform directions is about 1/sqrt(n).
    assert abs(np.exp(1j * angles).mean()) < 0.15
    assert bands.var() == pytest.approx(1 / 8, rel=0.02)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"positions": X[:-1]}, "rates must be"),
        ({"fraction": 1.5}, "fraction must be"),
        ({"spacing": 0.0, "fraction": 0.5}, "spacing must be"),
    ],
)
def test_bad_bands(changes, said):
    given = {"rates": GRIDS, "positions": X, "spacing": 0.3, "fraction": 0.2} | changes
    with pytest.raises(ValueError, match=said):
        replace_by_bands(KEY, **given)
