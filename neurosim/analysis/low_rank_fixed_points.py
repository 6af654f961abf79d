"""Fixed points of a low-rank network, sought in as many dimensions as its rank.

For held input and gains, 0 = -x + g L S R^T phi(x) + B u means x = L kappa + B u with

    kappa = g s * (R^T phi(L kappa + B u))

and the flow tau kappa' = -kappa + ... has at its fixed points the eigenvalues of the full one but
for those of the leak (see `low_rank_spectra`), so both agree on what is stable.
"""

import contextlib
import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int, PRNGKeyArray

from ..kernels import recurrent_scale, whole_number
from .estimator import refuse_traced
from .fixed_point_set import CRITERION, FixedPoints, point_line
from .fixed_points import find_fixed_points
from .low_rank_factors import (
    Numbers,
    check_factors,
    check_gains,
    check_matrix,
    check_times,
    check_vector,
    read_arrays,
)
from .transfer_function import TransferFunction, check_function, rates


@dataclasses.dataclass(frozen=True, eq=False)
class LowRankFixedPoints:
    """What `reduced_fixed_points` found; NumPy arrays, the point found by most starts first.

    - `kappa`: `(point, K)`. `states`: `(point, N)`, L kappa + B u.
    - `residual`: `(point,)`, |tau dx/dt| there.
    - `eigenvalues`: `(point, N)`, of the Jacobian of dx/dt, complex, largest real part first.
    - `stable`: `(point,)`, whether all their real parts are negative; `continuous`, `outlier`,
      `n_starts`: see `FixedPoints`.
    - `search`: the search in kappa, in units of tau: members of continua, slow points, and where
      each start went.
    """

    kappa: Float[np.ndarray, "point rank"]
    states: Float[np.ndarray, "point unit"]
    residual: Float[np.ndarray, " point"]
    eigenvalues: Complex[np.ndarray, "point unit"]
    stable: Bool[np.ndarray, " point"]
    continuous: Bool[np.ndarray, " point"]
    outlier: Bool[np.ndarray, " point"]
    n_starts: Int[np.ndarray, " point"]
    search: FixedPoints

    def __len__(self) -> int:
        return len(self.kappa)

    def __str__(self) -> str:
        n_units = self.states.shape[1]
        lines = [f"{len(self)} fixed point(s) of {n_units} units, {CRITERION['flow']}."]
        for i in range(len(self)):
            where = np.array2string(self.kappa[i], precision=4)
            lines.append(point_line(self, i, f"kappa = {where}, {self.n_starts[i]} start(s)"))
        return "\n".join(lines)


