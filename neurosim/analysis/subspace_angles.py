"""Principal angles between two subspaces, and the distance between them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..kernels import orthonormal_columns, safe_sqrt
from .activity import AnyArray, as_floating, is_traced


def principal_angles(A: Any, B: Any) -> AnyArray:
    """The principal angles between the subspaces that two sets of vectors span.

    The first is the smallest angle between a direction of one subspace and one of the other, the
    next the smallest between directions orthogonal to those, and so on. Angles up to pi / 4 are
    computed from their sines, larger ones from their cosines, each where it is precise; an angle
    within rounding of 0 is 0, with derivative 0.

    **Arguments:**

    - `A`, `B`: `(units, k)` and `(units, l)`, linearly independent columns, of any length and
      angles: they are orthonormalised first.

    **Returns:** `(min(k, l),)` angles in radians, from 0 to pi / 2, the smallest first. NumPy
    float64 for NumPy; JAX where either is JAX, differentiable where the angles are distinct.

    **Raises:** `ValueError` for shapes that do not fit, values that are not finite, or columns
    that are linearly dependent (under tracing, where values are not known, those pass).

    **Reference:** Björck & Golub (1973), Numerical methods for computing angles between linear
    subspaces, Mathematics of Computation 27, 579-594; Knyazev & Argentati (2002), SIAM Journal on
    Scientific Computing 23, 2008-2040, for the sines.
    """
    xp, (P, Q) = _orthonormal(A, B)
    cosine = _singular_values(P.T @ Q, xp)
    sine = _singular_values(_outside(P, Q), xp)[::-1]
    rounding = 4 * xp.finfo(Q.dtype).eps * len(Q) ** 0.5
    is_small = cosine**2 > 0.5
    # Each branch is finite, and flat, where the other is taken.
    small = xp.arcsin(xp.where(is_small & (sine > rounding), sine, 0))
    large = xp.arccos(xp.where(is_small, 0, cosine))
    return xp.where(is_small, small, large)


def subspace_distance(A: Any, B: Any) -> float | jax.Array:
    """The Frobenius distance between the projectors on two subspaces.

    |P_A - P_B| = sqrt(|k - l| + 2 sum sin^2), over the principal angles. Unlike these it is smooth
    wherever the subspaces differ; its derivative is 0 where they are equal.

    **Arguments** and **Raises** are those of `principal_angles`.

    **Returns:** a float from 0, for equal subspaces, to sqrt(k + l), for orthogonal ones; a JAX
    scalar where either is JAX.

    **Reference:** Edelman, Arias & Smith (1998), SIAM Journal on Matrix Analysis and Applications
    20, 303-353, section 4.3.
    """
    xp, (P, Q) = _orthonormal(A, B)
    squared = P.shape[1] - Q.shape[1] + 2 * xp.sum(_outside(P, Q) ** 2)
    return float(np.sqrt(squared)) if xp is np else safe_sqrt(squared)


def _outside(P: AnyArray, Q: AnyArray) -> AnyArray:
    """The part of Q's columns outside of the larger subspace, P's."""
    return Q - P @ (P.T @ Q)


def _singular_values(x: AnyArray, xp: Any) -> Any:
    return xp.linalg.svd(x, compute_uv=False)


def _orthonormal(A: Any, B: Any) -> tuple[Any, list[AnyArray]]:
    """The module to compute with, and orthonormal bases, that of the larger subspace first."""
    bases = []
    for name, value in (("A", A), ("B", B)):
        basis = as_floating(value, name)
        if basis.ndim != 2 or basis.size == 0:
            raise ValueError(
                f"{name} must be (units, k), a basis in its columns, got shape {basis.shape}. A "
                "single direction v is v[:, None]."
            )
        bases.append(basis)
    if len(bases[0]) != len(bases[1]):
        raise ValueError(
            f"A and B must have the same units in their rows, got {bases[0].shape} and "
            f"{bases[1].shape}."
        )
    xp = jnp if any(isinstance(basis, jax.Array) for basis in bases) else np
    for name, basis in zip("AB", bases):
        _check_independent(basis, name)
    if xp is jnp:
        dtype = jnp.result_type(*bases)
        bases = [orthonormal_columns(_scaled(jnp.asarray(basis, dtype))) for basis in bases]
    else:
        bases = [np.linalg.qr(basis / np.abs(basis).max(axis=0))[0] for basis in bases]
    return xp, sorted(bases, key=lambda basis: -basis.shape[1])


def _scaled(basis: jax.Array) -> jax.Array:
    """Columns whose squares are in range; the subspace does not depend on their lengths."""
    largest = jax.lax.stop_gradient(jnp.max(jnp.abs(basis), axis=0))
    return basis / jnp.where(largest > 0, largest, 1)


def _check_independent(basis: AnyArray, name: str) -> None:
    if is_traced(basis):
        if basis.shape[1] > basis.shape[0]:
            raise ValueError(f"{name} has more columns than rows: {basis.shape}.")
        return
    values = np.asarray(basis, np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite.")
    largest = np.abs(values).max(axis=0)
    if (largest == 0).any():
        raise ValueError(f"column {int(np.argmin(largest))} of {name} is zero.")
    unit = values / largest
    # Columns of any length count the same: it is their directions that must be independent.
    singular = np.linalg.svd(unit / np.linalg.norm(unit, axis=0), compute_uv=False)
    tolerance = max(basis.shape) * float(jnp.finfo(basis.dtype).eps) * singular[0]
    rank = int((singular > tolerance).sum())
    if rank < basis.shape[1]:
        raise ValueError(
            f"the {basis.shape[1]} columns of {name}, of shape {basis.shape}, are linearly "
            f"dependent: they have rank {rank}. Leave out columns until they are independent."
        )
