"""Spacing, orientation, ellipse and phases of grids whose lattices are known."""

import numpy as np
import pytest

from neurosim.analysis.grid_geometry import (
    autocorrelogram_geometry,
    grid_geometry,
    mean_orientation,
)
from neurosim.analysis.grid_phases import grid_phases
from neurosim.analysis.spatial_autocorrelogram import spatial_autocorrelogram
from neurosim.kernels.ideal_grid import grid_lattice_vectors, ideal_grid_map, ideal_grid_module

RNG = np.random.default_rng(0)
CENTRES = (np.arange(40) + 0.5) / 40
X = np.stack(np.meshgrid(CENTRES, CENTRES, indexing="ij"), axis=-1)
NOISE = RNG.normal(size=(40, 40))
SPOT = np.exp(-np.sum((X - 0.5) ** 2, axis=-1) / 0.02)


@pytest.mark.parametrize("spacing", [0.2, 0.3, 0.45])
def test_lattice_of_ideal_maps(spacing):
    turns = np.deg2rad([3, 7.5, 11.459, 23, 40, 55])
    maps = [ideal_grid_map(X, spacing=spacing, orientation=t, phase=(0.03, 0.11)) for t in turns]
    found = grid_geometry(np.stack(maps), bin_size=1 / 40)
    np.testing.assert_allclose(found.spacing, spacing, atol=5e-4)
    np.testing.assert_allclose(np.rad2deg(found.orientation), np.rad2deg(turns), atol=0.08)
    np.testing.assert_allclose(found.ellipticity, 1, atol=0.005)
    np.testing.assert_allclose(found.axis_lengths, spacing, atol=1e-3)
    axes = np.sort(np.mod(turns[:, None] + np.pi / 3 * np.arange(3), np.pi), axis=1)
    np.testing.assert_allclose(found.axis_angles, axes, atol=0.003)
    np.testing.assert_allclose(np.linalg.norm(found.peaks, axis=2), spacing, atol=1e-3)
    assert (found.reasons == "").all()


def test_a_grid_of_half_a_metre():
    # In a box of 1.5 m of 5 cm bins: as asked for, to much less than a bin.
    x = np.stack(np.meshgrid(*[(np.arange(30) + 0.5) * 0.05] * 2, indexing="ij"), axis=-1)
    found = grid_geometry(ideal_grid_map(x, spacing=0.5, orientation=0.3), bin_size=0.05)
    assert found.spacing == pytest.approx(0.5, abs=0.002)
    assert found.orientation == pytest.approx(0.3, abs=0.005)
    assert isinstance(found.spacing, float)
    assert found.reasons == ""


def test_bins_of_two_widths_and_what_is_given_as_autocorrelogram():
    y = np.stack(np.meshgrid(CENTRES, (np.arange(60) + 0.5) / 60, indexing="ij"), axis=-1)
    one = ideal_grid_map(y, spacing=0.3, orientation=0.2)
    found = grid_geometry(one, bin_size=(1 / 40, 1 / 60))
    assert (found.spacing, found.orientation) == pytest.approx((0.3, 0.2), abs=1e-3)
    again = autocorrelogram_geometry(spatial_autocorrelogram(one), bin_size=(1 / 40, 1 / 60))
    np.testing.assert_array_equal(again.peaks, found.peaks)


def test_stretched_grids_have_their_ellipse():
    # Stretched by 1.2 along a direction of 0.7.
    u = np.array([np.cos(0.7), np.sin(0.7)])
    back = np.eye(2) + (1 / 1.2 - 1) * np.outer(u, u)
    found = grid_geometry(ideal_grid_map(X @ back, spacing=0.25), bin_size=1 / 40)
    assert found.ellipticity == pytest.approx(1.2, abs=0.01)
    assert found.ellipse_angle == pytest.approx(0.7, abs=0.03)


def test_noise_and_unvisited_bins():
    one = ideal_grid_map(X, spacing=0.3, orientation=0.2) + 0.2 * NOISE
    one[RNG.random(one.shape) < 0.2] = np.nan
    one[:8, :8] = np.nan
    found = grid_geometry(one, bin_size=1 / 40)
    assert found.spacing == pytest.approx(0.3, abs=0.01)
    assert found.orientation == pytest.approx(0.2, abs=0.02)


