"""What a search for fixed points found, and what it judged their stability by."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool, Complex, Float, Int, PyTree

#: What "stable" means for each kind of system, in words.
CRITERION = {
    "map": "stable where every eigenvalue of the map's Jacobian has modulus below 1",
    "flow": "stable where every eigenvalue of the flow's Jacobian has a negative real part",
}


@dataclasses.dataclass(frozen=True, eq=False)
class FixedPoints:
    """What `find_fixed_points` found; NumPy arrays, the point found by most starts first.

    Under several inputs, the points of the first input come first, then those of the second.

    A continuum of fixed points (line, ring, plane) counts as one point, `continuous`; `points`
    then holds the member nearest to the members' mean.

    - `kind`: `"map"` or `"flow"`, the sense in which the points are fixed and `stable` is judged.
    - `points`: the layout of the starts, leaves `(point, ...)`.
    - `q`: `(point,)`, |F|^2 / 2, where F is the velocity (flow) or the displacement (map).
    - `jacobians`: `(point, n, n)`, of the function given, on states flattened in the order of
      `jax.flatten_util.ravel_pytree`.
    - `eigenvalues`: `(point, n)`, complex; slowest first: by modulus (map) or by real part (flow).
    - `stable`: `(point,)`. Map: all |eigenvalue| < 1. Flow: all real parts < 0. On a continuum the
      `dimension` eigenvalues nearest to 1 (map) or 0 (flow), which belong to moves along it, are
      left out; the others are judged at the representative.
    - `continuous`: `(point,)`, whether this is a continuum.
    - `dimension`: `(point,)`, directions in which a continuum's F does not change to first order;
      0 for isolated points.
    - `members`: for each point the distinct states found on it, leaves `(member, ...)`: one for
      an isolated point, a sample of a continuum.
    - `n_starts`: `(point,)`, how many starts converged to it.
    - `distance`: `(point,)`, Euclidean, from the mean of the starts.
    - `outlier`: `(point,)`, whether that is more than `outlier_distance` times the starts' own
      mean distance.
    - `start_point`: `(start,)`, or `(condition, start)` under inputs: the point each start
      converged to, -1 for none.
    - `tolerance`, `uniqueness`: as used.
    - `slow`: slow points, which do not stand still, where they were asked for.
    - `inputs`: the input that each point was found under, leaves `(point, ...)`; `None`, as the
      next two, for dynamics without one.
    - `input_index`: `(point,)`, the number of that input among those given.
    - `input_jacobians`: `(point, n, m)`, of the function given, to the input, flattened as states.
    """

    kind: str
    points: PyTree
    q: Float[np.ndarray, " point"]
    jacobians: Float[np.ndarray, "point n n"]
    eigenvalues: Complex[np.ndarray, "point n"]
    stable: Bool[np.ndarray, " point"]
    continuous: Bool[np.ndarray, " point"]
    dimension: Int[np.ndarray, " point"]
    members: tuple[PyTree, ...]
    n_starts: Int[np.ndarray, " point"]
    distance: Float[np.ndarray, " point"]
    outlier: Bool[np.ndarray, " point"]
    start_point: Int[np.ndarray, "*condition start"]
    tolerance: float
    uniqueness: float
    slow: "FixedPoints | None" = None
    inputs: PyTree = None
    input_index: Int[np.ndarray, " point"] | None = None
    input_jacobians: Float[np.ndarray, "point n m"] | None = None

    def __len__(self) -> int:
        return len(self.q)

    @property
    def criterion(self) -> str:
        """What `stable` means here, in words."""
        return CRITERION[self.kind]

    def __str__(self) -> str:
        found = int((self.start_point >= 0).sum())
        under = ""
        if self.input_index is not None:
            under = f" under {len(self.start_point)} input(s)"
        lines = [
            f"{len(self)} fixed point(s) of a {self.kind}{under}, {self.criterion}; "
            f"{found} of {self.start_point.size} starts converged to q <= {self.tolerance:g}."
        ]
        for i in range(len(self)):
            continuum = f"continuum of dimension {self.dimension[i]}"
            details = (
                f"q = {self.q[i]:.1e}, leading eigenvalue {self.eigenvalues[i, 0]:.4g}, "
                f"{self.n_starts[i]} start(s)" + (", outlier" if self.outlier[i] else "")
            )
            if self.input_index is not None:
                details = f"under input {self.input_index[i]}, {details}"
            lines.append(point_line(self, i, details, continuum=continuum))
        return "\n".join(lines)


def point_line(found: Any, i: int, details: str, *, continuum: str = "continuum") -> str:
    """One line on point i of any set that says which are `continuous` and `stable`."""
    kind = continuum if found.continuous[i] else "point"
    state = "stable" if found.stable[i] else "not stable"
    return f"  {i}: {kind}, {state}, {details}"
