"""The layer against rest points that are known, and where it has none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.models.normalization_layer import NormalizationLayer

pytestmark = pytest.mark.usefixtures("double_precision")


def logit(p):
    return np.log(p) - np.log1p(-np.asarray(p, float))


def layer_of(z, *, W, b, b0, sigma, W_r=None, **options):
    """A layer whose input of 1 is the drive z with the gain b."""
    z, b, b0, sigma = (
        np.broadcast_to(np.asarray(v, float), np.shape(z)) for v in (z, b, b0, sigma)
    )
    return NormalizationLayer(
        W_zx=jnp.asarray(z)[:, None],
        W_bx=jnp.asarray(logit(b))[:, None],
        beta=jnp.asarray(logit(b0)),
        log_W=jnp.log(jnp.asarray(W, float)),
        W_r=None if W_r is None else jnp.asarray(W_r, float),
        sigma=jnp.asarray(sigma),
        unit_drive=False,
        **options,
    )


def one():
    return jnp.ones(1)


# Three neurons with a general matrix; the layer brings its largest singular value to 1 itself.
GENERAL = {
    "z": [0.6, -0.64, 0.48],
    "b": [0.9, 0.5, 0.7],
    "b0": [0.4, 0.6, 0.8],
    "sigma": [0.3, 0.5, 0.2],
    "W": [[1, 0.2, 0.1], [0.3, 1, 0.4], [0.5, 0.6, 1]],
    "W_r": [[0, 1, 0.5], [-0.5, 0.3, 1], [0.2, -0.4, 0.1]],
}


def test_the_closed_form():
    layer = layer_of(
        [1.0, -0.5], b=[0.6, 0.8], b0=[0.5, 0.7], sigma=[0.2, 0.3], W=[[1, 0.5], [0.25, 2]]
    )
    y, a = layer(one())
    np.testing.assert_allclose(a, [0.45, 0.4541], rtol=1e-10)
    np.testing.assert_allclose(y, [0.894427191, -0.593586807799], rtol=1e-9)
    eigenvalues = np.linalg.eigvals(
        layer.jacobian(one(), tau_y=jnp.array([0.002, 0.004]), tau_a=jnp.array([0.005, 0.001]))
    )
    expected = [-214.516866938, -214.516866938, -205.076610926, -205.076610926]
    np.testing.assert_allclose(np.sort(eigenvalues.real), expected, rtol=1e-9)
    # Rectified: z < 0 is neither pooled nor normalized.
    rectified = layer_of([0.8, -0.6, 0.3, -0.2], b=0.5, b0=0.4, sigma=0.1, W=np.ones((4, 4)),
                         rectify="inner")  # fmt: skip
    y, a = rectified(one())
    np.testing.assert_allclose(a, np.full(4, 0.1841), rtol=1e-10)
    np.testing.assert_allclose(y, [0.9322515134, -0.3, 0.3495943175, -0.1], rtol=1e-9)


def test_a_general_matrix_and_its_derivatives():
    layer = layer_of(**GENERAL)
    assert np.linalg.norm(layer.recurrent_matrix, 2) == pytest.approx(1, rel=1e-12)

    @jax.jit
    def outputs(layer, x):
        return jnp.stack(layer(x))

    y, a = outputs(layer, one())
    np.testing.assert_allclose(y, [0.5279265701, -0.2582516197, 0.4747166992], atol=1e-9)
    np.testing.assert_allclose(a, [0.0231902587, 0.1026156855, 0.0425200986], atol=1e-9)
    rng = np.random.default_rng(0)
    direction = jax.tree.map(lambda p: jnp.asarray(rng.normal(size=p.shape)), layer)

    def along(s):
        return outputs(jax.tree.map(lambda p, d: p + s * d, layer, direction), one() + s)

    slope = jax.jit(jax.jacfwd(along))(0.0)
    difference = (along(1e-6) - along(-1e-6)) / 2e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-8)


def test_a_drive_of_length_one_has_the_response_of_one_neuron():
    """W of ones and one gain for all: `|y|^2 = |z|^2 / (sigma^2 + |z|^2)`, here 1 / (1 + 1)."""
    made = NormalizationLayer.init(6, 3, key=jax.random.key(0))
    layer = NormalizationLayer(
        made.W_zx, jnp.zeros((6, 3)), made.beta, jnp.zeros((6, 6)), None, made.sigma
    )
    inputs = jnp.asarray(np.random.default_rng(1).normal(size=(4, 3)))
    y, a = jax.jit(jax.vmap(layer))(inputs)
    np.testing.assert_allclose(np.sum(y**2, axis=1), np.full(4, 0.5), rtol=1e-12)
    np.testing.assert_allclose(a, np.full((4, 6), 0.5), rtol=1e-12)
    # However long the input.
    np.testing.assert_allclose(layer(7.0 * inputs[0])[0], y[0], rtol=1e-12)


def test_an_input_of_zeros_is_silence():
    for recurrence in ("identity", "spectral"):
        layer = NormalizationLayer.init(3, 2, key=jax.random.key(1), recurrence=recurrence)

        def total(layer, x):
            y, a = layer(x)
            return jnp.sum(y) + jnp.sum(a), (y, a)

        gradient = jax.jit(jax.value_and_grad(total, argnums=(0, 1), has_aux=True))
        (_, (y, a)), slopes = gradient(layer, jnp.zeros(2))
        assert np.all(np.asarray(y) == 0)
        np.testing.assert_allclose(a, np.full(3, 0.25), rtol=1e-12)
        assert all(np.all(np.isfinite(s)) for s in jax.tree.leaves(slopes))


def test_without_a_rest_point_it_is_nan():
    """w_r = -1 and b, b0, sigma, W, z all 1: the circuit diverges."""
    layer = layer_of([1.0], b=1 - 1e-12, b0=1 - 1e-12, sigma=1.0, W=[[1.0]], W_r=[[-1.0]])
    y, a = layer(one())
    assert np.all(np.isnan([y, a]))
    assert not layer.rest_point(one())[3]


def test_the_initialisation_is_the_published_one():
    layer = NormalizationLayer.init(50, 40, key=jax.random.key(2), weight_scale=20.0)
    log_W = np.asarray(layer.log_W) - np.log(20)
    np.testing.assert_allclose(np.diag(log_W), np.zeros(50), atol=1e-12)
    assert -1 <= log_W.min() < -0.9
    assert np.mean(log_W[~np.eye(50, dtype=bool)]) == pytest.approx(-0.5, abs=0.03)
    assert np.abs(np.asarray(layer.W_bx)).max() <= 40**-0.5
    np.testing.assert_allclose(layer.b0, np.full(50, 0.5))
    with jax.enable_x64(False):
        small = NormalizationLayer.init(3, 2, key=jax.random.key(1), recurrence="spectral")
        y, a = jax.jit(lambda x: small(x))(jnp.ones(2))
        assert y.dtype == a.dtype == jnp.float32
        assert np.all(np.isfinite(y))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_units": 0}, "n_units must be a whole number from 1"),
        ({"recurrence": "free"}, "recurrence must be 'identity' or 'spectral'"),
        ({"weight_scale": 0.0}, "weight_scale must be positive"),
        ({"weight_scale": float("inf")}, "weight_scale must be positive"),
        ({"rectify": "both"}, "rectify must be 'none', 'inner' or 'outer'"),
    ],
)
def test_options_out_of_range_are_refused(unchecked_signatures, options, message):
    with pytest.raises(ValueError, match=message):
        NormalizationLayer.init(**{"n_units": 3, "n_in": 2, "key": jax.random.key(0), **options})
    with pytest.raises(ValueError, match="sigma must be positive"):
        layer_of([1.0], b=0.5, b0=0.5, sigma=0.0, W=[[1.0]])
