"""Fixed points of a dynamical system, with their linearisation."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import PyTree

from .activity import refuse_masked
from .continuous_attractors import flat_below, group_continua, merge_duplicates
from .fixed_point_set import CRITERION, FixedPoints
from .speed_minimisation import Displacement, Minimum, descend, linearise, minimise_speed

#: Default of `tolerance`, by bytes. In float32, rounding alone leaves q near 1e-11 for a few
#: hundred units of order 1.
_TOLERANCE = {8: 1e-12, 4: 1e-9}

#: A batch of Jacobians holds at most so many numbers, and so many starts.
_BATCH_NUMBERS, _BATCH_STARTS = 2**22, 128


def find_fixed_points(
    dynamics: Callable[[PyTree], PyTree],
    starts: PyTree,
    *,
    kind: str,
    tolerance: float | None = None,
    slow_tolerance: float | None = None,
    uniqueness: float = 1e-3,
    outlier_distance: float = 10.0,
    warmup_steps: int = 200,
    polish_steps: int = 60,
) -> FixedPoints:
    """Find the fixed points of a map or a flow, stable or not, from many starts.

    Every start is brought to a minimum of q = |F|^2 / 2, F(x) = map(x) - x or flow(x), by Adam
    and then by a Levenberg-Marquardt method (see `speed_minimisation`). States with
    q <= `tolerance` are fixed points. Those that agree to `uniqueness` in every coordinate are
    one point, and those on one line, ring or other continuum are one point with
    `continuous=True` (see `continuous_attractors`). The search knows nothing of fixed points that
    no start leads to: take starts from where the system lives, such as states along its
    trajectories with noise added, and enough of them.

    It computes in the precision of JAX and of the starts; float64 is advised where points are
    near each other or near a bifurcation. It cannot be traced.

    ```python
    found = find_fixed_points(lambda x: x - x**3, np.linspace(-2, 2, 50)[:, None], kind="flow")
    print(found)  # -1 and 1 stable, 0 not
    ```

    **Arguments:**

    - `dynamics`: a function of one state, without a batch axis, input held constant: to the next
      state (`kind="map"`) or to the time derivative (`kind="flow"`), in the layout of the state.
    - `starts`: `(start, n)`, or a pytree of arrays with such a first axis, as `(h, c)` of an LSTM.
    - `kind`: `"map"` or `"flow"`. No default: the same function means another thing in each.
    - `tolerance`: largest q of a fixed point, in squared units of F; 1e-12 in float64 and 1e-9 in
      float32 by default. Lower it for flows in slow units (with a time constant of 1000, F is a
      thousandth of the distance).
    - `slow_tolerance`: report minima of q between `tolerance` and this as `slow`.
    - `uniqueness`: merge states that differ by at most this in every coordinate, in units of the
      state.
    - `outlier_distance`: flag points farther from the mean of the starts than this many times the
      starts' mean distance from it.
    - `warmup_steps`, `polish_steps`: most iterations of each stage.

    **Returns:** `FixedPoints`, possibly none.

    **Raises:** `ValueError` for another kind, no starts, starts that are masked, not finite or
    disagree in number, a function whose result is not laid out as its state or is finite at no
    start, or tolerances out of range.

    **Reference:** Sussillo and Barak (2013), Opening the black box, Neural Computation 25,
    626-649; Golub and Sussillo (2018), FixedPointFinder, JOSS 3(31), 1003, for the defaults.
    """
    if kind not in CRITERION:
        raise ValueError(f"kind must be 'map' or 'flow', got {kind!r}.")
    starts, x = _read_starts(starts)
    template = jax.tree.map(lambda leaf: leaf[0], starts)
    x = x.astype(_check_dynamics(dynamics, template))
    template = jax.tree.map(lambda leaf: leaf.astype(x.dtype), template)
    if tolerance is None:
        tolerance = _TOLERANCE[x.dtype.itemsize]
    _check_options(tolerance, slow_tolerance, uniqueness, outlier_distance)

    displacement = Displacement(dynamics, template, kind)
    n_starts, n = x.shape
    centre = x.mean(axis=0)
    spread = float(np.linalg.norm(x - centre, axis=1).mean())
    # One start, or many in one place, say nothing of the scale, but their size may.
    scale = next(s for s in (np.std(x - centre), np.sqrt(np.mean(x**2)), 1.0) if s > 0)
    most = max(1, min(_BATCH_STARTS, _BATCH_NUMBERS // n**2))
    search = {
        "scale": float(scale),
        "batch_size": min(most, 2 ** math.ceil(math.log2(n_starts))),
        "tolerance": tolerance,
    }
    if warmup_steps > 0:
        near = np.asarray(
            descend(
                displacement,
                jnp.asarray(x),
                scale=jnp.asarray(scale, x.dtype),
                n_steps=warmup_steps,
            )
        )
    else:
        near = x
    minimum = minimise_speed(displacement, near, **search, max_steps=polish_steps)
    if not np.isfinite(minimum.q).any():
        raise ValueError("dynamics is not finite at any start.")

    def collect(chosen: np.ndarray, limit: float, slow: FixedPoints | None) -> FixedPoints:
        return _collect(
            displacement,
            minimum,
            chosen,
            search={**search, "tolerance": limit},
            uniqueness=uniqueness,
            centre=centre,
            far=outlier_distance * spread if spread > 0 else np.inf,
            slow=slow,
        )

    slow = None
    if slow_tolerance is not None:
        between = (minimum.q > tolerance) & (minimum.q <= slow_tolerance)
        slow = collect(between, slow_tolerance, None)
    return collect(minimum.q <= tolerance, tolerance, slow)


def _collect(
    displacement: Displacement,
    minimum: Minimum,
    chosen: np.ndarray,
    *,
    search: dict[str, Any],
    uniqueness: float,
    centre: np.ndarray,
    far: float,
    slow: FixedPoints | None,
) -> FixedPoints:
    """The points among the `chosen` starts' minima."""
    found = np.flatnonzero(chosen)
    founder = found[merge_duplicates(minimum.x[found], minimum.q[found], tolerance=uniqueness)]
    states, state_of = np.unique(founder, return_inverse=True)
    x, q = minimum.x[states], minimum.q[states]
    n = minimum.x.shape[1]
    start_point = np.full(len(chosen), -1)
    groups: list[np.ndarray] = []
    continuous = np.zeros(0, bool)
    if len(states) > 0:
        group, continuous = group_continua(displacement, x, uniqueness=uniqueness, **search)
        counts = np.bincount(group[state_of])
        order = np.argsort(-counts, kind="stable")
        start_point[found] = np.argsort(order)[group[state_of]]
        groups = [np.flatnonzero(group == g) for g in order]
        continuous = continuous[order]
    middle = [_nearest_to_mean(x[members]) for members in groups]
    chief = np.array([members[i] for members, i in zip(groups, middle)], int)

    batch_size = search["batch_size"]
    if len(chief) > 0:
        jacobians = linearise(displacement, x[chief], batch_size=batch_size).jacobian
    else:
        jacobians = np.zeros((0, n, n), x.dtype)
    eigenvalues, stable, dimension = _judge(
        jacobians,
        continuous,
        neutral=1.0 if displacement.kind == "map" else 0.0,
        scale=search["scale"],
        tolerance=search["tolerance"],
    )
    distance = np.linalg.norm(x[chief] - centre, axis=1)
    _, unravel = ravel_pytree(displacement.template)

    def laid_out(flat: np.ndarray) -> PyTree:
        return jax.tree.map(np.asarray, jax.vmap(unravel)(jnp.asarray(flat)))

    return FixedPoints(
        kind=displacement.kind,
        points=laid_out(x[chief]),
        q=q[chief],
        jacobians=jacobians,
        eigenvalues=eigenvalues,
        stable=stable,
        continuous=continuous,
        dimension=dimension,
        members=tuple(laid_out(x[members]) for members in groups),
        n_starts=np.bincount(start_point[found], minlength=len(chief)),
        distance=distance,
        outlier=distance > far,
        start_point=start_point,
        tolerance=float(search["tolerance"]),
        uniqueness=float(uniqueness),
        slow=slow,
    )


