"""Memory of one update against the length of its trials, as the compiler accounts for it."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

from ..models import VanillaRNN
from ..tasks import Trials
from ..training import SOFO, mean_squared_error
from ..training.training_checks import checked_setup
from ..training.training_step import first_state, train_step

_N_UNITS, _BATCH = 64, 32

#: Optimiser and options of `simulate`, by the name of the curve.
METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Adam, all steps kept": (optax.adam(1e-3), {}),
    "Adam, recomputing": (
        optax.adam(1e-3),
        {"adjoint": diffrax.RecursiveCheckpointAdjoint()},
    ),
    "SOFO, 32 tangents": (SOFO(32), {}),
    "SOFO, 128 tangents": (SOFO(128), {}),
}


def memory_by_length(lengths: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Temporary memory of one compiled update, in MiB, for each method and length.

    A rate network of 64 units on 32 given trials; trials, parameters and the optimiser's state are
    arguments and do not count.
    """
    found: dict[str, np.ndarray] = {"lengths": np.asarray(lengths)}
    for name, (optimizer, options) in METHODS.items():
        sizes = [_temporaries(optimizer, options, length) for length in lengths]
        found[name] = np.array(sizes) / 2**20
    return found


def _temporaries(optimizer: Any, options: dict[str, Any], length: int) -> int:
    model = VanillaRNN.init(_N_UNITS, 1, 1, key=jax.random.key(0), rec_scale="1/sqrt(N)")
    zeros = jnp.zeros((_BATCH, length, 1))
    trials = Trials(zeros, zeros, jnp.ones_like(zeros), {})
    setup = checked_setup(
        model,
        trials,
        optimizer=optimizer,
        batch_size=None,
        loss=mean_squared_error,
        dt=10.0,
        trainable=None,
        constraints=(),
        simulate_options={"save": "outputs", **options},
    )
    params = eqx.filter(model, setup.trainable)
    frozen = eqx.filter(model, setup.trainable, inverse=True)
    everything = (setup, first_state(setup, params), frozen, model)
    arrays, rest = eqx.partition(everything, eqx.is_array)

    def update(arrays: Any, key: Any) -> Any:
        setup, state, frozen, initial = eqx.combine(arrays, rest)
        step = jnp.zeros((), jnp.int32)
        new, emitted = train_step(setup, state, frozen, initial, key, step)
        return eqx.filter(new, eqx.is_array), emitted

    compiled = jax.jit(update).lower(arrays, jax.random.key(0)).compile()
    analysis = compiled.memory_analysis()
    if analysis is None:
        raise RuntimeError("this backend of JAX does not tell the memory of a compiled program.")
    return analysis.temp_size_in_bytes
