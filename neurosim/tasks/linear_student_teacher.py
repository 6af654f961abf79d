"""Linear student and teacher: regression on inputs with a steep spectrum."""

from math import isfinite
from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from neurosim.kernels import check_dt, whole_number

from .constants import constant
from .task import Task, Trials
from .trial_keys import check_batch_size, trial_keys


class LinearStudentTeacher(Task):
    """Trials of one step, at which the outputs are a fixed linear map of the inputs.

    Inputs are Gaussian with mean 0 and the eigenvalues `spectrum` along the columns of `axes`. The
    steeper the spectrum the slower gradient descent, and second-order methods do not mind it. Made
    by `generate`; teacher and axes stay the same from batch to batch.

    - `teacher`: `(output, input)`, the map.
    - `axes`: `(input, input)`, orthonormal columns.
    - `spectrum`: `(input,)`, variances along them, not negative.
    - `dt`: one step, the unit of time of this task.
    - `noise_std`: of Gaussian noise on the targets.

    The entry of `info`: `components`, `(batch, input)`, the inputs along the axes.

    **Reference:** the check without recurrence in the code of Yu, Xia, Ma, Lengyel & Hennequin
    (2024), Second-order forward-mode optimization of recurrent neural networks for neuroscience,
    NeurIPS 37.
    """

    teacher: Float[Array, "output input"]
    axes: Float[Array, "input input"]
    spectrum: Float[Array, " input"]
    dt: float = constant(1.0, float)
    noise_std: float = constant(0.0, float)

    def __check_init__(self):
        check_dt(self.dt)
        if not (isfinite(self.noise_std) and self.noise_std >= 0):
            raise ValueError(f"noise_std must be finite and not negative, got {self.noise_std}.")
        n = np.shape(self.spectrum)[0]
        shapes = tuple(np.shape(x) for x in (self.teacher, self.axes))
        if shapes[0][1:] != (n,) or shapes[1] != (n, n):
            raise ValueError(
                f"teacher must be (output, {n}) and axes ({n}, {n}) for a spectrum of {n} values, "
                f"got {shapes[0]} and {shapes[1]}."
            )
        for name in ("teacher", "axes", "spectrum"):
            values: Any = getattr(self, name)
            if isinstance(values, jax.core.Tracer):
                continue
            if not np.all(np.isfinite(values)) or (name == "spectrum" and np.any(values < 0)):
                sign = " and not negative" if name == "spectrum" else ""
                raise ValueError(f"{name} must be finite{sign}.")

    @classmethod
    def generate(
        cls,
        key: PRNGKeyArray,
        *,
        n_inputs: int | np.integer = 100,
        n_outputs: int | np.integer = 3,
        noise_std: float | int = 0.0,
    ) -> "LinearStudentTeacher":
        """A teacher N(0, 1/n_inputs), random axes, and the published spectrum.

        Its eigenvalues are as 1 / (1 + i^2), i = 1, 2, ..., with a mean of 1.

        **Arguments:**

        - `key`: of teacher and axes.
        - `n_inputs`, `n_outputs`: numbers of channels.
        - `noise_std`: of noise on the targets.

        **Returns:** the task.

        **Raises:** `ValueError` for numbers below 1, or noise that is negative.
        """
        n_inputs = whole_number(n_inputs, "n_inputs", least=1)
        n_outputs = whole_number(n_outputs, "n_outputs", least=1)
        teacher_key, axes_key = jax.random.split(key)
        spectrum = 1 / (1 + jnp.arange(1, n_inputs + 1, dtype=jnp.result_type(float)) ** 2)
        return cls(
            teacher=jax.random.normal(teacher_key, (n_outputs, n_inputs)) / jnp.sqrt(n_inputs),
            axes=jax.random.orthogonal(axes_key, n_inputs),
            spectrum=spectrum / jnp.mean(spectrum),
            noise_std=noise_std,
        )

    @property
    def n_inputs(self) -> int:
        """As many as the teacher has columns."""
        return self.teacher.shape[1]

    @property
    def n_outputs(self) -> int:
        """As many as the teacher has rows."""
        return self.teacher.shape[0]

    @property
    def n_steps(self) -> int:
        """One."""
        return 1

    def sample(self, key: PRNGKeyArray, batch_size: int | np.integer) -> Trials:
        """Draw trials: inputs, and noise on the targets.

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

        def draw(key: Array) -> tuple[Array, Array]:
            input_key, noise_key = jax.random.split(key)
            u = jax.random.normal(input_key, (self.n_inputs,), dtype)
            return u, jax.random.normal(noise_key, (self.n_outputs,), dtype)

        u, noise = jax.vmap(draw)(trial_keys(key, batch_size))
        u = jnp.sqrt(self.spectrum).astype(dtype) * u
        inputs = _transform(self.axes.astype(dtype), u)
        targets = _transform(self.teacher.astype(dtype), inputs) + self.noise_std * noise
        info = {"components": u}
        return Trials(inputs[:, None], targets[:, None], jnp.ones_like(targets)[:, None], info)


def _transform(matrix: Array, x: Array) -> Array:
    """`matrix @ x` for each row of `x`, term by term.

    A matrix product would round by the size of the batch, and coarsely on some devices.
    """

    def add(total: Array, term: tuple[Array, Array]) -> tuple[Array, None]:
        column, values = term
        return total + values[:, None] * column, None

    start = jnp.zeros((x.shape[0], matrix.shape[0]), x.dtype)
    return jax.lax.scan(add, start, (matrix.T, x.T))[0]