def _nearest_to_mean(x: np.ndarray) -> int:
    return int(np.argmin(np.linalg.norm(x - x.mean(axis=0), axis=1)))


def _judge(
    jacobians: np.ndarray, continuous: np.ndarray, *, neutral: float, scale: float, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sorted eigenvalues, stability, and the dimension of continua, at each point."""
    n_points, n, _ = jacobians.shape
    eps = float(np.finfo(jacobians.dtype).eps)
    eigenvalues = np.linalg.eigvals(jacobians)
    eigenvalues = eigenvalues.astype(np.result_type(jacobians.dtype, np.complex64))
    stable = np.zeros(n_points, bool)
    dimension = np.zeros(n_points, int)
    for i, values in enumerate(eigenvalues):
        if continuous[i]:
            singular = np.linalg.svd(jacobians[i] - neutral * np.eye(n), compute_uv=False)
            typical = np.sqrt(np.mean(singular**2))
            limit = flat_below(typical, scale=scale, tolerance=tolerance)
            dimension[i] = max(1, int((singular <= limit).sum()))
        growth = np.abs(values) - 1 if neutral == 1 else values.real
        across = np.argsort(np.abs(values - neutral), kind="stable")[dimension[i] :]
        # A centre, whose growth is zero but for rounding, must not be stable by chance.
        stable[i] = (growth[across] < -n * eps * np.abs(values).max()).all()
        eigenvalues[i] = values[np.lexsort((values.imag, -growth))]
    return eigenvalues, stable, dimension


def _read_starts(starts: PyTree) -> tuple[PyTree, np.ndarray]:
    """Starts as JAX arrays of one floating type, and flat as `(start, n)`."""
    leaves = jax.tree.leaves(starts)
    if len(leaves) == 0:
        raise ValueError("starts is empty: it holds no arrays.")
    for leaf in leaves:
        refuse_masked(leaf, "starts")
    shapes = [np.shape(leaf) for leaf in leaves]
    counts = {shape[0] if shape else None for shape in shapes}
    if len(counts) > 1 or None in counts:
        raise ValueError(
            "every array in starts must have the starts as its first axis, the same number of "
            f"them; got shapes {shapes}."
        )
    if 0 in counts or all(math.prod(shape) == 0 for shape in shapes):
        raise ValueError(f"starts is empty: its shapes are {shapes}.")
    arrays = jax.tree.map(jnp.asarray, starts)
    if any(jnp.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in jax.tree.leaves(arrays)):
        raise ValueError("starts must be real: split complex states into real and imaginary part.")
    # At least float32: there is no factorisation in half precision.
    dtype = jnp.promote_types(jnp.result_type(1.0, *jax.tree.leaves(arrays)), jnp.float32)
    arrays = jax.tree.map(lambda leaf: leaf.astype(dtype), arrays)
    x = np.asarray(jax.vmap(lambda state: ravel_pytree(state)[0])(arrays))
    bad = np.flatnonzero(~np.isfinite(x).all(axis=1))
    if len(bad) > 0:
        raise ValueError(
            f"starts must be finite: {len(bad)} of {len(x)} are not, the first is start {bad[0]}."
        )
    return arrays, x


def _check_dynamics(dynamics: Callable[[PyTree], PyTree], state: PyTree) -> Any:
    """Refuse a result that is not laid out as the state; return the type to compute in."""

    def layout(tree: PyTree) -> Any:
        return jax.tree.map(lambda leaf: tuple(leaf.shape), tree)

    try:
        result = jax.eval_shape(dynamics, state)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        reason = (str(error).strip().splitlines() or [repr(error)])[0]
        raise ValueError(
            f"dynamics cannot take one state of shape {layout(state)}, written in jax.numpy: "
            f"{reason} (starts are (start, n): reshape trials and time into one axis)."
        ) from error

    if jax.tree.structure(result) != jax.tree.structure(state) or layout(result) != layout(state):
        raise ValueError(
            "dynamics must return what it is given, one state without a start axis: given shapes "
            f"{layout(state)}, it returned {layout(result)}."
        )
    leaves = jax.tree.leaves(result)
    if any(not jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves):
        raise ValueError(
            f"dynamics must return real floating-point numbers, got {[l.dtype for l in leaves]}."
        )
    return jnp.result_type(*jax.tree.leaves(state), *leaves)


def _check_options(
    tolerance: float, slow_tolerance: float | None, uniqueness: float, outlier_distance: float
) -> None:
    positive = {
        "tolerance": tolerance,
        "uniqueness": uniqueness,
        "outlier_distance": outlier_distance,
    }
    for name, value in positive.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value}.")
    if slow_tolerance is not None and not slow_tolerance > tolerance:
        raise ValueError(
            f"slow_tolerance must be above tolerance = {tolerance}, got {slow_tolerance}."
        )