def reduced_fixed_points(
    L: Numbers,
    R: Numbers,
    *,
    gains: Numbers = 1.0,
    B: Numbers | None = None,
    input: Numbers | None = None,
    tau: float | int = 1.0,
    phi: TransferFunction = jnp.tanh,
    rec_scale: Any = 1.0,
    starts: Numbers | None = None,
    n_starts: Any = 256,
    key: Any = None,
    **search: Any,
) -> LowRankFixedPoints:
    """Find the fixed points of a low-rank network for an input and gains held still.

    `find_fixed_points` looks for them in kappa. Without `starts`, it starts from g s R^T phi(x) at
    random x of the span of L, small to saturating, half of them shrunk: every fixed point is such
    an image of itself. It knows of no point that no start leads to; `poincare_hopf_sum` may tell.

    Stability is that of the flow; the recursion of step dt has the multipliers 1 + dt eigenvalue.

    ```python
    found = reduced_fixed_points(L, R, gains=s, B=B, input=u, tau=10.0, key=jax.random.key(0))
    ```

    **Arguments:**

    - `L`, `R`: `(N, K)`.
    - `gains`: s, `(K,)`; `(1,)` or a number is one gain common to all components.
    - `B`, `input`: `(N, U)` and u, `(U,)`, or neither.
    - `tau`: time constant, the unit of the eigenvalues. `phi`: transfer function, elementwise.
    - `rec_scale`: g, a number or `"unit"`, `"1/N"`, `"1/sqrt(N)"`.
    - `starts`: `(start, K)`, such as the kappa of `exact_reduction` along trials; else `n_starts`
      are drawn with `key`.
    - `search`: further arguments of `find_fixed_points`; `tolerance` and `uniqueness` are in units
      of kappa, whose distances are those of x if L is orthonormal.

    **Returns:** `LowRankFixedPoints`, NumPy, the point found by most starts first; possibly none:

    - `kappa`: `(point, K)`. `states`: `(point, N)`, L kappa + B u.
    - `residual`: `(point,)`, |tau dx/dt| there.
    - `eigenvalues`: `(point, N)`, complex, of the Jacobian of dx/dt; `poincare_hopf_sum(found.eigenvalues)`
      other than 1 says that points are missing.
    - `stable`, `continuous`, `outlier`, `n_starts`: `(point,)`, see `FixedPoints`; `search`: the
      search in kappa itself.

    NumPy arrays are computed on in float64, JAX arrays in the precision of JAX.

    **Raises:** `ValueError` for shapes that do not fit, values that are missing or not finite, `B`
    or `input` alone, neither starts nor a key, a `phi` that is no function or not written in JAX,
    another search option, and as `find_fixed_points`; `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** the fixed points of Costacurta et al. (2024), section 6; `find_fixed_points` for
    the search.
    """
    check_function(phi)
    check_search(search)
    refuse_traced((L, R, gains, B, input, tau, starts, key), "reduced_fixed_points")
    xp, (L, R, s, B, u, starts) = read_arrays(
        "B", "input", "starts", L=L, R=R, gains=gains, B=B, input=input, starts=starts
    )
    check_times(tau=tau)
    _, rank = check_factors(L, R)
    with precision_of(xp):
        flow = ReducedFlow.of(L, R, s, B=B, input=u, phi=phi, rec_scale=rec_scale)
        if starts is None:
            kappa = draw_starts(flow.image, flow.L, n_starts=n_starts, key=key)
        else:
            kappa = check_starts(starts, "starts", "rank", rank)
        found = find_fixed_points(flow, kappa, kind="flow", **search)
        at = jnp.asarray(found.points)
        states = np.asarray(jax.vmap(flow.state)(at))
        speed = np.asarray(jax.vmap(lambda k: flow.L @ flow(k))(at))
    return LowRankFixedPoints(
        kappa=found.points,
        states=states,
        residual=np.linalg.norm(speed, axis=1),
        eigenvalues=with_leak(found.eigenvalues / float(tau), -1 / float(tau), states.shape[1]),
        stable=found.stable,
        continuous=found.continuous,
        outlier=found.outlier,
        n_starts=found.n_starts,
        search=found,
    )


class ReducedFlow(eqx.Module):
    """tau dkappa/dt, for an input and gains held still.

    - `L`: `(N, K)`. `R_s`: `(N, K)`, g R diag(s). `offset`: `(N,)`, B u.
    """

    L: Float[Array, "unit rank"]
    R_s: Float[Array, "unit rank"]
    offset: Float[Array, " unit"]
    phi: Callable = eqx.field(static=True)

    @classmethod
    def of(
        cls, L: Any, R: Any, s: Any, *, B: Any, input: Any, phi: Callable, rec_scale: Any
    ) -> "ReducedFlow":
        """From the network's own arrays; `ValueError` where they do not fit."""
        n_units, rank = check_factors(L, R)
        if s.ndim > 1:
            raise ValueError(f"gains must be held: ({rank},), (1,) or a number, got {s.shape}.")
        check_gains(s, rank)
        return cls(
            L=jnp.asarray(L),
            R_s=jnp.asarray(recurrent_scale(rec_scale, n_units) * s * R),
            offset=held_drive(B, input, L, name="B"),
            phi=phi,
        )

    def state(self, kappa: Float[Array, " rank"]) -> Float[Array, " unit"]:
        """x, `(N,)`."""
        return self.L @ kappa + self.offset

    def image(self, kappa: Float[Array, " rank"]) -> Float[Array, " rank"]:
        """The kappa that the recurrent term would hold, `(K,)`."""
        return self.R_s.T @ rates(self.phi, self.state(kappa), jnp)

    def __call__(self, kappa: Float[Array, " rank"]) -> Float[Array, " rank"]:
        return self.image(kappa) - kappa


