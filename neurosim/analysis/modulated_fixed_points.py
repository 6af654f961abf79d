"""Joint fixed points of a low-rank network and the population that sets its gains.

    tau_z dz/dt = -z + W_z phi(z) + B_z u [+ B_zx phi(x) + b_zx],   s = gain_fn(A_z z + b_z)
    tau_x dx/dt = -x + g L diag(s) R^T phi(x) + B_x u_x

Without feedback from x the fixed points of z come first, each of them holds the gains, and these
leave K unknowns (see `low_rank_fixed_points`); the spectrum is that of x and that of z. With
feedback kappa and z are sought together; x = L kappa + B_x u, and the directions outside the span
of L decay with the leak, so the rest of the spectrum is that of a (K + M) x (K + M) matrix.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float

from ..kernels import whole_number
from .estimator import refuse_traced
from .fixed_point_set import CRITERION, FixedPoints, point_line
from .fixed_points import find_fixed_points
from .low_rank_factors import Numbers, check_times, read_arrays
from .low_rank_fixed_points import (
    check_key,
    check_search,
    check_starts,
    draw_starts,
    precision_of,
    with_leak,
)
from .modulated_flow import ModulatedFlow
from .transfer_function import TransferFunction, check_function, rates


@dataclasses.dataclass(frozen=True, eq=False)
class ModulatedFixedPoints:
    """What `modulated_fixed_points` found; NumPy arrays, an entry for each joint fixed point.

    - `kappa`: `(point, K)`. `states`: `(point, N)`, x = L kappa + B_x u.
    - `z`: `(point, M)`. `gains`: `(point, K)` or `(point, 1)`.
    - `residual`: `(point,)`, the norm of (tau_x dx/dt, tau_z dz/dt) there.
    - `eigenvalues`: `(point, N + M)`, of the joint Jacobian, complex, largest real part first.
    - `stable`: `(point,)`, whether all their real parts are negative, but for those of moves along
      a continuum; `continuous`: whether it is part of one; `outlier`: see `FixedPoints`.
    - `searches`: with feedback the one search in (kappa, z); without, that in z, and for each z
      found that in kappa.
    """

    kappa: Float[np.ndarray, "point rank"]
    states: Float[np.ndarray, "point unit"]
    z: Float[np.ndarray, "point nm"]
    gains: Float[np.ndarray, "point gain"]
    residual: Float[np.ndarray, " point"]
    eigenvalues: Complex[np.ndarray, "point both"]
    stable: Bool[np.ndarray, " point"]
    continuous: Bool[np.ndarray, " point"]
    outlier: Bool[np.ndarray, " point"]
    searches: tuple[FixedPoints, ...]

    def __len__(self) -> int:
        return len(self.kappa)

    def __str__(self) -> str:
        units, nm = self.states.shape[1], self.z.shape[1]
        lines = [f"{len(self)} fixed point(s) of {units} + {nm} units, {CRITERION['flow']}."]
        for i in range(len(self)):
            kappa, gains = (np.array2string(a[i], precision=4) for a in (self.kappa, self.gains))
            lines.append(point_line(self, i, f"kappa = {kappa}, gains = {gains}"))
        return "\n".join(lines)


def modulated_fixed_points(
    L: Numbers,
    R: Numbers,
    *,
    W_z: Numbers,
    A_z: Numbers,
    b_z: Numbers,
    B_zx: Numbers | None = None,
    b_zx: Numbers | None = None,
    B_x: Numbers | None = None,
    B_z: Numbers | None = None,
    input: Numbers | None = None,
    tau_x: float | int = 1.0,
    tau_z: float | int = 1.0,
    phi: TransferFunction = jnp.tanh,
    gain_fn: TransferFunction = jax.nn.sigmoid,
    rec_scale: Any = 1.0,
    starts: Any = None,
    n_starts: Any = 256,
    key: Any = None,
    **search: Any,
) -> ModulatedFixedPoints:
    """Find the joint fixed points (x, z) of a neuromodulated low-rank network for a held input.

    **Arguments:**

    - `L`, `R`: `(N, K)`. `W_z`: `(M, M)`. `A_z`, `b_z`: `(K, M)`, `(K,)`, or `(1, M)`, `(1,)`.
    - `B_zx`, `b_zx`: `(M, N)`, `(M,)`, feedback from x to z, or neither.
    - `B_x`, `B_z`, `input`: `(N, U_x)`, `(M, U)` and u, `(U,)`, of which x sees the first U_x
      channels; or none of them.
    - `tau_x`, `tau_z`: time constants, in one unit, the unit of the eigenvalues.
    - `phi`, `gain_fn`: elementwise. `rec_scale`: g, a number or `"unit"`, `"1/N"`, `"1/sqrt(N)"`.
    - `starts`: a pair, `(start, K)` of kappa and `(start, M)` of z, as many with feedback; else
      `n_starts` are drawn with `key`, as in `reduced_fixed_points`.
    - `search`: further arguments of `find_fixed_points`.

    **Returns:** `ModulatedFixedPoints`, NumPy, possibly none:

    - `kappa`: `(point, K)`. `states`: `(point, N)`, x = L kappa + B_x u. `z`: `(point, M)`.
    - `gains`: `(point, K)` or `(point, 1)`.
    - `residual`: `(point,)`, the norm of (tau_x dx/dt, tau_z dz/dt) there.
    - `eigenvalues`: `(point, N + M)`, complex, of the joint Jacobian, largest real part first;
      `poincare_hopf_sum(found.eigenvalues)` other than 1 says that points are missing.
    - `stable`, `continuous`, `outlier`: `(point,)`, see `FixedPoints`; `searches`: the searches
      themselves, the joint one or that in z and those in kappa.

    NumPy arrays are computed on in float64, JAX arrays in the precision of JAX. Where z has a
    continuum of fixed points, x is sought at the one in its middle only.

    **Raises:** `ValueError` for shapes that do not fit, values that are missing or not finite, part
    of the input or of the feedback missing, neither starts nor a key, a `phi` or `gain_fn` that is
    no function or not written in JAX, another search option, and as `find_fixed_points`;
    `TypeError` under `jit`, `grad` or `vmap`.

    **Reference:** Costacurta et al. (2024), sections 3 and 6.
    """
    check_function(phi)
    check_function(gain_fn, "gain_fn")
    check_search(search)
    weights = (L, R, W_z, A_z, b_z, B_zx, b_zx, B_x, B_z, input)
    refuse_traced((weights, tau_x, tau_z, starts, key), "modulated_fixed_points")
    if starts is None:
        check_key(key)
        n_starts = whole_number(n_starts, "n_starts", least=1)
    kappa, z = (None, None) if starts is None else _pair(starts)
    xp, arrays = read_arrays(
        *("B_zx", "b_zx", "B_x", "B_z", "input", "kappa_starts", "z_starts"),
        L=L, R=R, W_z=W_z, A_z=A_z, b_z=b_z, B_zx=B_zx, b_zx=b_zx, B_x=B_x, B_z=B_z, input=input,
        kappa_starts=kappa, z_starts=z,
    )  # fmt: skip
    *weights, kappa, z = arrays
    check_times(tau_x=tau_x, tau_z=tau_z)
    taus = (float(tau_x), float(tau_z))
    with precision_of(xp):
        flow = ModulatedFlow.of(*weights, phi=phi, gain_fn=gain_fn, rec_scale=rec_scale)
        if starts is not None:
            kappa = check_starts(kappa, "starts of kappa", "rank", flow.L.shape[1])
            z = check_starts(z, "starts of z", "nm", len(flow.W_z))
        if flow.B_zx is None:
            return _in_turn(flow, kappa, z, taus, n_starts, key, search)
        return _together(flow, kappa, z, taus, n_starts, key, search)


def _pair(starts: Any) -> tuple[Any, Any]:
    """Starts of kappa and of z."""
    pair = isinstance(starts, (tuple, list)) and len(starts) == 2
    if not pair or any(each is None for each in starts):
        raise ValueError(
            "starts must be a pair of arrays, (start, rank) of kappa and (start, nm) of z, got "
            f"{starts!r}."
        )
    return starts[0], starts[1]


class _ModulatorFlow(eqx.Module):
    """tau_z dz/dt without feedback. It holds no more than that takes, so as to be compiled once."""

    W_z: Array
    z_offset: Array
    phi: Callable = eqx.field(static=True)

    def __call__(self, z: Array) -> Array:
        return self.W_z @ rates(self.phi, z, jnp) + self.z_offset - z


def _draw_z(flow: ModulatedFlow, n_starts: int, key: Any) -> Array:
    each = jnp.eye(len(flow.W_z), dtype=flow.W_z.dtype)
    return draw_starts(flow.z_image, each, n_starts=n_starts, key=key)


def _in_turn(
    flow: ModulatedFlow, kappa: Any, z: Any, taus: tuple, n_starts: int, key: Any, search: dict
) -> ModulatedFixedPoints:
    """z first, then kappa under the gains of each z."""
    drawn = kappa is None
    if drawn:
        key, k_z = jax.random.split(key)
        z = _draw_z(flow, n_starts, k_z)
    of_z = find_fixed_points(
        _ModulatorFlow(flow.W_z, flow.z_offset, flow.phi), z, kind="flow", **search
    )
    of_kappa: list[FixedPoints] = []
    for i, point in enumerate(of_z.points):
        under = flow.under(flow.gains(jnp.asarray(point)))
        if drawn:
            k_point = jax.random.fold_in(key, i)
            kappa = draw_starts(under.image, flow.L, n_starts=n_starts, key=k_point)
        of_kappa.append(find_fixed_points(under, kappa, kind="flow", **search))
    which = np.repeat(np.arange(len(of_z)), [len(found) for found in of_kappa])
    rank, width = flow.L.shape[1], len(flow.L) + z.shape[1]

    def joined(name: str, *shape: int) -> np.ndarray:
        like = getattr(of_z, name)
        return np.concatenate(
            [np.zeros((0, *shape), like.dtype), *(getattr(found, name) for found in of_kappa)]
        )

    both = [joined("eigenvalues", rank) / taus[0], of_z.eigenvalues[which] / taus[1]]
    return _assemble(
        flow,
        joined("points", rank),
        of_z.points[which],
        eigenvalues=with_leak(np.concatenate(both, axis=1), -1 / taus[0], width),
        stable=joined("stable") & of_z.stable[which],
        continuous=joined("continuous") | of_z.continuous[which],
        outlier=joined("outlier") | of_z.outlier[which],
        searches=(of_z, *of_kappa),
    )


def _together(
    flow: ModulatedFlow, kappa: Any, z: Any, taus: tuple, n_starts: int, key: Any, search: dict
) -> ModulatedFixedPoints:
    """kappa and z at once, where x feeds back to z."""
    if kappa is None:
        k_kappa, k_z = jax.random.split(key)
        free = flow.under(jnp.ones((1,), flow.L.dtype))
        kappa = draw_starts(free.image, flow.L, n_starts=n_starts, key=k_kappa)
        z = _draw_z(flow, n_starts, k_z) + jax.vmap(flow.feedback)(kappa)
    if len(kappa) != len(z):
        raise ValueError(
            "with feedback kappa and z start together: as many starts of each are needed, got "
            f"{len(kappa)} and {len(z)}."
        )
    found = find_fixed_points(flow, (kappa, z), kind="flow", **search)
    per_time = np.repeat(1 / np.array(taus), (kappa.shape[1], z.shape[1]))
    eigenvalues = np.linalg.eigvals(found.jacobians * per_time[:, None])
    eigenvalues = eigenvalues.astype(np.result_type(eigenvalues, np.complex64))
    # As in the search itself: moves along a continuum do not count, nor does rounding.
    eps = np.finfo(found.q.dtype).eps
    stable = np.zeros(len(found), bool)
    for i, values in enumerate(eigenvalues):
        across = np.argsort(np.abs(values), kind="stable")[found.dimension[i] :]
        limit = -len(values) * eps * np.abs(values).max()
        stable[i] = bool((values.real[across] < limit).all())
    return _assemble(
        flow,
        *found.points,
        eigenvalues=with_leak(eigenvalues, -1 / taus[0], len(flow.L) + z.shape[1]),
        stable=stable,
        continuous=found.continuous,
        outlier=found.outlier,
        searches=(found,),
    )


def _assemble(flow: ModulatedFlow, kappa: Any, z: Any, **judged: Any) -> ModulatedFixedPoints:
    def at(kappa: Array, z: Array) -> tuple[Array, Array, Array]:
        s = flow.gains(z)
        dkappa, dz = flow((kappa, z))
        velocity = jnp.concatenate([flow.L @ dkappa, dz])
        return flow.under(s).state(kappa), s, velocity

    states, gains, velocity = jax.vmap(at)(jnp.asarray(kappa), jnp.asarray(z))
    return ModulatedFixedPoints(
        kappa=kappa,
        states=np.asarray(states),
        z=z,
        gains=np.asarray(gains),
        residual=np.linalg.norm(np.asarray(velocity), axis=1),
        **judged,
    )
