"""Saliency: its peaks as published and as printed."""

import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.models.place_cell_readout import PlaceCellReadout
from neurosim.models.saliency import gaussian_saliency, left_half_saliency

pytestmark = pytest.mark.usefixtures("double_precision")


@pytest.mark.parametrize(
    ("strength", "width", "normalization", "peak"),
    [
        (1.0, 0.1, "density", 16.915494),
        (1000.0, 0.1, "density", 15916.5),
        (1.0, 0.05, "density", 1 + 63.66),
        (1.0, 0.05, "paper", 1 + 7.9788),
        (3.0, 0.05, "peak", 4.0),
    ],
)
def test_peaks(strength, width, normalization, peak):
    x = jnp.asarray([[0.5, 0.5], [0.5 + width, 0.5]])
    at, off = gaussian_saliency(x, width=width, strength=strength, normalization=normalization)
    assert float(at) == pytest.approx(peak, rel=1e-4)
    assert float(off - 1) == pytest.approx(float(at - 1) * np.exp(-0.5), rel=1e-12)


def test_a_map_has_the_published_sum_and_peak():
    bins = PlaceCellReadout(np.zeros((1, 10, 10))).bin_positions()
    s = gaussian_saliency(bins, center=(0.3, 0.7), width=0.2, strength=2.0)
    assert float(s.sum()) == pytest.approx(272.34155199, abs=1e-8)
    assert float(s.max()) == pytest.approx(8.95774715, abs=1e-8)
    assert np.unravel_index(np.argmax(s), s.shape) == (3, 7)


def test_left_half():
    bins = PlaceCellReadout(np.zeros((1, 4, 4))).bin_positions()
    np.testing.assert_array_equal(left_half_saliency(bins, strength=2.0)[:, 0], [3, 3, 1, 1])


@pytest.mark.usefixtures("unchecked_signatures")
@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"center": 0.8}, "center must be two coordinates"),
        ({"center": (0.5, 1.2)}, "center must lie in the arena"),
        ({"width": 0.0}, "width must be positive"),
        ({"width": np.nan}, "width must be positive"),
        ({"strength": np.inf}, "strength must be finite"),
        ({"normalization": "unit"}, "normalization must be"),
    ],
)
def test_bad_input_is_named(options, match):
    with pytest.raises(ValueError, match=match):
        gaussian_saliency(jnp.zeros(2), **options)
