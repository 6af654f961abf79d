"""Fixed points followed along a path of inputs, round the folds where they meet and vanish."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import PyTree

from ..kernels import whole_number
from .displacement import Displacement, flow_or_map, value_and_jacobians
from .estimator import refuse_traced
from .pseudo_arclength import InputPath, Place, follow
from .search_starts import check_dynamics, lay_out, read_many


class FixedPointBranch(NamedTuple):
    """One fixed point followed along a path of inputs; see `continue_fixed_points`."""

    points: PyTree
    inputs: PyTree
    position: np.ndarray
    eigenvalues: np.ndarray
    stable: np.ndarray
    fold: np.ndarray
    sensitivity: np.ndarray
    end: str


def continue_fixed_points(
    dynamics: Callable[[PyTree, PyTree], PyTree],
    points: PyTree,
    inputs: PyTree,
    *,
    kind: str,
    tolerance: float | int = 1e-12,
    n_steps: int | np.integer = 1000,
) -> tuple[FixedPointBranch, ...]:
    """Follow fixed points along a path of inputs, stable or not.

    The path leads in straight lines from each entry of `inputs` to the next. Each point is moved
    along it by the slope of its branch, dF/dx dx = -dF/du du, and brought back to F = 0 by Newton's
    method, where F(x, u) = map(x, u) - x or flow(x, u). Steps are measured along the branch, not
    along the path (pseudo-arclength), so that a branch is followed through a fold, where it meets
    another and both vanish: it then goes back along the path. Steps are shortened where a branch
    bends, and every entry of `inputs` is landed on. Computed in float64 whatever JAX's setting.

    Where branches cross (a pitchfork), it goes straight on; the change of `stable` tells, and
    `find_fixed_points` beyond finds the others. An entry of `inputs` exactly at a crossing or a fold,
    where Newton's method has nothing to go by, can end a branch as `"lost"`: move it a little.

    ```python
    def f(x, u):
        return -x + jnp.tanh(1.5 * x) + u


    low = find_fixed_points(f, starts, kind="flow", inputs=np.zeros((1, 1))).points[:1]
    (branch,) = continue_fixed_points(f, low, np.linspace(0, 1, 11)[:, None], kind="flow")
    branch.inputs[branch.fold]  # where it meets the saddle
    ```

    **Arguments:**

    - `dynamics`: of one state and one input, written in `jax.numpy`, to the next state
      (`kind="map"`) or the time derivative (`kind="flow"`), in the layout of the state.
    - `points`: `(point, n)`, or a pytree of arrays with such a first axis: isolated fixed points
      under the first input, such as `found.points` of `find_fixed_points`.
    - `inputs`: `(entry, m)`, or a pytree of arrays with such a first axis; at least two.
    - `kind`: `"map"` or `"flow"`. No default: the same function means another thing in each.
    - `tolerance`: largest |F|^2 / 2 of a fixed point, in squared units of F.
    - `n_steps`: the most steps along each branch.

    **Returns:** a `FixedPointBranch` for each point, NumPy, in the order along the branch:

    - `points`, `inputs`: leaves `(step, ...)`, and the input held for each.
    - `position`: `(step,)`, along the path: 0 at the first entry of `inputs`, 1 at the second, and
      exactly a whole number on each. It falls where the branch goes back.
    - `eigenvalues`: `(step, n)`, of the Jacobian of `dynamics`, slowest first: by modulus (map) or
      by real part (flow).
    - `stable`: `(step,)`, all |eigenvalue| < 1 (map) or all real parts < 0 (flow); no fold is.
    - `fold`: `(step,)`, whether this is a fold, found to rounding.
    - `sensitivity`: `(step, n, m)`, dx/du on states and inputs flattened in the order of
      `jax.flatten_util.ravel_pytree`; infinite at a fold.
    - `end`: why it ends: `"end"` or `"start"` of the path, `"steps"` for `n_steps`, or `"lost"`
      where no step is short enough, as where F is not smooth.

    **Raises:** `ValueError` for another kind, points or inputs that are masked, not finite or
    disagree in number, one input, dynamics that do not fit them, a point that is not fixed under
    the first input, or one on a continuum or a fold. `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Keller (1977), in Rabinowitz (ed.), Applications of bifurcation theory, 359-384,
    for pseudo-arclength; Allgower & Georg (1990), Numerical continuation methods.
    """
    flow_or_map(kind)
    refuse_traced((points, inputs), "continue_fixed_points")
    limit = whole_number(n_steps, "n_steps", least=1)
    if not tolerance > 0:
        raise ValueError(f"tolerance must be positive, got {tolerance}.")
    with jax.enable_x64(True):
        points, x = read_many(points, "points", "point")
        inputs, u = read_many(inputs, "inputs", "entry")
        if len(u) < 2:
            raise ValueError("inputs must have at least two entries: one is no path.")
        first = jax.tree.map(lambda leaf: leaf[0].astype(float), (points, inputs))
        check_dynamics(dynamics, *first)
        path = InputPath(
            Displacement(dynamics, first[0], kind, first[1]), u.astype(float), float(tolerance)
        )
        scale = float(np.linalg.norm(x, axis=1).max())
        return tuple(
            _laid_out(path, follow(path, row.astype(float), i, scale, limit))
            for i, row in enumerate(x)
        )


def _laid_out(path: InputPath, found: tuple[list[Place], str]) -> FixedPointBranch:
    places, end = found
    displacement = path.displacement
    held = np.stack([path.input(place.s, place.leg) for place in places])
    eigenvalues, stable, sensitivity = [], [], []
    for place, u in zip(places, held, strict=True):
        f, by_x, by_u = value_and_jacobians(displacement, place.x, u)
        neutral = 1.0 if displacement.kind == "map" else 0.0
        values = np.linalg.eigvals(by_x + neutral * np.eye(len(f))).astype(complex)
        growth = np.abs(values) - 1 if neutral == 1 else np.real(values)
        rounding = len(f) * np.finfo(float).eps * np.abs(values).max()
        eigenvalues.append(values[np.lexsort((np.imag(values), -growth))])
        stable.append(not place.fold and bool((growth < -rounding).all()))
        singular = place.fold or np.linalg.matrix_rank(by_x) < len(f)
        sensitivity.append(
            np.full(by_u.shape, np.inf) if singular else np.linalg.solve(by_x, -by_u)
        )
    return FixedPointBranch(
        points=lay_out(displacement.template, np.stack([place.x for place in places])),
        inputs=lay_out(displacement.input_template, held),
        position=np.array([place.s for place in places]),
        eigenvalues=np.stack(eigenvalues),
        stable=np.array(stable),
        fold=np.array([place.fold for place in places]),
        sensitivity=np.stack(sensitivity),
        end=end,
    )
