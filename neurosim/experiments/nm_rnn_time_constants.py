"""How slow the neuromodulatory population is: interval timing over ratios of time constants."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import numpy as np

from ..analysis import autocorrelation_time
from ..models import NMRNN
from ..simulate import simulate
from ..tasks import MeasureWaitGo
from ..training import EnsembleResult
from .experiment import Experiment, Result, check_at_least, spread, text_table
from .network_training import RunOptions, train_seeds
from .nm_rnn_timing import interval_groups
from .nm_rnn_timing_networks import VARIANTS, Training, make_model, make_optimizer
from .run_directory import RunDirectory


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure-Wait-Go with tau_x = 100 ms; times in ms."""

    ratios: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0)
    """tau_z over tau_x; 10 is the published one."""
    staged: bool = True
    """Train x, then z, then both, as published; or all at once."""
    seeds: int = 3
    """Networks for each ratio, trained at once from the same initial weights."""
    seed: int = 0
    """Root of all randomness."""
    train: Training = dataclasses.field(default_factory=Training)

    def __post_init__(self):
        check_at_least(self, {"seeds": 1, "seed": 0})
        if not self.ratios or not all(np.isfinite(r) and r > 0 for r in self.ratios):
            raise ValueError(f"ratios must be positive numbers, got {self.ratios}.")
        if len(set(self.ratios)) < len(self.ratios):
            raise ValueError(f"ratios must differ from one another, got {self.ratios}.")


#: The reduced grid of the timing experiment, and its tests.
_TASK = MeasureWaitGo(onsets=(100.0, 130.0, 160.0, 190.0), duration=900.0)
_TAU_X = 100.0


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Train networks at every ratio, and simulate each at the other ratios too.

    **Arguments:** as `neurosim.experiments.run_experiment` passes them.

    **Returns:** a `Result` whose table has, for every ratio, the median over seeds and the range of
    the mean squared error on trained, shorter and longer intervals, of the time over which the
    gains are correlated with themselves, and of the error on trained intervals when tau_z alone is
    changed afterwards.
    """
    tests = _TASK.generalisation()
    trained: Any = _TASK.intervals
    groups = interval_groups(tests.info["interval"], trained)
    n = len(config.ratios)
    arrays: dict[str, Any] = {"ratios": np.asarray(config.ratios)}
    changed = np.full((n, n, config.seeds), np.nan)
    summary: dict[str, Any] = {"ratios": {}}
    rows = []
    options = RunOptions(directory, resume, progress)
    for index, ratio in enumerate(config.ratios):
        result = _train(ratio, config, options)
        outputs, gains = _responses(result.models, tests, ratio)
        errors = np.mean((outputs - np.asarray(tests.targets[..., 0])) ** 2, axis=-1)
        scores: dict[str, Any] = {g: errors[:, chosen].mean(axis=1) for g, chosen in groups.items()}
        scores["gain_range"] = np.ptp(gains, axis=(1, 2)).max(axis=-1)
        scores["gain_time"] = np.array([_slowest(s) for s in gains])
        for other, elsewhere in enumerate(config.ratios):
            moved, _ = _responses(result.models, tests, elsewhere)
            gap = (moved - np.asarray(tests.targets[..., 0])) ** 2
            changed[index, other] = gap[:, groups["trained"]].mean(axis=(1, 2))
        summary["ratios"][f"{ratio:g}"] = scores
        arrays |= {f"{ratio:g}.losses": result.losses, f"{ratio:g}.gains": gains[0]}
        arrays |= {f"{ratio:g}.{key}": values for key, values in scores.items()}
        worst = np.nanmax(np.delete(changed[index], index, axis=0), axis=0) if n > 1 else []
        names = (*groups, "gain_range", "gain_time")
        rows.append([f"{ratio:g}", *(spread(scores[k]) for k in names), spread(worst)])
    arrays["changed"] = changed
    more = ["range of gains", "time of gains (ms)", "worst with another tau_z"]
    header = ["tau_z / tau_x", *groups, *more]
    table = (
        f"Measure-Wait-Go, mean squared error after {config.train.steps} updates, median [range] "
        f"of {config.seeds} seeds\n\n{text_table(header, rows)}\n\n"
        "Range and time: of the gain that varies most; the time is the integral of its "
        "autocorrelation over tested trials. Last column: the trained network on trained "
        "intervals, with the tau_z of the other ratio that does it most harm."
    )
    return Result(config, summary, arrays, table)


def _train(ratio: float, config: Config, run: RunOptions) -> EnsembleResult:
    variant = VARIANTS["nm_rnn_staged" if config.staged else "nm_rnn"]

    def make(key: Any) -> NMRNN:
        return dataclasses.replace(make_model(variant, key), tau_z=ratio * _TAU_X)

    return train_seeds(
        make,
        _TASK.grid(),
        config=config,
        run=run,
        name=f"ratio_{ratio:g}",
        label=f"tau_z / tau_x = {ratio:g}",
        dt=_TASK.dt,
        optimizer=make_optimizer(config.train, in_stages=variant.staged),
    )


def _responses(models: Any, trials: Any, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Outputs `(seed, trial, time)` and gains `(seed, trial, time, gain)` at a ratio."""

    def one(model: NMRNN) -> tuple[Any, Any]:
        model = eqx.tree_at(lambda m: m.tau_z, model, ratio * _TAU_X)
        run = simulate(model, trials.inputs, dt=_TASK.dt)
        return run.outputs[..., 0], jax.vmap(jax.vmap(model.gains))(run.states.z)

    outputs, gains = eqx.filter_vmap(one)(models)
    return np.asarray(outputs), np.asarray(gains)


