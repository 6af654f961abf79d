"""Following batches of normalization circuits, each with parameters of its own."""

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..kernels import (
    normalization_fixed_point,
    normalization_guess,
    normalization_iterate,
    normalization_jacobian,
    safe_norm,
)
from ..models import ORGaNICs, ORGaNICsState
from ..simulate import simulate
from .organics_circuit_draws import Circuits

# Of the largest time derivative, in units of the time constants, of a state that counts as at rest.
_STILL = 1e-6


def _circuit(c: Circuits) -> ORGaNICs:
    return ORGaNICs.from_parameters(
        W=c.W, W_r=c.W_r, b=c.b, b0=c.b0, sigma=c.sigma, tau_y=c.tau_y, tau_a=c.tau_a
    )


@eqx.filter_jit
def _end(circuits: Circuits, y0: Any, a0: Any, time: float, steps: int) -> Any:
    def one(c: Circuits, y: Any, a: Any) -> Any:
        model = _circuit(c)
        run = simulate(
            model, c.z[None], dt=time, substeps=steps, solver=diffrax.Tsit5(),
            initial_state=ORGaNICsState(y, a), save="final", throw=False,
        )  # fmt: skip
        state = jax.tree.map(lambda x: x[-1] if x.ndim > 1 else x, run.states)
        flow = model.vector_field(0.0, state, c.z)
        speed = jnp.maximum(jnp.max(jnp.abs(c.tau_y * flow.y)), jnp.max(jnp.abs(c.tau_a * flow.a)))
        jacobian = normalization_jacobian(
            state.y, state.a, W_r=c.W_r, W=c.W, tau_y=c.tau_y, tau_a=c.tau_a
        )
        return jacobian, speed

    return jax.vmap(one)(circuits, y0, a0)


def settle(
    circuits: Circuits, y0: np.ndarray, a0: np.ndarray, *, time: float, dt: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Where circuits with held input are after a while: the Jacobian there, and whether at rest.

    **Arguments:**

    - `circuits`: JAX arrays. `y0`, `a0`: `(circuit, n)`, where they start.
    - `time`: how long; `dt`: the step of Tsit5, in the unit of the time constants.

    **Returns:** `(circuit, 2 n, 2 n)` and `(circuit,)`; a circuit that diverged is not at rest.
    """
    jacobians, speed = _end(circuits, jnp.asarray(y0), jnp.asarray(a0), time, round(time / dt))
    return np.asarray(jacobians), np.asarray(speed) < _STILL


@eqx.filter_jit
def _along(circuits: Circuits, y0: Any, a0: Any, dt: float, steps: int) -> Any:
    def one(c: Circuits, y: Any, a: Any) -> Any:
        held = jnp.broadcast_to(c.z, (steps, *c.z.shape))
        run = simulate(
            _circuit(c), held, dt=dt, solver=diffrax.Tsit5(),
            initial_state=ORGaNICsState(y, a), save="states", throw=False,
        )  # fmt: skip
        return run.states

    return jax.vmap(one)(circuits, y0, a0)


def follow(
    circuits: Circuits, y0: np.ndarray, a0: np.ndarray, *, dt: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """y and a of circuits with held input, `(circuit, time, n)` each, one entry a step."""
    states = _along(circuits, jnp.asarray(y0), jnp.asarray(a0), dt, steps)
    return np.asarray(states.y), np.asarray(states.a)


def fixed_point_errors(circuits: Circuits, *, rounds: int) -> np.ndarray:
    """Distance of y from the rest point after each round of the published iteration.

    **Returns:** `(circuit, rounds)`, of circuits for which the solver converged; first the one
    without a round, with y from the initial guess of a.
    """

    @eqx.filter_jit
    def distances(circuits: Circuits) -> Any:
        def one(c: Circuits) -> Any:
            given = {"W_r": c.W_r, "W": c.W, "b": c.b, "b0": c.b0, "sigma": c.sigma}
            rest, _, _, converged = normalization_fixed_point(c.z, **given)

            def once(a: Any, _: Any) -> Any:
                y, a = normalization_iterate(a, c.z, **given)
                return a, safe_norm(y - rest)

            guess = normalization_guess(c.z, **given)
            return jax.lax.scan(once, guess, length=rounds)[1], converged

        return jax.vmap(one)(circuits)

    errors, converged = (np.asarray(part) for part in distances(circuits))
    return errors[converged]
