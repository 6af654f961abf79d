"""All fixed points of the normalization circuit of one y and one a neuron, with their stability."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize

from .known_arrays import read_known
from .low_rank_factors import Numbers


class PlanarFixedPoints(NamedTuple):
    """Fixed points in the plane; see `fixed_points_2d`."""

    y: np.ndarray
    a: np.ndarray
    eigenvalues: np.ndarray
    trace: np.ndarray
    determinant: np.ndarray
    stable: np.ndarray
    types: tuple[str, ...]


def fixed_points_2d(
    z: Numbers,
    *,
    w: Numbers,
    w_r: Numbers = 1.0,
    b: Numbers,
    b0: Numbers,
    sigma: Numbers,
    tau_y: Numbers,
    tau_a: Numbers,
    rectify: str = "none",
) -> PlanarFixedPoints:
    """Every fixed point of one principal and one normalization neuron, none missed.

        tau_y dy/dt = -y + b z + (1 - sqrt(a)) w_r y
        tau_a da/dt = -a + (b0 sigma)^2 + w y^2 a

    With s = sqrt(a), c = (b0 sigma)^2 and d = 1 - w_r + w_r s, a fixed point has y = b z / d and
    sqrt(1 - c / s^2) |d| = sqrt(w) |b z|, of which each branch has one turning point at most, known
    in closed form: so each root has its bracket. Stability is that of trace and determinant,

        tr J = -d / tau_y - (c / a) / tau_a
        det J = (d c / a + w_r w y^2 s) / (tau_y tau_a)

    whose signs rounding of ill-scaled eigenvalues does not touch. For w_r > 0 one point has the
    sign of z, and it is stable; for w_r < 0 there may be no stable point.

    **Arguments:**

    - `z`: input drive. `w`: normalization weight, not negative. `w_r`: recurrent weight.
    - `b`, `b0`, `sigma`, `tau_y`, `tau_a`: positive.
    - `rectify`: `"none"`; `"inner"`, [y]+ in the recurrent drive w_r [y]+ and in the pool; or
      `"outer"`, [w_r y]+ in the drive. At the kink, y = 0, `stable` asks for both sides.

    **Returns:** `PlanarFixedPoints`, NumPy, stable points first, then by `a`, largest first:

    - `y`, `a`: `(point,)`.
    - `eigenvalues`: `(point, 2)`, complex, per unit of time, largest real part first.
    - `trace`, `determinant`: `(point,)`, of the Jacobian.
    - `stable`: `(point,)`, booleans.
    - `types`: of each, `"stable focus"`, `"stable node"`, `"unstable focus"`, `"unstable node"`,
      `"saddle"`, or `"degenerate"` where an eigenvalue has real part 0.

    **Raises:** `ValueError` for values that are no single numbers, not finite or not positive, and
    where the fixed points form a line (b z = 0, w = 0 and d = 0). `TypeError` under `jit`, `grad`
    or `vmap`.

    **Reference:** Rawat, Heeger & Martiniani (2024), Unconditional stability of a recurrent neural
    circuit implementing divisive normalization, NeurIPS 37, theorems 5.1, 5.2, appendices E and F.
    """
    if rectify not in ("none", "inner", "outer"):
        raise ValueError(f"rectify must be 'none', 'inner' or 'outer', got {rectify!r}.")
    given = {
        "z": z, "w": w, "w_r": w_r, "b": b, "b0": b0, "sigma": sigma, "tau_y": tau_y,
        "tau_a": tau_a,
    }  # fmt: skip
    read = _numbers(given)
    drive, weight, recurrent = read["b"] * read["z"], read["w"], read["w_r"]
    c = (read["b0"] * read["sigma"]) ** 2
    if not 0 < c < np.inf:
        raise ValueError(f"(b0 sigma)^2 leaves the range of numbers: it is {c}.")
    # Each point as (s, y, d, w_r, w), with the weights that count on its side of y = 0.
    if rectify == "none":
        found = [(s, y, d, recurrent, weight) for s, y, d in _roots(drive, weight, recurrent, c)]
    else:
        above = recurrent if rectify == "inner" else max(recurrent, 0.0)
        below = 0.0 if rectify == "inner" else min(recurrent, 0.0)
        up = [(s, y, d, above, weight) for s, y, d in _roots(drive, weight, above, c) if y > 0]
        down = [(s, y, d, below, 0.0) for s, y, d in _roots(drive, 0.0, below, c) if y < 0]
        kink = []
        if drive == 0:
            sides = [(1 - w + w * math.sqrt(c), w) for w in (above, below)]
            d, side = min(sides)
            kink = [(math.sqrt(c), 0.0, d, side, weight)]
        found = up + down + kink
    return _classified(found, c, read["tau_y"], read["tau_a"])


def _numbers(given: dict[str, Numbers]) -> dict[str, float]:
    values = read_known("fixed_points_2d", **given)
    read = {}
    for name, value in zip(given, values, strict=True):
        if value.size != 1:
            raise ValueError(f"{name} must be one number, got shape {value.shape}.")
        read[name] = float(value.ravel()[0])
    for name, value in read.items():
        if name not in ("z", "w", "w_r") and not value > 0:
            raise ValueError(f"{name} must be positive, got {value}.")
    if read["w"] < 0:
        raise ValueError(f"w must not be negative, got {read['w']}.")
    return read


def _roots(drive: float, w: float, w_r: float, c: float) -> list[tuple[float, float, float]]:
    """(s, y, d) of the fixed points of the circuit without rectification."""
    low = math.sqrt(c)

    def d(s: float) -> float:
        return 1 - w_r + w_r * s

    if w == 0:
        if d(low) == 0:
            if drive == 0:
                raise ValueError(
                    "every y is a fixed point: b z = 0, w = 0 and 1 - w_r + w_r b0 sigma = 0."
                )
            return []
        return [(low, drive / d(low), d(low))]
    if drive == 0:
        silent = [(low, 0.0, d(low))]
        # Where d = 0 the circuit holds an activity of either sign without input.
        s = 1 - 1 / w_r if w_r != 0 else 0.0
        if s <= low:
            return silent
        y = math.sqrt((1 - c / s**2) / w)
        return [*silent, (s, y, 0.0), (s, -y, 0.0)]
    found = []
    for s in _crossings(math.sqrt(w) * abs(drive), w_r, c):
        # y from the first equation or from the second, whichever loses less to cancellation.
        value, gap = d(s), (s - low) * (s + low)
        if abs(value) * low < (abs(1 - w_r) + abs(w_r) * s) * (s - low):
            value = math.copysign(abs(drive) * s * math.sqrt(w / gap), value)
        if value != 0:
            found.append((s, drive / value, value))
    return found


def _crossings(level: float, w_r: float, c: float) -> list[float]:
    """Where sqrt(1 - c / s^2) |1 - w_r + w_r s| has a value above 0, for s > sqrt(c)."""
    low = math.sqrt(c)
    if w_r == 0:
        return [low / math.sqrt(1 - level**2)] if level < 1 else []

    def above(s: float) -> float:
        return math.sqrt(s - low) * math.sqrt(s + low) / s * abs(1 - w_r + w_r * s) - level

    zero = 1 - 1 / w_r
    start = max(low, zero)
    high = start + level + 1
    while above(high) <= 0:
        high = start + 2 * (high - start)
    found = [_solve(above, start, high)]
    if zero > low:
        # Between its two zeros the curve has one maximum.
        top = min(max((c * zero) ** (1 / 3), low), zero)
        if above(top) > 0:
            found += [_solve(above, low, top), _solve(above, top, zero)]
        elif above(top) == 0:
            found.append(top)
    return found


def _solve(f: Callable[[float], float], low: float, high: float) -> float:
    eps: Any = 4 * np.finfo(np.float64).eps
    root = scipy.optimize.brentq(f, low, high, xtol=eps * low, rtol=eps, maxiter=1000)
    return float(root)  # pyright: ignore[reportArgumentType]


def _classified(
    found: list[tuple[float, float, float, float, float]], c: float, tau_y: float, tau_a: float
) -> PlanarFixedPoints:
    s, y, d, w_r, w = np.array(found).reshape(-1, 5).T
    a = s**2
    trace = -d / tau_y - c / a / tau_a
    determinant = (d * c / a + w_r * w * y**2 * s) / (tau_y * tau_a)
    discriminant = trace**2 / 4 - determinant
    spread = np.sqrt(np.abs(discriminant))
    # Of two real ones the larger, and the other by their product, which cancels nothing.
    outer = trace / 2 + np.where(trace > 0, spread, -spread)
    inner = np.where(outer == 0, 0, determinant / np.where(outer == 0, 1, outer))
    real = np.sort(np.stack([inner, outer], axis=1), axis=1)[:, ::-1]
    pair = trace[:, None] / 2 + 1j * spread[:, None] * [1, -1]
    values = np.where(discriminant[:, None] < 0, pair, real)
    stable = (trace < 0) & (determinant > 0)
    types = []
    for tr, det, oscillates in zip(trace, determinant, discriminant < 0, strict=True):
        if det < 0:
            types.append("saddle")
        elif det == 0 or tr == 0:
            types.append("degenerate")
        else:
            kind = "focus" if oscillates else "node"
            types.append(f"{'stable' if tr < 0 else 'unstable'} {kind}")
    order = np.lexsort((-a, ~stable))
    return PlanarFixedPoints(
        y=y[order],
        a=a[order],
        eigenvalues=values[order],
        trace=trace[order],
        determinant=determinant[order],
        stable=stable[order],
        types=tuple(types[i] for i in order),
    )
