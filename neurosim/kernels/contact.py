"""How far noisy responses are apart: the contact of two ellipsoids, and the nearest pair."""

from typing import Any, Literal, NamedTuple

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

#: Distance of the search for s from 0 and 1, where the distance of silent cells is a limit.
_EDGE = 1e-12
#: Numbers held at once by the search over pairs.
_BLOCK = 2**18


class NearestPair(NamedTuple):
    """The nearest two rows of two sets; see `min_distance`."""

    value: float
    index_a: int
    index_b: int
    s: float


def contact_function(a: Any, b: Any) -> tuple[Any, Any]:
    """Where two ellipsoids with variances equal to their centres touch as they grow.

        g(s) = sum_i (b_i - a_i)^2 / (a_i / (1 - s) + b_i / s),    s in (0, 1)

    is concave, and its maximum is the squared scale at which they touch. g' falls everywhere; its
    zero is found by Newton's method within a bracket that shrinks. A cell with both rates 0
    contributes 0, with derivative 0. Derivatives of the maximum, first and second, and first ones
    of its place, are those of the implicit function; the search is not differentiated.

    Costs about 10 evaluations of `g'` in NumPy, and 50 in JAX.

    **Arguments:**

    - `a`, `b`: `(..., cell)` rates, none negative.

    **Returns:** the maximum and the `s` at which it is, both `(...)`; NumPy float64, or JAX where
    `a` or `b` is.

    **Raises:** `ValueError` for rates that are known and negative or not finite, or of different
    numbers of cells.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 5-7.
    """
    if isinstance(a, jax.Array) or isinstance(b, jax.Array):
        a, b = jnp.asarray(a, float), jnp.asarray(b, float)
        _check_cells(a, b)
        for name, rates in (("a", a), ("b", b)):
            if not isinstance(rates, jax.core.Tracer):
                _known_rates(rates, name)
        still = jax.lax.stop_gradient(a), jax.lax.stop_gradient(b)
        edge = max(_EDGE, float(jnp.finfo(a.dtype).eps))
        shape = jnp.broadcast_shapes(a.shape, b.shape)[:-1]

        def narrow(_, bracket):
            low, high, s = bracket
            return _narrow(*still, low, high, s, jnp)[:3]

        ends = tuple(jnp.full(shape, v, a.dtype) for v in (edge, 1 - edge, 0.5))
        _, _, s = jax.lax.fori_loop(0, 50, narrow, ends)
        s = jax.lax.stop_gradient(s)
        _, slope, bend = _derivatives(a, b, s, jnp)
        # A zero step in value: it carries the derivative of s.
        inside = (s > 2 * edge) & (s < 1 - 2 * edge) & (bend < 0)
        step = jnp.where(inside, slope / jnp.where(inside, bend, 1), 0)
        s = s - (step - jax.lax.stop_gradient(step))
        return _derivatives(a, b, s, jnp)[0], s
    a, b = _known_rates(a, "a"), _known_rates(b, "b")
    _check_cells(a, b)
    return _contact(a, b)


def min_distance(
    FA: Any, FB: Any, noise: Literal["constant", "poisson"] = "constant"
) -> NearestPair:
    """The nearest pair of responses of two contexts, over all pairs of positions.

    For constant noise the distance is |f_A - f_B|, in Hz. For Poisson-like noise it is the contact
    function at its maximum, g(s*), in Hz. It is the true minimum over all pairs.

    The search is over m x n pairs of N cells. Constant noise costs one product of matrices, m n N,
    and memory m n. So does Poisson-like noise, and then N for each pair that is left:
    H = sum_i (sqrt a_i - sqrt b_i)^2 is such a product, and H / 2 <= g(1/2) <= g(s*) <= H, so that
    a pair with H / 2, or else g(1/2), above the best found needs no s*. Cells of at most
    a block of pairs are held at once.

    **Arguments:**

    - `FA`: `(position, cell)` rates, none negative. `FB`: likewise, of any number of positions.
    - `noise`: `"constant"` or `"poisson"`.

    **Returns:** `NearestPair`: the distance; the row of each; s* (1/2 for constant noise).

    **Raises:** `ValueError` for another noise, other shapes, or rates that are negative or not
    finite.

    **Reference:** Rooke, Wang, Di Tullio & Balasubramanian (2024), Trading place for space,
    NeurIPS 37, Eqs. 2 and 5-7.
    """
    if noise not in ("constant", "poisson"):
        raise ValueError(f"noise must be 'constant' or 'poisson', got {noise!r}.")
    FA, FB = _known_rates(FA, "FA"), _known_rates(FB, "FB")
    for name, rates in (("FA", FA), ("FB", FB)):
        if rates.ndim != 2 or 0 in rates.shape:
            raise ValueError(f"{name} must be (position, cell), got shape {rates.shape}.")
    _check_cells(FA, FB)
    if noise == "constant":
        return _nearest(FA, FB)
    return _nearest_contact(FA, FB)


