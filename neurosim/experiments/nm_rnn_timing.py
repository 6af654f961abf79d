"""Interval timing: the NM-RNN on Measure-Wait-Go beside low-rank networks at both scalings."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..analysis import PCA, find_fixed_points, ramp_crossing_times
from ..models import NMRNN, clamp_gains
from ..simulate import simulate
from ..tasks import MeasureWaitGo
from ..training import EnsembleResult
from .experiment import Experiment, Result, check_at_least, spread, text_table
from .network_training import RunOptions, check_names, train_seeds
from .nm_rnn_timing_figures import draw
from .nm_rnn_timing_networks import VARIANTS, Training, make_model, make_optimizer
from .run_directory import RunDirectory


@dataclasses.dataclass(frozen=True)
class Config:
    """Measure-Wait-Go on a grid of onsets and intervals; times in ms."""

    variants: tuple[str, ...] = ("nm_rnn_staged", "nm_rnn", "low_rank", "low_rank_unit")
    """Networks to train, by name."""
    seeds: int = 2
    """Networks of each kind, trained at once."""
    seed: int = 0
    """Root of all randomness."""
    onsets: tuple[float, ...] = (100.0, 130.0, 160.0, 190.0)
    """Times of the measure cue in training (ms)."""
    intervals: tuple[float, ...] = (120.0, 140.0, 160.0, 180.0)
    """Trained intervals (ms)."""
    test_intervals: tuple[float, ...] = tuple(20.0 * n for n in range(2, 14))
    """Tested intervals, trained, shorter and longer (ms)."""
    interpolated: tuple[float, ...] = (130.0, 150.0, 170.0)
    """Tested intervals between the trained ones (ms)."""
    test_onset: float = 150.0
    """Time of the measure cue in tests (ms)."""
    duration: float = 900.0
    """Of a trial (ms)."""
    dt: float = 10.0
    """Time step (ms)."""
    train: Training = dataclasses.field(default_factory=Training)

    def __post_init__(self):
        check_names("variants", self.variants, VARIANTS)
        check_at_least(self, {"seeds": 1, "seed": 0})


_COLUMNS = {
    "trained": "trained",
    "interpolated": "interpolated",
    "shorter": "shorter",
    "longer": "longer",
    "crossing_error_ms": "crossing error (ms)",
    "gain_range": "range of gains",
}


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Train every variant, test it on trained, interpolated, shorter and longer intervals.

    **Arguments:** as `neurosim.experiments.run_experiment` passes them.

    **Returns:** a `Result` whose table gives, for each network, the median over seeds and the
    range of the mean squared error in each group of intervals, and the mean error of the time at
    which the output crosses 0.9 of its maximum. Figures show the seed with the lowest error on
    the trained intervals.
    """
    task = MeasureWaitGo(
        dt=config.dt, intervals=config.intervals, onsets=config.onsets, duration=config.duration
    )
    tests = task.generalisation(config.test_intervals, onset=config.test_onset)
    between = task.generalisation(config.interpolated, onset=config.test_onset)
    groups = interval_groups(config.test_intervals, config.intervals)
    arrays: dict[str, Any] = {
        "ts": (np.arange(task.n_steps) + 1) * config.dt,
        "test_intervals": np.asarray(config.test_intervals),
        "test_targets": np.asarray(tests.targets[..., 0]),
        "test_go": np.asarray(tests.info["go_time"]),
        "test_wait": np.asarray(tests.info["wait_time"]),
    }
    ideal = _crossings(tests.targets[..., 0], tests, config.dt)
    arrays["ideal_crossings"] = ideal
    summary: dict[str, Any] = {"time_alone_mse": _time_alone(task), "networks": {}}
    rows = []
    options = RunOptions(directory, resume, progress)
    for name in config.variants:
        result = _train(name, config, task, options)
        outputs = _outputs(result.models, tests, config.dt)
        errors = np.mean((outputs - arrays["test_targets"]) ** 2, axis=-1)
        gap = _outputs(result.models, between, config.dt) - np.asarray(between.targets[..., 0])
        crossings = np.stack([_crossings(y, tests, config.dt) for y in outputs])
        missed = np.isnan(crossings)
        timing = np.where(missed, np.nan, np.abs(crossings - ideal))
        scores = {group: errors[:, chosen].mean(axis=1) for group, chosen in groups.items()}
        scores["interpolated"] = np.mean(gap**2, axis=(1, 2))
        scores["crossing_error_ms"] = np.array(
            [row[np.isfinite(row)].mean() if np.isfinite(row).any() else np.nan for row in timing]
        )
        scores["never_crossed"] = missed.sum(axis=1).astype(float)
        shown = int(np.argmin(scores["trained"]))
        arrays |= {
            f"{name}.shown_seed": np.asarray(shown),
            f"{name}.losses": result.losses,
            f"{name}.outputs": outputs,
            f"{name}.crossings": crossings,
        }
        if VARIANTS[name].kind == "nm_rnn":
            model = result.member(shown).model
            arrays |= {f"{name}.{k}": v for k, v in _take_apart(model, tests, config.dt).items()}
            scores["gain_range"] = _gain_range(result, tests, config.dt)
        summary["networks"][name] = {"label": VARIANTS[name].label, **scores}
        rows.append([VARIANTS[name].label, *(spread(scores.get(k, [])) for k in _COLUMNS)])
    header = ["network", *_COLUMNS.values()]
    table = (
        f"Measure-Wait-Go, mean squared error after {config.train.steps} updates, median [range] "
        f"of {config.seeds} seeds (a predictor that knows only the time: "
        f"{summary['time_alone_mse']:.2g})\n\n{text_table(header, rows)}\n\n"
        "unit, 1/N: factor on the recurrent term. Crossing error: mean over all tested intervals. "
        "Range of gains: of the gain that varies most."
    )
    return Result(config, summary, arrays, table)


