"""Errors of groups of trials, summed by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.grouped_error import grouped_error


def test_errors_summed_by_hand():
    """Trials off by 1, 2, 3 and 4 at each of five steps; the second asks for two of them."""
    target = np.zeros((4, 5, 1))
    y = target + np.arange(1, 5)[:, None, None]
    found = grouped_error(y, target, groups=[12, 8, 12, 8])
    assert found.groups.tolist() == [8, 12]
    np.testing.assert_allclose(found.values, [(4 + 16) / 2, (1 + 9) / 2])
    mask = np.ones((4, 5))
    mask[1, 2:] = 0
    for weights in (mask, mask[..., None]):
        found = grouped_error(y, target, mask=weights, groups=np.array(["b", "a", "b", "a"]))
        assert found.groups.tolist() == ["a", "b"]
        np.testing.assert_allclose(found.values, [(2 * 4 + 5 * 16) / 7, 5])
    one = grouped_error(y, target)
    assert one.groups.tolist() == [0]
    np.testing.assert_allclose(one.values, [30 / 4])
    assert one.values.dtype == np.float64


def test_axes_in_front_are_kept_and_a_mask_is_shared_by_outputs():
    y = np.stack([np.zeros((2, 3, 2)), np.ones((2, 3, 2)), 2 * np.ones((2, 3, 2))])
    mask = np.array([[1, 0, 1], [0, 1, 0]])
    found = grouped_error(y, np.zeros((2, 3, 2)), mask=mask, groups=[0, 1])
    np.testing.assert_allclose(found.values, [[0, 0], [1, 1], [4, 4]])


def test_jax_values_stay_in_jax_and_can_be_differentiated():
    target = jnp.zeros((2, 3, 1))

    def error(y):
        return grouped_error(y, target, groups=[1, 2]).values

    y = jnp.stack([jnp.ones((3, 1)), 2 * jnp.ones((3, 1))])
    assert isinstance(error(y), jax.Array)
    slope = jax.jit(jax.grad(lambda y: error(y)[1]))(y)
    np.testing.assert_allclose(slope[:, :, 0], [[0, 0, 0], [4 / 3] * 3], rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outputs": np.ones((2, 3, 2))}, "outputs must be"),
        ({"outputs": np.ones((3, 1))}, "outputs must be"),
        ({"outputs": np.ones((2, 0, 1)), "targets": np.ones((2, 0, 1))}, "not empty"),
        ({"targets": np.full((2, 3, 1), np.nan)}, "targets must be finite"),
        ({"mask": np.ones((3, 3))}, "mask must fit"),
        ({"mask": -np.ones((2, 3))}, "must not be negative"),
        ({"targets": None}, "targets is needed, got None"),
        ({"mask": np.array([[1, 1, 1], [0, 0, 0]]), "groups": [4, 5]}, "nothing is asked in group"),
        ({"groups": [1, 2, 3]}, "one label for each of 2 trials"),
        ({"groups": [1.0, np.nan]}, "groups must be finite"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change, message):
    fields = {"outputs": np.ones((2, 3, 1)), "targets": np.ones((2, 3, 1)), **change}
    with pytest.raises(ValueError, match=message):
        grouped_error(fields.pop("outputs"), fields.pop("targets"), **fields)
