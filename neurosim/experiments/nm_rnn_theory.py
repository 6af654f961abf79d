"""The closed forms of the NM-RNN beside simulations of the same networks."""

import dataclasses
from typing import Any

import diffrax
import jax.numpy as jnp
import numpy as np

from ..analysis import mean_field_overlap, minimum_ramp_overlap, mode_decay, required_gain
from ..inputs import FunctionInput
from ..models import GainModulatedRNN
from ..simulate import simulate
from .experiment import Experiment, Result, check_at_least, text_table
from .run_directory import RunDirectory


@dataclasses.dataclass(frozen=True)
class Config:
    """Networks of the theory; times in steps of the published time constants (tau_x = 10)."""

    tau: float = 100.0
    """Time constant of x (ms)."""
    overlap: float = 4.0
    """l.r of the rank-1 network that ramps."""
    intervals: tuple[float, ...] = (120.0, 180.0, 260.0)
    """Lengths of the ramps (ms)."""
    gains: tuple[float, ...] = (0.2, 0.5, 0.8)
    """Constant gains of the decay curves."""
    n_units: int = 4000
    """Units of the simulated network in the bifurcation diagram."""
    seed: int = 0
    """Of that network."""

    def __post_init__(self):
        check_at_least(self, {"n_units": 2, "seed": 0})
        if not (self.tau > 0 and self.overlap > 0 and all(i > 0 for i in self.intervals)):
            raise ValueError("tau, overlap and intervals must be positive.")


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Mode decay, required gains and the pitchfork, each in closed form and by simulation.

    Deterministic but for the network of the pitchfork, and too short to be worth resuming.

    **Returns:** a `Result` whose table gives the largest difference of each pair.
    """
    del directory, resume, progress
    arrays: dict[str, Any] = {}
    rows = []
    for part in (_decay, _ramps, _pitchfork):
        found, row = part(config)
        arrays |= found
        rows.append(row)
    summary = {row[0]: row[-1] for row in rows}
    table = text_table(["closed form", "simulated by", "largest difference"], rows)
    return Result(config, summary, arrays, table)


def _decay(config: Config) -> tuple[dict[str, Any], list[str]]:
    """w(t) / w(0) under constant gains and a wave, from Tsit5 on the full network."""
    dt, end, n = 2.0, 500.0, 6
    left = np.linalg.qr(np.cos(np.arange(n)[:, None] * [1.0, 2.0] + [0.3, 0.7]))[0]
    start = left.sum(axis=1)
    model = GainModulatedRNN(
        L=jnp.asarray(left, dtype=float),
        R=jnp.asarray(left, dtype=float),
        B=jnp.zeros((n, 0)),
        C=jnp.asarray(left.T, dtype=float),
        d=None,
        x0=jnp.asarray(start, dtype=float),
        tau=config.tau,
        phi=_identity,
    )
    period = 5 * config.tau
    ts = np.arange(1, int(end / dt) + 1) * dt
    fine = np.linspace(0, end, 20 * len(ts) + 1)
    theory, simulated = [], []
    for s in (*config.gains, None):
        wave = _wave(period) if s is None else _constant(s)
        exact = np.asarray(mode_decay(_values(wave, fine), fine, tau=config.tau))[20::20]
        run = simulate(
            model, FunctionInput(wave), dt=dt, t1=end, solver=diffrax.Tsit5(), save="outputs"
        )
        theory.append(exact)
        simulated.append(np.asarray(run.outputs[:, 0]))
    arrays = {
        "decay.ts": ts,
        "decay.theory": np.stack(theory),
        "decay.simulated": np.stack(simulated),
    }
    worst = np.max(np.abs(arrays["decay.theory"] - arrays["decay.simulated"]))
    return arrays, ["decay of a mode", "Tsit5, 6 units, rank 2", f"{worst:.1e}"]


def _identity(x: Any) -> Any:
    return x


def _constant(s: float) -> Any:
    return lambda t: jnp.full((2,), s)


def _wave(period: float) -> Any:
    return lambda t: jnp.full((2,), 0.5 + 0.4 * jnp.sin(2 * jnp.pi * t / period))


def _values(function: Any, ts: np.ndarray) -> np.ndarray:
    return np.array([float(function(t)[0]) for t in ts])


def _ramps(config: Config) -> tuple[dict[str, Any], list[str]]:
    """The gain that makes a unit ramp from -0.5, fed back into the network it was derived for."""
    dt, offset, first = 1.0, -1.0, -0.5
    end = max(config.intervals) + 60.0
    ts = np.arange(int(end / dt)) * dt
    # l = r and c along l: the state needs no orthogonal part, and y = |l|^2 kappa + d.
    unit = np.ones((4, 1)) / 2.0
    left = unit * np.sqrt(config.overlap)
    gains, outputs, targets = [], [], []
    for interval in config.intervals:
        ramp = first + np.clip(ts / interval, 0, 1)
        slope = np.where(ts < interval, 1 / interval, 0.0)
        gain = np.asarray(
            required_gain(ramp, slope, tau=config.tau, overlap=config.overlap, offset=offset)
        )
        model = GainModulatedRNN(
            L=jnp.asarray(left, dtype=float),
            R=jnp.asarray(left, dtype=float),
            B=jnp.zeros((4, 0)),
            C=jnp.asarray(unit.T, dtype=float),
            d=jnp.asarray([offset]),
            x0=jnp.asarray(unit[:, 0] * (first - offset), dtype=float),
            tau=config.tau,
            phi=_identity,
        )
        wave = _ramp_gain(interval, config, offset, first)
        run = simulate(
            model,
            FunctionInput(wave, [interval]),
            dt=dt,
            t1=end,
            solver=diffrax.Tsit5(),
            save="outputs",
        )
        gains.append(gain)
        targets.append(first + np.clip((ts + dt) / interval, 0, 1))
        outputs.append(np.asarray(run.outputs[:, 0]))
    lengths = np.linspace(20, 400, 200)
    needed = minimum_ramp_overlap(lengths, tau=config.tau, start=first, offset=offset)
    arrays = {
        "ramp.ts": ts,
        "ramp.gains": np.stack(gains),
        "ramp.outputs": np.stack(outputs),
        "ramp.targets": np.stack(targets),
        "feasible.intervals": lengths,
        "feasible.overlap": np.asarray(needed),
    }
    worst = np.max(np.abs(arrays["ramp.outputs"] - arrays["ramp.targets"]))
    return arrays, ["gain of a linear ramp", "Tsit5, 4 units, rank 1", f"{worst:.1e}"]


def _ramp_gain(interval: float, config: Config, offset: float, first: float) -> Any:
    def gain(t):
        f = first + jnp.clip(t / interval, 0, 1)
        slope = jnp.where(t < interval, 1 / interval, 0.0)
        return jnp.reshape((1 + config.tau * slope / (f - offset)) / config.overlap, (1,))

    return gain


def _pitchfork(config: Config) -> tuple[dict[str, Any], list[str]]:
    """Overlap of a large rank-1 tanh network with l, against its gain."""
    rng = np.random.default_rng(config.seed)
    left = rng.standard_normal(config.n_units)
    noise = rng.standard_normal(config.n_units)
    right = 2.0 * left + noise
    rho = float(left @ right / config.n_units)
    gains = np.linspace(0, 1, 201)
    branch = np.asarray(mean_field_overlap(rho * gains))
    tried = np.linspace(0.1, 1.0, 10)
    model = GainModulatedRNN(
        L=jnp.asarray(left[:, None], dtype=float),
        R=jnp.asarray(right[:, None], dtype=float),
        B=jnp.zeros((config.n_units, 0)),
        C=jnp.asarray(left[None] / (left @ left), dtype=float),
        d=None,
        x0=jnp.asarray(left, dtype=float),
        tau=config.tau,
        rec_scale="1/N",
    )
    inputs = np.broadcast_to(tried[:, None, None], (len(tried), 2000, 1))
    run = simulate(model, inputs, dt=config.tau / 10, save="final")
    reached = np.asarray(run.outputs[:, -1, 0])
    expected = np.asarray(mean_field_overlap(rho * tried))
    arrays = {
        "fork.gains": gains,
        "fork.branch": branch,
        "fork.tried": tried,
        "fork.reached": reached,
    }
    worst = np.max(np.abs(reached - expected))
    name = f"Euler, {config.n_units} units, rank 1"
    return arrays, ["pitchfork under the gain", name, f"{worst:.1e}"]


def plot(result: Result) -> dict[str, Any]:
    """One figure of four panels: decay, required gain, feasibility, bifurcation."""
    from ..plotting import (
        new_figure,
        paper_style,
        plot_bifurcation,
        plot_feasibility,
        plot_mode_decay,
        plot_required_gains,
    )

    a, config = result.arrays, result.config
    names = [f"$s$ = {s:g}" for s in config.gains] + ["$s$ = 0.5 + 0.4 sin"]
    with paper_style():
        figure, axes = new_figure(6.6, 5.0, 2, 2)
        plot_mode_decay(
            axes[0, 0],
            a["decay.ts"],
            dict(zip(names, a["decay.theory"])),
            dict(zip(names, a["decay.simulated"])),
        )
        intervals = np.asarray(config.intervals)
        plot_required_gains(axes[0, 1], a["ramp.ts"], a["ramp.gains"], intervals)
        plot_feasibility(axes[1, 0], a["feasible.intervals"], a["feasible.overlap"], config.overlap)
        plot_bifurcation(
            axes[1, 1], a["fork.gains"], a["fork.branch"], (a["fork.tried"], a["fork.reached"])
        )
    return {"theory": figure}


EXPERIMENT = Experiment(
    name="nm_rnn_theory",
    summary="Closed forms of gain-modulated low-rank dynamics beside simulations",
    config=Config,
    presets={"quick": Config(), "paper": Config(n_units=20_000)},
    run=run,
    plot=plot,
)
