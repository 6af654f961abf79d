"""SOFO against first-order training and Hessian-free: by update, by second, and by memory."""

import dataclasses
from typing import Any

import jax
import numpy as np

from ..simulate import simulate
from ..training import TrainingDiverged, fit
from .experiment import Experiment, Result, check_at_least, spread, text_table
from .network_training import FreshTrialTraining, RunOptions, check_names, train_network
from .run_directory import RunDirectory
from .sofo_comparison_figures import plot
from .sofo_memory import memory_by_length
from .sofo_optimizers import CONTENDERS
from .sofo_problems import SIZES, Problem, n_trained, start

#: Trials that a trained network is tested on.
_N_NEW = 256


@dataclasses.dataclass(frozen=True)
class Config:
    """Which tasks, which optimisers, and the rates that each is tuned on."""

    problems: tuple[str, ...] = (
        "lorenz",
        "adaptive_filter",
        "flip_flop",
        "flip_flop_reservoir",
        "single_reach",
        "double_reach",
        "one_shot",
        "delayed_addition",
        "student_teacher",
    )
    """Tasks, by name."""
    optimizers: tuple[str, ...] = (
        "sofo",
        "adam",
        "adam_longer",
        "muon",
        "hessian_free",
        "force",
    )
    """Optimisers, by name; also `sofo_keep_last` and `first_order_sofo`. `force` trains the
    reservoir's readout alone."""
    size: str = "small"
    """`small`, for a CPU, or `published`."""
    seeds: int = 3
    """Networks for each optimiser; every optimiser starts from the same ones."""
    steps: int = 0
    """Updates; 0 for those of each task."""
    longer: int = 10
    """How many times as many updates `adam_longer` does."""
    sofo_rates: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0)
    """Learning rates that SOFO is tuned on."""
    adam_rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
    """Learning rates that Adam is tuned on."""
    muon_rates: tuple[float, ...] = (1e-3, 3e-3, 1e-2, 2e-2)
    """Learning rates that Muon is tuned on."""
    hessian_free_rates: tuple[float, ...] = (0.1, 0.3, 1.0)
    """Learning rates that Hessian-free is tuned on."""
    force_ridges: tuple[float, ...] = (0.1, 1.0, 10.0)
    """Ridges that FORCE is tuned on."""
    first_order_rates: tuple[float, ...] = (1e-4, 1e-3, 1e-2)
    """Learning rates that the slopes along tangents are tuned on."""
    memory_lengths: tuple[int, ...] = (100, 400, 1600, 6400)
    """Lengths of trials, in steps, at which memory is asked for; none for no such figure."""
    seed: int = 0
    """Root of all randomness."""

    def __post_init__(self):
        check_at_least(self, {"seeds": 1, "seed": 0, "steps": 0, "longer": 1})
        if self.size not in SIZES:
            raise ValueError(f"size must be one of {', '.join(SIZES)}, got {self.size!r}.")
        check_names("problems", self.problems, SIZES[self.size], what="task")
        check_names("optimizers", self.optimizers, CONTENDERS, what="optimiser")
        for name in self.optimizers:
            rates = getattr(self, CONTENDERS[name].rates)
            if not rates or not all(np.isfinite(r) and r > 0 for r in rates):
                field = CONTENDERS[name].rates
                raise ValueError(f"{field} must hold positive numbers, got {rates}.")
        if any(length < 2 for length in self.memory_lengths):
            raise ValueError(f"memory_lengths must be at least 2, got {self.memory_lengths}.")


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Tune every optimiser on every task, and train networks with the best rate.

    Rates are chosen by the mean loss over the last tenth of a run, on a network and trials of
    their own. Seconds are those of updates alone, the first tenth with its compilation left out.

    **Arguments:** as `neurosim.experiments.run_experiment` passes them.

    **Returns:** a `Result` whose table has, for every task and optimiser, the rate, the loss over
    the last tenth of as many updates as SOFO does, the loss at the time SOFO takes for them, and
    the time of an update; median over seeds and range.

    **Reference:** Yu, Xia, Ma, Lengyel & Hennequin (2024), Second-order forward-mode optimization
    of recurrent neural networks for neuroscience, NeurIPS 37.
    """
    arrays: dict[str, Any] = {}
    summary: dict[str, Any] = {"problems": {}}
    rows = []
    options = RunOptions(directory, resume, progress)
    for name in config.problems:
        problem = SIZES[config.size][name]
        steps = config.steps or problem.steps
        keys = jax.random.split(jax.random.fold_in(jax.random.key(config.seed), _place(name)), 2)
        found: dict[str, Any] = {}
        for optimizer in config.optimizers:
            if CONTENDERS[optimizer].only in (None, name):
                found[optimizer] = _contest(name, problem, optimizer, steps, keys, config, options)
                # Hundreds of compiled programs in one process fill what memory code may have.
                jax.clear_caches()
        whole = _time_of(found, steps)
        _, model = start(problem, keys[0])
        about = {"parameters": n_trained(problem, model), "tangents": problem.n_tangents}
        scores: dict[str, Any] = {}
        for optimizer, (rate, losses, seconds, tested) in found.items():
            at_end = _last_tenth(losses[:, :steps])
            at_time = _at_time(losses, seconds, whole)
            scores[optimizer] = {
                "rate": rate,
                "loss": at_end,
                "loss_at_equal_time": at_time,
                "loss_on_new_trials": tested,
                "seconds_per_update": seconds,
            }
            arrays |= {f"{name}.{optimizer}.losses": losses, f"{name}.{optimizer}.seconds": seconds}
            rows.append(
                [
                    problem.title,
                    CONTENDERS[optimizer].title,
                    "-" if rate is None else f"{rate:g}",
                    "-" if CONTENDERS[optimizer].longer else spread(at_end),
                    spread(at_time),
                    spread(tested),
                    spread(1e3 * seconds),
                ]
            )
        summary["problems"][name] = about | {"steps": steps, "optimizers": scores}
    if config.memory_lengths:
        memory = memory_by_length(config.memory_lengths)
        summary["memory"] = {k: v.tolist() for k, v in memory.items()}
        arrays |= {f"memory.{k}": v for k, v in memory.items()}
    header = [
        "task", "optimiser", "rate", "loss", "loss at equal time", "on new trials", "ms per update"
    ]  # fmt: skip
    table = (
        f"Median [range] of {config.seeds} seeds. Loss: mean over the last tenth of the updates "
        "that SOFO does, and over a tenth of them before the time that SOFO takes. New trials: the "
        "last network on trials of their own.\n\n" + text_table(header, rows)
    )
    return Result(config, summary, arrays, table)


def _place(name: str) -> int:
    """So that a task has the same networks whatever other tasks are run."""
    return list(SIZES["small"]).index(name)


def _contest(
    name: str,
    problem: Problem,
    optimizer: str,
    steps: int,
    keys: Any,
    config: Config,
    options: RunOptions,
) -> tuple[float | None, np.ndarray, np.ndarray, np.ndarray]:
    """The best rate, losses `(seed, step)`, and `(seed,)` seconds of an update and test losses."""
    contender = CONTENDERS[optimizer]
    n = steps * (config.longer if contender.longer else 1)
    rates = getattr(config, contender.rates)
    tuned: dict[float, float] = {}
    if len(rates) > 1:
        for rate in rates:
            losses, _, _ = _train(
                f"{name}-{optimizer}-rate_{rate:g}", problem, contender.trainer,
                contender.make(rate, problem), rate, n, keys[0], options,
            )  # fmt: skip
            score = _last_tenth(losses[None])[0]
            tuned[rate] = score if np.isfinite(score) else np.inf
        best = min(tuned, key=lambda rate: tuned[rate])
        if not np.isfinite(tuned[best]):
            nothing = np.full(config.seeds, np.nan)
            return None, np.full((config.seeds, n), np.nan), nothing, nothing
    else:
        best = rates[0]
    rule = contender.make(best, problem)
    runs = [
        _train(
            f"{name}-{optimizer}-seed_{i}", problem, contender.trainer, rule, best, n, key, options
        )
        for i, key in enumerate(jax.random.split(keys[1], config.seeds))
    ]
    losses, seconds, tested = zip(*runs)
    return best, np.stack(losses), np.array(seconds), np.array(tested)


def _train(
    name: str,
    problem: Problem,
    trainer: Any,
    rule: Any,
    rate: float,
    steps: int,
    key: Any,
    options: RunOptions,
) -> tuple[np.ndarray, float, float]:
    """Losses, seconds of an update and loss on new trials of one network; NaN if it diverged."""
    start_key, fit_key = jax.random.split(key)
    task, model = start(problem, start_key)
    train = FreshTrialTraining(steps, problem.batch_size, rate, log_every=max(1, steps // 10))
    how: dict[str, Any] = {"alpha": rule}
    if trainer is fit:
        how = {"optimizer": rule, "loss": problem.loss, "trainable": problem.trainable}
    try:
        result = train_network(
            trainer,
            model,
            task,
            name=name,
            label=name.replace("-", ", "),
            train=train,
            directory=options.directory,
            progress=options.progress,
            resume=options.resume,
            key=fit_key,
            **how,
        )
    except TrainingDiverged:
        return np.full(steps, np.nan), np.nan, np.nan
    trials = task.sample(jax.random.fold_in(key, 1), _N_NEW)
    begin = trials.info.get("initial_state")
    trajectory = simulate(result.model, trials.inputs, dt=task.dt, initial_state=begin, throw=False)
    tested = float(problem.loss(trajectory, trials))
    seconds = [record["seconds"] for record in result.history]
    done = [record["step"] for record in result.history]
    each = seconds[-1] / done[-1]
    if len(done) > 1:
        # Between records, so that the first one takes compilation with it.
        each = float(np.median(np.diff(seconds) / np.diff(done)))
    return result.losses, each, tested


def _last_tenth(losses: np.ndarray) -> np.ndarray:
    """Mean loss over the last tenth of the updates, `(seed,)`."""
    n = losses.shape[1]
    return losses[:, n - max(1, n // 10) :].mean(axis=1)


def _time_of(found: dict[str, Any], steps: int) -> float:
    """Seconds that the first optimiser, SOFO as a rule, takes for its updates."""
    _, _, seconds, _ = found["sofo"] if "sofo" in found else next(iter(found.values()))
    return float(np.nanmedian(seconds) * steps) if np.isfinite(seconds).any() else np.nan


def _at_time(losses: np.ndarray, seconds: np.ndarray, whole: float) -> np.ndarray:
    """Mean loss over a tenth of the time around `whole` seconds, NaN where a run is shorter."""
    found = np.full(len(losses), np.nan)
    for i, (curve, each) in enumerate(zip(losses, seconds)):
        if not (np.isfinite(each) and np.isfinite(whole)):
            continue
        last = round(whole / each)
        if 1 <= last <= len(curve) + max(1, len(curve) // 20):
            last = min(last, len(curve))
            found[i] = curve[last - max(1, last // 10) : last].mean()
    return found


EXPERIMENT = Experiment(
    name="sofo_comparison",
    summary="SOFO against Adam, Muon and Hessian-free, by update, by second and by memory",
    config=Config,
    presets={
        "quick": Config(
            problems=("lorenz", "delayed_addition"),
            optimizers=("sofo", "adam", "hessian_free"),
            seeds=1,
            steps=40,
            sofo_rates=(0.3,),
            adam_rates=(1e-3,),
            hessian_free_rates=(0.3,),
            memory_lengths=(50, 200),
        ),
        "small": Config(),
        "paper": Config(size="published", seeds=3),
    },
    run=run,
    plot=plot,
)
