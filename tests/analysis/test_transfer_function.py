"""Transfer functions of either kind on arrays of either kind."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.analysis.transfer_function import check_function, rates, slopes

X = np.linspace(-2, 2, 12).reshape(3, 4)


@pytest.mark.parametrize(
    "phi", [np.tanh, jnp.tanh, lambda x: jnp.tanh(x), lambda x: 2 / (1 + jnp.exp(-2 * x)) - 1]
)
def test_rates_and_slopes_of_the_hyperbolic_tangent(phi):
    """The last is the tangent too, as a logistic curve."""
    y = rates(phi, X, np)
    assert isinstance(y, np.ndarray)
    np.testing.assert_allclose(y, np.tanh(X), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(slopes(phi, X, np), 1 / np.cosh(X) ** 2, rtol=1e-13)
    x = jnp.asarray(X, jnp.float32)
    for f, expected in ((rates, np.tanh(X)), (slopes, 1 / np.cosh(X) ** 2)):
        value = f(phi, x, jnp)
        assert isinstance(value, jax.Array)
        assert value.dtype == jnp.float32
        np.testing.assert_allclose(value, expected, rtol=0, atol=5e-7)


def test_functions_that_do_not_serve_are_refused():
    with pytest.raises(ValueError, match="every entry by itself"):
        rates(np.sum, X, np)
    with pytest.raises(ValueError, match="every entry by itself"):
        rates(jnp.sum, jnp.asarray(X), jnp)
    with pytest.raises(ValueError, match="cannot be differentiated"):
        slopes(lambda x: np.maximum(x, 0), X, np)
    with pytest.raises(ValueError, match=r"gain_fn cannot be traced: write it with jax.numpy"):
        jax.jit(lambda x: rates(lambda x: np.tanh(x), x, jnp, name="gain_fn"))(jnp.asarray(X))
    with pytest.raises(ValueError, match=r"phi must be a function, such as .*'tanh'"):
        check_function("tanh")
    with pytest.raises(ValueError, match="it returned 2 results"):
        slopes(np.modf, X, np)
    with pytest.raises(ValueError, match="has no erf_of_ours"):
        rates(np.frompyfunc(erf_of_ours, 1, 1), jnp.asarray(X), jnp)


def erf_of_ours(x):
    return x
