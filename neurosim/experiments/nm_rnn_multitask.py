"""Four delayed-response tasks: pretraining on three, transfer to the fourth by few weights."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import numpy as np
import optax

from ..analysis import decode_angle, responses_correct
from ..simulate import simulate
from ..tasks import Multitask, Trials
from ..training import EnsembleResult, parameter_count
from .experiment import Experiment, Result, check_at_least, spread, text_table
from .network_training import FreshTrialTraining, RunOptions, check_names, train_seeds
from .nm_rnn_multitask_analysis import take_apart
from .nm_rnn_multitask_figures import draw
from .nm_rnn_multitask_networks import TRANSFERS, VARIANTS, Channels, add_context, make_model
from .run_directory import RunDirectory

_PRETRAIN = FreshTrialTraining(steps=1500, batch_size=64, learning_rate=3e-3, log_every=100)
_TRANSFER = FreshTrialTraining(steps=1000, batch_size=64, learning_rate=1e-2, log_every=100)


@dataclasses.dataclass(frozen=True)
class Config:
    """Pretraining and transfer on tasks of the delay and memory family; trials of 1 s."""

    networks: tuple[str, ...] = ("nm_rnn", "low_rank_unit", "low_rank")
    """Networks to train, by name."""
    seeds: int = 3
    """Networks of each kind, trained at once."""
    seed: int = 0
    """Root of all randomness."""
    tasks: tuple[str, ...] = ("delay_pro", "delay_anti", "memory_pro")
    """Tasks of the pretraining."""
    transfer_task: str = "memory_anti"
    """The task learned afterwards."""
    noise_std: float = 0.1
    """Of the noise on every input channel at every step."""
    test_trials: int = 300
    """Trials of each task in a test, drawn apart from training."""
    train: FreshTrialTraining = _PRETRAIN
    transfer: FreshTrialTraining = _TRANSFER

    def __post_init__(self):
        check_names("networks", self.networks, VARIANTS)
        check_at_least(self, {"seeds": 1, "seed": 0, "test_trials": 1, "noise_std": 0})
        if self.transfer_task in self.tasks:
            raise ValueError(f"transfer_task {self.transfer_task!r} must not be among tasks.")
        before, after = self.sampler(), self.transfer_sampler()  # refuse tasks there are not
        if after.n_sensory != before.n_sensory:
            raise ValueError(
                f"transfer_task {self.transfer_task!r} has {after.n_sensory} channels before the "
                f"context, and the tasks of the pretraining {before.n_sensory}: they must agree."
            )

    def sampler(self) -> Multitask:
        """The tasks of the pretraining, each with a context channel."""
        return Multitask.costacurta(self.tasks, noise_std=self.noise_std)

    def transfer_sampler(self) -> Multitask:
        """The last task alone, its context channel behind those of the others."""
        contexts = (*self.tasks, self.transfer_task)
        return Multitask.costacurta(
            (self.transfer_task,), contexts=contexts, noise_std=self.noise_std
        )


def run(
    config: Config,
    *,
    directory: RunDirectory | None = None,
    resume: bool = False,
    progress: bool | None = None,
) -> Result:
    """Pretrain every network, test each task, then train some weights on the last task.

    **Arguments:** as `neurosim.experiments.run_experiment` passes them.

    **Returns:** a `Result`. Its table has, for every network, the median over seeds and the range
    of the share of correct responses: at the end of a trial the fixation output is off and the
    response points within pi/10 of the right angle. The figures of subspaces and gains show the
    pretrained seed that does best over all tasks.
    """
    task, last = config.sampler(), config.transfer_sampler()
    tests = _tests(task, config.tasks, config)
    new_tests = _tests(
        dataclasses.replace(last, tasks=last.contexts), last.contexts, config, offset=100
    )
    arrays: dict[str, Any] = {}
    summary: dict[str, Any] = {"networks": {}}
    rows: list[list[str]] = []
    transfer_rows: list[list[str]] = []
    options = RunOptions(directory, resume, progress)
    for name in config.networks:
        variant = VARIANTS[name]
        result = _pretrain(name, config, task, options)
        models = [result.member(i).model for i in range(config.seeds)]
        correct = _accuracies(result.models, tests, task.dt)
        entry: dict[str, Any] = {
            "label": variant.label,
            "parameters": parameter_count(models[0]),
            "correct": dict(zip(config.tasks, correct.T)),
            "correct_all": correct.mean(axis=1),
            "transfer": {},
        }
        summary["networks"][name] = entry
        arrays |= {f"{name}.losses": result.losses, f"{name}.correct": correct}
        best = int(np.argmax(correct.mean(axis=1)))
        arrays |= {f"{name}.shown_seed": np.asarray(best)}
        apart = take_apart(models[best], config.sampler(), config.tasks, seed=config.seed)
        arrays |= {f"{name}.{key}": value for key, value in apart.items()}
        shares = [spread(correct[:, i]) for i in range(len(config.tasks))]
        size = str(entry["parameters"])
        rows.append([variant.label, size, *shares, spread(correct.mean(axis=1))])

        starts = [add_context(variant.kind, model) for model in models]
        before = _accuracies(_stacked(starts), new_tests, task.dt)
        for way, (label, leaves) in TRANSFERS[variant.kind].items():
            moved = _transfer(name, way, leaves, starts, config, last, options)
            after = _accuracies(moved.models, new_tests, task.dt)
            count = parameter_count(starts[0], leaves)
            entry["transfer"][way] = {
                "label": label,
                "parameters": count,
                "before": before[:, -1],
                "after": after[:, -1],
                "others_after": after[:, :-1].mean(axis=1),
            }
            arrays |= {
                f"{name}.{way}.losses": moved.losses,
                f"{name}.{way}.correct": after,
            }
            cells = (before[:, -1], after[:, -1], after[:, :-1].mean(axis=1))
            transfer_rows.append([variant.label, label, str(count), *map(spread, cells)])
    table = _tables(config, rows, transfer_rows)
    return Result(config, summary, arrays, table)


def _tables(config: Config, rows: list[list[str]], transfer_rows: list[list[str]]) -> str:
    first = text_table(["network", "parameters", *config.tasks, "all"], rows)
    second = text_table(
        ["network", "trains", "parameters", "before", "after", "other tasks after"], transfer_rows
    )
    return (
        f"Share of correct responses after {config.train.steps} updates, median [range] of "
        f"{config.seeds} seed(s) (responses at random: 0.1)\n\n{first}\n\n"
        f"Transfer to {config.transfer_task}, {config.transfer.steps} updates of some weights\n\n"
        f"{second}"
    )


def _pretrain(name, config, task, run: RunOptions) -> EnsembleResult:
    variant = VARIANTS[name]
    channels = Channels(task.n_sensory, task.n_contexts, task.n_outputs)
    return train_seeds(
        lambda key: make_model(variant, channels, key),
        task,
        config=config,
        run=run,
        name=name,
        label=variant.label,
        optimizer=_optimizer(config.train),
    )


def _transfer(name, way, leaves, starts, config, task, run: RunOptions) -> EnsembleResult:
    return train_seeds(
        starts,
        task,
        config=config,
        run=run,
        name=f"{name}_{way}",
        label=f"{VARIANTS[name].label} on {config.transfer_task} ({way})",
        train=config.transfer,
        seed=config.seed + 1,
        optimizer=_optimizer(config.transfer),
        trainable=leaves,
    )


def _optimizer(train: FreshTrialTraining) -> optax.GradientTransformation:
    return optax.adamw(optax.cosine_decay_schedule(train.learning_rate, train.steps))


def _tests(
    task: Multitask, names: tuple[str, ...], config: Config, offset: int = 0
) -> list[Trials]:
    """Trials of each task that no training sees."""
    keys = jax.random.split(jax.random.key(config.seed + 1_000_003 + offset), len(names))
    return [task.sample_task(k, config.test_trials, n) for k, n in zip(keys, names)]


def _stacked(models: list[Any]) -> Any:
    return jax.tree.map(
        lambda *leaves: np.stack(leaves) if eqx.is_array(leaves[0]) else leaves[0], *models
    )


def _accuracies(models: Any, tests: list[Trials], dt: float) -> np.ndarray:
    """Share of correct responses, `(seed, task)`."""

    @eqx.filter_jit
    def final_outputs(models, inputs):
        def one(model):
            return simulate(model, inputs, dt=dt, save="outputs").outputs[:, -1]

        return eqx.filter_vmap(one)(models)

    shares = []
    for trials in tests:
        y = np.asarray(final_outputs(models, trials.inputs))
        info = {key: np.asarray(value) for key, value in trials.info.items()}
        correct = [
            responses_correct(
                one[:, 0],
                decode_angle(one[:, 1], one[:, 2]),
                right_angle=info["response_angle"],
                respond=info["respond"],
            )
            for one in y
        ]
        shares.append(np.mean(correct, axis=1))
    return np.stack(shares, axis=1)


EXPERIMENT = Experiment(
    name="nm_rnn_multitask",
    summary="Delayed-response tasks: pretraining on three, transfer to a fourth by few weights",
    config=Config,
    presets={
        "quick": Config(networks=("nm_rnn", "low_rank_unit"), seeds=2),
        "paper": Config(
            networks=tuple(VARIANTS),
            seeds=10,
            train=FreshTrialTraining(
                steps=100_000, batch_size=100, learning_rate=1e-3, log_every=1000
            ),
            transfer=FreshTrialTraining(
                steps=50_000, batch_size=100, learning_rate=1e-2, log_every=1000
            ),
        ),
    },
    run=run,
    plot=draw,
)
