"""Correlations of angles with rotations, reflections and the definitions by pairs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.circular_correlation import circular_correlation, fisher_lee_correlation

RNG = np.random.default_rng(0)
# Gathered about a direction, so that there is a mean one.
A = RNG.vonmises(2.0, 1.0, 60)
B = A + RNG.vonmises(0.0, 3.0, 60)
EVEN = np.linspace(0, 2 * np.pi, 16, endpoint=False)
BOTH = [circular_correlation, fisher_lee_correlation]


@pytest.mark.parametrize("correlate", BOTH)
def test_rotation_is_one_and_reflection_minus_one(correlate):
    assert correlate(A, A + 5) == pytest.approx(1, abs=1e-12)
    assert correlate(A, 3 - A) == pytest.approx(-1, abs=1e-12)
    assert isinstance(correlate(A, B), float)
    # The same angles, however many turns away, in degrees, or close together.
    assert correlate(A, B + 2 * np.pi * RNG.integers(-3, 3, 60)) == pytest.approx(correlate(A, B))
    assert correlate(np.rad2deg(A), np.rad2deg(B), period=360) == pytest.approx(correlate(A, B))
    assert correlate(2 + 1e-6 * A, 1 + 1e-6 * A) == pytest.approx(1, abs=1e-8)
    assert correlate(B, A) == pytest.approx(correlate(A, B))


@pytest.mark.parametrize("correlate", BOTH)
def test_independent_angles_are_uncorrelated_on_average(correlate):
    found = [correlate(*RNG.vonmises(1.0, 1.0, (2, 400))) for _ in range(100)]
    # Their spread is about 1 / sqrt(400) = .05 or less, that of the mean a tenth of it.
    assert abs(np.mean(found)) < 4 * 0.005
    assert np.std(found) < 0.07


def test_definitions():
    turn = [np.sin(x[:, None] - x[None]) for x in (A, B)]
    by_pairs = np.sum(turn[0] * turn[1]) / np.sqrt(np.sum(turn[0] ** 2) * np.sum(turn[1] ** 2))
    assert fisher_lee_correlation(A, B) == pytest.approx(by_pairs, abs=1e-12)
    u, v = (np.sin(x - np.angle(np.exp(1j * x).sum())) for x in (A, B))
    about_means = np.sum(u * v) / np.sqrt(np.sum(u**2) * np.sum(v**2))
    assert circular_correlation(A, B) == pytest.approx(about_means, abs=1e-12)


def test_angles_spread_evenly_have_pairs_but_no_mean():
    assert fisher_lee_correlation(EVEN, EVEN + 1) == pytest.approx(1, abs=1e-12)
    assert fisher_lee_correlation(EVEN, -EVEN) == pytest.approx(-1, abs=1e-12)
    # Going round twice while the other goes round once.
    assert fisher_lee_correlation(EVEN, 2 * EVEN) == pytest.approx(0, abs=1e-12)
    with pytest.raises(ValueError, match=r"a has no mean direction.*fisher_lee_correlation"):
        circular_correlation(EVEN, A[:16])


@pytest.mark.parametrize("correlate", BOTH)
def test_in_jax_with_a_derivative(correlate):
    single = jax.jit(correlate)(jnp.asarray(A), jnp.asarray(B))
    assert isinstance(single, jax.Array)
    np.testing.assert_allclose(single, correlate(A, B), atol=1e-5)
    with jax.enable_x64(True):
        a, b = jnp.asarray(A), jnp.asarray(B)
        way = jnp.asarray(RNG.normal(size=60))
        _, slope = jax.jvp(jax.jit(correlate), (a, b), (way, jnp.zeros(60)))
        h = 1e-6
        expected = (correlate(a + h * way, b) - correlate(a - h * way, b)) / (2 * h)
        np.testing.assert_allclose(slope, expected, rtol=1e-6)
        assert jnp.isnan(jax.jit(correlate)(jnp.zeros(5), b[:5]))


@pytest.mark.parametrize("correlate", BOTH)
@pytest.mark.parametrize(
    ("a", "b", "options", "message"),
    [
        (A, B[:9], {}, r"must both be \(sample,\), got \(60,\) and \(9,\)"),
        (A[None], B[None], {}, r"must both be \(sample,\)"),
        (A[:2], B[:2], {}, "at least three samples"),
        (A, np.where(np.arange(60) == 3, np.nan, B), {}, "b must be finite"),
        (A, np.full(60, 0.1), {}, "the angles b do not vary"),
        (A[:4], np.array([0, np.pi, 0, 0]), {}, "the angles b do not vary.*opposite"),
        (np.ma.masked_less(A, 1), B, {}, "a is a masked array"),
        (A, B, {"period": 0}, "period must be positive"),
    ],
)
def test_bad_angles_are_refused(correlate, a, b, options, message):
    with pytest.raises(ValueError, match=message):
        correlate(a, b, **options)
