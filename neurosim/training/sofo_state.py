"""What SOFO remembers from step to step, and what a step tells."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree


class SOFOState(eqx.Module):
    """What SOFO remembers from step to step.

    - `count`: updates done. `damping`: of the next step, lambda.
    - `rejected`: steps rejected in all; `in_a_row`: the last ones, without a good one between.
    - `momentum`: running mean of directions, or `None`. `optimizer`: the Optax state, or `None`.
    - `last`: the last direction, where it is kept among the tangents, or `None`.
    - `seeds`: of the tangents of earlier steps that new ones are orthogonal to, or `None`.
    """

    count: Int[Array, ""]
    damping: Float[Array, ""]
    rejected: Int[Array, ""]
    in_a_row: Int[Array, ""]
    momentum: PyTree
    optimizer: PyTree
    last: PyTree
    seeds: Any

    def after_rejection(self, damping: Float[Array, ""], seeds: Any) -> "SOFOState":
        """The state after a step that was not taken.

        Momentum is emptied: damping shortens the new direction and not the sum of the old ones.
        """
        return dataclasses.replace(
            self,
            damping=damping,
            rejected=self.rejected + 1,
            in_a_row=self.in_a_row + 1,
            momentum=jax.tree.map(jnp.zeros_like, self.momentum),
            seeds=seeds,
        )


class SOFOInfo(NamedTuple):
    """What one step tells.

    - `loss`: before the step.
    - `damping`: lambda, of this step.
    - `spectrum`: `(K,)`, eigenvalues of the projected curvature, ascending.
    - `effective_rank`: exponential of the entropy of the normalised spectrum; 0 without curvature.
    - `step_norm`: Euclidean norm of the change of all parameters.
    - `predicted_decrease`: of the loss, by the quadratic model; NaN under momentum and Optax,
      whose step leaves the tangents' span.
    - `actual_decrease`: of the loss on the same trials; NaN where it was not asked for.
    - `rejected`: whether parameters stayed as they were: a number was not finite (`not_finite`),
      the curvature not positive (`not_positive`), or the loss grew too much.
    """

    loss: Float[Array, ""]
    damping: Float[Array, ""]
    spectrum: Float[Array, " tangent"]
    effective_rank: Float[Array, ""]
    step_norm: Float[Array, ""]
    predicted_decrease: Float[Array, ""]
    actual_decrease: Float[Array, ""]
    rejected: Bool[Array, ""]
    not_finite: Bool[Array, ""]
    not_positive: Bool[Array, ""]
