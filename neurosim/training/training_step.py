"""One update, and many of them in a row on the device."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray, PyTree

from ..models import HasPrepared
from ..run_layout import prepare_run
from ..simulate import simulate
from ..stepwise_run import stepwise_run
from ..tasks import Task, Trials
from ..trajectory import Trajectory
from .constraints import Constraint, project_all
from .divergence import failed_flags
from .recurrence import Recurrence
from .schedule import OWN_RECORDS
from .stepwise_loss import share_of_a_step, step_terms
from .update_rule import Objective, UpdateRule


class TrainingSetup(eqx.Module):
    """What stays the same from step to step.

    - `source`: a task, sampled anew at every step, or trials.
    - `batch_size`: trials a step; `None` for all of given trials.
    - `simulate_options`: further arguments of `simulate`.
    - `trainable`: pytree of booleans like the model.
    """

    rule: UpdateRule
    loss: Callable[[Trajectory, Trials], Any]
    constraints: tuple[Constraint, ...]
    source: Task | Trials
    batch_size: int | None
    dt: float
    simulate_options: dict[str, Any]
    trainable: PyTree[bool]


class TrainingState(eqx.Module):
    """What changes from step to step.

    - `params`: the leaves that train, `None` elsewhere.
    - `rule_state`: state of the update rule.
    - `failed_at`: first step, counted from 1, with a number that is not finite; 0 for none. From
      that step on parameters and rule state stay what they were before it.
    - `failed`: which quantities were not finite at that step, and which of the rule's `failures`
      came about.
    """

    params: PyTree
    rule_state: PyTree
    failed_at: Int[Array, "..."]
    failed: Bool[Array, "..."]


def first_state(setup: TrainingSetup, params: PyTree) -> TrainingState:
    """The state before the first step."""
    n_quantities = 1 + 2 * len(jax.tree.leaves(params)) + len(setup.rule.failures)
    return TrainingState(
        params,
        setup.rule.init(params),
        failed_at=jnp.zeros((), jnp.int32),
        failed=jnp.zeros(n_quantities, bool),
    )


def draw_trials(source: Task | Trials, key: PRNGKeyArray, batch_size: int | None) -> Trials:
    """Trials for one step: sampled from a task, picked without replacement from trials, or all."""
    if isinstance(source, Task):
        assert batch_size is not None
        return source.sample(key, batch_size)
    n_trials = source.inputs.shape[0]
    if batch_size is None or batch_size == n_trials:
        return source
    picked = jax.random.choice(key, n_trials, (batch_size,), replace=False)

    def pick(leaf: Any) -> Any:
        # An entry of `info` without a batch axis describes all trials.
        has_batch = eqx.is_array(leaf) and leaf.ndim > 0 and leaf.shape[0] == n_trials
        return leaf[picked] if has_batch else leaf

    return jax.tree.map(pick, source)


def run_model(setup: TrainingSetup, model: Any, trials: Trials, key: PRNGKeyArray) -> Trajectory:
    """Simulate a model on trials as the run is set up to, from where the trials say, if they do."""
    return simulate(
        model,
        trials.inputs,
        dt=setup.dt,
        initial_state=trials.info.get("initial_state"),
        key=key,
        throw=False,
        **setup.simulate_options,
    )


def recurrence_of(
    setup: TrainingSetup, params: PyTree, frozen: PyTree, trials: Trials, key: PRNGKeyArray
) -> Recurrence | None:
    """The loss on trials as a sum over time steps; `None` where it is no such sum."""
    terms = step_terms(setup.loss)
    if terms is None or setup.simulate_options.get("save", "both") == "final":
        return None
    model = eqx.combine(params, frozen)
    options = {k: v for k, v in setup.simulate_options.items() if k not in ("save", "throw")}
    run = prepare_run(
        model,
        trials.inputs,
        dt=setup.dt,
        initial_state=trials.info.get("initial_state"),
        key=key,
        **options,
    )
    steps = stepwise_run(model, run)
    if steps is None:
        return None
    ready, rest = lambda params: params, frozen
    if isinstance(model, HasPrepared):
        rest = eqx.filter(model.prepared(), eqx.is_inexact_array, inverse=True)

        def ready(params: PyTree) -> PyTree:
            return eqx.filter(eqx.combine(params, frozen).prepared(), eqx.is_inexact_array)

    def init(part: PyTree) -> PyTree:
        return steps.init(eqx.combine(part, rest))

    def step(part: PyTree, states: PyTree, x: PyTree) -> tuple[PyTree, PyTree]:
        return steps.step(eqx.combine(part, rest), states, x)

    shares = share_of_a_step(terms, trials)

    def share(outputs: PyTree, index: Array) -> Any:
        def at(a: Array) -> Array:
            return jax.lax.dynamic_index_in_dim(a, index, 1, keepdims=False)

        return shares(outputs, (at(trials.targets), at(trials.mask)))

    return Recurrence(ready, init, step, share, steps.xs, jnp.arange(run.n_steps))


def train_step(
    setup: TrainingSetup,
    state: TrainingState,
    frozen: PyTree,
    initial: PyTree,
    key: PRNGKeyArray,
    step: Int[Array, ""],
) -> tuple[TrainingState, dict[str, Array]]:
    """One update.

    Its randomness comes from the number of the step, so a run in several parts is the same run.

    **Arguments:**

    - `frozen`: the model without the leaves that train.
    - `initial`: the model that training started from.
    - `key`: the key of the run.
    - `step`: number of updates done before.

    **Returns:** the new state; and the loss before the update, whether the trials' mask asked for
    anything, and the rule's diagnostics.
    """
    trials_key, noise_key, rule_key = jax.random.split(jax.random.fold_in(key, step), 3)
    trials = draw_trials(setup.source, trials_key, setup.batch_size)

    def outputs(params: PyTree) -> Trajectory:
        return run_model(setup, eqx.combine(params, frozen), trials, noise_key)

    def loss(trajectory: Trajectory) -> Any:
        return _scalar(setup.loss(trajectory, trials))

    recurrence = recurrence_of(setup, state.params, frozen, trials, noise_key)

    def project(params: PyTree) -> PyTree:
        kept = project_all(setup.constraints, eqx.combine(params, frozen), initial)
        return eqx.filter(kept, setup.trainable)

    raw, rule_state, info = setup.rule.update(
        Objective(outputs, loss, recurrence, project if setup.constraints else None),
        state.params,
        state.rule_state,
        rule_key,
    )
    taken = sorted({*info.diagnostics} & {*OWN_RECORDS})
    if taken:
        raise ValueError(f"A diagnostic cannot be called {taken[0]!r}: records have that field.")
    # Looked at before the projection: a constraint could hide a NaN under a zero.
    failed = failed_flags(info, raw)
    model = project_all(setup.constraints, eqx.combine(raw, frozen), initial)
    params = eqx.filter(model, setup.trainable)

    running = state.failed_at == 0
    keep = running & ~jnp.any(failed)
    params, rule_state = jax.tree.map(
        lambda new, old: jnp.where(keep, new, old) if eqx.is_array(old) else old,
        (params, rule_state),
        (state.params, state.rule_state),
    )
    new_state = TrainingState(
        params,
        rule_state,
        failed_at=jnp.where(running & ~keep, step + 1, state.failed_at).astype(jnp.int32),
        failed=jnp.where(running & ~keep, failed, state.failed),
    )
    loss_value = jnp.where(running, info.loss, jnp.nan)
    # The loss of a rejected update may be anything.
    asked = jnp.any(trials.mask != 0) & ~jnp.asarray(info.rejected)
    return new_state, {"loss": loss_value, "asked": asked, **info.diagnostics}


# The state is given back to XLA, which writes the new one in its place.
@eqx.filter_jit(donate="all-except-first")
def train_chunk(
    fixed: tuple[TrainingSetup, PyTree, PyTree, Array, Array, Array, int, bool],
    state: TrainingState,
) -> tuple[TrainingState, dict[str, Array]]:
    """Run steps `start` to `start + n_steps` on the device.

    The number of steps is data and not part of the program: chunks of every length run the same
    code, so where a run is cut changes nothing, and nothing is compiled twice.

    **Arguments:**

    - `fixed`: setup, frozen leaves, initial model, key, `start`, `n_steps`, an upper bound of
      `n_steps`, and whether there is an ensemble: then frozen leaves, initial model, key and
      state have a leading axis.

    **Returns:** the new state, and for each emitted quantity an array with the step as its last
    axis, filled up to `n_steps`.
    """
    setup, frozen, initial, key, start, n_steps, length, ensemble = fixed

    def run(state, frozen, initial, key):
        dynamic, static = eqx.partition(state, eqx.is_array)

        def one(dynamic: PyTree, step: Array) -> tuple[PyTree, dict[str, Array]]:
            whole = eqx.combine(dynamic, static)
            new, emitted = train_step(setup, whole, frozen, initial, key, step)
            return eqx.filter(new, eqx.is_array), emitted

        # Traced once, here: the loop below needs to know what a step emits.
        one = eqx.filter_closure_convert(one, dynamic, start)

        def body(i, carry):
            dynamic, series = carry
            dynamic, emitted = one(dynamic, start + i)
            series = jax.tree.map(lambda all, new: all.at[i].set(new), series, emitted)
            return dynamic, series

        emitted = one.out_struct[1]  # pyright: ignore[reportFunctionMemberAccess]
        series = jax.tree.map(lambda x: jnp.zeros((length, *x.shape), x.dtype), emitted)
        dynamic, series = jax.lax.fori_loop(0, n_steps, body, (dynamic, series))
        return eqx.combine(dynamic, static), series

    if ensemble:
        run = eqx.filter_vmap(run)
    return run(state, frozen, initial, key)


@eqx.filter_jit
def evaluate(
    setup: TrainingSetup,
    source: Task | Trials,
    params: PyTree,
    frozen: PyTree,
    key: Array,
    ensemble: bool,
    full: bool,
) -> tuple[Array, Array, Any]:
    """The loss on `source`; whether its mask asks for anything; and, where `full`, the trajectory
    and the trials it belongs to."""

    def run(params, frozen, key):
        trials_key, noise_key = jax.random.split(key)
        batch_size = setup.batch_size if isinstance(source, Task) else None
        trials = draw_trials(source, trials_key, batch_size)
        trajectory = run_model(setup, eqx.combine(params, frozen), trials, noise_key)
        loss = _scalar(setup.loss(trajectory, trials))
        return loss, jnp.any(trials.mask != 0), ((trajectory, trials) if full else None)

    if ensemble:
        run = eqx.filter_vmap(run)
    return run(params, frozen, key)


def _scalar(loss: Any) -> Array:
    if not eqx.is_array_like(loss):
        raise ValueError(f"A loss must return a scalar, got {type(loss).__name__}.")
    loss = jnp.asarray(loss)
    if loss.shape != ():
        raise ValueError(f"A loss must return a scalar, got shape {loss.shape}.")
    if not jnp.issubdtype(loss.dtype, jnp.floating):
        raise ValueError(f"A loss must return a floating-point number, got {loss.dtype}.")
    return loss
