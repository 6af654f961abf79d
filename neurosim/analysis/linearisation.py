"""A dynamical system to first order about one state: modes, time constants, non-normality."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

from neurosim.kernels import check_dt

from .activity import as_floating
from .estimator import refuse_traced
from .low_rank_fixed_points import precision_of
from .numerical_rank import numerical_rank


class LinearisedDynamics(NamedTuple):
    """A map or a flow to first order about a state; see `linearise`."""

    value: np.ndarray
    jacobian: np.ndarray
    input_jacobian: np.ndarray | None
    eigenvalues: np.ndarray
    time_constants: np.ndarray
    frequencies: np.ndarray
    right_vectors: np.ndarray
    left_vectors: np.ndarray | None
    condition: float
    henrici: float


def linearise(
    f: Callable[..., Any],
    x: Any,
    u: Any = None,
    *,
    kind: str,
    dt: float | int | None = None,
) -> LinearisedDynamics:
    """Linearise a map or a flow about a state: F(x + e, u + v) = value + A e + B v.

    The state need not stand still, but time constants describe what happens near it only where it
    nearly does: take it from `find_fixed_points`. Computed in float64 for a state in NumPy,
    whatever JAX's setting; for one in JAX, derivatives are in JAX's precision.

    ```python
    local = linearise(lambda x: jnp.tanh(W @ x), np.zeros(2), kind="map", dt=0.01)
    local.time_constants  # seconds, slowest first
    ```

    **Arguments:**

    - `f`: of one state, or of a state and an input where `u` is given, written in `jax.numpy`, to
      the next state (`kind="map"`) or the time derivative (`kind="flow"`), `(n,)`.
    - `x`: `(n,)`, the state.
    - `u`: `(m,)`, the input, held constant.
    - `kind`: `"map"` or `"flow"`. No default: the same function means another thing in each.
    - `dt`: of a map, the time of one step; 1 by default, for times in steps. A flow has none.

    **Returns:** `LinearisedDynamics`, NumPy, modes with the slowest first: by modulus (map) or by
    real part (flow), largest first.

    - `value`: `(n,)`, F at the state.
    - `jacobian`: A, `(n, n)`. `input_jacobian`: B, `(n, m)`, or `None` without an input.
    - `eigenvalues`: `(mode,)`, complex, of A.
    - `time_constants`: `(mode,)`: -dt / ln|eigenvalue| (map), -1 / real part (flow), in the unit of
      time. Infinite where a mode stays but for rounding, negative where it grows, 0 where a map
      forgets it in one step.
    - `frequencies`: `(mode,)`, cycles per unit of time, with the sign of the imaginary part.
    - `right_vectors`: `(mode, n)`, eigenvectors of length 1: the direction in which a mode moves.
      The entry of greatest magnitude is real and positive.
    - `left_vectors`: `(mode, n)`, selection vectors: their product with a displacement (no complex
      conjugate) is how much it excites each mode, 1 for its own right vector and 0 for the others.
      `None` where the eigenvectors do not span the space (a defective A), as in a feed-forward
      chain.
    - `condition`: of the matrix of right vectors, 1 for a normal A; infinite for a defective one.
      Transients can exceed what eigenvalues say by this factor.
    - `henrici`: departure from normality, the square root of |A|_F^2 minus the sum of
      |eigenvalue|^2; 0 for a normal A.

    **Raises:** `ValueError` for another kind, a state or input that is no vector or not finite, a
    function that does not return a state or is not finite there, or a `dt` that a flow does not
    have. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Sussillo & Barak (2013), Opening the black box, Neural Computation 25, 626-649;
    Mante et al. (2013), Nature 503, 78-84, for selection vectors; Trefethen & Embree (2005),
    Spectra and pseudospectra, chapter 48, for measures of non-normality.
    """
    if kind not in ("map", "flow"):
        raise ValueError(f"kind must be 'map' or 'flow', got {kind!r}.")
    if kind == "flow" and dt is not None:
        raise ValueError(f"dt = {dt} is the time of one step of a map: a flow has none.")
    step = 1.0 if dt is None else check_dt(dt)
    state = _vector(x, "x")
    held = () if u is None else (_vector(u, "u"),)
    xp = jnp if isinstance(x, jax.Array) else np
    with precision_of(xp):
        value, jacobians = _derivatives(f, jnp.asarray(state), *map(jnp.asarray, held))
    jacobian = jacobians[0]
    eigenvalues, right = np.linalg.eig(jacobian)
    eigenvalues, right = eigenvalues.astype(complex), right.astype(complex)
    rounding = len(jacobian) * float(jnp.finfo(as_floating(x, "x").dtype).eps)
    growth = np.abs(eigenvalues) if kind == "map" else np.real(eigenvalues)
    order = np.lexsort((np.imag(eigenvalues), -growth))
    eigenvalues, right = eigenvalues[order], turn_real(right[:, order].T)
    taus, frequencies = _times(eigenvalues, kind, step, rounding)
    singular = np.linalg.svd(right, compute_uv=False)
    spans = numerical_rank(singular, right.shape).rank == len(right)
    schur = scipy.linalg.schur(jacobian, output="complex")[0]
    return LinearisedDynamics(
        value=value,
        jacobian=jacobian,
        input_jacobian=jacobians[1] if held else None,
        eigenvalues=eigenvalues,
        time_constants=taus,
        frequencies=frequencies,
        right_vectors=right,
        left_vectors=np.linalg.inv(right.T) if spans else None,
        condition=float(singular[0] / singular[-1]) if spans else np.inf,
        # Free of the cancellation in the difference of the two sums.
        henrici=float(np.linalg.norm(np.triu(schur, 1))),
    )


def _derivatives(f: Callable[..., Any], *at: jax.Array) -> tuple[np.ndarray, list[np.ndarray]]:
    """The function and its Jacobian to each argument, in NumPy float64."""
    shape = at[0].shape
    try:
        value = f(*at)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        reason = (str(error).strip().splitlines() or [repr(error)])[0]
        raise ValueError(
            f"f cannot take one state of shape {shape}"
            f"{' and one input' if len(at) > 1 else ''}, written in jax.numpy: {reason}"
        ) from error
    if getattr(value, "shape", None) != shape or not jnp.issubdtype(value.dtype, jnp.floating):
        raise ValueError(
            f"f must return real numbers in the shape of the state, {shape}; it returned "
            f"{getattr(value, 'dtype', type(value).__name__)} of shape "
            f"{getattr(value, 'shape', None)}."
        )
    found = jax.jacfwd(f, argnums=tuple(range(len(at))))(*at)
    results = [np.asarray(result, np.float64) for result in (value, *found)]
    if not all(np.isfinite(result).all() for result in results):
        raise ValueError("f or its derivative is not finite at x.")
    return results[0], results[1:]


def _times(
    eigenvalues: np.ndarray, kind: str, dt: float, rounding: float
) -> tuple[np.ndarray, np.ndarray]:
    """Time constants and frequencies of modes."""
    size = np.abs(eigenvalues)
    with np.errstate(divide="ignore"):
        rate = np.log(size) / dt if kind == "map" else np.real(eigenvalues)
        # A mode that stays must not decay, or grow, by chance.
        stays = np.abs(size - 1) if kind == "map" else np.abs(rate)
        rate = np.where(stays <= rounding * max(size.max(), 1.0 * (kind == "map")), 0.0, rate)
        taus = np.where(rate == 0, np.inf, -1 / rate)
    angle = np.angle(eigenvalues) / dt if kind == "map" else np.imag(eigenvalues)
    return taus + 0.0, angle / (2 * np.pi)


def turn_real(vectors: np.ndarray) -> np.ndarray:
    """Complex vectors `(mode, n)` turned so that the entry of greatest magnitude is positive.

    Of entries that tie but for rounding, the first. A vector of zeros stays.
    """
    size = np.abs(vectors)
    pivot = np.argmax(size >= (1 - 1e-8) * size.max(axis=1, keepdims=True), axis=1)
    entry = vectors[np.arange(len(vectors)), pivot]
    entry = np.where(entry == 0, 1, entry)
    return vectors * (np.abs(entry) / entry)[:, None]


def _vector(x: Any, name: str) -> np.ndarray:
    """A vector in NumPy float64, finite."""
    refuse_traced(x, "linearise")
    array = np.asarray(as_floating(x, name), np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be one vector, not empty; got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} is not finite at entry {int(np.argmin(np.isfinite(array)))}.")
    return array
