"""Hessian-free optimisation: Gauss-Newton steps by conjugate gradients, in reverse mode."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from ..kernels import whole_number
from .levenberg_marquardt import LevenbergMarquardt
from .parameter_checks import check_leaves
from .rejection import grew_too_much, next_damping, raised_damping
from .update_rule import Objective, UpdateInfo, UpdateRule

_ADVICE = (
    "Gauss-Newton products need forward mode as well as reverse mode, and a custom_vjp lets only "
    "one pass. Inside Diffrax choose an adjoint that serves both, adjoint=diffrax.DirectAdjoint()"
)
_HIGHEST = jax.lax.Precision.HIGHEST


class HessianFreeState(eqx.Module):
    """What `HessianFree` remembers from step to step.

    - `count`: updates done. `damping`: of the next step.
    - `rejected`: steps rejected in all; `in_a_row`: the last ones, without a good one between.
    - `last`: the last solution, where the next one starts from it, or `None`.
    """

    count: Int[Array, ""]
    damping: Float[Array, ""]
    rejected: Int[Array, ""]
    in_a_row: Int[Array, ""]
    last: PyTree


class HessianFree(UpdateRule):
    """Damped Gauss-Newton steps in all parameters, solved for by conjugate gradients.

    The step is -eta d with (J^T H J + lambda) d = J^T dl/dy for outputs y, their Jacobian J, and
    the Hessian H of the loss in the outputs. No matrix is formed: each iteration is one
    Jacobian-vector product and its transpose. These need the activity of whole trials, so memory
    grows with their length as under back-propagation through time, and time is about `cg_steps`
    gradients an update. For short trials on a CPU it is hard to beat; `SOFO` keeps memory constant,
    and needs no backward pass.

    Few iterations regularise by themselves: they solve for the directions of greatest curvature
    first, and leave those that a batch does not determine near the gradient or `warm_start`.

    ```python
    fit(model, task, optimizer=HessianFree(0.3), steps=200, batch_size=128, key=key)
    ```

    **Arguments:**

    - `learning_rate`: eta, a number or an Optax schedule of the updates done. The scale is exact: 1
      is the full Gauss-Newton step on the loss as it is, masks and means included.
    - `damping`: lambda, in units of curvature, absolute; 0 for none.
    - `cg_steps`: conjugate-gradient iterations at most, at every update.
    - `tolerance`: iterations end where the residual is below this part of the gradient.
    - `warm_start`: iterations start at this part of the last solution; 0 starts them at zero. For
      batches large enough that successive solutions have much in common.
    - `adapt`: a `LevenbergMarquardt` that moves the damping, or `None`.
    - `largest_increase`: as in `SOFO`; by default steps that make the loss grow are taken.
    - `max_rejections`: so many rejected steps in a row end a run of `fit`. A step is rejected, and
      damping raised tenfold, where the loss before or after it, the gradient or the solution is not
      finite, or the curvature along the solution not positive.

    **Raises:** `ValueError` for values out of range; from `init`, so before training, for
    parameters that are not real floating-point numbers; and from `update` for a model that forward
    mode does not pass.

    **Reference:** Martens (2010), Deep learning via Hessian-free optimization, ICML; Martens &
    Sutskever (2011), Learning recurrent neural networks with Hessian-free optimization, ICML.
    Gauss-Newton products: Schraudolph (2002), Neural Computation 14.
    """

    failures: ClassVar[tuple[str, ...]] = (
        "HessianFree rejected max_rejections steps in a row: the loss, its gradient or the "
        "solution was not finite. Take a smaller learning_rate, or parameters to start from that "
        "keep the activity finite",
        "HessianFree rejected max_rejections steps in a row: the curvature of the loss was not "
        "positive. The loss must be convex in the outputs",
    )

    learning_rate: float | int | Callable[[Array], Any]
    damping: float | int = eqx.field(default=1e-4, kw_only=True)
    cg_steps: int = eqx.field(
        static=True,
        default=20,
        kw_only=True,
        converter=lambda n: whole_number(n, "cg_steps", least=1),
    )
    tolerance: float | int = eqx.field(default=1e-5, kw_only=True)
    warm_start: float | int = eqx.field(static=True, default=0.0, kw_only=True)
    adapt: LevenbergMarquardt | None = eqx.field(default=None, kw_only=True)
    largest_increase: float | int | None = eqx.field(default=None, kw_only=True)
    max_rejections: int = eqx.field(
        static=True,
        default=10,
        kw_only=True,
        converter=lambda n: whole_number(n, "max_rejections", least=1),
    )

    def __check_init__(self):
        rate = self.learning_rate
        if not callable(rate) and not 0 < rate < math.inf:
            raise ValueError(f"learning_rate must be a positive number or a schedule, got {rate}.")
        if not 0 <= self.damping < math.inf:
            raise ValueError(f"damping must be finite and not negative, got {self.damping}.")
        if not 0 <= self.tolerance < 1:
            raise ValueError(f"tolerance must be in [0, 1), got {self.tolerance}.")
        if not 0 <= self.warm_start <= 1:
            raise ValueError(f"warm_start must be in [0, 1], got {self.warm_start}.")
        if self.largest_increase is not None and not self.largest_increase >= 1:
            raise ValueError(f"largest_increase must be at least 1, got {self.largest_increase}.")
        if self.adapt is not None and not self.damping > 0:
            raise ValueError("adapt needs a positive damping to start from.")

    def init(self, params: PyTree) -> HessianFreeState:
        """The state before the first update.

        **Raises:** `ValueError` for parameters that this cannot train.
        """
        check_leaves("HessianFree", params)
        return HessianFreeState(
            count=jnp.zeros((), jnp.int32),
            damping=jnp.asarray(self.damping, jnp.result_type(float)),
            rejected=jnp.zeros((), jnp.int32),
            in_a_row=jnp.zeros((), jnp.int32),
            last=jax.tree.map(jnp.zeros_like, params) if self.warm_start else None,
        )

    def update(
        self, objective: Objective, params: PyTree, state: HessianFreeState, key: PRNGKeyArray
    ) -> tuple[PyTree, HessianFreeState, UpdateInfo]:
        """As `UpdateRule.update`; the key is not used.

        **Raises:** `ValueError` where a `custom_vjp` is in the way.
        """
        del key
        objective = objective.constrained()
        loss, gradient, curve = _local_model(objective, params)
        start = None
        if self.warm_start:
            start = jax.tree.map(lambda d: self.warm_start * d, state.last)

        def damped(v: PyTree) -> PyTree:
            return jax.tree.map(lambda c, x: c + (state.damping * x).astype(x.dtype), curve(v), v)

        solution, _ = jax.scipy.sparse.linalg.cg(
            damped, gradient, x0=start, tol=self.tolerance, maxiter=self.cg_steps
        )
        rate = self.learning_rate
        rate = rate(state.count) if callable(rate) else rate
        new = jax.tree.map(lambda p, d: (p - rate * d).astype(p.dtype), params, solution)
        if objective.project is not None:
            new = objective.project(new)

        # One more product tells how good the solution is, and what the step promises.
        bent = curve(solution)
        curvature, length = _dot(solution, bent), _norm(solution)
        shift = state.damping.astype(length.dtype)
        residual = jax.tree.map(
            lambda g, c, d: g - c - shift.astype(d.dtype) * d, gradient, bent, solution
        )
        size = _norm(gradient)
        predicted = rate * _dot(gradient, solution) - rate**2 / 2 * curvature
        after = jnp.asarray(objective(new), loss.dtype)
        actual = loss - after

        numbers = [loss, after, size, length, curvature, *jax.tree.leaves(new)]
        not_finite = ~jnp.all(jnp.stack([jnp.all(jnp.isfinite(x)) for x in numbers]))
        # Where the gradient is zero there is nothing to solve for, and no curvature to see.
        not_positive = ~not_finite & (curvature + shift * length**2 <= 0) & (size > 0)
        rejected = not_finite | not_positive
        if self.largest_increase is not None:
            rejected |= grew_too_much(loss, actual, self.largest_increase)

        damping = next_damping(
            state.damping, self.damping, self.adapt, actual=actual, predicted=predicted
        )
        state_after = HessianFreeState(
            count=state.count + jnp.where(rejected, 0, 1),
            damping=jnp.where(rejected, raised_damping(state.damping), damping),
            rejected=state.rejected + jnp.where(rejected, 1, 0),
            in_a_row=jnp.where(rejected, state.in_a_row + 1, 0),
            last=_choose(rejected, state.last, solution) if self.warm_start else None,
        )
        diagnostics = {
            "gradient_norm": size,
            "damping": state.damping,
            "cg_residual": _norm(residual) / jnp.where(size > 0, size, 1),
            "step_norm": jnp.where(rejected, 0, rate * length),
            "predicted_decrease": predicted,
            "actual_decrease": actual,
            "rejected": rejected.astype(loss.dtype),
        }
        # A rejected step has a record of its own, and nothing of it may spoil a mean.
        diagnostics = {k: jnp.where(jnp.isfinite(v), v, 0) for k, v in diagnostics.items()}
        ended = state_after.in_a_row >= self.max_rejections
        failed = ended & jnp.stack([not_finite, not_positive])
        info = UpdateInfo(loss, gradient, diagnostics, rejected, failed)
        return _choose(rejected, params, new), state_after, info


def _local_model(
    objective: Objective, params: PyTree
) -> tuple[Array, PyTree, Callable[[PyTree], PyTree]]:
    """The loss, its gradient, and the Gauss-Newton matrix as a function of a vector."""

    def along(vector: PyTree) -> PyTree:
        return jax.jvp(objective.outputs, (params,), (vector,))[1]

    try:
        # Left to itself JAX says so only when it compiles; under vmap it has to say it at once.
        jax.eval_shape(jax.vmap(along), jax.tree.map(lambda p: p[None], params))
    except TypeError as error:
        if "custom_vjp" not in str(error):
            raise
        raise ValueError(f"{_ADVICE}.") from error
    outputs, push = jax.linearize(objective.outputs, params)
    pull = jax.linear_transpose(push, params)
    slope_of = jax.grad(objective.loss)
    # The loss is linearised once, and its Hessian applied at every iteration.
    slope, bend = jax.linearize(slope_of, outputs)

    def curve(vector: PyTree) -> PyTree:
        return pull(bend(push(vector)))[0]

    return jnp.asarray(objective.loss(outputs)), pull(slope)[0], curve


def _dot(a: PyTree, b: PyTree) -> Array:
    products = jax.tree.map(lambda x, y: jnp.vdot(x, y, precision=_HIGHEST), a, b)
    return sum(jax.tree.leaves(products), jnp.zeros(()))


def _norm(a: PyTree) -> Array:
    return jnp.sqrt(_dot(a, a))


def _choose(rejected: Array, old: PyTree, new: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: jnp.where(rejected, a, b), old, new)
