"""The low-rank product against the matrix that it does not form."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.kernels import low_rank_drive


@pytest.mark.parametrize(("double", "tolerance"), [(True, 1e-14), (False, 1e-5)])
def test_product_is_that_of_the_full_matrix(double, tolerance):
    rng = np.random.default_rng(0)
    left, right, rates, gains = (rng.normal(size=s) for s in ((7, 3), (7, 3), 7, 3))
    with jax.enable_x64(double):
        arrays = [jnp.asarray(a) for a in (left, right, rates)]
        for s, given in ((gains, jnp.asarray(gains)), (np.full(3, 0.4), jnp.array([0.4])),
                         (np.ones(3), 1.0)):  # fmt: skip
            drive = low_rank_drive(*arrays, given)
            expected = left @ np.diag(s) @ right.T @ rates
            np.testing.assert_allclose(drive, expected, rtol=tolerance, atol=tolerance)
        np.testing.assert_array_equal(low_rank_drive(*arrays), low_rank_drive(*arrays, 1.0))
