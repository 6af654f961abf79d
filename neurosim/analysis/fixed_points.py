"""Fixed points of a dynamical system, with their linearisation."""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from .continuous_attractors import flat_below, group_continua, merge_duplicates
from .displacement import Displacement
from .fixed_point_set import CRITERION, FixedPoints
from .search_starts import check_dynamics, lay_out, read_many
from .speed_minimisation import Minimum, descend, linearise, minimise_speed

#: Default of `tolerance`, by bytes. In float32, rounding alone leaves q near 1e-11 for a few
#: hundred units of order 1.
_TOLERANCE = {8: 1e-12, 4: 1e-9}

#: A batch of Jacobians holds at most so many numbers, and so many starts.
_BATCH_NUMBERS, _BATCH_STARTS = 2**22, 128


def find_fixed_points(
    dynamics: Callable[..., PyTree],
    starts: PyTree,
    *,
    kind: str,
    inputs: PyTree = None,
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

    A driven system has other fixed points under each input that is held. With `inputs`, every start
    is searched under every one of them, all at once, and points under different inputs are never
    merged, even where they or the inputs are equal.

    It computes in the precision of JAX and of the starts; float64 is advised where points are
    near each other or near a bifurcation. It cannot be traced.

    ```python
    found = find_fixed_points(lambda x: x - x**3, np.linspace(-2, 2, 50)[:, None], kind="flow")
    print(found)  # -1 and 1 stable, 0 not


    def driven(x, u):
        return -x + jnp.tanh(W @ x) + B @ u


    inputs = np.array([[0.0], [0.5]])  # two conditions of one channel
    found = find_fixed_points(driven, starts, kind="flow", inputs=inputs)
    found.points[found.input_index == 1]  # those under the second
    ```

    **Arguments:**

    - `dynamics`: a function of one state, without a batch axis, and of one input where there are
      `inputs`: to the next state (`kind="map"`) or to the time derivative (`kind="flow"`), in the
      layout of the state.
    - `starts`: `(start, n)`, or a pytree of arrays with such a first axis, as `(h, c)` of an LSTM.
    - `kind`: `"map"` or `"flow"`. No default: the same function means another thing in each.
    - `inputs`: `(condition, m)`, or a pytree of arrays with such a first axis, each held constant.
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

    **Raises:** `ValueError` for another kind, no starts, starts or inputs that are masked, not
    finite or disagree in number, a function whose result is not laid out as its state or is finite
    at no start, or tolerances out of range.

    **Reference:** Sussillo and Barak (2013), Opening the black box, Neural Computation 25,
    626-649; Golub and Sussillo (2018), FixedPointFinder, JOSS 3(31), 1003, for the defaults.
    """
    if kind not in CRITERION:
        raise ValueError(f"kind must be 'map' or 'flow', got {kind!r}.")
    starts, x = read_many(starts, "starts", "start")
    template = jax.tree.map(lambda leaf: leaf[0], starts)
    held: tuple[PyTree, ...] = ()
    # Dynamics of a state alone have one condition, of no input.
    u = np.zeros((1, 0), x.dtype)
    if inputs is not None:
        inputs, u = read_many(inputs, "inputs", "condition")
        held = (jax.tree.map(lambda leaf: leaf[0], inputs),)
    x = x.astype(check_dynamics(dynamics, template, *held))
    u = u.astype(x.dtype)
    template, held = jax.tree.map(lambda leaf: leaf.astype(x.dtype), (template, held))
    if tolerance is None:
        tolerance = _TOLERANCE[x.dtype.itemsize]
    _check_options(tolerance, slow_tolerance, uniqueness, outlier_distance)

    displacement = Displacement(dynamics, template, kind, *held)
    n_starts, n = len(x) * len(u), x.shape[1]
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
    condition = np.repeat(np.arange(len(u)), len(x))
    x = np.tile(x, (len(u), 1))
    if warmup_steps > 0:
        near = np.asarray(
            descend(
                displacement,
                jnp.asarray(x),
                jnp.asarray(u[condition]),
                scale=jnp.asarray(scale, x.dtype),
                n_steps=warmup_steps,
            )
        )
    else:
        near = x
    minimum = minimise_speed(displacement, near, u[condition], **search, max_steps=polish_steps)
    if not np.isfinite(minimum.q).any():
        raise ValueError("dynamics is not finite at any start.")

    def collect(chosen: np.ndarray, limit: float, slow: FixedPoints | None) -> FixedPoints:
        return _collect(
            displacement,
            minimum,
            chosen,
            u,
            condition,
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
    u: np.ndarray,
    condition: np.ndarray,
    *,
    search: dict[str, Any],
    uniqueness: float,
    centre: np.ndarray,
    far: float,
    slow: FixedPoints | None,
) -> FixedPoints:
    """The points among the `chosen` starts' minima."""
    found = np.flatnonzero(chosen)
    kept = (minimum.x[found], minimum.q[found], condition[found])
    founder = found[merge_duplicates(*kept, tolerance=uniqueness)]
    states, state_of = np.unique(founder, return_inverse=True)
    x, q, under = minimum.x[states], minimum.q[states], condition[states]
    n = minimum.x.shape[1]
    start_point = np.full(len(chosen), -1)
    groups: list[np.ndarray] = []
    continuous = np.zeros(0, bool)
    if len(states) > 0:
        group, continuous = group_continua(
            displacement, x, u[under], under, uniqueness=uniqueness, **search
        )
        counts = np.bincount(group[state_of])
        under_of_group = np.zeros(len(counts), int)
        under_of_group[group] = under
        order = np.lexsort((-counts, under_of_group))
        start_point[found] = np.argsort(order)[group[state_of]]
        groups = [np.flatnonzero(group == g) for g in order]
        continuous = continuous[order]
    middle = [_nearest_to_mean(x[members]) for members in groups]
    chief = np.array([members[i] for members, i in zip(groups, middle)], int)

    batch_size = search["batch_size"]
    input_index = under[chief]
    jacobians = np.zeros((0, n, n), x.dtype)
    input_jacobians = np.zeros((0, n, u.shape[1]), x.dtype)
    if len(chief) > 0:
        local = linearise(displacement, x[chief], u[input_index], batch_size=batch_size)
        jacobians, input_jacobians = local.jacobian, local.input_jacobian
    eigenvalues, stable, dimension = _judge(
        jacobians,
        continuous,
        neutral=1.0 if displacement.kind == "map" else 0.0,
        scale=search["scale"],
        tolerance=search["tolerance"],
    )
    distance = np.linalg.norm(x[chief] - centre, axis=1)
    driven = displacement.input_template is not None

    def laid_out(flat: np.ndarray) -> PyTree:
        return lay_out(displacement.template, flat)

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
        start_point=start_point.reshape(len(u), -1) if driven else start_point,
        tolerance=float(search["tolerance"]),
        uniqueness=float(uniqueness),
        slow=slow,
        inputs=lay_out(displacement.input_template, u[input_index]) if driven else None,
        input_index=input_index if driven else None,
        input_jacobians=input_jacobians if driven else None,
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