def interval_groups(tested: Any, trained: tuple[float, ...]) -> dict[str, np.ndarray]:
    """Which of the tested intervals were trained, and which lie beyond those, by name."""
    intervals = np.asarray(tested)
    return {
        "trained": np.isin(intervals, trained),
        "shorter": intervals < min(trained),
        "longer": intervals > max(trained),
    }


def _train(name, config, task, run: RunOptions) -> EnsembleResult:
    variant = VARIANTS[name]
    return train_seeds(
        lambda key: make_model(variant, key),
        task.grid(),
        config=config,
        run=run,
        name=name,
        label=variant.label,
        dt=config.dt,
        optimizer=make_optimizer(config.train, in_stages=variant.staged),
    )


def _outputs(models, trials, dt: float) -> np.ndarray:
    """`(seed, trial, time)`."""

    def one(model):
        return simulate(model, trials.inputs, dt=dt, save="outputs").outputs[..., 0]

    return np.asarray(eqx.filter_vmap(one)(models))


def _crossings(outputs, trials, dt: float) -> np.ndarray:
    """Time of the crossing of 0.9 of the maximum after go, `(trial,)` in ms."""
    return np.asarray(
        ramp_crossing_times(np.asarray(outputs), np.asarray(trials.info["go_step"]), dt=dt)
    )


def _time_alone(task: MeasureWaitGo) -> float:
    """Error of the best predictor that sees the time alone."""
    targets = np.asarray(task.grid().targets[..., 0])
    return float(np.mean((targets - targets.mean(axis=0)) ** 2))


def _gain_range(result: EnsembleResult, trials, dt: float) -> np.ndarray:
    """For each seed, the range over trials and time of the gain that varies most."""
    ranges = []
    for index in range(len(result)):
        model = result.member(index).model
        z = simulate(model, trials.inputs, dt=dt, save="states").states.z
        gains = np.asarray(jax.vmap(jax.vmap(model.gains))(z))
        ranges.append(np.ptp(gains, axis=(0, 1)).max())
    return np.array(ranges)


def _take_apart(model: NMRNN, trials, dt: float) -> dict[str, np.ndarray]:
    """Gains, latent trajectories, fixed points and gain ablations of one network."""
    trajectory = simulate(model, trials.inputs, dt=dt)
    gains = np.asarray(jax.vmap(jax.vmap(model.gains))(trajectory.states.z))
    x = np.asarray(trajectory.states.x)
    pca = PCA(2).fit(x)
    silent = jnp.zeros(model.n_inputs)
    # In units of the time constants, so that a slow z is not taken for one at rest.
    prepared = model.prepared()

    def flow(state):
        derivative = prepared.vector_field(0.0, state, silent)
        return type(state)(derivative.x * model.tau_x, derivative.z * model.tau_z)

    starts = jax.tree.map(lambda a: a[:, ::3].reshape(-1, a.shape[-1]), trajectory.states)
    found = find_fixed_points(flow, starts, kind="flow")
    points = np.asarray(found.points.x).reshape(-1, x.shape[-1])
    ablated = [
        _outputs_of(clamp_gains(model, {k: "initial"}), trials, dt) for k in range(gains.shape[-1])
    ]
    return {
        "gains": gains,
        "latents": np.asarray(pca.transform(x)),
        "explained_variance_ratio": np.asarray(pca.explained_variance_ratio_),
        "fixed_points": np.asarray(pca.transform(points)) if len(points) else np.zeros((0, 2)),
        "fixed_points_stable": np.asarray(found.stable, bool),
        "ablated_outputs": np.stack(ablated),
    }


def _outputs_of(model, trials, dt: float) -> np.ndarray:
    return np.asarray(simulate(model, trials.inputs, dt=dt, save="outputs").outputs[..., 0])


def _plot(result: Result) -> dict[str, Any]:
    chosen = {name: VARIANTS[name] for name in result.config.variants}
    return draw(result, {name: variant.label for name, variant in chosen.items()})


EXPERIMENT = Experiment(
    name="nm_rnn_timing",
    summary="Interval timing by NM-RNN and low-rank networks at both recurrent scalings",
    config=Config,
    presets={
        "quick": Config(seeds=3, train=Training(steps=1500)),
        "paper": Config(
            variants=tuple(VARIANTS),
            seeds=10,
            onsets=tuple(10.0 * n for n in range(10, 20)),
            duration=1100.0,
            train=Training(steps=70_000, log_every=1000),
        ),
    },
    run=run,
    plot=_plot,
)
