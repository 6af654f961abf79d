"""SOFO: second-order optimisation by forward-mode differentiation only."""

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PRNGKeyArray, PyTree

from ..kernels import entropy_of_shares, whole_number
from .earlier_tangents import draw_unseen
from .levenberg_marquardt import LevenbergMarquardt
from .rejection import grew_too_much, next_damping, raised_damping
from .sketch import Sketch, sketch
from .sketch_solver import (
    DampingMode,
    SketchStep,
    combine_tangents,
    orthonormalise,
    solve_sketch,
)
from .sofo_checks import check_options, check_parameters
from .sofo_state import SOFOInfo, SOFOState
from .tangent_samplers import GaussianTangents, TangentSampler
from .update_rule import Objective, UpdateInfo, UpdateRule

SketchFunction: TypeAlias = Callable[[PyTree, PyTree], Sketch]


def _count(name: str) -> Callable[[Any], int]:
    return lambda value: whole_number(value, name, least=0)


class SOFO(UpdateRule):
    """Damped Gauss-Newton steps in K random directions, without a backward pass.

    At every update K tangents V are pushed forward through the model with the trial, and give the
    slopes C = V dl/dp of the loss and its generalised Gauss-Newton matrix G between them. The step
    is -eta V^T z with z = (G + gamma)^-1 C. On a fixed grid, and with a loss that is a sum over
    time such as those of this package, memory does not grow with the length of trials (K times the
    state of one step); other losses keep the outputs' tangents, K times the outputs.

    Time is about twice K forward passes: an update costs much more than one of Adam, and may do
    much more. Start with K = min(128, a tenth of the parameters), `damping` 1e-5 and
    `learning_rate` 0.1, and raise the rate to 0.3 or 1 where the loss falls smoothly. Where it
    spikes, lower the rate before raising damping. Where K is a sizeable part of the numbers that a
    batch supervises, steps fit the batch: take more trials or a smaller rate.

    ```python
    fit(model, task, optimizer=SOFO(64, 0.1), steps=300, batch_size=128, key=key)
    ```

    **Arguments:**

    - `n_tangents`: K, up to the number of parameters that train.
    - `learning_rate`: eta, a number (as an array, another one needs no new compilation) or an Optax
      schedule of the updates done. The scale is exact: 1 is the full Gauss-Newton step on the loss
      as it is, masks and means included.
    - `damping`: lambda, 0 for none.
    - `damping_mode`: gamma is lambda times the greatest eigenvalue of G (`"relative_max"`), times
      the smallest (`"relative_min"`, which needs as many supervised numbers as tangents), or lambda
      (`"absolute"`).
    - `power`: 1; 0.5 for the inverse square root of the damped spectrum; or 0 for the slopes alone,
      which is gradient descent in a random subspace. Below 1 it wants a smaller
      rate.
    - `tangents`: a `TangentSampler`.
    - `adapt`: a `LevenbergMarquardt` that moves the damping, or `None`.
    - `momentum`: of the directions, with bias correction; 0 for none.
    - `optimizer`: an Optax transformation that turns directions into updates in place of
      `learning_rate` and `momentum`; the direction has the sign of a gradient. Not one that
      rescales entry by entry as Adam does.
    - `keep_last`: have the last direction among the tangents, as a momentum inside the solve.
    - `orthogonal_to`: number of earlier updates whose tangents new ones are orthogonal to.
    - `chunk_size`: tangents pushed at once within a step, to save memory; `None` for all.
    - `mesh`: a mesh whose first axis the tangents are sharded over, or `None`.
    - `largest_increase`: a step is rejected where the loss on its own trials would become more
      than so many times what it was; `None` takes any. Networks that expand activity, such as
      ReLUs with feedback, are thrown far by one bad step otherwise. Costs a forward pass of the
      trials alone; the authors' code has no such check. A rejected step empties `momentum`. There
      is no such check with an `optimizer`, whose memory damping cannot shorten.
    - `max_rejections`: a run of `fit` ends where so many steps in a row were rejected, and the last
      one as a number was not finite or the curvature not positive. Each rejected step raises the
      damping tenfold, and good steps bring it back.
    - `allow_indefinite`: take losses that are not convex in the outputs; negative curvature counts
      as none.

    **Raises:** `ValueError` for values out of range; and from `init`, so before training, for more
    tangents than parameters, or parameters that are not real floating-point numbers.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), Second-order forward-mode optimization
    of recurrent neural networks for neuroscience, NeurIPS 37.
    """

    failures: ClassVar[tuple[str, ...]] = (
        "SOFO rejected max_rejections steps in a row: the loss, its slopes or its curvature were "
        "not finite. Take a smaller learning_rate, or parameters to start from that keep the "
        "activity finite",
        "SOFO rejected max_rejections steps in a row: the curvature of the loss was not positive. "
        "The loss must be convex in the outputs, and the outputs must depend on the parameters",
    )

    n_tangents: int = eqx.field(static=True, converter=_count("n_tangents"))
    learning_rate: float | Array | Callable[[Array], Any] | None = 0.1
    damping: float | Array = 1e-5
    damping_mode: DampingMode = eqx.field(static=True, default="relative_max")
    power: float = eqx.field(static=True, default=1.0)
    tangents: TangentSampler = GaussianTangents()
    adapt: LevenbergMarquardt | None = None
    momentum: float = 0.0
    optimizer: optax.GradientTransformation | None = None
    keep_last: bool = eqx.field(static=True, default=False)
    orthogonal_to: int = eqx.field(static=True, default=0, converter=_count("orthogonal_to"))
    chunk_size: int | None = eqx.field(static=True, default=None)
    mesh: Mesh | None = eqx.field(static=True, default=None)
    largest_increase: float | None = 1.0
    max_rejections: int = eqx.field(static=True, default=10, converter=_count("max_rejections"))
    allow_indefinite: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        check_options(self)

    def init(self, params: PyTree) -> SOFOState:
        """The state before the first update.

        **Raises:** `ValueError` for parameters that this cannot train.
        """
        check_parameters(self, params)
        dtype = jnp.result_type(float)

        def zeros() -> PyTree:
            return jax.tree.map(jnp.zeros_like, params)

        return SOFOState(
            count=jnp.zeros((), jnp.int32),
            damping=jnp.asarray(self.damping, dtype),
            rejected=jnp.zeros((), jnp.int32),
            in_a_row=jnp.zeros((), jnp.int32),
            momentum=zeros() if self.momentum else None,
            optimizer=None if self.optimizer is None else self.optimizer.init(params),
            last=zeros() if self.keep_last else None,
            seeds=jnp.zeros(self.orthogonal_to, jnp.uint32) if self.orthogonal_to else None,
        )

    def update(
        self, objective: Objective, params: PyTree, state: SOFOState, key: PRNGKeyArray
    ) -> tuple[PyTree, SOFOState, UpdateInfo]:
        """As `UpdateRule.update`."""
        objective = objective.constrained()
        recurrence = objective.recurrence

        def sketch_fn(params: PyTree, tangents: PyTree) -> Sketch:
            if recurrence is not None:
                return recurrence.sketch(params, tangents, chunk_size=self.chunk_size)
            return sketch(
                objective.outputs, objective.loss, params, tangents, chunk_size=self.chunk_size
            )

        loss_fn = objective if recurrence is None else recurrence.loss
        params, state, info = self.step(
            params, state, sketch_fn, key, loss_fn=loss_fn, project=objective.project
        )
        diagnostics = {
            "damping": info.damping,
            "largest_eigenvalue": info.spectrum[-1],
            "median_eigenvalue": jnp.median(info.spectrum),
            "smallest_eigenvalue": info.spectrum[0],
            "effective_rank": info.effective_rank,
            "step_norm": info.step_norm,
            "actual_decrease": info.actual_decrease,
            "rejected": info.rejected.astype(info.loss.dtype),
        }
        if not self._leaves_the_span:
            diagnostics["predicted_decrease"] = info.predicted_decrease
        # What a rejected step would have done is not what was done, and may spoil a mean.
        for name in ("actual_decrease", "predicted_decrease"):
            if name in diagnostics:
                diagnostics[name] = jnp.where(info.rejected, 0, diagnostics[name])
        diagnostics = {k: jnp.where(jnp.isfinite(v), v, 0) for k, v in diagnostics.items()}
        ended = state.in_a_row >= self.max_rejections
        # Steps that make the loss grow end by themselves: damping makes them ever shorter.
        failed = ended & jnp.stack([info.not_finite, info.not_positive])
        return params, state, UpdateInfo(info.loss, None, diagnostics, info.rejected, failed)

    def step(
        self,
        params: PyTree,
        state: SOFOState,
        sketch_fn: SketchFunction,
        key: PRNGKeyArray,
        *,
        loss_fn: Callable[[PyTree], Any] | None = None,
        project: Callable[[PyTree], PyTree] | None = None,
    ) -> tuple[PyTree, SOFOState, SOFOInfo]:
        """One update of any parameters, for loops of your own.

        Nothing here is compiled: put it under `eqx.filter_jit(donate="all")`, with the batch as an
        argument, and one compilation serves a run. Whether too many steps were rejected is for
        the loop to ask: `state.in_a_row`.

        ```python
        @eqx.filter_jit(donate="all")
        def update(params, state, batch, key):
            outputs = lambda p: predict(p, batch.x)
            sketch_fn = lambda p, v: sketch(outputs, batch.loss, p, v)
            loss_fn = lambda p: batch.loss(outputs(p))
            return sofo.step(params, state, sketch_fn, key, loss_fn=loss_fn)
        ```

        **Arguments:**

        - `params`: pytree of floating-point arrays, `None` where there is nothing to train.
        - `state`: from `init`, or the last step.
        - `sketch_fn`: `(params, tangents) -> Sketch`: `sketch`, `sketch_scan` or `sketch_marked`.
        - `key`: for the tangents.
        - `loss_fn`: `params -> scalar` on the same trials, for the actual decrease. Without it a
          step to where the loss is worse, or not finite, is taken all the same.
        - `project`: constraints that new parameters are put through. `sketch_fn` must know them:
          its loss is one of projected parameters.

        **Returns:** new parameters and state, and a `SOFOInfo`.

        **Raises:** `ValueError` if `adapt` is set and there is no `loss_fn`.
        """
        if self.adapt is not None and loss_fn is None:
            raise ValueError("adapt needs the loss after a step: pass loss_fn=.")
        tangents, seeds = self._draw(key, params, state)
        found = sketch_fn(params, tangents)
        z, spectrum = self.solve(found, state.damping)
        direction = combine_tangents(tangents, z)
        updates, momentum, optimizer = self._updates(direction, params, state)
        new = jax.tree.map(lambda p, u: (p + u).astype(p.dtype), params, updates)
        if project is not None:
            new = project(new)

        actual = jnp.asarray(jnp.nan, found.loss.dtype)
        loss_is_finite = jnp.asarray(True)
        if loss_fn is not None:
            after = jnp.asarray(loss_fn(new), found.loss.dtype)
            actual, loss_is_finite = found.loss - after, jnp.isfinite(after)
        numbers = [found.loss, found.gradient, found.ggn, *jax.tree.leaves(new)]
        finite = [jnp.all(jnp.isfinite(x)) for x in numbers]
        not_finite = ~(jnp.all(jnp.stack(finite)) & loss_is_finite)
        # Trials whose mask is zero ask for nothing, and change nothing.
        idle = (found.loss == 0) & ~jnp.any(found.gradient) & ~jnp.any(found.ggn)
        not_positive = ~not_finite & ~idle & ~self._is_positive(spectrum)
        rejected = not_finite | not_positive
        if self.largest_increase is not None and self.optimizer is None and loss_fn is not None:
            rejected |= grew_too_much(found.loss, actual, self.largest_increase)

        predicted = jnp.asarray(jnp.nan, found.loss.dtype)
        if not self._leaves_the_span:
            rate = self._rate(state.count)
            predicted = rate * found.gradient @ z - rate**2 / 2 * z @ found.ggn @ z
        damping = next_damping(
            state.damping, self.damping, self.adapt, actual=actual, predicted=predicted
        )
        held = state.after_rejection(raised_damping(state.damping), seeds)
        moved = SOFOState(
            count=state.count + 1,
            damping=damping,
            rejected=state.rejected,
            in_a_row=jnp.zeros_like(state.in_a_row),
            momentum=momentum,
            optimizer=optimizer,
            last=direction if self.keep_last else None,
            seeds=seeds,
        )

        def choose(a: Any, b: Any) -> Any:
            return jnp.where(rejected, a, b) if eqx.is_array(a) else a

        def leave(a: Any, b: Any) -> Any:
            return jnp.where(idle, a, b) if eqx.is_array(a) else a

        chosen = jax.tree.map(choose, (params, held), (new, moved))
        params, state_after = jax.tree.map(leave, (params, state), chosen)
        positive = jnp.where(spectrum[-1] > 0, jnp.maximum(spectrum, 0), 1)
        rank = jnp.exp(entropy_of_shares(positive))
        squares = [jnp.sum(jnp.square(u)) for u in jax.tree.leaves(updates)]
        return (
            params,
            state_after,
            SOFOInfo(
                loss=found.loss,
                damping=state.damping,
                spectrum=spectrum,
                effective_rank=jnp.where(spectrum[-1] > 0, rank, 0),
                step_norm=jnp.where(rejected | idle, 0, jnp.sqrt(sum(squares))),
                predicted_decrease=predicted,
                actual_decrease=actual,
                rejected=rejected,
                not_finite=not_finite,
                not_positive=not_positive,
            ),
        )

    def solve(self, found: Sketch, damping: Any) -> SketchStep:
        """The coefficients of the tangents, by `solve_sketch` with this rule's mode and power."""
        return solve_sketch(
            found.ggn,
            found.gradient,
            damping=damping,
            damping_mode=self.damping_mode,
            power=self.power,
        )

    @property
    def _leaves_the_span(self) -> bool:
        return self.momentum > 0 or self.optimizer is not None

    def _rate(self, count: Array) -> Any:
        return self.learning_rate(count) if callable(self.learning_rate) else self.learning_rate

    def _is_positive(self, spectrum: Array) -> Array:
        # Rounding leaves eigenvalues on both sides of zero.
        slack = max(1e-6, 10 * float(jnp.finfo(spectrum.dtype).eps) * len(spectrum) ** 0.5)
        positive = spectrum[-1] > 0
        if not self.allow_indefinite:
            positive &= spectrum[0] >= -slack * spectrum[-1]
        if self.damping_mode == "relative_min":
            positive &= spectrum[0] > 0
        return positive

    def _updates(
        self, direction: PyTree, params: PyTree, state: SOFOState
    ) -> tuple[PyTree, PyTree, PyTree]:
        if self.optimizer is not None:
            updates, optimizer = self.optimizer.update(direction, state.optimizer, params)
            return updates, None, optimizer
        rate, momentum = self._rate(state.count), None
        if self.momentum:
            beta = self.momentum
            momentum = jax.tree.map(
                lambda m, d: (beta * m + (1 - beta) * d).astype(d.dtype), state.momentum, direction
            )
            direction, rate = momentum, rate / (1 - beta ** (state.count + 1))
        return jax.tree.map(lambda d: -rate * d, direction), momentum, None

    def _draw(self, key: PRNGKeyArray, params: PyTree, state: SOFOState) -> tuple[PyTree, Any]:
        n, seeds = self.n_tangents - self.keep_last, state.seeds
        if self.orthogonal_to:
            n_earlier = state.count + state.rejected
            tangents, seeds = draw_unseen(self.tangents, key, params, n, seeds, n_earlier)
        else:
            tangents = self.tangents.sample(key, params, n)
        if self.keep_last:
            joined = jax.tree.map(lambda v, d: jnp.concatenate([v, d[None]]), tangents, state.last)
            tangents = orthonormalise(joined)
        if self.mesh is not None:
            axis = PartitionSpec(self.mesh.axis_names[0])
            tangents = jax.lax.with_sharding_constraint(tangents, NamedSharding(self.mesh, axis))
        return tangents, seeds