def _nearest(FA: np.ndarray, FB: np.ndarray) -> NearestPair:
    surface, slack = _squared_distances(FA, FB)
    i, j = np.nonzero(surface <= surface.min() + 2 * slack)
    best = (np.inf, 0, 0)
    for start in range(0, len(i), _rows(FA)):
        at = slice(start, start + _rows(FA))
        d2 = ((FA[i[at]] - FB[j[at]]) ** 2).sum(axis=1)
        k = int(np.argmin(d2))
        best = min(best, (float(d2[k]), int(i[at][k]), int(j[at][k])))
    return NearestPair(best[0] ** 0.5, best[1], best[2], 0.5)


def _nearest_contact(FA: np.ndarray, FB: np.ndarray) -> NearestPair:
    H, slack = _squared_distances(np.sqrt(FA), np.sqrt(FB))
    i, j = np.unravel_index(int(np.argmin(H)), H.shape)
    best = _best_contact(FA, FB, np.array([i]), np.array([j]))
    near = np.flatnonzero(H.ravel() / 2 <= best[0] + slack)
    # The nearest first, so that few are left to look at once the best is found.
    near = near[np.argsort(H.ravel()[near], kind="stable")]
    rows = min(_rows(FA), 256)
    for start in range(0, len(near), rows):
        i, j = np.unravel_index(near[start : start + rows], H.shape)
        if H[i[0], j[0]] / 2 > best[0] + slack:
            break
        half = _derivatives(FA[i], FB[j], np.full(len(i), 0.5), np)[0]
        left = half <= best[0] * (1 + 1e-12)
        if left.any():
            best = min(best, _best_contact(FA, FB, i[left], j[left]))
    return NearestPair(*best)


def _best_contact(
    FA: np.ndarray, FB: np.ndarray, i: np.ndarray, j: np.ndarray
) -> tuple[float, int, int, float]:
    g, s = _contact(FA[i], FB[j])
    k = int(np.argmin(g))
    return float(g[k]), int(i[k]), int(j[k]), float(s[k])


def _squared_distances(FA: np.ndarray, FB: np.ndarray) -> tuple[np.ndarray, float]:
    """`(position, position)`, and a bound on their rounding."""
    a, b = (FA**2).sum(axis=1), (FB**2).sum(axis=1)
    scale = float(a.max() + b.max())
    slack = 4 * FA.shape[1] * np.finfo(np.float64).eps * scale
    return np.maximum(a[:, None] + b - 2 * FA @ FB.T, 0), slack


def _contact(a: np.ndarray, b: np.ndarray) -> tuple[Any, Any]:
    shape = np.broadcast_shapes(a.shape, b.shape)[:-1]
    low, high, s = (np.full(shape, v) for v in (_EDGE, 1 - _EDGE, 0.5))
    for _ in range(100):
        low, high, new, moved = _narrow(a, b, low, high, s, np)
        s = new
        if np.all(moved < 1e-13):
            break
    return _derivatives(a, b, s, np)[0], s


def _narrow(a: Any, b: Any, low: Any, high: Any, s: Any, xp: Any) -> tuple[Any, Any, Any, Any]:
    """A step of Newton's method for g' = 0, or of bisection where that leaves the bracket."""
    _, slope, bend = _derivatives(a, b, s, xp)
    low, high = xp.where(slope >= 0, s, low), xp.where(slope <= 0, s, high)
    curved = bend < 0
    newton = s - slope / xp.where(curved, bend, 1)
    good = curved & (newton > low) & (newton < high)
    new = xp.where(good, newton, (low + high) / 2)
    return low, high, new, xp.abs(new - s)


def _derivatives(a: Any, b: Any, s: Any, xp: Any) -> tuple[Any, Any, Any]:
    """g, g' and g''."""
    s = s[..., None]
    fires = (a > 0) | (b > 0)
    mean = xp.where(fires, s * a + (1 - s) * b, 1)
    d2 = (b - a) ** 2
    g = d2 * s * (1 - s) / mean
    slope = d2 * ((1 - s) ** 2 * b - s**2 * a) / mean**2
    bend = -2 * d2 * a * b / mean**3
    return g.sum(axis=-1), slope.sum(axis=-1), bend.sum(axis=-1)


def _rows(F: np.ndarray) -> int:
    return max(_BLOCK // F.shape[1], 1)


def _known_rates(x: Any, name: str) -> np.ndarray:
    rates = np.asarray(x, np.float64)
    if not np.isfinite(rates).all() or (rates < 0).any():
        bad = rates[~(np.isfinite(rates) & (rates >= 0))][0]
        raise ValueError(f"{name} must hold rates that are finite and not negative, got {bad}.")
    return rates


def _check_cells(a: Any, b: Any) -> None:
    if a.ndim == 0 or b.ndim == 0 or a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"both contexts need the same cells in the last axis, got shapes {a.shape} and "
            f"{b.shape}."
        )
