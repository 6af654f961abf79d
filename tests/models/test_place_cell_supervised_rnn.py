"""The place-cell-supervised network against a loop over its equations."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from neurosim import simulate
from neurosim.models.place_cell_supervised_rnn import PlaceCellSupervisedRNN


@pytest.mark.usefixtures("double_precision")
def test_recursion_starts_from_the_place_cells_of_the_cue():
    rng = np.random.default_rng(0)
    J, M, W, W_out = (rng.normal(size=s) for s in ((6, 6), (6, 2), (6, 4), (4, 6)))
    model = PlaceCellSupervisedRNN(*map(jnp.asarray, (J, M, W, W_out)), tau=0.02)
    v, p0 = rng.normal(size=(5, 2)), rng.random(4)
    inputs = np.zeros((5, 6))
    inputs[:, :2], inputs[0, 2:] = v, p0
    g, expected = W @ p0, []
    for velocity in v:
        g = np.maximum(J @ g + M @ (velocity * 0.02), 0)
        expected.append(W_out @ g)
    outputs = simulate(model, inputs, dt=0.02).outputs
    np.testing.assert_allclose(outputs, expected, rtol=1e-12)
    euler = simulate(model, inputs, dt=0.02, solver=diffrax.Euler()).outputs
    np.testing.assert_allclose(euler, expected, rtol=1e-9)

    @jax.jit
    def both():
        def loss(s):
            moved = jax.tree.map(lambda a: a + s * jnp.cos(a), model)
            return jnp.sum(simulate(moved, inputs, dt=0.02, throw=False).outputs ** 2)

        return jax.jacfwd(loss)(0.0), jax.vmap(loss)(jnp.asarray([1e-7, -1e-7]))

    slope, (up, down) = both()
    assert float(slope) == pytest.approx(float(up - down) / 2e-7, rel=1e-5)


def test_the_published_initialisation():
    model = PlaceCellSupervisedRNN.init(64, 64, key=jax.random.key(0))
    for values, fan in ((model.J, 64), (model.M, 64), (model.W, 64), (model.W_out, 64)):
        assert values.dtype == jnp.float32
        assert fan**-0.5 * 0.9 < np.max(np.abs(values)) <= fan**-0.5
    assert model.n_inputs == 66
    with pytest.raises(ValueError, match="n_place_cells must be"):
        PlaceCellSupervisedRNN.init(4, 0, key=jax.random.key(0))
    with pytest.raises(ValueError, match="tau must be positive"):
        PlaceCellSupervisedRNN(model.J, model.M, model.W, model.W_out, tau=0.0)