def _slowest(gains: np.ndarray) -> float:
    """Integrated autocorrelation time, in ms, of the gain of one network that varies most."""
    busiest = int(np.argmax(np.ptp(gains, axis=(0, 1))))
    return float(autocorrelation_time(gains[..., [busiest]], _TASK.dt, method="integral")[0])


def plot(result: Result) -> dict[str, Any]:
    """Figures by name: error and time of the gains over the ratios, and the gains themselves."""
    from ..plotting import PALETTE, new_figure, paper_style

    a = result.arrays
    ratios = a["ratios"]
    keys = [f"{ratio:g}" for ratio in ratios]
    with paper_style():
        figure, axes = new_figure(6.8, 2.5, 1, 3)
        for name, colour in zip(("trained", "shorter", "longer"), PALETTE):
            _seeds(axes[0], ratios, np.stack([a[f"{k}.{name}"] for k in keys]), colour, name)
        axes[0].set_yscale("log")
        axes[0].set_ylabel("mean squared error")
        axes[0].legend()
        times = np.stack([a[f"{k}.gain_time"] for k in keys])
        _seeds(axes[1], ratios, times, PALETTE[0], "gain that varies most")
        axes[1].set_ylabel("autocorrelation time (ms)")
        for row, key, colour in zip(a["changed"], keys, PALETTE):
            _seeds(axes[2], ratios, row, colour, f"trained at {key}")
        axes[2].set_yscale("log")
        axes[2].set_ylabel("error on trained intervals")
        axes[2].legend()
        for ax in axes:
            ax.set_xscale("log")
            ax.set_xticks(ratios, keys)
            ax.minorticks_off()
            ax.set_xlabel(r"$\tau_z / \tau_x$")
        for ax in axes[[0, 2]]:
            low, high = ax.get_ylim()
            ax.set_ylim(low, high * (high / low) ** 0.3)  # room for the legend
        axes[2].set_xlabel(r"$\tau_z / \tau_x$ in the simulation")
    return {"time_constants": figure}


def _seeds(ax: Any, ratios: np.ndarray, values: np.ndarray, colour: str, label: str) -> None:
    """Median over seeds as a line, seeds as dots; `values` is `(ratio, seed)`."""
    from ..plotting.across_seeds import across_seeds

    ax.plot(ratios, across_seeds(values.T).median, color=colour, label=label)
    ax.plot(ratios, values, "o", ms=2.5, mec=colour, mfc="white", mew=0.7)


EXPERIMENT = Experiment(
    name="nm_rnn_time_constants",
    summary="Interval timing by NM-RNNs whose neuromodulation is faster or slower",
    config=Config,
    presets={
        "quick": Config(seeds=2, train=Training(steps=600)),
        "paper": Config(seeds=10, train=Training(steps=70_000, log_every=1000)),
    },
    run=run,
    plot=plot,
)
