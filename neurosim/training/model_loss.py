"""Losses of a model itself, in a form that `fit` can train on.

A loss of `fit` sees trajectories. A code for position, though, is trained on pairs of positions at
which it is evaluated, and on paths of another number. Here what is drawn for a step is the state
of a model that does not move, and what the model says of it is its output: the terms of the loss.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..models.dynamics import Dynamics
from ..tasks.task import Task, Trials
from ..tasks.trial_keys import check_batch_size, trial_keys
from ..trajectory import Trajectory


class LossTerms(Dynamics):
    """A model with losses of its own as `Dynamics`: the state is a draw, the output its terms.

    - `model`: the model that trains.
    - `terms`: a function of the model and a draw to a tuple of scalars.
    - `shapes`, `structure`: of a draw, which the state is.
    """

    model: Any
    terms: Callable[[Any, Any], tuple[Any, ...]] = eqx.field(static=True)
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    structure: Any = eqx.field(static=True)

    @property
    def n_inputs(self) -> int:
        """One channel, which is not used."""
        return 1

    def initial_state(self) -> Any:
        """A draw of zeros."""
        leaves = [jnp.zeros(shape, jnp.result_type(float)) for shape in self.shapes]
        return jax.tree.unflatten(self.structure, leaves)

    def step(self, t: Any, state: Any, input: Any, dt: Any) -> Any:
        """The state itself."""
        return state

    def vector_field(self, t: Any, state: Any, input: Any) -> Any:
        """Zero."""
        return jax.tree.map(jnp.zeros_like, state)

    def readout(self, state: Any) -> Float[Array, " term"]:
        """The terms of the loss."""
        return jnp.stack([jnp.asarray(term) for term in self.terms(self.model, state)])


class LossDraws(Task):
    """Draws for the terms of a loss as trials of one time step, without inputs and targets.

    - `draw`: a function of a key to a pytree of arrays. `n_terms`: number of terms.
    """

    draw: Callable[[PRNGKeyArray], Any] = eqx.field(static=True)
    n_terms: int = eqx.field(static=True)
    dt: float = eqx.field(static=True, default=1.0)

    @property
    def n_inputs(self) -> int:
        """One channel, of zeros."""
        return 1

    @property
    def n_outputs(self) -> int:
        """One for each term."""
        return self.n_terms

    @property
    def n_steps(self) -> int:
        """One."""
        return 1

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw for one step of training, or for several to be averaged.

        **Arguments:**

        - `key`: of the batch. `batch_size`: number of draws; usually one, which holds many samples.

        **Returns:** trials with the draws as their initial states.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        size = check_batch_size(batch_size)
        state = jax.vmap(self.draw)(trial_keys(key, size))
        zeros = jnp.zeros((size, 1, self.n_terms))
        return Trials(jnp.zeros((size, 1, 1)), zeros, zeros + 1, {"initial_state": state})


def sum_of_terms(trajectory: Trajectory, trials: Trials) -> Float[Array, ""]:
    """The sum of all terms of a `LossTerms`, averaged over draws."""
    outputs = trajectory.outputs
    assert outputs is not None
    return jnp.sum(trials.mask * outputs) / outputs.shape[0]


class ModelLoss(NamedTuple):
    """What `fit` needs to train a model on losses of its own; see `model_loss`."""

    model: LossTerms
    task: LossDraws
    loss: Callable[[Trajectory, Trials], Any]


def model_loss(
    model: Any,
    terms: Callable[[Any, Any], tuple[Any, ...]],
    draw: Callable[[PRNGKeyArray], Any],
) -> ModelLoss:
    """Losses of a model, and a sampler of what they need, as arguments of `fit`.

    **Arguments:**

    - `model`: a module with what trains in it.
    - `terms`: a function of the model and a draw to a tuple of scalars, which are added up.
    - `draw`: a function of a key to a pytree of floating-point arrays; it is traced.

    **Returns:** `model`, `task` and `loss` for `fit`. The trained one is `result.model.model`.

    **Raises:** `ValueError` for terms that are no tuple of scalars, or draws that are no floats.

    ```python
    problem = model_loss(network, terms, draw)
    constraint = GridCodeConstraint(lambda m: m.model)
    fit(*problem[:2], loss=problem.loss, batch_size=1, constraints=constraint, ...)
    ```
    """
    example = jax.eval_shape(draw, jax.random.key(0))
    leaves, structure = jax.tree.flatten(example)
    if not leaves or any(not jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves):
        raise ValueError("draw must return floating-point arrays.")
    found = eqx.filter_eval_shape(terms, model, example)
    if not isinstance(found, tuple) or not found or any(term.shape for term in found):
        raise ValueError("terms must return a tuple of scalars, one for each term of the loss.")
    wrapped = LossTerms(model, terms, tuple(leaf.shape for leaf in leaves), structure)
    return ModelLoss(wrapped, LossDraws(draw=draw, n_terms=len(found)), sum_of_terms)
