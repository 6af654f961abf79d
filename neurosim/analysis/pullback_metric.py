"""How far the population moves when the animal does: the metric that a code gives to space."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.core
import jax.numpy as jnp
import numpy as np

from ..kernels import safe_sqrt, whole_number
from .activity import as_floating, is_traced
from .map_gradient import map_gradients
from .planar_maps import PlanarMaps, read_bin_sizes, read_planar_maps


class PullbackMetric(NamedTuple):
    """Lengths of small steps, measured in neural space; see `pullback_metric`.

    - `metric`: `(..., 2, 2)`, g_ab = sum over cells of d_a r d_b r: a step dx moves the population
      by sqrt(dx^T g dx).
    - `conformal_factor`: `(...)`, s = sqrt(tr g / 2), rate per length.
    - `anisotropy`: `(...)`, difference of the eigenvalues of g over their sum: 0 where steps in all
      directions are alike, 1 where one direction moves nothing.
    - `area_element`: `(...)`, sqrt(det g).
    - `variation`: standard deviation of the conformal factor over its mean.
    """

    metric: Any
    conformal_factor: Any
    anisotropy: Any
    area_element: Any
    variation: Any


def pullback_metric(
    maps: Any,
    *,
    bin_size: Any,
    repeat: Any = None,
    border: int | np.integer = 2,
    accuracy: int | np.integer = 2,
) -> PullbackMetric:
    """Metric of space as a population has it, from maps of its cells.

    A code is conformally isometric where the metric is the same everywhere and in all directions:
    g = s^2 I. A module of N evenly spread ideal grid cells has s = 4 pi sqrt(N) / (9 spacing).

    Derivatives are differences of the bins on both sides, too small for what varies over few bins:
    a wave of number k along an axis loses a share of about (k bin_size)^2 / 3 of its metric, and
    hexagonal grid cells whose spacing is ten bins an eighth; (k bin_size)^4 / 15, and a hundredth,
    with `accuracy=4`. Noise of maps adds to the metric; it does not, on average, with maps of the
    same cells from other trials as `repeat`.

    ```python
    pullback_metric(maps, bin_size=0.025).variation  # 0 for a module of ideal grid cells
    ```

    **Arguments:**

    - `maps`: `RateMaps` over a plane or `(cell, bins, bins)`; NaN where unvisited.
    - `bin_size`: width of bins, or one for each axis.
    - `repeat`: maps of the same cells from other data. The metric is then that of products across
        the two, which may have eigenvalues below 0.
    - `border`: bins this near to a wall or to an unvisited bin are left out of `variation`.
    - `accuracy`: order of the differences, 2 or 4.

    **Returns:** `PullbackMetric`, by bin; NaN in bins that are unvisited for any cell, or whose
    neighbours all are along one axis. With `repeat`, the conformal factor and the area element are
    NaN where their squares are negative. `variation` is NaN without two bins to go by.

    **Raises:** `ValueError` for another shape, infinite values, maps that differ in shape, fewer
    than two bins along an axis, a cell that is NaN throughout, or another accuracy.

    **Reference:** Xu, Gao, Zhang, Wei & Wu (2022), Conformal isometry of Lie group representation
    in recurrent network of grid cells, NeurReps.
    """
    stack = _read(maps, "maps")
    sizes = read_bin_sizes(bin_size)
    if accuracy not in (2, 4):
        raise ValueError(f"accuracy must be 2 or 4, got {accuracy}.")
    if not border >= 0:
        raise ValueError(f"border must not be negative, got {border}.")
    first = map_gradients(stack, sizes, int(accuracy))
    if repeat is None:
        g = np.einsum("cxya,cxyb->xyab", first, first)
    else:
        other = _read(repeat, "repeat")
        if other.values.shape != stack.values.shape:
            raise ValueError(
                f"maps and repeat must have the same cells and bins, got {stack.values.shape} and "
                f"{other.values.shape}."
            )
        g = np.einsum("cxya,cxyb->xyab", first, map_gradients(other, sizes, int(accuracy)))
        g = (g + np.swapaxes(g, -1, -2)) / 2
    factor, anisotropy, area = _measures(g, np)
    inner = _interior(np.isfinite(g).all(axis=(-1, -2)), int(border)) & np.isfinite(factor)
    return PullbackMetric(g, factor, anisotropy, area, _variation(factor[inner], np))


def pullback_metric_of(
    code: Callable[[jax.Array], Any],
    positions: Any,
    *,
    batch_size: int | np.integer | None = None,
) -> PullbackMetric:
    """Metric of space as a function from positions to rates has it, by exact derivatives.

    **Arguments:**

    - `code`: from a position `(2,)` to rates `(cell,)`, in JAX.
    - `positions`: `(..., 2)`.
    - `batch_size`: of how many positions derivatives are taken at a time, to save memory; by
        default of all.

    **Returns:** `PullbackMetric` by position, `variation` over all of them; NumPy float64, or JAX
    where `positions` is, and differentiable.

    **Raises:** `ValueError` for positions of another shape or that are not finite, a code that does
    not give `(cell,)`, or a derivative that is not finite.
    """
    x = as_floating(positions, "positions")
    if x.ndim < 1 or x.shape[-1] != 2 or x.size == 0:
        raise ValueError(f"positions must be (..., 2), at least one; got shape {x.shape}.")
    if not is_traced(x) and not np.isfinite(np.asarray(x)).all():
        raise ValueError("positions must be finite.")
    flat = jnp.asarray(x).reshape(-1, 2)
    shape = jax.eval_shape(code, flat[0]).shape
    if len(shape) != 1:
        raise ValueError(f"code must give rates (cell,) for a position (2,), got shape {shape}.")

    def metric(position: jax.Array) -> jax.Array:
        J = jax.jacfwd(code)(position)
        return J.T @ J

    size = len(flat) if batch_size is None else whole_number(batch_size, "batch_size", least=1)
    g = jax.jit(lambda points: jax.lax.map(metric, points, batch_size=size))(flat)
    g = g.reshape(*x.shape[:-1], 2, 2)
    if not is_traced(g) and not np.isfinite(np.asarray(g)).all():
        raise ValueError("the derivative of code is not finite at some of the positions.")
    if not isinstance(x, jax.Array):
        g = np.asarray(g, np.float64)
    xp = jnp if isinstance(g, jax.Array) else np
    factor, anisotropy, area = _measures(g, xp)
    return PullbackMetric(g, factor, anisotropy, area, _variation(factor.ravel(), xp))


def _read(maps: Any, name: str) -> PlanarMaps:
    stack = read_planar_maps(maps, name)
    if stack.single:
        raise ValueError(f"{name} must be (cell, bins, bins), got {stack.values.shape[1:]}.")
    if min(stack.values.shape[1:]) < 2:
        raise ValueError(
            f"{name} must have two bins along each axis for a difference, got {stack.values.shape}."
        )
    empty = np.flatnonzero(stack.reasons == "every bin is NaN")
    if len(empty):
        raise ValueError(
            f"cell {empty[0]} of {name} is NaN throughout: no bin is known for all cells. Leave "
            "such cells out."
        )
    return stack


def _measures(g: Any, xp: Any) -> tuple[Any, Any, Any]:
    """Conformal factor, anisotropy and area element; NaN where they have no value."""
    half = (g[..., 0, 0] + g[..., 1, 1]) / 2
    # Half the difference of the eigenvalues, and their product, without cancelling digits.
    spread = _root(((g[..., 0, 0] - g[..., 1, 1]) / 2) ** 2 + g[..., 0, 1] ** 2, xp)
    determinant = g[..., 0, 0] * g[..., 1, 1] - g[..., 0, 1] * g[..., 1, 0]
    anisotropy = xp.where(half > 0, spread / xp.where(half > 0, half, 1), xp.nan)
    # Rounding may take the determinant of a metric without area below 0.
    tiny = abs(determinant) <= 32 * xp.finfo(g.dtype).eps * half**2
    return _root(half, xp), anisotropy, _root(xp.where(tiny, 0, determinant), xp)


def _root(values: Any, xp: Any) -> Any:
    known = values >= 0
    root = (
        safe_sqrt(xp.where(known, values, 0)) if xp is jnp else np.sqrt(np.where(known, values, 0))
    )
    return xp.where(known, root, xp.nan)


def _variation(factor: Any, xp: Any) -> Any:
    if factor.size < 2:
        return float("nan")
    mean = xp.mean(factor)
    spread = xp.std(factor) if xp is np else safe_sqrt(jnp.mean((factor - mean) ** 2))
    ratio = xp.where(mean > 0, spread / xp.where(mean > 0, mean, 1), xp.nan)
    return float(ratio) if xp is np else ratio


def _interior(known: np.ndarray, border: int) -> np.ndarray:
    """Bins at least `border` bins from what is not known, walls included."""
    padded = np.pad(known, border)
    inner = known.copy()
    for i in range(2 * border + 1):
        for j in range(2 * border + 1):
            inner &= padded[i : i + known.shape[0], j : j + known.shape[1]]
    return inner
