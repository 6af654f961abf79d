"""Time scales of a low-rank network under its gains, from matrices as small as the rank.

The Jacobian of tau dx/dt = -x + g L S R^T phi(x) + B u, S = diag(s), is (-I + g L S R^T D) / tau
with D = diag(phi'(x)). Directions that D maps into the complement of R decay with the leak alone;
the other K eigenvalues are (-1 + eig(g S R^T D L)) / tau.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from ..kernels import recurrent_scale
from .activity import AnyArray
from .low_rank_factors import (
    Numbers,
    check_factors,
    check_gains,
    check_times,
    read_arrays,
    sorted_eigenvalues,
)
from .transfer_function import TransferFunction, check_function, slopes


class ModeTimescales(NamedTuple):
    """How fast the modes of a linear low-rank network decay and turn; see `mode_timescales`."""

    eigenvalues: AnyArray
    time_constants: AnyArray
    angular_frequencies: AnyArray
    unstable: AnyArray


class JacobianSpectrum(NamedTuple):
    """Eigenvalues of a low-rank network's Jacobian; see `effective_jacobian_eigenvalues`."""

    modes: AnyArray
    leak: Any
    n_leak: int

    @property
    def all_eigenvalues(self) -> AnyArray:
        """All N eigenvalues, largest real part first, `(..., units)`."""
        xp: Any = np if isinstance(self.modes, np.ndarray) else jnp
        leak = xp.broadcast_to(self.leak, (*self.modes.shape[:-1], self.n_leak))
        values = xp.concatenate([self.modes, leak.astype(self.modes.dtype)], axis=-1)
        order = xp.lexsort((values.imag, -values.real), axis=-1)
        return xp.take_along_axis(values, order, axis=-1)


def mode_timescales(
    L: Numbers,
    R: Numbers,
    gains: Numbers = 1.0,
    *,
    tau: Any,
    rec_scale: Any = 1.0,
) -> ModeTimescales:
    """The time constants that gains give the modes of a low-rank network around rest.

    With l an eigenvalue of g S R^T L, a mode decays as exp(-(1 - Re l) t / tau) and turns by
    Im l / tau. It holds for the linear network, and for small states of one whose phi has slope 1
    at 0; elsewhere see `effective_jacobian_eigenvalues`.

    **Arguments:**

    - `L`, `R`: `(units, rank)`.
    - `gains`: s, `(rank,)`, or `(..., rank)` for one set of modes each, as along a trial; a last
      axis of 1, or a number, is one gain common to all components.
    - `tau`: time constant of the units. `rec_scale`: g, a number or `"unit"`, `"1/N"`,
      `"1/sqrt(N)"`.

    **Returns:** `ModeTimescales`, `(..., rank)` each, the slowest mode first at every set of gains
    (so an entry may change from one mode to another along time); NumPy, or JAX if any argument is:

    - `eigenvalues`: l, complex.
    - `time_constants`: tau / (1 - Re l); infinite where Re l >= 1, as the mode does not decay.
    - `angular_frequencies`: Im l / tau, radians per unit of time; in pairs of either sign.
    - `unstable`: Re l >= 1: the mode persists or grows, and phi alone can stop it.

    **Raises:** `ValueError` for shapes that do not fit or are empty, values that are missing or not
    finite, or a time constant that is not positive.

    **Reference:** Costacurta et al. (2024), section 3.1, for factors that are not orthonormal.
    """
    xp, (L, R, s, tau) = read_arrays(L=L, R=R, gains=gains, tau=tau)
    n_units, rank = check_factors(L, R)
    check_gains(s, rank)
    check_times(tau=tau)
    small = recurrent_scale(rec_scale, n_units) * _column(s, xp) * (R.T @ L)
    values = sorted_eigenvalues(small, xp)
    unstable = values.real >= 1
    # Finite on both sides, so that derivatives of the modes that decay are.
    distance = xp.where(unstable, 1, 1 - values.real)
    return ModeTimescales(
        eigenvalues=values,
        time_constants=xp.where(unstable, xp.inf, tau / distance),
        angular_frequencies=values.imag / tau,
        unstable=unstable,
    )


def effective_jacobian_eigenvalues(
    X: Numbers,
    L: Numbers,
    R: Numbers,
    gains: Numbers = 1.0,
    *,
    tau: Any,
    phi: TransferFunction = jnp.tanh,
    rec_scale: Any = 1.0,
) -> JacobianSpectrum:
    """The spectrum of a low-rank network's Jacobian at given states, for gains held still.

    It costs a K x K eigenvalue problem at each state in place of an N x N one.

    **Arguments:**

    - `X`: states, `(units,)`, `(time, units)` or `(trials, time, units)`.
    - `L`, `R`: `(units, rank)`.
    - `gains`: s, `(..., rank)` with leading axes that fit those of `X`; a last axis of 1, or a
      number, is one gain common to all components.
    - `tau`: time constant of the units. `phi`: transfer function, elementwise, that JAX can
      differentiate. `rec_scale`: g, a number or `"unit"`, `"1/N"`, `"1/sqrt(N)"`.

    **Returns:** `JacobianSpectrum`, NumPy, or JAX if any argument is:

    - `modes`: `(..., rank)`, complex, per unit of time, largest real part first.
    - `leak`: -1 / tau, the eigenvalue of all other directions, and `n_leak`, how many these are.
    - `all_eigenvalues`: `(..., units)`, both together, largest real part first.

    **Raises:** `ValueError` for shapes that do not fit, values that are not finite, a time constant
    that is not positive, or a `phi` that is no function or that JAX cannot differentiate.

    **Reference:** derived from the model of Costacurta et al. (2024), section 3.
    """
    check_function(phi)
    xp, (x, L, R, s, tau) = read_arrays(X=X, L=L, R=R, gains=gains, tau=tau)
    n_units, rank = check_factors(L, R)
    check_gains(s, rank)
    check_times(tau=tau)
    if x.ndim < 1 or x.shape[-1] != n_units or x.size == 0:
        raise ValueError(
            f"X must be (..., units) with {n_units} units and not empty, got {x.shape}."
        )
    try:
        np.broadcast_shapes(x.shape[:-1], s.shape[:-1])
    except ValueError:
        raise ValueError(
            f"gains of shape {s.shape} do not fit states of shape {x.shape}: the axes before the "
            "last must agree."
        ) from None
    small = R.T @ (slopes(phi, x, xp)[..., None] * L)
    small = recurrent_scale(rec_scale, n_units) * _column(s, xp) * small
    return JacobianSpectrum(
        modes=(sorted_eigenvalues(small, xp) - 1) / tau, leak=-1 / tau, n_leak=n_units - rank
    )


def _column(s: AnyArray, xp: Any) -> AnyArray:
    """Gains `(..., rank)` as factors of the rows of `(..., rank, rank)`."""
    return s if s.ndim == 0 else xp.expand_dims(s, -1)
