"""Where circuits of divisive normalization rest, and whether they are stable there."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..analysis import (
    basins_of_attraction,
    fixed_points_2d,
    normalization_energy,
)
from ..kernels import (
    normalization_jacobian,
    normalized_response,
)
from .experiment import Experiment, Result, announce, check_at_least, check_positive, text_table
from .organics_circuit_draws import (
    Circuits,
    draw_conjecture_circuits,
    draw_theorem_circuits,
)
from .organics_conjecture import conjecture_shares, iteration_errors
from .organics_planar import PLANAR, planar_flow
from .organics_settling import follow
from .organics_stability_figures import plot
from .run_directory import RunDirectory


@dataclasses.dataclass(frozen=True)
class Config:
    """How many circuits of which kinds; times in units of the time constants where not said."""

    theorem_circuits: int = 2000
    """Circuits with W_r = I, shared among the sizes."""
    theorem_sizes: tuple[int, ...] = (1, 2, 5, 10, 20, 50)
    """Neurons of each kind in them."""
    draws: int = 300
    """Circuits for each condition with another W_r."""
    sizes: tuple[int, ...] = (2, 3, 5, 10)
    """Neurons of each kind in these."""
    norms: tuple[float, ...] = (1.0, 2.0, 3.0)
    """Largest singular values of W_r, at the largest size."""
    largest_gains: tuple[float, ...] = (1.0, 2.0, 4.0, 10.0)
    """Upper ends of the distribution of b, at the smallest and the largest size."""
    starts: int = 3
    """Random states from which the flow is followed where the iteration found nothing stable."""
    flow_time: float = 300.0
    """How long it is followed."""
    energy_circuits: int = 40
    """Circuits with W_r = I whose energy is followed from perturbed states, for each size of the
    perturbation."""
    grid: int = 81
    """Starts along each axis of the picture of basins."""
    seed: int = 0
    """Of all draws."""

    def __post_init__(self):
        least = {
            "theorem_circuits": 1, "draws": 1, "starts": 1, "energy_circuits": 1, "grid": 5,
            "seed": 0,
        }  # fmt: skip
        check_at_least(self, least)
        check_positive(self, ["flow_time"])
        if not (self.sizes and self.theorem_sizes and self.norms and self.largest_gains):
            raise ValueError("theorem_sizes, sizes, norms and largest_gains must not be empty.")
        if min(*self.sizes, *self.theorem_sizes, 1) < 1:
            raise ValueError("sizes must be at least 1.")


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """The theorem, the conjecture, the iteration, the energy and the plane, each on drawn circuits.

    A minute or two at any size, so that an interrupted run starts again.

    **Returns:** a `Result` with the number of circuits with W_r = I that are not stable, the shares
    of circuits with other W_r for which a stable rest point was found, and the shares of
    trajectories along which the energy only falls.

    **Reference:** Rawat, Heeger & Martiniani (2024), NeurIPS 37, sections 4 and 5.
    """
    del directory, resume
    with jax.enable_x64(True):
        rng = np.random.default_rng(config.seed)
        summary: dict[str, Any] = {}
        arrays: dict[str, Any] = {}
        tables = []
        for name, part in (
            ("circuits with an identity recurrent matrix", _theorem),
            ("circuits with other recurrent matrices", conjecture_shares),
            ("the iteration for fixed points", iteration_errors),
            ("the energy along trajectories", _energy),
            ("circuits of two neurons", _planar),
        ):
            announce(name, progress)
            numbers, found, table = part(config, rng)
            summary |= numbers
            arrays |= found
            if table:
                tables.append(table)
    return Result(config, summary, arrays, "\n\n".join(tables))


def _theorem(config: Config, rng: np.random.Generator) -> tuple[dict, dict, str]:
    """Eigenvalues at the closed-form rest point, and the same where W may have any sign."""
    count = -(-config.theorem_circuits // len(config.theorem_sizes))
    rows, arrays, unstable, largest = [], {}, 0, -np.inf
    for n in config.theorem_sizes:
        circuits = draw_theorem_circuits(n, count, rng)
        spectra = _spectra(circuits)
        # In units of the circuit's fastest time constant, which the largest rate is about.
        fastest = np.minimum(circuits.tau_y, circuits.tau_a).min(axis=1)
        abscissa = spectra.real.max(axis=1)
        # What rounding adds to an eigenvalue of a matrix of this size.
        doubt = 1e-13 * np.abs(spectra).max(axis=1)
        lost = int(np.sum(abscissa > doubt))
        unstable, largest = unstable + lost, max(largest, float((abscissa * fastest).max()))
        arrays[f"theorem.{n}"] = abscissa * fastest
        rows.append([str(n), str(count), str(lost), f"{(abscissa * fastest).max():.1e}"])
    control = _signed_control(rng)
    rows.append(["2, W of any sign", str(control[1]), str(control[0]), "-"])
    summary = {
        "theorem_circuits": count * len(config.theorem_sizes),
        "theorem_unstable": unstable,
        "theorem_largest": largest,
        "control_circuits": control[1],
        "control_unstable": control[0],
    }
    header = ["neurons of each kind", "circuits", "unstable", "largest real part x fastest tau"]
    return summary, arrays, "Identity recurrent matrix\n\n" + text_table(header, rows)


def _signed_control(rng: np.random.Generator) -> tuple[int, int]:
    """Of circuits of two pairs with normal W, those with a rest point: how many are unstable."""
    circuits = draw_theorem_circuits(2, 5000, rng)._replace(
        z=rng.standard_normal((5000, 2)),
        W=2 * rng.standard_normal((5000, 2, 2)),
        b=rng.random((5000, 2)),
        b0=rng.random((5000, 2)),
        sigma=rng.random((5000, 2)),
    )
    pool = (circuits.W @ ((circuits.b * circuits.z) ** 2)[..., None])[..., 0]
    rests = ((circuits.b0 * circuits.sigma) ** 2 + pool > 0).all(axis=1)
    kept = Circuits(*(None if part is None else part[rests] for part in circuits))
    return int(np.sum(_spectra(kept).real.max(axis=1) > 0)), int(rests.sum())


@eqx.filter_jit
def _rest_jacobians(circuits: Circuits) -> Any:
    def one(z, W, b, b0, sigma, tau_y, tau_a):
        y, a = normalized_response(z, W=W, b=b, b0=b0, sigma=sigma)
        return normalization_jacobian(y, a, W_r=None, W=W, tau_y=tau_y, tau_a=tau_a)

    parts = {k: v for k, v in circuits._asdict().items() if k != "W_r"}
    return jax.vmap(one)(**parts)


def _spectra(circuits: Circuits) -> Any:
    return np.linalg.eigvals(np.asarray(_rest_jacobians(jax.tree.map(jnp.asarray, circuits))))


def _energy(config: Config, rng: np.random.Generator) -> tuple[dict, dict, str]:
    """Energy along trajectories that start off the rest point, by the size of the perturbation."""
    n, dt, steps = 4, 0.02, 1500
    rows, summary, arrays = [], {}, {}
    for size in (0.1, 0.3, 0.7, 1.0):
        count = config.energy_circuits
        c = draw_conjecture_circuits("gaussian", n, count, norm=1.0, largest_b=1.0, rng=rng)
        c = c._replace(W_r=None, tau_a=10.0 ** rng.uniform(-0.5, 0.5, (count, n)))
        shared = jax.tree.map(jnp.asarray, c)
        y_s, a_s = (np.asarray(part) for part in _rest_points(shared))
        y0 = y_s * (1 + size * rng.uniform(-1, 1, y_s.shape))
        a0 = a_s * (1 + size * rng.uniform(-1, 1, a_s.shape))
        y, a = follow(shared, y0, a0, dt=dt, steps=steps)
        along = normalization_energy(
            y, a, c.z[:, None], W=c.W[:, None], sigma=c.sigma[:, None], b=c.b[:, None],
            b0=c.b0[:, None], tau_y=c.tau_y[:, None], tau_a=c.tau_a[:, None],
        )  # fmt: skip
        total = np.asarray(along.total)
        falls = np.all(np.diff(total, axis=1) <= 1e-9 * total[:, :1], axis=1)
        # Above the lowest value before, over the first.
        climb = np.max((total - np.minimum.accumulate(total, axis=1)) / total[:, :1])
        rows.append([f"{size:g}", str(count), str(int(falls.sum())), f"{climb:.2g}"])
        summary[f"energy_falls_{size:g}"] = float(falls.mean())
        summary[f"energy_climbs_{size:g}"] = float(climb)
        arrays[f"energy.{size:g}"] = total[:10] / total[:10, :1]
        if size == 0.7:
            arrays["energy.response"] = along.response[0].sum(axis=-1)
            arrays["energy.mismatch"] = along.mismatch[0].sum(axis=-1)
    arrays["energy.ts"] = dt * (np.arange(steps) + 1)
    header = [
        "relative perturbation", "trajectories", "along which the energy only falls",
        "largest rise, over the first value",
    ]  # fmt: skip
    return (
        summary,
        arrays,
        "Energy where the recurrent matrix is the identity\n\n" + text_table(header, rows),
    )


@eqx.filter_jit
def _rest_points(circuits: Circuits) -> Any:
    def one(z, W, b, b0, sigma):
        return normalized_response(z, W=W, b=b, b0=b0, sigma=sigma)

    return jax.vmap(one)(*(getattr(circuits, k) for k in ("z", "W", "b", "b0", "sigma")))


def _planar(config: Config, rng: np.random.Generator) -> tuple[dict, dict, str]:
    """Rest points of the published circuits of two neurons, and the basins of a bistable one."""
    del rng
    rows, arrays = [], {}
    for rectify in ("none", "inner"):
        for z in (1.0, -1.0):
            for index, (w_r, b0, sigma) in enumerate(PLANAR):
                found = fixed_points_2d(
                    z, w=1.0, w_r=w_r, b=0.5, b0=b0, sigma=sigma, tau_y=2e-3, tau_a=2e-3,
                    rectify=rectify,
                )  # fmt: skip
                key = f"planar.{rectify}.{z:+.0f}.{index}"
                arrays[f"{key}.points"] = np.stack([found.y, found.a], axis=1)
                arrays[f"{key}.types"] = np.array(found.types)
                kinds = ", ".join(
                    f"{t} ({y:.3f}, {a:.3f})" for y, a, t in zip(found.y, found.a, found.types)
                )
                rows.append([rectify, f"{z:g}", f"{w_r:g}", f"{b0:g}", f"{sigma:g}", kinds])
    # The second circuit with slow principal neurons has two stable points.
    w_r, b0, sigma = PLANAR[1]
    taus = (0.04, 0.002)
    points = fixed_points_2d(
        1.0, w=1.0, w_r=w_r, b=0.5, b0=b0, sigma=sigma, tau_y=taus[0], tau_a=taus[1]
    )
    stable = np.stack([points.y, points.a], axis=1)[points.stable]
    y, a = np.linspace(-2, 2, config.grid), np.linspace(0, 1, config.grid)
    found = basins_of_attraction(
        planar_flow(w_r, b0, sigma, "none", 1.0, taus), np.stack(np.meshgrid(y, a), axis=-1),
        stable, dt=2e-4, n_steps=20_000,
    )  # fmt: skip
    arrays |= {
        "basins.labels": found.labels,
        "basins.points": np.stack([points.y, points.a], axis=1),
        "basins.types": np.array(points.types),
        "basins.y": y,
        "basins.a": a,
    }
    summary = {"bistable_points": stable, "bistable_shares": found.shares}
    header = ["rectified", "z", "w_r", "b0", "sigma", "rest points (y, a)"]
    return summary, arrays, "Circuits of two neurons\n\n" + text_table(header, rows)


EXPERIMENT = Experiment(
    name="organics_stability",
    summary="ORGaNICs: stability of random circuits, fixed points, energy and phase portraits",
    config=Config,
    presets={
        "quick": Config(
            theorem_circuits=1200, theorem_sizes=(1, 2, 5, 10, 20), draws=60, energy_circuits=20
        ),
        "paper": Config(theorem_circuits=6000, draws=1000, energy_circuits=200, grid=161),
    },
    run=run,
    plot=plot,
)
