"""Names and numbers of the factor on the recurrent term."""

import jax
import numpy as np
import pytest

from neurosim.kernels import recurrent_scale


def test_names_and_numbers():
    assert recurrent_scale("unit", 49) == 1
    assert recurrent_scale("1/N", 49) == 1 / 49
    assert recurrent_scale("1/sqrt(N)", 49) == pytest.approx(1 / 7, rel=1e-15)
    assert recurrent_scale(0.3, 49) == 0.3
    assert jax.grad(lambda g: recurrent_scale(g, 49) * 2.0)(1.0) == 2


@pytest.mark.parametrize("bad", ["1/n", None, np.nan, np.inf, [1.0, 2.0], True])
def test_anything_else_is_refused(bad):
    with pytest.raises(ValueError, match="rec_scale must be 'unit'"):
        recurrent_scale(bad, 49)
