"""Trials of unequal length in one array: nothing lost, and nothing but padding added."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.io.trials import pad_trials, padding_mask, unpad_trials

A, B = np.arange(6.0).reshape(3, 2), -np.arange(2.0).reshape(1, 2) - 1


@pytest.mark.parametrize("align", ["start", "end"])
@pytest.mark.parametrize("fill", [0.0, -7.0, np.nan])
def test_padding_and_back(align, fill):
    X, mask = pad_trials([A, B], align=align, fill=fill)
    assert X.shape == (2, 3, 2)
    assert X.dtype == np.float64
    place = 0 if align == "start" else 2
    np.testing.assert_array_equal(np.flatnonzero(mask[1]), [place])
    np.testing.assert_array_equal(X[0], A)
    np.testing.assert_array_equal(X[1, place], B[0])
    np.testing.assert_array_equal(X[1][~mask[1]], np.full((2, 2), fill))
    for trial, expected in zip(unpad_trials(X, mask), [A, B], strict=True):
        np.testing.assert_array_equal(trial, expected)


def test_an_array_of_trials_is_kept():
    X, mask = pad_trials(np.stack([A, A]))
    np.testing.assert_array_equal(X, np.stack([A, A]))
    assert mask.all()


def test_jax_stays_jax_and_derivatives_stay_finite():
    def loss(trials):
        return jnp.sum(jnp.sqrt(1 + pad_trials(trials)[0] ** 2))

    assert isinstance(pad_trials([jnp.asarray(A)])[0], jax.Array)
    slopes = jax.grad(loss)([jnp.asarray(A), jnp.asarray(B)])
    np.testing.assert_allclose(slopes[0], A / np.sqrt(1 + A**2), rtol=1e-6)
    assert slopes[1].shape == (1, 2)


def test_padding_is_what_no_unit_has_at_the_ends():
    X = np.array([[[1.0, 1], [np.nan, 2], [np.nan, np.nan]], [[np.nan, np.nan], [1, 1], [2, 2]]])
    np.testing.assert_array_equal(padding_mask(X), [[1, 1, 0], [0, 1, 1]])
    # A gap in the middle is no padding.
    gap = np.array([[[1.0], [np.nan], [2.0]]])
    np.testing.assert_array_equal(padding_mask(gap), [[1, 1, 1]])
    np.testing.assert_array_equal(padding_mask(jnp.asarray(gap, jnp.bfloat16)), [[1, 1, 1]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pad_trials([A, B], align="middle"), "align must be 'start' or 'end'"),
        (lambda: pad_trials([A, B], fill=np.inf), "fill must be a finite number or NaN"),
        (lambda: pad_trials([A, np.zeros((0, 2))]), "trial 1 has no samples"),
        (lambda: pad_trials([A, B[:, :1]]), "same units"),
        (lambda: pad_trials([]), "empty list"),
        (lambda: pad_trials(A), "must have trials"),
        (lambda: pad_trials([A, B * np.nan]), "trial 1, time 0, unit 0"),
        (lambda: unpad_trials(A, np.ones(3, bool)), r"must be \(trial, time, unit\)"),
        (lambda: unpad_trials(np.stack([A]), np.ones((1, 2), bool)), r"mask must have shape"),
        (lambda: unpad_trials(np.stack([A]), np.array([[True, False, True]])), "trial 0 has a gap"),
        (lambda: unpad_trials(np.stack([A]), np.zeros((1, 3), bool)), "trial 0 of X has no sample"),
        (lambda: unpad_trials(np.stack([A]), np.ones((1, 3))), "must be booleans"),
        (lambda: padding_mask(A), r"must be \(trial, time, unit\)"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
