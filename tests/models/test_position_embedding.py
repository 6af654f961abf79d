"""The code for position: its values, its constraints, and what it refuses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim.models.place_cell_readout import PlaceCellReadout
from neurosim.models.position_embedding import PositionEmbedding


def waves(kind="edge"):
    """The code that the published losses are known for."""
    c, i, j = np.meshgrid(np.arange(12), np.arange(10), np.arange(10), indexing="ij")
    return PositionEmbedding(0.5 + 0.5 * np.sin(0.7 * c + 0.9 * i + 0.5 * j), 4, kind)


@pytest.mark.usefixtures("double_precision")
def test_interpolation_gives_the_known_values():
    code = waves("zero")
    np.testing.assert_allclose(code((2.25, 7.5))[:2], [0.27694698, 0.58026634], atol=1e-8)
    assert float(code((-0.5, 3))[0]) == pytest.approx(0.49937375, abs=1e-8)
    np.testing.assert_allclose(code((-0.5, 3)), code.values[:, 0, 3] / 2, rtol=1e-14)
    np.testing.assert_allclose(waves()((-0.5, 3)), code.values[:, 0, 3], rtol=1e-14)


@pytest.mark.usefixtures("double_precision")
def test_blocks_may_be_asked_at_positions_of_their_own():
    code = waves()
    x = np.random.default_rng(0).uniform(0, 9, (5, 3, 2))
    found = code.of_blocks(x)
    for k in range(3):
        np.testing.assert_allclose(found[:, k], code(x[:, k])[:, 4 * k : 4 * k + 4], rtol=1e-14)


@pytest.mark.parametrize("double", [False, True])
def test_projection_rectifies_first_and_then_scales(double):
    with jax.enable_x64(double):
        values = np.zeros((4, 2, 2))
        values[:2, 0, 0] = 3, -4
        values[2:, 0, 0] = 3, 4
        values[:, 1, 1] = -1
        code = PositionEmbedding(jnp.asarray(values, jnp.result_type(float)), 2)
        projected = code.project()
        # Scaled before it is rectified, the first block would have a norm of 0.6 / sqrt(2).
        wanted = np.array([1, 0, 0.6, 0.8]) / np.sqrt(2)
        eps = jnp.finfo(projected.values.dtype).eps
        np.testing.assert_allclose(projected.values[:, 0, 0], wanted, rtol=4 * eps)
        assert np.all(projected.values[:, 1, 1] == 0)
        assert projected.silent()[:, 1, 1].tolist() == [True, True]
        assert not np.any(projected.silent()[:, 0, 0])
        assert np.all(
            np.isfinite(jax.grad(lambda c: jnp.sum(c.project().values ** 3))(code).values)
        )


def test_projecting_twice_changes_no_bit():
    code = PositionEmbedding.init(48, 20, 12, key=jax.random.key(0), projected=True)
    np.testing.assert_array_equal(code.project().values, code.values)
    np.testing.assert_allclose(np.linalg.norm(code.values, axis=0), 1, rtol=1e-6)
    plain = np.asarray(PositionEmbedding.init(48, 20, 12, key=jax.random.key(0)).values)
    assert np.std(plain) == pytest.approx(1e-3, rel=0.05)
    assert np.min(plain) < 0


@pytest.mark.parametrize(("n", "m"), [(40, 9), (20, 3), (10, 1)])
def test_position_is_the_lower_median_of_the_best_bins(n, m):
    assert PlaceCellReadout(np.zeros((1, n, n), np.float32)).n_decoded == m
    heat = np.zeros((1, n, n), np.float32)
    rng = np.random.default_rng(n)
    bins = rng.permutation(n * n)[:m]
    heat.reshape(-1)[bins] = 1 + rng.random(m)
    rows, columns = np.divmod(bins, n)
    expected = [sorted(axis)[(m - 1) // 2] for axis in (rows, columns)]
    found = PlaceCellReadout(heat).decode(jnp.ones((2, 1)))
    np.testing.assert_array_equal(found, [expected, expected])
    best = np.unravel_index(np.argmax(heat[0]), (n, n))
    argmax = PlaceCellReadout(heat, decoded_share=0)
    np.testing.assert_array_equal(argmax.decode(jnp.ones(1)), best)


def test_an_even_number_of_bins_takes_the_lower_median():
    heat = np.zeros((1, 10, 10), np.float32)
    heat[0, [1, 2, 6, 9], [8, 7, 3, 0]] = 1
    cells = PlaceCellReadout(heat, decoded_share=0.04)
    np.testing.assert_array_equal(cells.decode(jnp.ones(1)), [2, 3])


@pytest.mark.usefixtures("double_precision")
def test_place_activity_is_the_inner_product_with_every_place_cell():
    rng = np.random.default_rng(0)
    cells = PlaceCellReadout(rng.normal(size=(3, 5, 5)))
    r = rng.normal(size=(2, 3))
    activity = cells.place_activity(jnp.asarray(r))
    np.testing.assert_allclose(activity[1, 2, 4], r[1] @ cells((2, 4)), rtol=1e-12)
    assert cells.target((2.0, 4.0))[2, 4] == 1
    np.testing.assert_allclose(
        cells.target((2.0, 4.0))[1, 4], np.exp(-1 / (2 * 25 * 0.07**2)), rtol=1e-12
    )


@pytest.mark.usefixtures("unchecked_signatures")
def test_bad_input_is_named():
    floats = np.zeros((4, 3, 3), np.float32)
    for bad, match in (
        (lambda: PositionEmbedding(np.zeros((4, 3, 2), np.float32), 2), "must be .unit, n, n"),
        (lambda: PositionEmbedding(np.zeros((4, 3, 3), int), 2), "floating-point"),
        (lambda: PositionEmbedding(floats, 3), "block_size must divide"),
        (lambda: PositionEmbedding(floats, 0), "block_size must be a whole number"),
        (lambda: PositionEmbedding(floats, 2, "wrap"), "padding must be"),
        (lambda: PositionEmbedding(floats, 2)((0.0, 1.0, 2.0)), "must be .*, 2"),
        (lambda: PositionEmbedding(floats, 2)((0.0, 2.6)), r"from -0.5 to 2.5 bins; got \(0.0"),
        (lambda: PositionEmbedding(floats, 2)((0.0, np.nan)), "must lie in the arena"),
        (lambda: PositionEmbedding(floats, 2).of_blocks(np.zeros((3, 2))), "one a block"),
        (lambda: PlaceCellReadout(floats, 0.0), "field_size must be positive"),
        (lambda: PlaceCellReadout(floats, decoded_share=1.5), "decoded_share must lie"),
    ):
        with pytest.raises(ValueError, match=match):
            bad()
