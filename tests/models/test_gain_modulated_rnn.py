"""The output network with gains from outside: an NM-RNN whose gains are recorded and replayed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from golden_network import PUBLISHED, STEPS, golden, golden_inputs, golden_weights

from neurosim import simulate
from neurosim.models import GainModulatedRNN


def replay(**changes):
    w = golden_weights()
    fields = {k: jnp.asarray(w[k]) for k in ("L", "R", "C", "d", "x0")}
    return GainModulatedRNN(**{**fields, "B": jnp.asarray(w["B_x"]), "tau": 10.0, **changes})


@pytest.mark.parametrize(("double", "tolerance"), [(True, 1e-12), (False, 2e-7)])
def test_the_gains_of_an_nm_rnn_give_back_its_trajectory(double, tolerance):
    with jax.enable_x64(double):
        model = golden()
        s = jax.vmap(model.gains)(simulate(model, golden_inputs(), dt=1.0).states.z)
        inputs = np.concatenate([golden_inputs(), s], axis=1)
        y = simulate(replay(), inputs, dt=1.0).outputs
        assert y.dtype == (jnp.float64 if double else jnp.float32)
        np.testing.assert_allclose(y[np.array(STEPS), 0], PUBLISHED, rtol=0, atol=tolerance)


def test_parameters_and_inputs_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="tau must be positive"):
        replay(tau=0.0)
    with pytest.raises(ValueError, match="rec_scale must be"):
        replay(rec_scale=np.nan)
    with pytest.raises(ValueError, match="3 channels, but GainModulatedRNN takes 5"):
        simulate(replay(), golden_inputs(), dt=1.0)
    with pytest.raises(ValueError, match="not below 2 tau"):
        simulate(replay(), np.zeros((2, 5)), dt=20.0)