def precision_of(xp: Any) -> contextlib.AbstractContextManager:
    """Double precision for NumPy arrays, and JAX's setting as it is for JAX arrays."""
    return jax.enable_x64(True) if xp is np else contextlib.nullcontext()


def held_drive(matrix: Any, input: Any, columns: Any, *, name: str) -> Array:
    """`matrix @ input`, `(n,)`, zero where there is neither; `n` is the length of `columns`."""
    if (matrix is None) != (input is None):
        raise ValueError(f"{name} and input go together: give both, or neither.")
    n_units = columns.shape[0]
    if matrix is None:
        return jnp.zeros((n_units,), columns.dtype)
    check_matrix(matrix, name, layout="(units, input)", axis=0, n_units=n_units)
    check_vector(input, "input", axis_name="channel", n=matrix.shape[1])
    return jnp.asarray(matrix @ input)


def check_starts(starts: Any, name: str, axis_name: str, n: int) -> Array:
    """Starts as a JAX array `(start, n)`; `ValueError` for another shape."""
    if starts.ndim != 2 or starts.shape[1] != n:
        raise ValueError(f"{name} must be (start, {axis_name}) = (start, {n}), got {starts.shape}.")
    return jnp.asarray(starts)


def draw_starts(
    image: Callable[[Array], Array], columns: Array, *, n_starts: Any, key: Any
) -> Array:
    """Images of random coordinates along `columns`, half of them shrunk at random: `(start, rank)`.

    The states they are images of are between a tenth and ten in root mean square, so that both
    linear and saturated units occur.
    """
    check_key(key)
    return _draw_starts(image, columns, whole_number(n_starts, "n_starts", least=1), key)


def check_key(key: Any) -> None:
    """Raise `ValueError` for what is no key of JAX, new or old style."""
    if key is None:
        raise ValueError("give starts, or a key to draw them with.")
    new = isinstance(key, jax.Array) and jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    old = isinstance(key, (jax.Array, np.ndarray)) and key.dtype == np.uint32
    if not (new and key.ndim == 0) and not (old and key.ndim == 1):
        raise ValueError(f"key must be one key, as of jax.random.key(0), got {key!r}.")


def check_search(search: dict[str, Any]) -> None:
    """Raise `ValueError` for an option that `find_fixed_points` does not have."""
    parameters = inspect.signature(find_fixed_points).parameters.values()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "kind"]
    for name in search:
        if name not in known:
            raise ValueError(f"there is no option {name!r} of the search: it has {known}.")


@eqx.filter_jit
def _draw_starts(image: Callable, columns: Array, n_starts: int, key: PRNGKeyArray) -> Array:
    k_direction, k_size, k_shrink = jax.random.split(key, 3)
    dtype = columns.dtype
    half = -(-n_starts // 2)
    kappa = jax.random.normal(k_direction, (half, columns.shape[1]), dtype)
    extent = jnp.sqrt(jnp.mean((kappa @ columns.T) ** 2, axis=1, keepdims=True))
    extent = jnp.where(extent > 0, extent, 1)
    size = 10 ** jax.random.uniform(k_size, (half, 1), dtype, -1, 1)
    # In pairs of opposites: where the transfer function is odd, fixed points are so too.
    pairs = jnp.stack([kappa, -kappa], axis=1) * (size / extent)[:, None]
    shrink = jnp.minimum(1, 2 * jax.random.uniform(k_shrink, (half, 1), dtype))
    images = jax.vmap(jax.vmap(image))(pairs) * shrink[:, None]
    return images.reshape(2 * half, -1)[:n_starts]


def with_leak(eigenvalues: np.ndarray, leak: float, n: int) -> np.ndarray:
    """Eigenvalues `(point, k)` and n - k times the leak, largest real part first."""
    n_points, k = eigenvalues.shape
    rest = np.full((n_points, n - k), leak, eigenvalues.dtype)
    values: Any = np.concatenate([eigenvalues, rest], axis=1)
    return np.take_along_axis(values, np.lexsort((values.imag, -values.real)), axis=1)
