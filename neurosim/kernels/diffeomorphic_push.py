"""Maps pushed about the arena by a smooth invertible map of positions."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.core
import jax.numpy as jnp
import numpy as np


class Diffeomorphism(NamedTuple):
    """A smooth invertible map Phi of positions x, at some of them.

    - `positions`: `(..., 2)`, Phi(x).
    - `jacobian`: `(..., 2, 2)`, `[..., a, b]` the derivative of Phi_a by x_b.
    """

    positions: Any
    jacobian: Any

    @property
    def area(self) -> Any:
        """By how much areas grow, |det Phi'|, `(...)`."""
        J = self.jacobian
        return abs(J[..., 0, 0] * J[..., 1, 1] - J[..., 0, 1] * J[..., 1, 0])


def diffeomorphism(function: Callable[[jax.Array], Any], positions: Any) -> Diffeomorphism:
    """Any smooth invertible map of positions, with its derivatives.

    **Arguments:**

    - `function`: from a position `(2,)` to one `(2,)`, in JAX.
    - `positions`: `(..., 2)`.

    **Returns:** `Diffeomorphism`; JAX where `positions` is, else NumPy float64 of JAX's precision.

    **Raises:** `ValueError` for positions of another shape, or if areas at some of them vanish,
    or turn over at some but not at others: the map is not invertible.
    """
    xp, x = _read_positions(positions)
    flat = jnp.asarray(x).reshape(-1, 2)
    both = jax.jit(jax.vmap(lambda x: (function(x), jax.jacfwd(function)(x))))(flat)
    moved, J = both[0].reshape(x.shape), both[1].reshape(*x.shape, 2)
    if not isinstance(J, jax.core.Tracer):
        signs = np.sign(np.linalg.det(np.asarray(J, np.float64)))
        if not (signs == signs.ravel()[0]).all() or (signs == 0).any():
            raise ValueError(
                "function is not invertible at the positions: its Jacobian's determinant is "
                f"positive at {(signs > 0).sum()}, negative at {(signs < 0).sum()} and zero at "
                f"{(signs == 0).sum()} of them."
            )
    if xp is np:
        return Diffeomorphism(np.asarray(moved, np.float64), np.asarray(J, np.float64))
    return Diffeomorphism(moved, J)


def radial_push(positions: Any, *, center: Any, gain: Any, width: Any) -> Diffeomorphism:
    """A push along the radius about one place, which draws firing fields to it or drives them off.

        Phi(x) = c + (x - c) (1 + gain exp(-|x - c|^2 / (2 width^2)))

    A cell that fired at Phi(x) fires at x then: for positive gains fields move nearer to the
    centre, and become smaller about it, by 1 + gain at the centre itself.

    **Arguments:**

    - `positions`: `(..., 2)`.
    - `center`: the attractor, `(2,)`.
    - `gain`: above -1, where the centre would be a fold, and below e^1.5 / 2 = 2.24, where a ring
        about it would.
    - `width`: how far the push goes, in the unit of positions.

    **Returns:** `Diffeomorphism`; NumPy float64, or JAX where `positions` is.

    **Raises:** `ValueError` for another shape, a width that is not positive, or a gain that folds
    the plane.
    """
    xp, x = _read_positions(positions)
    c = xp.asarray(center, float)
    if c.shape != (2,):
        raise ValueError(f"center must be (2,), got shape {c.shape}.")
    if not isinstance(c, jax.core.Tracer) and not np.isfinite(np.asarray(c)).all():
        raise ValueError(f"center must be finite, got {center}.")
    if not isinstance(width, jax.core.Tracer) and not 0 < float(width) < np.inf:
        raise ValueError(f"width must be positive and finite, got {width}.")
    if not isinstance(gain, jax.core.Tracer) and not -1 < float(gain) < np.exp(1.5) / 2:
        raise ValueError(
            f"gain must be above -1 and below {np.exp(1.5) / 2:.4f}, or the push folds the plane; "
            f"got {gain}."
        )
    away = x - c
    bump = gain * xp.exp(-xp.sum(away**2, axis=-1) / (2 * width**2))
    outer = away[..., :, None] * away[..., None, :] / width**2
    J = (1 + bump)[..., None, None] * xp.eye(2) - bump[..., None, None] * outer
    return Diffeomorphism(c + away * (1 + bump)[..., None], J)


def pushed_rates(
    rates: Callable[[Any], Any], push: Diffeomorphism, *, amplitude: str = "constant"
) -> Any:
    """Rates after a push of positions.

        r(Phi(x))                 constant amplitude
        |det Phi'(x)| r(Phi(x))   constant budget

    With a constant amplitude the population takes the same states as before, only at other
    places: as a set, its manifold is the same. With a constant budget the integral of each rate
    over space is what it was, and rates rise where fields are drawn to: positions one lattice
    vector apart are then no longer one state of a grid module, and its torus may not close.

    ```python
    push = radial_push(x, center=(0.5, 0.5), gain=0.4, width=0.2)
    attracted = pushed_rates(lambda y: ideal_grid_module(y, n_per_side=8, spacing=0.3), push)
    ```

    **Arguments:**

    - `rates`: from positions `(..., 2)` to rates `(...)` or `(cell, ...)`.
    - `push`: of `radial_push` or `diffeomorphism`.
    - `amplitude`: `"constant"` or `"budget"`.

    **Returns:** what `rates` gives.

    **Raises:** `ValueError` for another `amplitude`.

    **Reference:** Acosta, Dinc, Redman, Madhav, Klindt & Miolane (2024), Global distortions from
    local rewards, NeurIPS 37, Section 3 and Appendix S1.
    """
    if amplitude not in ("constant", "budget"):
        raise ValueError(f"amplitude must be 'constant' or 'budget', got {amplitude!r}.")
    moved = rates(push.positions)
    return moved * push.area if amplitude == "budget" else moved


def _read_positions(positions: Any) -> tuple[Any, Any]:
    xp = jnp if isinstance(positions, jax.Array) else np
    x = xp.asarray(positions, float)
    if x.ndim == 0 or x.shape[-1] != 2 or x.size == 0:
        raise ValueError(f"positions must be (..., 2), at least one; got shape {x.shape}.")
    if not isinstance(x, jax.core.Tracer) and not np.isfinite(np.asarray(x)).all():
        raise ValueError("positions must be finite.")
    return xp, x
