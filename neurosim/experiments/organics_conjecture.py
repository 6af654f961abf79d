"""Whether circuits with any recurrent matrix have a stable rest point, and how it is found."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..analysis import spectral_abscissa
from ..kernels import normalization_fixed_point, normalization_jacobian
from .experiment import text_table
from .organics_circuit_draws import Circuits, draw_conjecture_circuits
from .organics_settling import fixed_point_errors, settle


def _conditions(config: Any) -> list[tuple[str, int, float, float]]:
    """Kind of W_r, size, largest singular value and largest b of each condition."""
    small, large = min(config.sizes), max(config.sizes)
    found = [(kind, n, 1.0, 1.0) for kind in ("gaussian", "orthogonal", "symmetric")
             for n in config.sizes]  # fmt: skip
    found += [("gaussian", large, norm, 1.0) for norm in config.norms]
    found += [("gaussian", n, 1.0, top) for n in (small, large) for top in config.largest_gains]
    found.append(("negative", 1, 1.0, 1.0))
    return list(dict.fromkeys(found))


def conjecture_shares(config: Any, rng: np.random.Generator) -> tuple[dict, dict, str]:
    """Shares of circuits with a stable rest point, by the iteration and by the flow."""
    conditions = _conditions(config)
    drawn = [
        draw_conjecture_circuits(kind, n, config.draws, norm=norm, largest_b=top, rng=rng)
        for kind, n, norm, top in conditions
    ]
    shares: list[tuple[float, float]] = [(0.0, 0.0)] * len(conditions)
    abscissas = [np.zeros(0)] * len(conditions)
    # Circuits of one size go together: one program for each size.
    for n in sorted({condition[1] for condition in conditions}):
        places = [i for i, condition in enumerate(conditions) if condition[1] == n]
        together = Circuits(*(np.concatenate(p) for p in zip(*(drawn[i] for i in places))))
        settled, either, abscissa = _stable_points(together, config, rng)
        for k, i in enumerate(places):
            part = slice(k * config.draws, (k + 1) * config.draws)
            shares[i] = float(np.mean(settled[part])), float(np.mean(either[part]))
            abscissas[i] = abscissa[part]
    rows = [
        [kind, str(n), f"{norm:g}", f"{top:g}", f"{100 * by_solver:.1f}", f"{100 * any_:.1f}",
         f"{np.nanmax(values):.3f}" if np.isfinite(values).any() else "-"]
        for (kind, n, norm, top), (by_solver, any_), values in zip(conditions, shares, abscissas)
    ]  # fmt: skip
    header = [
        "W_r", "n", "norm of W_r", "b up to", "stable by iteration, flow and Newton (%)",
        "or by the flow from other states (%)", "largest real part of the stable, x tau",
    ]  # fmt: skip
    summary = {
        "conjecture": [
            {"recurrence": kind, "n": n, "norm": norm, "largest_b": top, "draws": config.draws,
             "stable_by_solver": by_solver, "stable": any_}
            for (kind, n, norm, top), (by_solver, any_) in zip(conditions, shares)
        ]
    }  # fmt: skip
    arrays = {
        "conjecture.stable": np.array([any_ for _, any_ in shares]),
        "conjecture.abscissa": np.stack(abscissas),
        "conjecture.kind": np.array([c[0] for c in conditions]),
        "conjecture.numbers": np.array([c[1:] for c in conditions], dtype=float),
    }
    title = f"Other recurrent matrices, {config.draws} circuits each\n\n"
    return summary, arrays, title + text_table(header, rows)


def _stable_points(
    circuits: Circuits, config: Any, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether the solver found a stable point, whether anything did, and the abscissa there."""
    shared = jax.tree.map(jnp.asarray, circuits)

    @eqx.filter_jit
    def solve(c: Circuits) -> Any:
        def one(z, W_r, W, b, b0, sigma, tau_y, tau_a):
            y, a, _, converged = normalization_fixed_point(z, W_r=W_r, W=W, b=b, b0=b0, sigma=sigma)
            return (
                y,
                a,
                converged,
                normalization_jacobian(y, a, W_r=W_r, W=W, tau_y=tau_y, tau_a=tau_a),
            )

        return jax.vmap(one)(**c._asdict())

    _, _, converged, jacobians = solve(shared)
    abscissa = _abscissas(np.asarray(jacobians), np.asarray(converged))
    settled = abscissa < 0
    found = np.where(settled, abscissa, np.nan)
    missing = np.flatnonzero(~settled)
    if len(missing):
        # All of them once more, so that the number of circuits is the same in every run.
        for _ in range(config.starts):
            n = circuits.z.shape[1]
            y0, a0 = rng.standard_normal((2, len(circuits.z), n))
            ends, still = settle(shared, y0, np.abs(a0), time=config.flow_time)
            values = _abscissas(ends, still)
            better = np.isnan(found) & (values < 0)
            found[better] = values[better]
    return settled, np.isfinite(found), found


def _abscissas(jacobians: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The abscissa where there is a point, infinity where there is none."""
    safe = np.where(known[:, None, None], jacobians, 0)
    return np.where(known, spectral_abscissa(np.nan_to_num(safe)), np.inf)


def iteration_errors(config: Any, rng: np.random.Generator) -> tuple[dict, dict, str]:
    """How far each round of the iteration is from the rest point, as in the published figure."""
    circuits = draw_conjecture_circuits(
        "gaussian", max(config.sizes), config.draws, norm=1.0, largest_b=1.0, rng=rng
    )
    errors = fixed_point_errors(jax.tree.map(jnp.asarray, circuits), rounds=30)
    shown = [k for k in (0, 1, 2, 5, 10, 20) if k < errors.shape[1]]
    rows = [[str(k), f"{errors[:, k].mean():.2g}", f"{errors[:, k].max():.2g}"] for k in shown]
    table = text_table(["rounds", "mean distance of y from the rest point", "largest"], rows)
    summary = {f"iteration_error_{k}": float(errors[:, k].mean()) for k in shown}
    return summary, {"iteration.errors": errors}, "The iteration for fixed points\n\n" + table
