"""What counts as activity, and what is refused, at the door of every analysis."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import analysis
from neurosim.analysis import PCA, effective_rank, explained_variance, participation_ratio

X = np.random.default_rng(0).normal(size=(12, 3))
MASKED = np.ma.masked_greater(X, 1.0)
N_MASKED = int((X > 1).sum())
FITTED = PCA().fit(X)


@pytest.mark.parametrize(
    "use",
    [
        lambda: PCA(2).fit(MASKED),
        lambda: PCA(2).fit([X, MASKED]),
        lambda: PCA(2).fit(MASKED.reshape(2, 6, 3)),
        lambda: FITTED.transform(MASKED),
        lambda: FITTED.inverse_transform(MASKED),
        lambda: FITTED.score(MASKED),
        lambda: analysis.principal_axes(MASKED),
        lambda: explained_variance(X, MASKED),
        lambda: participation_ratio(MASKED),
        lambda: effective_rank(MASKED, kind="covariance"),
        lambda: analysis.participation_ratio_of_spectrum(np.ma.masked_less(np.arange(4.0), 2)),
        lambda: PCA(average="trials").fit([X, X], np.ma.masked_equal([0, 1], 0)),
        lambda: analysis.find_fixed_points(lambda x: -x, MASKED, kind="flow"),
        lambda: analysis.mode_decay(MASKED, np.arange(12.0), tau=10),
        lambda: analysis.required_gain_discrete(MASKED[:, 0], tau=10, overlap=1),
        lambda: analysis.gain_is_feasible(MASKED),
        lambda: analysis.mean_field_overlap(MASKED),
        lambda: analysis.ramp_crossing_times(MASKED.T, 2),
        lambda: analysis.ramp_crossing_times(X.T, np.ma.masked_equal([1, 2, 2], 1)),
        lambda: analysis.circular_distance(X, MASKED),
        lambda: analysis.circular_mean(MASKED),
        lambda: analysis.decode_angle(MASKED[:, 0], X[:, 0]),
        lambda: analysis.angular_accuracy(MASKED[:, :2], X[:, 2]),
    ],
)
def test_masked_values_are_refused(use):
    with pytest.raises(ValueError, match=r"is a masked array with \d+ masked value"):
        use()


def test_masked_arrays_that_mask_nothing_are_data():
    with pytest.raises(ValueError, match=f"X is a masked array with {N_MASKED} masked value"):
        PCA().fit(MASKED)
    kept = PCA().fit(np.ma.masked_greater(X, 100.0))
    np.testing.assert_array_equal(kept.components_, FITTED.components_)


def _cells(trials, shape):
    cells = np.empty(len(trials), dtype=object)
    for i, trial in enumerate(trials):
        cells[i] = trial
    return cells.reshape(shape)


@pytest.mark.parametrize("shape", [(2,), (2, 1), (1, 2)])
def test_cell_arrays_of_trials_are_their_list(shape):
    cells = _cells([X[:5], X[5:]], shape)
    pca = PCA(2).fit(cells)
    np.testing.assert_allclose(pca.components_, FITTED.components_[:2])
    assert [trial.shape for trial in pca.transform(cells)] == [(5, 2), (7, 2)]
    assert participation_ratio(_cells([X], (1,))) == participation_ratio(X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[1.0, 2], [3, 4.5], [5, 1]], r"entry 0 has shape \(2,\).*numpy.array\(X\)"),
        ([X, X[0]], r"list with one array \(time_i, neurons\).*entry 1 has shape \(3,\)"),
        ([[[1.0, 2], [3]]], r"X\[0\] is no array: its rows differ in length"),
        (X[0], r"\(time, neurons\), \(trials, time, neurons\), or a list.*shape \(3,\)"),
        (X.astype(object), r"X.astype\(float\).*list\(X\)"),
        (_cells([X[0], X[1]], (2,)), r"Python objects, of shape \(2,\).*list\(X\)"),
        (_cells([], (0,)), "empty list"),
    ],
)
def test_other_layouts_are_told_what_is_accepted(given, message):
    with pytest.raises(ValueError, match=message):
        participation_ratio(given)


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_half_precision_is_computed_in_single(dtype):
    half = jnp.asarray(X, dtype)
    single = half.astype(jnp.float32)
    pca = PCA(2).fit(half)
    assert pca.components_.dtype == pca.transform(half).dtype == jnp.float32
    np.testing.assert_array_equal(pca.components_, PCA(2).fit(single).components_)
    for dimension in (participation_ratio, lambda x: effective_rank(x, kind="singular")):
        np.testing.assert_array_equal(dimension(half), dimension(single))
    spectrum = jnp.array([1.0, 1e-4], dtype)
    expected = float(spectrum.astype(jnp.float32).sum() ** 2)
    np.testing.assert_allclose(
        analysis.participation_ratio_of_spectrum(spectrum), expected, rtol=1e-6
    )
    assert PCA().fit(X.astype(np.float16)).components_.dtype == np.float64


# Scales at which squares, or their sum, leave the range of the precision.
SCALES = [(jnp.float32, s) for s in (1e18, 1e25, 1e37, 1e-20, 1e-25, 1e-35)]
SCALES += [(np.float64, s) for s in (1e-200, 1e-170, 1e200, 1e307)]


@pytest.mark.parametrize(("dtype", "scale"), SCALES)
def test_dimensions_and_axes_do_not_depend_on_the_scale(dtype, scale):
    make = jnp.asarray if dtype is jnp.float32 else np.asarray
    scaled = make(X * scale, dtype)
    tolerance = 1e-4 if dtype is jnp.float32 else 1e-10
    np.testing.assert_allclose(participation_ratio(scaled), participation_ratio(X), rtol=tolerance)
    for kind in ("covariance", "singular"):
        np.testing.assert_allclose(
            effective_rank(scaled, kind=kind), effective_rank(X, kind=kind), rtol=tolerance
        )
    pca = PCA().fit(scaled)
    np.testing.assert_allclose(pca.components_, FITTED.components_, atol=tolerance)
    np.testing.assert_allclose(
        pca.explained_variance_ratio_, FITTED.explained_variance_ratio_, rtol=tolerance
    )
    np.testing.assert_allclose(pca.mean_ / scale, FITTED.mean_, atol=tolerance)
    # By the definition, on numbers whose squares are in range.
    expected = 1 - np.sum((0.5 * X) ** 2) / np.sum((X - X.mean(axis=0)) ** 2)
    np.testing.assert_allclose(explained_variance(scaled, 0.5 * scaled), expected, rtol=tolerance)


def test_a_reconstruction_of_another_scale():
    total = np.sum((X - X.mean(axis=0)) ** 2)
    nothing = 1 - np.sum(X**2) / total
    assert explained_variance(X * 1e-170, X * 0) == pytest.approx(nothing, rel=1e-10)
    far = -np.sum(X**2) / total * 1e200
    assert explained_variance(X, X * 1e100) == pytest.approx(far, rel=1e-10)
    assert explained_variance(X, X * 1e200) == -np.inf


def test_variances_beyond_the_range_are_infinite_or_zero():
    np.testing.assert_array_equal(PCA().fit(X * 1e200).explained_variance_, np.inf)
    np.testing.assert_array_equal(PCA().fit(X * 1e-200).explained_variance_, 0)
    np.testing.assert_allclose(
        PCA().fit(X * 1e150).explained_variance_, 1e300 * FITTED.explained_variance_
    )


def test_derivatives_do_not_see_the_scaling():
    def rank(x):
        return effective_rank(x, kind="covariance")

    single = jnp.asarray(X, jnp.float32)
    slope = jax.grad(rank)(single)
    far = jax.jit(jax.grad(rank))(single * 1e20) * 1e20
    np.testing.assert_allclose(far, slope, atol=1e-4 * float(jnp.abs(slope).max()))
    # The dimension does not change along X itself.
    assert abs(float(jnp.sum(slope * (single - single.mean(axis=0))))) < 1e-4


def test_known_activity_may_be_analysed_within_a_traced_function():
    known = jnp.asarray(np.random.default_rng(0).normal(size=(20, 3)))
    outside = participation_ratio(known)
    inside = jax.jit(lambda scale: scale * participation_ratio(known))(1.0)
    np.testing.assert_allclose(inside, outside, rtol=1e-6)
