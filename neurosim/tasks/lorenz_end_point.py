"""Lorenz end point: from a state of the Lorenz system, tell the state some steps later."""

from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from neurosim.kernels import check_dt, whole_number
from neurosim.kernels.lorenz import lorenz_trajectory

from .constants import constant
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys


class LorenzEndPoint(Task):
    """The outputs follow a snippet of the Lorenz attractor, and only their last step is compared.

    A trial starts from the first state of a random snippet and has no inputs: the network has to
    learn the flow. Snippets are z-scored. Made by `generate` from one long trajectory; the snippets
    stay the same from batch to batch, which of them are shown does not.

    - `snippets`: `(snippet, point, 3)`, z-scored states `dt` apart, at least 2 of them.
    - `mean`, `std`: `(3,)`, of the trajectory; a state is `mean + std * z`.
    - `dt`: between two states, in the unit of the system's time.

    A trial has a step for each point after the first. Entries of `info`: `initial_state`, `(batch,
    3)`, the z-scored state that the trial starts from; `snippet`, `(batch,)`, which one it is.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), Second-order forward-mode optimization
    of recurrent neural networks for neuroscience, NeurIPS 37, section 4.1.
    """

    snippets: Float[Array, "snippet point 3"]
    mean: Float[Array, " 3"]
    std: Float[Array, " 3"]
    dt: float = constant(0.01, float)

    def __check_init__(self):
        check_dt(self.dt)
        shape = np.shape(self.snippets)
        if len(shape) != 3 or shape[0] < 1 or shape[1] < 2 or shape[2] != 3:
            raise ValueError(
                "snippets must be (snippet, point, 3) with at least one snippet of two points, "
                f"got shape {shape}."
            )
        for name in ("snippets", "mean", "std"):
            values: Any = getattr(self, name)
            if not isinstance(values, jax.core.Tracer) and not np.all(np.isfinite(values)):
                raise ValueError(f"{name} must be finite.")

    @classmethod
    def generate(
        cls,
        key: PRNGKeyArray,
        *,
        n_snippets: int | np.integer = 4000,
        n_points: int | np.integer = 32,
        dt: float | int = 0.01,
        burn_in: int | np.integer = 2000,
    ) -> "LorenzEndPoint":
        """Cut one long trajectory into snippets, one after the other, and z-score them.

        The trajectory starts near (1, 1, 1) at a random point, from which it takes `burn_in` steps
        to the attractor. Mean and standard deviation are over all points of all snippets.

        **Arguments:**

        - `key`: of the starting point.
        - `n_snippets`, `n_points`: how many, and of how many points each; 2 points at least.
        - `dt`: step of the Runge-Kutta method, and between two points.
        - `burn_in`: steps before the first snippet.

        **Returns:** the task.

        **Raises:** `ValueError` for numbers that are too small, or a `dt` that is not positive or
        so long that the trajectory leaves the finite numbers.
        """
        n_snippets = whole_number(n_snippets, "n_snippets", least=1)
        n_points = whole_number(n_points, "n_points", least=2)
        burn_in = whole_number(burn_in, "burn_in", least=0)
        start = 1 + jax.random.normal(key, (3,))
        points = lorenz_trajectory(start, burn_in + n_snippets * n_points, dt=dt)[burn_in:]
        # About a fixed centre: sums of so many numbers about 24 would lose digits in float32.
        centre = jnp.asarray([0.0, 0.0, 24.0], points.dtype)
        mean = centre + jnp.mean(points - centre, axis=0)
        std = jnp.std(points - centre, axis=0)
        if not isinstance(std, jax.core.Tracer) and not np.all(np.isfinite(std)):
            raise ValueError(f"the trajectory leaves the finite numbers: dt = {dt} is too long.")
        snippets = ((points - mean) / std).reshape(n_snippets, n_points, 3)
        return cls(snippets=snippets, mean=mean, std=std, dt=dt)

    @property
    def n_inputs(self) -> int:
        """None: the network runs on its own."""
        return 0

    @property
    def n_outputs(self) -> int:
        """The three coordinates."""
        return 3

    @property
    def n_steps(self) -> int:
        """One less than a snippet has points."""
        return self.snippets.shape[1] - 1

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw trials: which snippets, each independently of the others.

        **Arguments:**

        - `key`: of the batch; trial i is the same in a larger batch.
        - `batch_size`: number of trials, static under `jit`. Since this task holds arrays, use
            `equinox.filter_jit`, or `jax.jit` on a function of the key that calls this.

        **Returns:** the trials.

        **Raises:** `ValueError` for an empty batch, or a size that is no whole number.
        """
        return self._sample(key, check_batch_size(batch_size))

    @eqx.filter_jit
    def _sample(self, key: PRNGKeyArray, batch_size: int) -> Trials:
        dtype = jnp.result_type(float)
        keys = trial_keys(key, batch_size)
        picked = jax.vmap(lambda k: jax.random.randint(k, (), 0, self.snippets.shape[0]))(keys)
        snippets = jnp.asarray(self.snippets, dtype)[picked]
        targets = snippets[:, 1:]
        inputs = jnp.zeros((batch_size, self.n_steps, 0), dtype)
        mask = jnp.zeros_like(targets).at[:, -1].set(1)
        return Trials(inputs, targets, mask, {"initial_state": snippets[:, 0], "snippet": picked})