def test_maps_without_six_peaks_are_nan_with_a_reason():
    maps = np.stack([SPOT, 0 * SPOT, np.nan * SPOT, ideal_grid_map(X, spacing=0.3)])
    with pytest.warns(UserWarning, match=r"NaN for 3 of 4.*fewer than six peaks"):
        found = grid_geometry(maps, bin_size=0.1)
    assert list(found.reasons) == [
        "the autocorrelogram has fewer than six peaks",
        "the map is constant",
        "every bin is NaN",
        "",
    ]
    for part in found[:-1]:
        assert np.isnan(part[:3]).all()
        assert np.isfinite(part[3]).all()
    with pytest.warns(UserWarning, match="fewer than six peaks"):
        grid_geometry(RNG.normal(size=(2, 2)), bin_size=1, min_overlap=2)


def test_peaks_along_one_line_have_no_ellipse():
    at = np.arange(-20, 21)
    sac = np.exp(-(at[:, None] ** 2 + (np.mod(at + 2, 5) - 2.0) ** 2) / 2)
    with pytest.warns(UserWarning, match="no ellipse goes through"):
        found = autocorrelogram_geometry(sac, bin_size=1.0)
    assert found.spacing == pytest.approx(10)
    assert np.isnan(found.ellipticity)


def test_mean_orientation_goes_round_at_sixty_degrees():
    assert mean_orientation(np.deg2rad([1, 59, np.nan])) == pytest.approx(0, abs=1e-9)
    assert mean_orientation(np.deg2rad([10, 20, 75])) == pytest.approx(np.deg2rad(15), abs=1e-3)


# Phases


def test_phases_of_a_module():
    module = ideal_grid_module(X, n_per_side=4, spacing=0.3, orientation=0.2)
    found = grid_phases(module + 0.1 * RNG.normal(size=module.shape), bin_size=1 / 40)
    steps = np.stack(np.meshgrid(*[np.arange(4) / 4] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    apart = np.mod(found.phases - steps + 0.5, 1) - 0.5
    assert np.abs(apart).max() < 0.03
    assert (found.spacing, found.orientation) == pytest.approx((0.3, 0.2), abs=2e-3)
    # Displacements are the shortest, and lie in the lattice where the phases are.
    vectors = grid_lattice_vectors(spacing=found.spacing, orientation=found.orientation)
    back = np.mod(found.displacements @ np.linalg.inv(vectors) - found.phases + 0.5, 1) - 0.5
    np.testing.assert_allclose(back, 0, atol=1e-9)
    assert np.linalg.norm(found.displacements, axis=1).max() < 0.3 / 3**0.5 + 0.002
    assert np.linalg.norm(found.displacements[0]) < 0.001
    assert found.correlations.min() > 0.7
    # Against another cell, phases differ by its own.
    other = grid_phases(module, bin_size=1 / 40, reference=6)
    apart = np.mod(other.phases - (steps - steps[6]) + 0.5, 1) - 0.5
    assert np.abs(apart).max() < 0.03


def test_phases_against_a_map_with_the_lattice_known():
    reference = ideal_grid_map(X, spacing=0.3)
    maps = np.stack([ideal_grid_map(X, spacing=0.3, phase=(0.03, -0.05)), 0 * SPOT])
    with pytest.warns(UserWarning, match=r"phase is NaN for 1 of 2 map\(s\); of map 1: the map is"):
        found = grid_phases(
            maps, bin_size=1 / 40, reference=reference, spacing=0.3, orientation=0.0
        )
    np.testing.assert_allclose(found.displacements[0], [0.03, -0.05], atol=0.001)
    assert np.isnan(found.phases[1]).all()
    assert np.isnan(found.correlations[1])


MODULE = ideal_grid_module(X, n_per_side=2, spacing=0.3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: grid_geometry(SPOT, bin_size=0), "bin_size must be a positive number"),
        (lambda: grid_geometry(SPOT, bin_size=(1, 2, 3)), "or one for each of 2 axes"),
        (lambda: grid_geometry(SPOT[0], bin_size=1), r"must be \(cell, bins, bins\)"),
        (lambda: autocorrelogram_geometry(SPOT, bin_size=1), "must be of odd size"),
        (lambda: grid_phases(SPOT, bin_size=1), r"maps must be \(cell, bins, bins\)"),
        (lambda: grid_phases(MODULE, bin_size=1, reference=4), "must be one of 4 cells"),
        (lambda: grid_phases(MODULE, bin_size=1, reference=SPOT[1:]), "must have the bins of maps"),
        (lambda: grid_phases(MODULE, bin_size=1, reference=0 * SPOT), "reference has no phase"),
        (lambda: grid_phases(MODULE, bin_size=1, spacing=-1, orientation=0), "spacing must be pos"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_no_spacing_to_be_had():
    with (
        pytest.warns(UserWarning, match="fewer than six peaks"),
        pytest.raises(ValueError, match="no map has six peaks: give spacing"),
    ):
        grid_phases(np.stack([SPOT, SPOT]), bin_size=1)
