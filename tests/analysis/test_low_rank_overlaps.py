"""Overlaps between the directions of a low-rank network."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from golden_network import golden_weights

from neurosim.analysis.low_rank_overlaps import overlaps


def test_golden_overlaps():
    w = golden_weights()
    found = overlaps(w["L"], w["R"], B=w["B_x"], C=w["C"])
    known = [[-0.54723063, -0.85550003], [2.09386611, -1.45476572]]
    np.testing.assert_allclose(found.recurrent, known, atol=5e-9)
    # Entry j, k is how component j reads k; the other two by their sums.
    assert found.input[1, 2] == pytest.approx(sum(w["R"][:, 1] * w["B_x"][:, 2]), rel=1e-13)
    assert found.output[0, 1] == pytest.approx(sum(w["C"][0] * w["L"][:, 1]), rel=1e-13)
    bare = overlaps(w["L"], w["R"])
    assert bare.input is None
    assert bare.output is None


def test_the_mean_field_convention_divides_by_the_number_of_units():
    """Gaussian l, r = rho l + noise: R^T L / N tends to rho, with an error of order N^-1/2."""
    rng = np.random.default_rng(0)
    left = rng.normal(size=(40_000, 1))
    right = 2 * left + rng.normal(size=(40_000, 1))
    found = overlaps(left, right, B=left, C=left.T, normalise="N")
    np.testing.assert_allclose(found.recurrent, 2, atol=0.06)
    np.testing.assert_allclose(found.input, 2, atol=0.06)
    np.testing.assert_allclose(found.output, 1, atol=0.03)


def test_overlaps_move_with_the_gauge_of_the_components():
    rng = np.random.default_rng(1)
    L, R, B = rng.normal(size=(3, 8, 2))
    C = rng.normal(size=(3, 8))
    before = overlaps(L, R, B=B, C=C)
    scale = np.array([2.5, -1.0])
    after = overlaps(L * scale, R / scale, B=B, C=C)
    np.testing.assert_allclose(after.recurrent, before.recurrent * scale / scale[:, None])
    np.testing.assert_allclose(after.input, before.input / scale[:, None])
    np.testing.assert_allclose(after.output, before.output * scale)
    # What a common gain allows: (L Q^-T, R Q).
    Q = rng.normal(size=(2, 2))
    mixed = overlaps(L @ np.linalg.inv(Q).T, R @ Q, B=B, C=C)
    np.testing.assert_allclose(
        np.linalg.eigvals(mixed.recurrent), np.linalg.eigvals(before.recurrent), rtol=1e-9
    )
    np.testing.assert_allclose(mixed.output @ mixed.input, before.output @ before.input, rtol=1e-9)


def test_jax_in_jax_out():
    w = {k: jnp.asarray(golden_weights()[k], jnp.float32) for k in ("L", "R")}
    found = jax.jit(overlaps)(w["L"], w["R"])
    assert found.recurrent.dtype == jnp.float32
    slope = jax.grad(lambda L: overlaps(L, w["R"]).recurrent[1, 0])(w["L"])
    np.testing.assert_allclose(slope[:, 0], w["R"][:, 1], rtol=1e-6)
    np.testing.assert_array_equal(slope[:, 1], 0)


def test_arguments_that_do_not_fit_are_refused():
    L = np.ones((4, 2))
    for arguments, options, message in (
        ((L, L[:, :1]), {}, "L and R must both be"),
        ((L.T, L.T), {}, "transposed"),
        ((L, L), {"B": np.ones((3, 1))}, "B must be"),
        ((L, L), {"C": np.ones((4, 1))}, "C must be"),
        ((L, L), {"normalise": "K"}, "normalise must be"),
        ((L, None), {}, "R is needed, got None"),
        ((L, np.full((4, 2), np.nan)), {}, "R must be finite"),
        ((L, np.ma.masked_greater(L, 0)), {}, "masked"),
    ):
        with pytest.raises(ValueError, match=message):
            overlaps(*arguments, **options)
