"""A network that keeps track of position by summing up displacements."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..kernels import safe_norm
from ..kernels.lattice_interpolation import Padding
from .dynamics import Dynamics, fixed_field
from .place_cell_readout import PlaceCellReadout
from .position_embedding import PositionEmbedding, read_positions
from .recurrent_transform import RecurrentTransform
from .relu_transform import ReLUTransform


class PathIntegratingRNN(Dynamics):
    """Grid cells that are set to v(x_0), moved by velocity, and read by place cells.

        r_0 = v(x_0),    r_(t+1) = F(r_t, dx_t),    place activity = <r_t, u(x')>

    Positions are in bins, velocities in sides of the arena per unit of time, so that dx_t =
    (x_(t+1) - x_t) / n is the input of a run with `dt = 1`. The output is the activity of all
    place cells, row after row.

    - `embedding`, `place_cells`, `transform`: v, u and F.
    - `x0`: where trials start that are not told otherwise, in bins; the centre by default. Fixed.

    ```python
    states = simulate(model, dx, dt=1.0, initial_state=model.start(x0)).states
    model.decode(states)  # positions in bins
    ```

    **Reference:** Xu et al. (2022), NeurReps; Acosta et al. (2024), Global distortions from local
    rewards: neural coding strategies in path-integrating neural systems, NeurIPS 37.
    """

    embedding: PositionEmbedding
    place_cells: PlaceCellReadout
    transform: RecurrentTransform
    x0: Any = fixed_field(default=None)

    def __check_init__(self):
        shape = self.embedding.values.shape
        if self.place_cells.values.shape != shape:
            raise ValueError(
                f"embedding and place cells must be of one shape, got {shape} and "
                f"{self.place_cells.values.shape}."
            )
        if self.transform.n_units != shape[0]:
            raise ValueError(
                f"the transform moves {self.transform.n_units} units, and the embedding has "
                f"{shape[0]}."
            )
        if self.x0 is not None and np.shape(self.x0) != (2,):
            raise ValueError(f"x0 must be a position (2,), got shape {np.shape(self.x0)}.")

    @classmethod
    def init(
        cls,
        n_units: int = 1800,
        block_size: int = 12,
        n_bins: int = 40,
        *,
        key: PRNGKeyArray,
        transform: type[Any] = ReLUTransform,
        field_size: float | int = 0.07,
        padding: Padding = "edge",
    ) -> "PathIntegratingRNN":
        """The published sizes and initialisation; `padding="zero"` for the published borders.

        **Arguments:**

        - `n_units`, `block_size`, `n_bins`: C, units of a block, bins a side.
        - `transform`: the class of transform, whose own `init` draws it.
        - `field_size`: standard deviation of place fields, in sides of the arena.
        - `padding`: see `PositionEmbedding`.

        **Raises:** `ValueError` for sizes below 1 or a block size that does not divide the units.
        """
        k_v, k_u, k_f = jax.random.split(key, 3)
        return cls(
            PositionEmbedding.init(n_units, n_bins, block_size, key=k_v, padding=padding),
            PlaceCellReadout.init(n_units, n_bins, key=k_u, field_size=field_size, padding=padding),
            transform.init(n_units, block_size, key=k_f),
        )

    @property
    def n_inputs(self) -> int:
        """Two components of velocity."""
        return 2

    @property
    def n_bins(self) -> int:
        """Number of bins a side, n."""
        return self.embedding.n_bins

    @property
    def discrete(self) -> bool:
        """Whether the transform is a recursion that cannot be divided into shorter steps."""
        return self.transform.discrete

    @property
    def time_constants(self) -> dict[str, Any]:
        """The time constant of units that leak by explicit Euler, if they do."""
        leaks = getattr(self.transform, "update", None) == "euler"
        return {"tau": self.transform.tau} if leaks else {}  # pyright: ignore[reportAttributeAccessIssue]

    def initial_state(self) -> Any:
        """The state at `x0`."""
        centre = ((self.n_bins - 1) / 2,) * 2
        return self._start(jnp.asarray(centre if self.x0 is None else self.x0))

    def start(self, x: Any) -> Any:
        """The states at positions `(..., 2)` in bins; leading axes as a batch.

        **Raises:** `ValueError` for positions of another shape or outside of the arena.
        """
        x = read_positions(x, self.n_bins, self.embedding.values.dtype)
        return _over_leading(self._start, x, 1)

    def step(self, t: Any, state: Any, input: Any, dt: Any) -> Any:
        """The published recursion, for the displacement `input * dt`."""
        return self.transform.step(state, input, dt)

    def vector_field(self, t: Any, state: Any, input: Any) -> Any:
        """The flow of the transform."""
        return self.transform.flow(state, input)

    def readout(self, state: Any) -> Float[Array, " place_cell"]:
        """Activity of the place cells, `(n^2,)`."""
        return self.place_cells.place_activity(self.transform.activity(state)).reshape(-1)

    def rollout(self, x0: Any, dx: Any) -> Float[Array, "*trial step unit"]:
        """Grid-cell activity along paths.

        **Arguments:**

        - `x0`: `(..., 2)`, the starts, in bins.
        - `dx`: `(..., time, 2)`, displacements, in sides of the arena.

        **Returns:** activity before the first displacement and after each, `time + 1` steps.

        **Raises:** `ValueError` for starts of another shape or outside of the arena.
        """
        return self._run(*self._read_paths(x0, dx), False)

    def reencoded_rollout(self, x0: Any, dx: Any) -> Float[Array, "*trial step unit"]:
        """As `rollout`, with r replaced by v(decode(r)) before each displacement."""
        return self._run(*self._read_paths(x0, dx), True)

    def decode(self, r: Any) -> Float[Array, "*code 2"]:
        """Position in bins, from grid-cell activity."""
        return self.place_cells.decode(r)

    def place_activity(self, r: Any) -> Float[Array, "*code bin bin"]:
        """Activity of the place cells, from that of the grid cells."""
        return self.place_cells.place_activity(r)

    def integration_error(
        self, positions: Any, *, reencode: bool = False
    ) -> Float[Array, "*trial step"]:
        """Distance between decoded and true position along paths, in sides of the arena.

        **Arguments:**

        - `positions`: `(..., time + 1, 2)`, in bins.
        - `reencode`: whether the code is renewed from the decoded position at each step.

        **Raises:** `ValueError` for paths of another shape, or that leave the arena.
        """
        x = read_positions(positions, self.n_bins, self.embedding.values.dtype)
        if x.ndim < 2:
            raise ValueError(f"positions must be (..., time, 2), got shape {x.shape}.")
        run = self.reencoded_rollout if reencode else self.rollout
        r = run(x[..., 0, :], jnp.diff(x, axis=-2) / self.n_bins)
        return safe_norm(self.decode(r) - x) / self.n_bins

    def project(self) -> "PathIntegratingRNN":
        """The network that the constraints allow, in the published order.

        Code not negative, bias not negative, and then each block of the code scaled to its norm.
        """
        transform = self.transform
        projected = transform.project() if hasattr(transform, "project") else transform  # pyright: ignore[reportAttributeAccessIssue]
        return PathIntegratingRNN(self.embedding.project(), self.place_cells, projected, self.x0)

    def _start(self, x: Array) -> Any:
        return self.transform.start(self.embedding(x))

    def _read_paths(self, x0: Any, dx: Any) -> tuple[Array, Array]:
        x0 = read_positions(x0, self.n_bins, self.embedding.values.dtype)
        dx = jnp.asarray(dx, x0.dtype)
        if dx.ndim < 2 or dx.shape[-1] != 2 or dx.shape[:-2] != x0.shape[:-1]:
            raise ValueError(
                f"x0 must be (..., 2) and dx (..., time, 2), got {x0.shape} and {dx.shape}."
            )
        return x0, dx

    @eqx.filter_jit
    def _run(self, x0: Array, dx: Array, reencode: bool) -> Array:
        def one(x: Array, dx: Array) -> Array:
            first = self._start(x)

            def advance(state: Any, displacement: Array) -> tuple[Any, Array]:
                if reencode:
                    state = self._start(self.decode(self.transform.activity(state)))
                state = self.transform.step(state, displacement, 1.0)
                return state, self.transform.activity(state)

            _, later = jax.lax.scan(advance, first, dx)
            return jnp.concatenate([self.transform.activity(first)[None], later])

        if dx.ndim == 2:
            return one(x0, dx)
        flat = jax.vmap(one)(x0.reshape(-1, 2), dx.reshape(-1, *dx.shape[-2:]))
        return flat.reshape(*dx.shape[:-2], *flat.shape[1:])


def _over_leading(function: Any, x: Array, n_own: int) -> Any:
    lead = x.shape[: x.ndim - n_own]
    if not lead:
        return function(x)
    out = jax.vmap(function)(x.reshape(-1, *x.shape[x.ndim - n_own :]))
    return jax.tree.map(lambda leaf: leaf.reshape(*lead, *leaf.shape[1:]), out)
