"""Lyapunov exponents of a map or a flow: how fast nearby trajectories part."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from neurosim.kernels import check_dt

from ..kernels import whole_number
from .activity import as_floating
from .estimator import refuse_traced
from .resampling import as_generator


class LyapunovSpectrum(NamedTuple):
    """Exponents along one trajectory; see `lyapunov_spectrum`."""

    exponents: np.ndarray
    standard_errors: np.ndarray
    kaplan_yorke_dimension: float | None
    sum: float
    volume_rate: float | None
    final_state: np.ndarray


def lyapunov_spectrum(
    f: Callable[..., Any],
    x0: Any,
    *,
    n_steps: int | np.integer,
    kind: str,
    dt: float | int | None = None,
    transient: int | np.integer = 0,
    n_exponents: int | np.integer | None = None,
    renormalise_every: int | np.integer = 1,
    n_blocks: int | np.integer = 10,
    inputs: Any = None,
    random_state: int | np.integer | np.random.Generator = 0,
) -> LyapunovSpectrum:
    """Lyapunov exponents by repeated QR factorisation, greatest first.

    Tangent vectors are carried along a trajectory and made orthonormal again every few steps; an
    exponent is the mean rate at which the logarithm of a length grows. A flow is stepped by the
    Runge-Kutta method of fourth order, whose tangents are those of the step itself, so that state
    and tangents never part. Computed in float64 whatever JAX's setting, on a copy of `x0`.

    A network driven by a fixed realisation of input (`inputs`) has conditional exponents: of
    trajectories that share the input. Where the derivative of `f` jumps (rectified units), jumps
    along the trajectory do no harm, but a spike's reset is not seen.

    ```python
    henon = lambda x: jnp.array([1 - 1.4 * x[0] ** 2 + x[1], 0.3 * x[0]])
    lyapunov_spectrum(henon, np.zeros(2), n_steps=100_000, transient=1000, kind="map").exponents
    ```

    **Arguments:**

    - `f`: of one state, and of one entry of `inputs` where there are any, written in `jax.numpy`,
      to the next state (`kind="map"`) or the time derivative (`kind="flow"`), `(n,)`.
    - `x0`: `(n,)`, where the trajectory starts.
    - `n_steps`: steps that count.
    - `kind`: `"map"` or `"flow"`. No default: the same function means another thing in each.
    - `dt`: the time of one step: needed for a flow, 1 by default for a map.
    - `transient`: steps before, which do not count: state and tangents settle. Nothing is settled
      for eigenvalues near one unless this is many of their time constants.
    - `n_exponents`: how many, the greatest; all `n` by default.
    - `renormalise_every`: steps from one factorisation to the next, a divisor of `n_steps` and
      of `transient`. Tangents must not all turn into the fastest direction in between.
    - `n_blocks`: stretches of time from whose means standard errors are taken, at least 2.
    - `inputs`: `(transient + n_steps, ...)`, the input at each step, held during it.
    - `random_state`: seed or generator that draws the first tangents.

    **Returns:** `LyapunovSpectrum`, NumPy:

    - `exponents`: `(n_exponents,)`, per unit of time, natural logarithm; -infinity where a
      direction is lost in one step.
    - `standard_errors`: `(n_exponents,)`, from means of blocks. Too small where blocks are shorter
      than the system's memory; infinite for an exponent that is.
    - `kaplan_yorke_dimension`: j + (sum of the first j) / |exponent j + 1|, where j is the most
      exponents whose sum is not negative; 0 where all are negative, `None` where the exponents
      asked for are too few to say.
    - `sum`: of the exponents.
    - `volume_rate`: what `sum` must be, computed apart from it where all exponents are asked for:
      the mean along the trajectory of ln|det J| (map) or of the trace of J (flow). In a flow the
      two differ by the error of the step, of order dt^4: a check of `dt`.
    - `final_state`: `(n,)`, to go on from.

    **Raises:** `ValueError` for another kind, a state that is no vector or not finite, a function
    that does not return a state, numbers of steps that do not fit one another, or a trajectory that
    leaves the finite numbers, with its step. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Benettin et al. (1980), Meccanica 15, 9-20; Geist, Parlitz & Lauterborn (1990),
    Progress of Theoretical Physics 83, 875-893; Kaplan & Yorke (1979), Lecture Notes in Mathematics
    730, 204-227; Engelken, Wolf & Abbott (2023), Physical Review Research 5, 043044, for networks.
    """
    if kind not in ("map", "flow"):
        raise ValueError(f"kind must be 'map' or 'flow', got {kind!r}.")
    if kind == "flow" and dt is None:
        raise ValueError("a flow needs dt, the time of one step.")
    step = 1.0 if dt is None else check_dt(dt)
    state = _state(x0)
    n = len(state)
    k = n if n_exponents is None else whole_number(n_exponents, "n_exponents", least=1)
    if k > n:
        raise ValueError(f"n_exponents must be at most the {n} dimensions of x0, got {k}.")
    every = whole_number(renormalise_every, "renormalise_every", least=1)
    counted = whole_number(n_steps, "n_steps", least=1)
    before = whole_number(transient, "transient", least=0)
    blocks = whole_number(n_blocks, "n_blocks", least=1)
    if counted % every or before % every:
        raise ValueError(
            f"renormalise_every = {every} must divide n_steps = {counted} and transient = {before}."
        )
    if not 2 <= blocks <= counted // every:
        raise ValueError(
            f"n_blocks must be from 2 to the {counted // every} factorisations, got {blocks}."
        )
    tangents = np.linalg.qr(as_generator(random_state).normal(size=(n, k)))[0]
    held = None if inputs is None else _inputs(inputs, before + counted)
    with jax.enable_x64(True):
        advance = _advance(f, kind, step, state, held)
        logs, volumes, finite, final = _run(
            advance, state, tangents, held, (before + counted) // every, every, k == n
        )
    if not finite.all():
        first = int(np.argmin(finite)) * every
        raise ValueError(
            f"the trajectory is not finite after steps {first + 1} to {first + every} of "
            f"{before + counted} (transient included): it diverges, dt is too large, or tangents "
            "overflow between factorisations."
        )
    skipped = before // every
    rates = logs[skipped:] / (every * step)
    exponents = rates.mean(axis=0)
    with np.errstate(invalid="ignore"):
        means = np.array([block.mean(axis=0) for block in np.array_split(rates, blocks)])
        errors = means.std(axis=0, ddof=1) / np.sqrt(blocks)
    order = np.argsort(-exponents, kind="stable")
    exponents = exponents[order]
    # What rounding leaves of exponents that are zero.
    slack = 10 * n * np.finfo(np.float64).eps / (every * step)
    return LyapunovSpectrum(
        exponents=exponents,
        standard_errors=np.where(np.isfinite(exponents), errors[order], np.inf),
        kaplan_yorke_dimension=_kaplan_yorke(exponents, slack, complete=k == n),
        sum=float(exponents.sum()),
        volume_rate=float(volumes[skipped:].mean() / (every * step)) if k == n else None,
        final_state=final,
    )


def _advance(
    f: Callable[..., Any], kind: str, dt: float, state: np.ndarray, inputs: np.ndarray | None
) -> Callable[..., Any]:
    """A step of state, tangents and volume, of the input that is held during it."""
    at = (jnp.asarray(state),) if inputs is None else (jnp.asarray(state), jnp.asarray(inputs[0]))
    try:
        result = jax.eval_shape(f, *at)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        reason = (str(error).strip().splitlines() or [repr(error)])[0]
        raise ValueError(
            f"f cannot take one state of shape {state.shape}"
            f"{'' if inputs is None else ' and one input'}, written in jax.numpy: {reason}"
        ) from error
    if getattr(result, "shape", None) != state.shape:
        raise ValueError(
            f"f must return one array in the shape of the state, {state.shape}; it returned "
            f"{getattr(result, 'shape', type(result).__name__)}."
        )

    def value(x: Any, u: Any) -> Any:
        return (f(x) if inputs is None else f(x, u)).astype(x.dtype)

    def trace(x: Any, u: Any) -> Any:
        return jnp.trace(jax.jacfwd(value)(x, u))

    def stepped(x: Any, u: Any) -> tuple[Any, Any]:
        """The next state, and the stages at which a flow is looked at."""
        if kind == "map":
            return value(x, u), ()
        stages, slopes = [x], [value(x, u)]
        for fraction in (0.5, 0.5, 1.0):
            stages.append(x + fraction * dt * slopes[-1])
            slopes.append(value(stages[-1], u))
        k1, k2, k3, k4 = slopes
        return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4), tuple(stages)

    def advance(x: Any, Q: Any, u: Any, all_directions: bool) -> tuple[Any, Any, Any]:
        new, push, stages = jax.linearize(lambda y: stepped(y, u), x, has_aux=True)
        if not all_directions:
            return new, jax.vmap(push, 1, 1)(Q), 0.0
        J = jax.vmap(push, 1, 1)(jnp.eye(len(x), dtype=x.dtype))
        if kind == "map":
            return new, J @ Q, jnp.linalg.slogdet(J)[1]
        traces = [weight * trace(stage, u) for weight, stage in zip((1, 2, 2, 1), stages)]
        return new, J @ Q, dt / 6 * sum(traces)

    return advance


def _run(
    advance: Callable[..., Any],
    state: np.ndarray,
    tangents: np.ndarray,
    inputs: np.ndarray | None,
    n_intervals: int,
    every: int,
    all_directions: bool,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Logarithms of lengths `(interval, k)`, of volume `(interval,)`; finiteness; last state."""

    def single(carry: Any, u: Any) -> tuple[Any, Any]:
        x, Q = carry
        x, Q, volume = advance(x, Q, u, all_directions)
        return (x, Q), volume

    def interval(carry: Any, u: Any) -> tuple[Any, Any]:
        (x, Y), volumes = jax.lax.scan(single, carry, u, length=every)
        Q, R = jnp.linalg.qr(Y)
        finite = jnp.isfinite(x).all() & jnp.isfinite(Y).all()
        return (x, Q), (jnp.log(jnp.abs(jnp.diagonal(R))), jnp.sum(volumes), finite)

    def trajectory(x: Any, Q: Any, u: Any) -> Any:
        return jax.lax.scan(interval, (x, Q), u, length=n_intervals)

    u = None
    if inputs is not None:
        u = jnp.asarray(inputs.reshape(n_intervals, every, *inputs.shape[1:]))
    carry, found = jax.jit(trajectory)(jnp.asarray(state), jnp.asarray(tangents), u)
    logs, volumes, finite = (np.asarray(x) for x in found)
    return logs, volumes, finite, np.asarray(carry[0])


