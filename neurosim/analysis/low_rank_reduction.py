"""The few variables that the states of a low-rank network are made of, exactly.

    x_t = L kappa_t + B v_t + (1 - a)^t x_0,   a = dt / tau

for any transfer function, input and gains: the recurrent term never leaves the span of L, and what
input and initial state add is filtered by the leak alone. So K + U numbers follow

    kappa+ = (1 - a) kappa + a g s * (R^T phi(x)),   v+ = (1 - a) v + a u

from kappa = v = 0 and carry all there is to know of N units. In continuous time the differences
become tau kappa' = -kappa + g s * (R^T phi(x)) and tau v' = -v + u.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..kernels import recurrent_scale
from .activity import AnyArray, is_traced
from .low_rank_factors import (
    Numbers,
    check_factors,
    check_gains,
    check_matrix,
    check_times,
    read_arrays,
)
from .transfer_function import TransferFunction, check_function, rates


class LowRankReduction(NamedTuple):
    """The variables of `exact_reduction`, after each step.

    - `kappa`: `(..., time, rank)`, coordinates along the columns of L.
    - `filtered_input`: `(..., time, input)`, v.
    - `leak`: `(time,)`, the share (1 - a)^t of the initial state that is left.
    """

    kappa: AnyArray
    filtered_input: AnyArray
    leak: AnyArray


class OutputComponents(NamedTuple):
    """The output of a low-rank network taken apart; see `output_components`."""

    modes: AnyArray
    input: AnyArray
    initial: AnyArray

    @property
    def total(self) -> AnyArray:
        """All parts added up: the output without its offset, `(..., time, output)`."""
        return self.modes.sum(axis=-1) + self.input + self.initial


def exact_reduction(
    L: Numbers,
    R: Numbers,
    B: Numbers,
    inputs: Numbers,
    *,
    x0: Numbers,
    tau: Any,
    dt: Any = 1.0,
    gains: Numbers | None = None,
    phi: TransferFunction = jnp.tanh,
    rec_scale: Any = 1.0,
) -> LowRankReduction:
    """Run a low-rank network with given gains by its K + U variables, without approximation.

    The steps are those of the published recursion, which for given gains is explicit Euler.
    `gains[t]` are the gains *used in* step t. An NM-RNN in its published steps uses those of its
    new z, so that they are the gains of the states that a simulation returns; with lagged
    gains (explicit Euler) they are those of the state before, from z_0 on. The gains are taken as
    they are: in a network whose x feeds back to z they would depend on x.

    Leading axes (trials) of `inputs`, `gains` and `x0` may be left out where all trials share one.

    ```python
    found = exact_reduction(L, R, B, inputs, gains=gains, x0=x0, tau=10.0)
    x = reconstruct_states(found, L, B, x0=x0)
    ```

    **Arguments:**

    - `L`, `R`: `(N, K)`. `B`: `(N, U)`; without input `(N, 0)`, and `inputs` of no channels.
    - `inputs`: `(time, U)` or `(trials, time, U)`, each held over its step.
    - `x0`: `(N,)` or `(trials, N)`.
    - `tau`, `dt`: time constant and step, in one unit.
    - `gains`: s, `(K,)`, `(time, K)` or `(trials, time, K)`, or with 1 in place of K for one gain
      common to all; `None` for a network without gains.
    - `phi`: transfer function of the units, elementwise.
    - `rec_scale`: g, a number or `"unit"`, `"1/N"`, `"1/sqrt(N)"`.

    **Returns:** a `LowRankReduction`; entry t is after the step that took in `inputs[t]`. NumPy
    float64, or JAX, differentiable and compiled once for each `phi` and set of shapes, if any array
    is JAX's.

    **Raises:** `ValueError` for shapes that do not fit, no trials, values that are missing or not
    finite, a time that is not positive, a step of 2 tau or more, a `phi` that is no function or,
    for JAX arrays, not written in JAX, or a state that leaves the finite numbers.

    **Reference:** derived from the model of Costacurta et al. (2024), section 3; for networks
    without gains Beiran et al. (2021), Neural Computation 33, 1572-1615.
    """
    check_function(phi)
    xp, (L, R, B, u, s, x, tau, dt) = read_arrays(
        "gains", L=L, R=R, B=B, inputs=inputs, gains=gains, x0=x0, tau=tau, dt=dt
    )
    n_units, rank = check_factors(L, R)
    check_matrix(B, "B", layout="(units, input)", axis=0, n_units=n_units)
    check_times(dt=dt, tau=tau)
    g = recurrent_scale(rec_scale, n_units)
    if u.ndim < 2 or u.shape[-1] != B.shape[1] or u.shape[-2] == 0:
        raise ValueError(
            f"inputs must be (time, input) or (trials, time, input) with the {B.shape[1]} "
            f"channel(s) of B and at least one step, got {u.shape}."
        )
    s = _gains_in_time(xp.ones((), L.dtype) if s is None else s, rank, u.shape[-2], xp)
    if x.ndim < 1 or x.shape[-1] != n_units:
        raise ValueError(f"x0 must be (units,) or (trials, units), {n_units} units; got {x.shape}.")
    try:
        lead = np.broadcast_shapes(u.shape[:-2], s.shape[:-2], x.shape[:-1])
    except ValueError:
        raise ValueError(
            "inputs, gains and x0 disagree in their number of trials: their shapes are "
            f"{u.shape}, {s.shape} and {x.shape}."
        ) from None
    if 0 in lead:
        raise ValueError(
            f"at least one trial is needed: inputs are {u.shape}, gains {s.shape}, x0 {x.shape}."
        )
    time_first = (xp.moveaxis(u, -2, 0), xp.moveaxis(s, -2, 0))
    start = (
        xp.zeros((*lead, rank), L.dtype),
        xp.zeros((*u.shape[:-2], u.shape[-1]), L.dtype),
        xp.ones((), L.dtype),
    )
    weights = (L, R, B, x, xp.asarray(dt / tau, L.dtype), xp.asarray(g, L.dtype))
    run = _run_in_jax if xp is jnp else _run_in_numpy
    kappa, v, leak = run(weights, start, time_first, phi)
    _check_finite(kappa)
    return LowRankReduction(xp.moveaxis(kappa, 0, -2), xp.moveaxis(v, 0, -2), leak)


def reconstruct_states(reduction: Any, L: Numbers, B: Numbers, *, x0: Numbers) -> AnyArray:
    """The states that a reduction stands for: L kappa + B v + leak x_0.

    **Arguments:**

    - `reduction`: of `exact_reduction`, or a `LowRankReduction` of kappa, v and leak =
      exp(-t / tau) solved in continuous time.
    - `L`, `B`, `x0`: as they went into it.

    **Returns:** `(time, units)` or `(trials, time, units)`; entry t is after step t.

    **Raises:** `ValueError` for shapes that do not fit, or values that are not finite.

    **Reference:** as `exact_reduction`.
    """
    xp, (kappa, v, leak, L, B, x0) = _read_reduction(reduction, L=L, B=B, x0=x0)
    return kappa @ L.T + v @ B.T + leak[:, None] * xp.expand_dims(x0, -2)


def output_components(
    reduction: Any, L: Numbers, B: Numbers, C: Numbers, *, x0: Numbers
) -> OutputComponents:
    """What each component, the input and the initial state add to the output, over time.

    The parts add up to C x, which is the output less its offset d. A component's part includes
    what the other components' activity drives it to.

    **Arguments:**

    - `reduction`: of `exact_reduction`; `L`, `B`, `x0`: as they went into it.
    - `C`: `(O, N)`, the readout.

    **Returns:** `OutputComponents`:

    - `modes`: `(..., time, O, K)`, C L_k kappa_k.
    - `input`: `(..., time, O)`, C B v, the input through the leak alone.
    - `initial`: `(..., time, O)`, leak C x_0.
    - `total`: `(..., time, O)`, their sum.

    **Raises:** `ValueError` for shapes that do not fit, or values that are not finite.

    **Reference:** as `exact_reduction`.
    """
    xp, (kappa, v, leak, L, B, x0, C) = _read_reduction(reduction, L=L, B=B, x0=x0, C=C)
    return OutputComponents(
        modes=kappa[..., None, :] * (C @ L),
        input=v @ (C @ B).T,
        initial=leak[:, None] * xp.expand_dims(x0 @ C.T, -2),
    )


def _gains_in_time(s: AnyArray, rank: int, n_steps: int, xp: Any) -> AnyArray:
    check_gains(s, rank)
    if s.ndim < 2:
        return xp.broadcast_to(s, (n_steps, s.shape[-1] if s.ndim == 1 else 1))
    if s.shape[-2] != n_steps:
        raise ValueError(
            f"gains and inputs must have the same number of steps: gains are {s.shape}, (time, "
            f"component) or (trials, time, component), and inputs have {n_steps} steps."
        )
    return s


def _step(weights: tuple, carry: tuple, given: tuple, phi: TransferFunction, xp: Any) -> tuple:
    L, R, B, x0, a, g = weights
    (kappa, v, leak), (u, s) = carry, given
    x = kappa @ L.T + v @ B.T + leak * x0
    drive = g * s * (rates(phi, x, xp) @ R)
    return (1 - a) * kappa + a * drive, (1 - a) * v + a * u, (1 - a) * leak


@eqx.filter_jit
def _run_in_jax(weights: tuple, start: tuple, time_first: tuple, phi: TransferFunction) -> tuple:
    def step(carry: tuple, given: tuple) -> tuple:
        new = _step(weights, carry, given, phi, jnp)
        return new, new

    return jax.lax.scan(step, start, time_first)[1]


def _run_in_numpy(weights: tuple, start: tuple, time_first: tuple, phi: TransferFunction) -> tuple:
    carry, steps = start, []
    with np.errstate(over="ignore", invalid="ignore"):  # reported by step afterwards
        for given in zip(*time_first, strict=True):
            carry = _step(weights, carry, given, phi, np)
            steps.append(carry)
    return tuple(np.stack(values) for values in zip(*steps, strict=True))


def _check_finite(kappa: AnyArray) -> None:
    """`kappa` with time first; a state that is not finite makes the kappa of the next step so."""
    if is_traced(kappa):
        return
    bad = ~np.isfinite(np.asarray(kappa))
    if bad.any():
        step = int(np.argmax(bad.reshape(len(bad), -1).any(axis=1)))
        raise ValueError(
            f"the network leaves the finite numbers at step {step}: kappa is not finite. With an "
            "unbounded phi, gains must keep the modes stable (see mode_timescales)."
        )


def _read_reduction(reduction: Any, **values: Any) -> tuple[Any, list[Any]]:
    if not isinstance(reduction, LowRankReduction):
        raise ValueError(
            "reduction must be a LowRankReduction, as exact_reduction returns, got "
            f"{type(reduction).__name__}."
        )
    xp, arrays = read_arrays(**reduction._asdict(), **values)
    kappa, v, leak, L, B, x0 = arrays[:6]
    for name, array in {"L": L, "B": B}.items():
        check_matrix(array, name, layout="(units, ...)", axis=0, n_units=x0.shape[-1])
    if len(arrays) > 6:
        check_matrix(arrays[6], "C", layout="(output, units)", axis=1, n_units=x0.shape[-1])
    if kappa.shape[-1] != L.shape[1] or v.shape[-1] != B.shape[1]:
        raise ValueError(
            f"the reduction has {kappa.shape[-1]} component(s) and {v.shape[-1]} input "
            f"channel(s), but L has {L.shape[1]} columns and B {B.shape[1]}."
        )
    if leak.ndim != 1 or {kappa.shape[-2], v.shape[-2]} != {len(leak)}:
        raise ValueError(
            "kappa (..., time, rank), filtered_input (..., time, input) and leak (time,) must "
            f"have the same steps, got {kappa.shape}, {v.shape} and {leak.shape}."
        )
    try:
        np.broadcast_shapes(kappa.shape[:-2], v.shape[:-2], x0.shape[:-1])
    except ValueError:
        raise ValueError(
            f"the reduction is of shape {kappa.shape}, which x0 of shape {x0.shape} does not fit."
        ) from None
    return xp, arrays