def _kaplan_yorke(exponents: np.ndarray, slack: float, *, complete: bool) -> float | None:
    sums = np.cumsum(exponents)
    j = 0
    while j < len(sums) and sums[j] >= -slack * (j + 1):
        j += 1
    if j == len(sums):
        return float(j) if complete else None
    return 0.0 if j == 0 else j + max(float(sums[j - 1]), 0.0) / abs(float(exponents[j]))


def _state(x0: Any) -> np.ndarray:
    refuse_traced(x0, "a Lyapunov spectrum")
    state = np.asarray(as_floating(x0, "x0"), np.float64)
    if state.ndim != 1 or state.size == 0:
        raise ValueError(f"x0 must be one state (n,), not empty; got shape {state.shape}.")
    if not np.isfinite(state).all():
        raise ValueError(f"x0 is not finite at entry {int(np.argmin(np.isfinite(state)))}.")
    return state


def _inputs(inputs: Any, n_steps: int) -> np.ndarray:
    refuse_traced(inputs, "a Lyapunov spectrum")
    array = np.asarray(as_floating(inputs, "inputs"), np.float64)
    if array.ndim == 0 or len(array) != n_steps:
        raise ValueError(
            f"inputs must hold one entry for each of the transient + n_steps = {n_steps} steps; "
            f"got shape {array.shape}."
        )
    if not np.isfinite(array).all():
        step = int(np.argwhere(~np.isfinite(array))[0][0])
        raise ValueError(f"inputs are not finite at step {step}.")
    return array
